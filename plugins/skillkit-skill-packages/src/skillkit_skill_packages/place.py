"""Skills come into their folder and leave it: all of them or none, by renames within one file system, under a lock."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from .contents import File, Files

__all__ = ["place", "read_files", "remove", "safe_name", "write_files"]

_STAGE = ".staging-"
_DEVICES = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.I)


def safe_name(name: str) -> bool:
    """Whether a skill's name can be a folder's: one visible part of a path, on every system."""
    plain = name.isprintable() and name.strip() == name and len(name.encode()) <= 200
    return (
        bool(name)
        and plain
        and name[0] not in ".-"
        and not _DEVICES.fullmatch(name)
        and not set(name) & set('/\\:*?"<>|')
    )


def write_files(folder: Path, files: Files) -> None:
    """Write files into a new folder. Only whether the owner may execute a file is kept of its mode."""
    folder.mkdir(parents=True)
    for path, file in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            stream.write(file.data)
        target.chmod(0o755 if file.executable else 0o644)


def read_files(folder: Path) -> dict[str, File]:
    """The files of an installed skill, but bytecode that Python compares with its source; a link counts as what it says."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = File(f"link to {path.readlink()}".encode())
        elif path.is_file():
            data = path.read_bytes()
            if not ("__pycache__/" in name and name.endswith(".pyc") and data[4:8] == bytes(4)):
                found[name] = File(data)
        elif not path.is_dir():
            found[name] = File(b"no file")
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """A new folder for staging below ``folder``, which no other process changes meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in folder.glob(f"{_STAGE}*"):  # of a process that was killed
            for old in left.glob("old/*"):
                if not os.path.lexists(folder / old.name):
                    old.rename(folder / old.name)
            shutil.rmtree(left)
        stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=folder))
        try:
            (stage / "old").mkdir()
            yield stage
        finally:
            shutil.rmtree(stage)
    finally:
        os.close(handle)


def place(folder: Path, skills: Mapping[str, Files], replacing: Sequence[str], then: Callable[[], None]) -> None:
    """Put skills into ``folder``, each under its name, and call ``then``. If anything fails, nothing has changed.

    Args:
        replacing: names that may be there already.

    Raises:
        FileExistsError: a name is there that is not replaced.
    """
    with _alone(folder) as stage:
        for name, files in skills.items():
            write_files(stage / "new" / name, files)
        _exchange(folder, stage, skills, replacing, then)


def remove(folder: Path, names: Sequence[str], then: Callable[[], None]) -> None:
    """Take skills out of ``folder``, those that are there, and call ``then``. If anything fails, nothing has changed."""
    with _alone(folder) as stage:
        _exchange(folder, stage, (), names, then)


def _exchange(folder: Path, stage: Path, new: Iterable[str], old: Sequence[str], then: Callable[[], None]) -> None:
    done: list[tuple[Path, Path]] = []
    try:
        for name in old:
            if os.path.lexists(folder / name):
                (folder / name).rename(stage / "old" / name)
                done.append((folder / name, stage / "old" / name))
        for name in new:
            if os.path.lexists(folder / name):  # a rename would replace an empty folder
                raise FileExistsError(17, "is there already", str(folder / name))
            (stage / "new" / name).rename(folder / name)
            done.append((stage / "new" / name, folder / name))
        then()
    except BaseException:
        for before, after in reversed(done):
            after.rename(before)
        raise
