"""Folders of skills that a session was given with ``--skills-dir``: kept in it, and missed when it goes on without them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.cli.output import warning
from skillkit_core.host.skills import TYPE, kept_folders, unused_folders

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.agent.session import Session

__all__ = ["keep_folders", "say_missing"]


async def keep_folders(session: Session, folders: Iterable[Path]) -> None:
    """Write into the session which folders it was given, unless it says so."""
    kept = kept_folders(session.entries)
    if new := [text for folder in folders if (text := str(folder.resolve())) not in kept]:
        await session.append("custom", {"custom_type": TYPE, "dirs": new})


def say_missing(host: Host, session: Session) -> None:
    """Say on stderr which of those folders are not used now, and what to do: their skills are silently not there."""
    for folder in unused_folders(host, session.entries):
        there = Path(folder).is_dir()
        hint = f"add --skills-dir {shlex.quote(folder)}" if there else "the folder is gone"
        warning(f"session {session.id} was given the skills in {folder}, which are not used now; {hint}")
