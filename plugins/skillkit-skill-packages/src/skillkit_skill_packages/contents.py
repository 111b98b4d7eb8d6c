"""What a package may hold (ARC-1): each entry is checked before it is read, all content stays in memory, nothing is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from skillkit_skills import skill_file

from skillkit_core.errors import SkillKitError

__all__ = ["MAX_BYTES", "Entry", "File", "Files", "PackageError", "near_skills", "take"]

MAX_BYTES = 25 * 2**20
MAX_FILES = 2000
MAX_PARTS = 32
# Windows takes these names for devices, with any ending.
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\..*)?", re.I | re.S)


class PackageError(SkillKitError):
    """A package that is refused, or cannot be had. ``code`` is the rule that it breaks, such as ``archive-link``."""

    def __init__(self, code: str, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"{message} ({code})", where=where, hint=hint)
        self.code = code


@dataclass(frozen=True, slots=True)
class Entry:
    """What a source says to hold.

    Attributes:
        path: the path as the source spells it.
        size: the bytes that the source claims, which :func:`take` does not rely on.
        read: returns the content, at most as many bytes as asked for.
    """

    path: str
    kind: Literal["file", "folder", "link", "special"]
    size: int = 0
    executable: bool = False
    read: Callable[[int], bytes] = lambda _: b""


@dataclass(frozen=True, slots=True)
class File:
    """A file that was taken from a source, or lies in a folder; only there it may be a ``link`` to somewhere else."""

    data: bytes
    executable: bool = False
    link: str | None = None


Files = Mapping[str, File]
"""Files by relative path, with forward slashes."""


def take(
    entries: Iterable[Entry], where: str, *, most_files: int = MAX_FILES, most_bytes: int = MAX_BYTES
) -> dict[str, File]:
    """Read the files among ``entries``; what macOS adds to archives is left out.

    Args:
        where: the source, for errors.
        most_files: how many there may be.
        most_bytes: how large all of them may be together.

    Raises:
        PackageError: an entry breaks a rule of ARC-1, or there is too much.
    """
    files: dict[str, File] = {}
    seen: dict[str, str] = {}
    room = most_bytes
    for entry in entries:
        parts = _parts(entry.path, where)
        _no_collision(parts, entry, seen, where)
        if entry.kind == "link":
            raise PackageError(
                "archive-link", f"{entry.path!r} is a link", where=where, hint="put the file in its place"
            )
        if entry.kind == "special":
            raise PackageError("archive-special-file", f"{entry.path!r} is a device or a pipe", where=where)
        if entry.kind == "folder" or "__MACOSX" in parts or parts[-1] == ".DS_Store":
            continue
        if len(files) == most_files:
            raise _too_much("archive-too-many-files", f"there are more than {most_files:,} files", where)
        data = b"" if entry.size > room else entry.read(room + 1)
        room -= max(len(data), entry.size)
        if room < 0:
            raise _too_much("archive-too-large", f"the files have more than {most_bytes // 2**20} MiB", where)
        files["/".join(parts)] = File(data, entry.executable)
    return files


def _too_much(code: str, text: str, where: str) -> PackageError:
    return PackageError(
        code, text, where=where, hint="leave out what the skill does not need, or name a folder with --subfolder"
    )


def _parts(path: str, where: str) -> list[str]:
    """The parts of a safe path below the source's root."""
    plain = path.replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    if plain.startswith("/") or re.match("[A-Za-z]:", plain) or ".." in parts or not parts:
        raise PackageError("archive-path-escape", f"the path {path!r} leads out of the package", where=where)
    if len(parts) > MAX_PARTS:
        raise PackageError("archive-path-too-deep", f"{path[:80]!r}... has more than {MAX_PARTS} parts", where=where)
    for part in parts:
        # Control characters and lone surrogates, which stand for bytes that are no UTF-8, are in these categories.
        odd = any(unicodedata.category(c) in ("Cc", "Cs") for c in part)
        if odd or _DEVICE.fullmatch(part) or part[-1] in ". " or ":" in part or len(part.encode()) > 255:
            raise PackageError(
                "archive-reserved-name", f"{path!r} is a name that not every system can have", where=where
            )
    return parts


def _no_collision(parts: list[str], entry: Entry, seen: dict[str, str], where: str) -> None:
    """Raise for a path that a file system without letter case, or with one Unicode form, takes for another one."""
    for n in range(1, len(parts) + 1):
        path, leaf = "/".join(parts[:n]), n == len(parts) and entry.kind != "folder"
        key = unicodedata.normalize("NFC", path).casefold()
        spelled = path if leaf else f"{path}/"
        known = seen.get(key)
        if known is not None and (leaf or known != spelled):
            text = f"{spelled!r} and {known!r} are one name on some systems"
            raise PackageError("archive-name-collision", text, where=where)
        seen[key] = spelled


def near_skills(entries: Iterable[Entry]) -> list[Entry]:
    """The entries below folders with a SKILL.md, so that a large repository or project can hold a small skill."""
    every = list(entries)
    folders = {
        head for e in every for head, _, name in (e.path.rpartition("/"),) if skill_file([name]) and _looked_into(head)
    }
    return [e for e in every if "" in folders or any(up in folders for up in _above(e.path))]


def _looked_into(folder: str) -> bool:
    """Whether a loader of skills looks into a folder."""
    return not any(part.startswith(".") or part == "node_modules" for part in folder.split("/"))


def _above(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path
