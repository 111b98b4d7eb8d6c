"""Folders of skills that a session was given with ``--skills-dir``: kept in it, and missed when it goes on without them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.cli.output import echo, style

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.agent.session import Session

__all__ = ["keep_folders", "say_missing"]

TYPE = "skills_dirs"


def _kept(session: Session) -> list[str]:
    """The folders that the session was given, on whichever branch, each once."""
    told = [e.data for e in session.entries if e.type == "custom" and e.data.get("custom_type") == TYPE]
    return list(dict.fromkeys(str(folder) for data in told for folder in data.get("dirs") or ()))


async def keep_folders(session: Session, folders: Iterable[Path]) -> None:
    """Write into the session which folders it was given, unless it says so."""
    kept = _kept(session)
    if new := [text for folder in folders if (text := str(folder.resolve())) not in kept]:
        await session.append("custom", {"custom_type": TYPE, "dirs": new})


def say_missing(host: Host, session: Session) -> None:
    """Say on stderr which of those folders are not used now, and what to do: their skills are silently not there."""
    used = {entry.item.path.resolve() for entry in host.skill_sources.entries() if entry.item.path is not None}
    for folder in _kept(session):
        if Path(folder).resolve() in used:
            continue
        there = Path(folder).is_dir()
        hint = f"add --skills-dir {shlex.quote(folder)}" if there else "the folder is gone"
        text = f"Warning: session {session.id} was given the skills in {folder}, which are not used now; {hint}"
        echo(style(text, fg="yellow", stream=sys.stderr), err=True)
