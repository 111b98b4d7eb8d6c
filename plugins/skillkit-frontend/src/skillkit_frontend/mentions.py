"""Files that a person names with ``@``: what may stand there, and which of them are images."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from skillkit_core import ImageBlock

from .images import image_from_file, image_type

__all__ = ["TYPED", "as_mention", "images_in", "pasted_file", "paths_for"]

TYPED = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]*)"?|(\S*))\Z')
"""What stands before the cursor while a person types a mention."""
_MENTION = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]+)"|(\S+))')
_MOST = 4_000  # files that are looked at for a name


def as_mention(path: str) -> str:
    """Return a path as it is typed."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def images_in(text: str, cwd: Path) -> list[ImageBlock]:
    """Return the images that a text mentions. Other mentions are paths for the model to read.

    Raises:
        UsageError: an image cannot be read, or is too large.
    """
    found = dict.fromkeys(match[1] or match[2] for match in _MENTION.finditer(text))
    return [image_from_file(path) for name in found if _is_image(path := cwd / Path(name).expanduser())]


def _is_image(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and image_type(file.read(12)) is not None
    except OSError:
        return False


def pasted_file(text: str, cwd: Path) -> str | None:
    """Return the mention of a file whose path was pasted or dropped, ``None`` for any other text."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if len(words) != 1 or len(words[0]) > 1_000 or "/" not in words[0]:
        return None
    path = cwd / Path(words[0]).expanduser()
    try:
        return as_mention(words[0]) if path.is_file() else None
    except OSError:
        return None


def paths_for(typed: str, cwd: Path) -> Iterator[str]:
    """Yield paths for what is typed after ``@``: of the folder that it names, else any file with such a name below ``cwd``."""
    folder, _, beginning = typed.rpartition("/")
    place = cwd / Path(f"{folder}/" if folder or typed.startswith("/") else ".").expanduser()
    prefix = typed[: len(typed) - len(beginning)]
    wanted = beginning.casefold()
    some = False
    for entry in _entries(place):
        if entry.name.casefold().startswith(wanted) and (beginning.startswith(".") or not entry.name.startswith(".")):
            some = True
            yield f"{prefix}{entry.name}" + ("/" if entry.is_dir() else "")
    if beginning and not prefix:
        yield from _below(cwd, wanted, some)


def _below(cwd: Path, wanted: str, some: bool) -> Iterator[str]:
    """Yield files in sub-folders whose name begins with ``wanted``, or holds it where nothing begins with it."""
    seen = 0
    waiting = [entry for entry in _entries(cwd) if entry.is_dir()]
    while waiting and seen < _MOST:
        folder = waiting.pop(0)
        if folder.name.startswith(".") or folder.name in ("node_modules", "__pycache__") or folder.is_symlink():
            continue
        for entry in _entries(folder):
            seen += 1
            name = entry.name.casefold()
            if entry.is_dir():
                waiting.append(entry)
            elif name.startswith(wanted) or (not some and wanted in name):
                yield entry.relative_to(cwd).as_posix()


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
