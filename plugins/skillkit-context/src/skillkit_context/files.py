"""Context files: which count for a folder, what they import, and how much of them a model is told.

A file counts from the working directory up to the next folder with a root marker. Every text counts once, files with a place
of their own before imports, and nothing that leads out of the project is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from skillkit_markdown import FileError, read_inside

from .settings import Settings

__all__ = ["LeftOut", "Loaded", "Reader", "Reason", "Section", "load", "project_root"]

Reason: TypeAlias = Literal[
    "untrusted",
    "outside",
    "cycle",
    "depth",
    "duplicate",
    "missing",
    "not-a-file",
    "unreadable",
    "binary",
    "empty",
    "size",
]
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_IMPORT = re.compile(r"(?<![\w@`./-])@((?:~?/|\.{1,2}/)?[\w.][\w./+-]*)")


@dataclass(frozen=True, slots=True)
class Section:
    """What one context file says.

    Attributes:
        path: the file.
        origin: ``project`` or ``user``.
        text: its text, and behind it the texts that it imports.
        truncated: the caps left something out.
        imports: the imported files, in order.
    """

    path: Path
    origin: Literal["project", "user"]
    text: str
    truncated: bool = False
    imports: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that a model is not told, and why."""

    path: Path
    reason: Reason


@dataclass(frozen=True, slots=True)
class Loaded:
    """The sections in their order, what was left out, and every path that was looked at as an import."""

    sections: tuple[Section, ...]
    left_out: tuple[LeftOut, ...]
    imported: tuple[Path, ...] = ()


@dataclass(slots=True)
class Reader:
    """Reads each file once, and only regular ones.

    Attributes:
        most: bytes of a file that are read.
    """

    most: int
    _known: dict[str, tuple[str, bool] | Reason] = field(default_factory=dict)

    def read(self, path: Path, inside: Sequence[Path]) -> tuple[str, bool] | Reason:
        """Return the text of a file and whether it was cut, or the reason why the file does not count.

        Args:
            inside: folders; the real path of the file must be in one of them.
        """
        real = os.path.realpath(path)
        if not any(Path(real).is_relative_to(folder) for folder in inside):
            return "outside" if os.path.lexists(real) else "missing"
        if real not in self._known:
            self._known[real] = self._read(real)
        return self._known[real]

    def _read(self, real: str) -> tuple[str, bool] | Reason:
        try:
            data = read_inside(real, (Path(real).parent,), self.most + 1)
        except FileError as error:
            return error.reason
        if b"\0" in data:
            return "binary"
        cut = len(data) > self.most
        text = data.decode("utf-8-sig", "replace") if not cut else data[: self.most].decode("utf-8-sig", "ignore")
        return (text, cut) if text.strip() else "empty"


def folders_up(cwd: Path, markers: Sequence[str]) -> list[Path]:
    """Return the folders from ``cwd`` up to the next one with a root marker; without a marker ``cwd`` alone."""
    way = [cwd, *cwd.parents]
    root = next((n for n, folder in enumerate(way) if any(os.path.lexists(folder / m) for m in markers)), 0)
    return way[: root + 1]


def project_root(cwd: Path, settings: Settings) -> Path:
    """Return the root folder of the project that ``cwd`` belongs to."""
    return folders_up(cwd, settings.root_markers)[-1]


def imports_of(text: str) -> Iterator[str]:
    """Yield what a text names as ``@path``, but not in code spans and fenced blocks."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            for found in _IMPORT.finditer(_CODE.sub(" ", line)):
                yield found[1].rstrip(".")


def load(
    cwd: Path,
    settings: Settings,
    *,
    home: Path,
    config_dir: Path | None = None,
    trusted: Callable[[Path, Path], bool],
    reader: Reader | None = None,
    folders: Sequence[Path] | None = None,
    name: Callable[[Path], str] = str,
) -> Loaded:
    """Return the context files that count in ``cwd``.

    Args:
        cwd: the working directory.
        home: what ``~`` means.
        config_dir: the user's configuration folder, to which ``settings.user_files`` are relative; ``None``: none is read.
        trusted: called with a folder of the project and a file that it brings; whether the file may be read.
        reader: reads the files; default: a new one.
        folders: the folders of the project, the nearest first; default: those from ``cwd`` up to the root.
        name: returns how a model is told the path of an imported file.
    """
    cwd, home = Path(os.path.realpath(cwd)), Path(os.path.realpath(home))
    root = project_root(cwd, settings)
    load = _Load(settings, home, reader or Reader(settings.max_file), trusted, name)
    for folder in folders_up(cwd, settings.root_markers) if folders is None else folders:
        for named in settings.names:
            path = folder / named
            if os.path.lexists(path) and load.add(path, "project", folder, (root,)) and settings.per_folder == "first":
                break
    if config_dir is not None:
        config_dir = Path(os.path.realpath(config_dir))
        for named in settings.user_files:
            path = home / named[2:] if named.startswith("~/") else config_dir / named
            if os.path.lexists(path):
                load.add(path, "user", None, (home, config_dir))
    return load.finish()


@dataclass(slots=True)
class _Own:
    """A file with a place of its own, before its imports are read."""

    path: Path
    origin: Literal["project", "user"]
    folder: Path | None
    inside: tuple[Path, ...]
    text: str
    cut: bool


@dataclass(slots=True)
class _Load:
    """One load: the files with a place of their own first, then what they import."""

    settings: Settings
    home: Path
    reader: Reader
    trusted: Callable[[Path, Path], bool]
    name: Callable[[Path], str]
    own: list[_Own] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    imported: list[Path] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def leave(self, path: Path, reason: Reason) -> None:
        if (left := LeftOut(path, reason)) not in self.left_out:
            self.left_out.append(left)

    def text(self, path: Path, folder: Path | None, inside: tuple[Path, ...]) -> tuple[str, bool] | None:
        """Return what a new text says, and whether it was cut; say of any other file why it does not count."""
        if folder is not None and not self.trusted(folder, path):
            self.leave(path, "untrusted")
            return None
        if (real := os.path.realpath(path)) in self.seen:
            self.leave(path, "duplicate")
            return None
        found = self.reader.read(path, inside)
        if isinstance(found, str):
            self.leave(path, found)
            return None
        self.seen.add(real)
        if (text := found[0].strip()) in self.texts:
            self.leave(path, "duplicate")
            return None
        self.texts.add(text)
        return found

    def add(
        self, path: Path, origin: Literal["project", "user"], folder: Path | None, inside: tuple[Path, ...]
    ) -> bool:
        """Add a file with a place of its own; return whether there is such a text."""
        found = self.text(path, folder, inside)
        if found is not None:
            self.own.append(_Own(path, origin, folder, inside, *found))
        return found is not None or self.left_out[-1] == LeftOut(path, "duplicate")

    def finish(self) -> Loaded:
        """Return the sections; the nearest has the first claim to the bytes that all may have."""
        left, sections = self.settings.max_total, []
        for own in self.own:
            if left <= 0:
                self.leave(own.path, "size")
                continue
            section = self.section(own, left)
            if len(data := section.text.encode()) > left:
                section = replace(section, text=data[:left].decode("utf-8", "ignore"), truncated=True)
            left -= len(data)
            sections.append(section)
        if self.settings.order == "nearest-last":
            sections.reverse()
        return Loaded(tuple(sections), tuple(self.left_out), tuple(self.imported))

    def section(self, own: _Own, most: int) -> Section:
        """Return the section of a file, with the texts that it imports behind its own."""
        pieces, cut = [own.text], own.cut
        paths: list[Path] = []
        if own.path.name in self.settings.imports_in:
            for path, text, was_cut in self.follow(own, own.path, own.text, (os.path.realpath(own.path),)):
                if sum(map(len, pieces)) > most:
                    self.leave(path, "size")
                    cut = True
                    break
                pieces.append(f"[{self.name(path)}]\n{text}")
                paths.append(path)
                cut = cut or was_cut
        text = "\n\n".join(piece.strip("\n") for piece in pieces)
        return Section(own.path, own.origin, text, cut, tuple(paths))

    def follow(self, own: _Own, path: Path, text: str, chain: tuple[str, ...]) -> Iterator[tuple[Path, str, bool]]:
        """Yield the texts that a text imports, each with its path and whether it was cut, and what these import."""
        for named in imports_of(text):
            start = self.home / named[2:] if named.startswith("~/") else Path(chain[-1]).parent / named
            target = Path(os.path.normpath(start))
            if not os.path.lexists(target):
                if named.startswith((".", "/", "~")) or "." in target.name:
                    self.imported.append(target)
                    self.leave(target, "missing")
                continue
            self.imported.append(target)
            if (real := os.path.realpath(target)) in chain:
                self.leave(target, "cycle")
            elif len(chain) > self.settings.import_depth:
                self.leave(target, "depth")
            elif (found := self.text(target, own.folder, own.inside)) is not None:
                yield target, *found
                yield from self.follow(own, target, found[0], (*chain, real))
