"""Where bundles are installed: the user's folder and the project's, each with a lock file beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillkit_skill_packages import File, files_digest, keeping_trust, place_folders, read_files, remove_folders

from skillkit_core.errors import UsageError

from .books import LOCK, Lock, LockedBundle, read_lock, write_lock

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Place", "digest_of", "places", "places_of"]

Files = Mapping[str, File]


def digest_of(files: Files) -> str:
    """Return the digest of a bundle's files."""
    return files_digest({path: file.data for path, file in files.items()})


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of installed bundles.

    Attributes:
        folder: where they are.
    """

    kind: Literal["user", "project"]
    folder: Path
    host: Host

    @property
    def lock_path(self) -> Path:
        """The lock file, which lies beside the folder."""
        return self.folder.with_name(LOCK)

    def lock(self) -> Lock:
        """Return what was installed here."""
        return read_lock(self.lock_path)

    def files(self, name: str) -> Files:
        """Return the files of what has this name here."""
        return read_files(self.folder / name)

    def state(self, name: str, locked: LockedBundle) -> str:
        """Return ``ok``, ``modified`` or ``missing``."""
        if not os.path.lexists(self.folder / name):
            return "missing"
        return "ok" if digest_of(self.files(name)) == locked.digest else "modified"

    def put(self, name: str, files: Files, locked: LockedBundle) -> None:
        """Install a bundle in place of what has its name."""

        def then() -> None:
            self.note(name, locked)

        keeping_trust(
            self.host, self.kind == "project", lambda: place_folders(self.folder, {name: files}, [name], then)
        )

    def note(self, name: str, locked: LockedBundle) -> None:
        """Write down where a bundle came from."""
        lock = self.lock()
        lock.bundles[name] = locked
        write_lock(self.lock_path, lock)

    def drop(self, names: Sequence[str]) -> None:
        """Remove bundles."""

        def then() -> None:
            lock = self.lock()
            for name in names:
                lock.bundles.pop(name, None)
            write_lock(self.lock_path, lock)

        keeping_trust(self.host, self.kind == "project", lambda: remove_folders(self.folder, names, then))


def places(host: Host) -> dict[str, Place]:
    """Return both places, whether anything is there or not."""
    return {
        "user": Place("user", host.config_dir / "bundles", host),
        "project": Place("project", host.cwd / ".skillkit" / "bundles", host),
    }


def places_of(host: Host, *, user: bool = False, project: bool = False, trusted: bool = False) -> list[Place]:
    """Return the places that were asked for; without a wish the user's, and the project's if something is there.

    Args:
        trusted: only a trusted project's, because its lock file says what is fetched.

    Raises:
        UsageError: both are wanted, or a project that is not trusted.
    """
    every = places(host)
    if user and project:
        raise UsageError("--user and --project exclude each other")
    if project and trusted and host.withheld is None:
        raise UsageError("the folder is not trusted", where=str(host.cwd), hint="trust it with 'skillkit config trust'")
    if user or project:
        return [every["user" if user else "project"]]
    here = every["project"].lock_path.is_file() and (host.withheld is not None or not trusted)
    return [every["user"], *([every["project"]] if here else [])]
