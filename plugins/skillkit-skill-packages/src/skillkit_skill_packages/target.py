"""The folders that packages are installed into: the user's and the project's, each with a lock file beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillkit_core.errors import UsageError

from .contents import Files
from .kept_trust import keeping_trust
from .lock import FILE, Lock, LockedSkill, read_lock, write_lock
from .place import place, read_files, remove
from .review import digest_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["State", "Target", "targets"]

State = Literal["ok", "modified", "missing"]


@dataclass(frozen=True, slots=True)
class Target:
    """A folder of installed skills.

    Attributes:
        folder: where the skills are.
    """

    kind: Literal["user", "project"]
    folder: Path
    host: Host

    @property
    def lock_path(self) -> Path:
        """The lock file, which lies beside the folder."""
        return self.folder.with_name(FILE)

    def lock(self) -> Lock:
        """What was installed here."""
        return read_lock(self.lock_path)

    def state(self, name: str, entry: LockedSkill) -> State:
        """Whether an installed skill is as it was installed."""
        digest = self.digest(name)
        return "missing" if not digest else "ok" if digest == entry.digest else "modified"

    def digest(self, name: str) -> str:
        """The digest of what has this name here; empty where nothing has."""
        folder = self.folder / name
        return digest_of(read_files(folder)) if os.path.lexists(folder) else ""

    def put(
        self, files: Mapping[str, Files], entries: Mapping[str, LockedSkill], replacing: Sequence[str] = ()
    ) -> None:
        """Install skills, and write down where they and further ``entries`` came from."""

        def then() -> None:
            lock = self.lock()
            lock.skills |= entries
            write_lock(self.lock_path, lock)

        keeping_trust(self.host, self.kind == "project", lambda: place(self.folder, files, replacing, then))

    def drop(self, names: Sequence[str]) -> None:
        """Remove skills that were installed."""

        def then() -> None:
            lock = self.lock()
            for name in names:
                lock.skills.pop(name, None)
            write_lock(self.lock_path, lock)

        keeping_trust(self.host, self.kind == "project", lambda: remove(self.folder, names, then))


def targets(host: Host, *, user: bool, project: bool, trusted: bool = False) -> list[Target]:
    """The targets that were asked for; without a wish the user's, and the project's if something is installed there.

    Args:
        trusted: only a trusted project's, because its lock file says what is fetched.

    Raises:
        UsageError: both are wanted, or a project that is not trusted.
    """
    if project and trusted and host.withheld is None:
        raise UsageError("the folder is not trusted", where=str(host.cwd), hint="trust it with 'skillkit config trust'")
    if user and project:
        raise UsageError("--user and --project exclude each other")
    every = {
        "user": Target("user", host.config_dir / "skills", host),
        "project": Target("project", host.cwd / ".skillkit" / "skills", host),
    }
    if user or project:
        return [every["user" if user else "project"]]
    here = every["project"].lock_path.is_file() and (host.withheld is not None or not trusted)
    return [t for t in every.values() if t.kind == "user" or here]
