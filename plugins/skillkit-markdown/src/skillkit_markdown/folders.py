"""Folders of Markdown files with their origin and trust; of two files with one name the first wins and hides the other.

The folders of a kind, for example ``commands``, the first wins: ``.skillkit/commands`` and ``.claude/commands`` of a trusted
project, ``commands`` in the user's configuration folder, ``~/.claude/commands``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .about import project_places
from .files import FileError, read_inside
from .front_matter import FrontMatter, read_front_matter
from .sentences import REPAIRS, lost, sentence

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = [
    "Folder",
    "MarkdownFile",
    "NamedFile",
    "Unusable",
    "collect",
    "folders_of",
    "markdown_files",
]

_MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of Markdown files.

    Attributes:
        origin: who brings the folder: ``project``, ``project:claude``, ``user``, ``user:claude``, ``plugin:NAME``.
        path: the folder, which may be missing.
        counts: whether a file counts; one that does not is not read.
    """

    origin: str
    path: Path
    counts: Callable[[Path], bool] = lambda path: True


@dataclass(frozen=True, slots=True)
class NamedFile:
    """What a Markdown file defines: a prompt, an agent. A subclass adds what the file says.

    Attributes:
        name: name by which it is called.
        path: the file.
        origin: origin of the folder.
        problems: what is wrong, a line each; of a ``broken`` file the first one says why.
        broken: the file cannot be used.
        hidden_by: the file of the same name that wins.
    """

    name: str
    path: Path
    origin: str
    problems: tuple[str, ...] = ()
    broken: bool = False
    hidden_by: Path | None = None


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """A Markdown file that was read.

    Attributes:
        name: name of the file without its suffix; of a file in sub-folders ``folder/name``.
        path: the file.
        origin: origin of its folder.
        front: front matter and body.
    """

    name: str
    path: Path
    origin: str
    front: FrontMatter

    def repairs(self) -> tuple[str, ...]:
        """Return what of the front matter had to be mended, a line each."""
        return tuple(self._said(code) for code in self.front.diagnostics if code.partition(":")[0] in REPAIRS)

    def require_whole(self, keys: Collection[str] = ()) -> None:
        """Raise unless some keys of the front matter could be read, or are not there.

        A file that restricts something by a key asks this: a key that is lost would permit.

        Args:
            keys: the keys; default: all of them.

        Raises:
            Unusable: one of the keys was lost, given twice, or cannot be told from the text.
        """
        for code in lost(self.front.diagnostics):
            if not keys or self._may_hide(code, keys):
                raise Unusable(self._said(code))

    def _may_hide(self, code: str, keys: Collection[str]) -> bool:
        """Return whether one of the keys may be in what a code says was lost."""
        bare, _, key = code.partition(":")
        if bare == "duplicate-key":
            return key in keys
        if bare == "yaml-value-dropped" and self.front.dropped:
            return not self.front.dropped.keys().isdisjoint(keys)
        if bare != "yaml-stray-lines":
            return True
        from .repair import stray_lines  # for what is wrong alone

        named = re.compile(rf"^\W*(?:{'|'.join(keys)})\b|\b(?:{'|'.join(keys)})\W*[:=]", re.I)
        strays = list(stray_lines(self.front.block or ""))
        return not strays or any(above in keys or named.search(line) for above, line in strays)

    def _said(self, code: str) -> str:
        from .key_lines import FileLines  # for what is wrong alone

        line = FileLines(read_inside(self.path, (self.path.parent,), _MOST_BYTES)).of_code(code)
        return f"line {line}: {sentence(code)}" if line is not None else str(sentence(code))


class Unusable(ValueError):
    """A file that defines nothing; the text says why.

    Attributes:
        name: the name that the file gives itself; ``None``: that of the file.
    """

    def __init__(self, problem: str, name: str | None = None) -> None:
        super().__init__(problem)
        self.name = name


N = TypeVar("N", bound=NamedFile)


def folders_of(host: Host, kind: str) -> Iterator[Folder]:
    """Yield the folders of a kind, the project's first, of which the files count that the user trusts. Each may be missing."""
    home = Path(host.environ.get("HOME") or "~").expanduser()
    withheld = host.withheld  # once, because it asks all plugins what they take
    counts = host.trusts if withheld else lambda path: withheld is not None
    for origin, place in project_places(kind).items():
        yield Folder(origin, host.cwd / place, counts)
    yield Folder("user", host.config_dir / kind)
    yield Folder("user:claude", home / ".claude" / kind)


def markdown_files(folder: Path, *, deep: bool = False, most: int = 500) -> list[Path]:
    """Return the Markdown files of a folder by name, at most ``most``; ``deep``: those of its sub-folders, too."""
    if not folder.is_dir():
        return []
    return sorted(p for p in (folder.rglob if deep else folder.glob)("*.md") if p.is_file())[:most]


def collect(
    kind: type[N],
    folders: Iterable[Folder],
    read: Callable[[MarkdownFile], N],
    *,
    name: Callable[[str], str] = str,
    deep: bool = False,
    most: int = 500,
) -> Iterator[N]:
    """Yield what the files of trusted folders define, also those that cannot be used and those that another one hides.

    Args:
        kind: the class of what is yielded.
        folders: the folders, the first wins.
        read: makes the value of a file, or raises :class:`Unusable`.
        name: makes the name of a file that cannot be used of its path, ``folder/name``.
        deep: also the files of sub-folders.
        most: most files of a folder.
    """
    winners: dict[str, N] = {}
    for folder in folders:
        for path in filter(folder.counts, markdown_files(folder.path, deep=deep, most=most)):
            own = path.relative_to(folder.path).with_suffix("").as_posix()
            try:
                one = read(MarkdownFile(own, path, folder.origin, _front(path, folder.path)))
            except Unusable as error:
                one = kind(error.name or name(own), path, folder.origin, problems=(str(error),), broken=True)
            if not one.broken and (winner := winners.setdefault(one.name, one)) is not one:
                problem = f"hidden by {winner.path}, which has the same name"
                one = replace(one, problems=(problem,), broken=True, hidden_by=winner.path)
            yield one


def _front(path: Path, folder: Path) -> FrontMatter:
    """Read a file of at most 256 KiB that is text and lies in its folder."""
    try:
        data = read_inside(path, (folder,), _MOST_BYTES + 1)
    except FileError as error:
        raise Unusable(str(error)) from None
    if len(data) > _MOST_BYTES:
        raise Unusable(f"it is larger than {_MOST_BYTES // 1024} KiB")
    front = read_front_matter(data)
    for code in ("binary-content", "encoding-invalid-utf8"):
        if code in front.diagnostics:
            raise Unusable(f"it cannot be read: {sentence(code)}")
    return front
