"""Folders of skills that a session was given on the command line: kept in it, so that it can go on with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contracts.session_store import SessionEntry
    from .manager import Host

__all__ = ["TYPE", "kept_folders", "unused_folders"]

TYPE = "skills_dirs"  # ``custom_type`` of the entries that have them, as ``dirs``


def kept_folders(entries: Iterable[SessionEntry]) -> list[str]:
    """The folders that a session was given, on whichever branch, each once."""
    told = [e.data for e in entries if e.type == "custom" and e.data.get("custom_type") == TYPE]
    return list(dict.fromkeys(str(folder) for data in told for folder in data.get("dirs") or ()))


def unused_folders(host: Host, entries: Iterable[SessionEntry]) -> list[str]:
    """Those of them that the host does not read skills from."""
    kept = kept_folders(entries)
    if not kept:
        return []
    used = {entry.item.path.resolve() for entry in host.skill_sources.entries() if entry.item.path is not None}
    return [folder for folder in kept if Path(folder).resolve() not in used]
