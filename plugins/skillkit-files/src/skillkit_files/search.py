"""Searches files line by line: ripgrep names the files where it is installed, and the lines are found here in any case."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from .folder import FileError, Folder, read_all, shown
from .globs import compile_glob
from .regex_dialect import Pattern
from .text import sendable
from .walk import MAX_FILES, Found, levels_above, walk

__all__ = ["Query", "Result", "search"]

_BLOCK = 16 << 20  # bytes that are searched at once
_LARGEST = 1 << 30  # bytes of a file
_WIDTH = 400  # characters of a line that are shown
_ROOM = 60_000  # characters of an answer
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for.

    Attributes:
        pattern: the pattern.
        path: the file or folder, as it was given.
        glob: names of files that are searched; with a leading ``!`` those that are not.
        literal: the pattern is plain text.
        ignore_case: case does not count.
        multiline: a match may span lines.
        before: lines shown before a match.
        after: lines shown behind it.
        output: what is shown.
        limit: most matches, or files of ``files`` and ``count``.
        no_ignore: ignore files do not count.
    """

    pattern: str
    path: str = "."
    glob: str | None = None
    literal: bool = False
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    output: Literal["content", "files", "count"] = "content"
    limit: int = 200
    no_ignore: bool = False


@dataclass(slots=True)
class Result:
    """What was found.

    Attributes:
        lines: the lines of the answer.
        matches: how many lines match, or how many files of ``files`` and ``count``.
        files: in how many files.
        more: there is more than the limit.
        notes: what else the model should know.
    """

    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    more: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The answer for a model."""
        if not self.matches:
            return "\n".join(["No matches.", *self.notes])
        notes = [f"[more matches than the first {self.matches}; narrow the pattern or the path]"] if self.more else []
        return "\n".join([*self.lines, *notes, *self.notes])


def search(
    folder: Folder,
    query: Query,
    *,
    allowed: Callable[[str], bool] = lambda path: True,
    ripgrep: bool = True,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Search a file or the files below a folder.

    Args:
        folder: the folder with the root.
        query: what is looked for.
        allowed: whether a file may be read, by its path.
        ripgrep: let ripgrep find the files when it is installed.
        stop: whether to end the search now.

    Raises:
        FileError: the pattern cannot be used, or there is no such path.
    """
    pattern = Pattern(query.pattern, literal=query.literal, ignore_case=query.ignore_case, multiline=query.multiline)
    wanted = _chooser(query.glob)
    start = folder.locate(query.path)
    result = Result()
    if start and not _is_folder(folder, start):
        if not allowed(start):
            raise FileError("permission", f"{shown(query.path)} may not be read")
        with folder.open(start) as (fd, info):
            _search_file(fd, info.st_size, start, pattern, query, result)
        return result
    seen = 0
    room = _ROOM
    for found in _files(folder, start, query, ripgrep, stop):
        seen += 1
        if stop() or seen > MAX_FILES:
            result.notes.append(f"[stopped after {seen - 1:,} files; name a folder]")
            break
        if not wanted(found.path) or not allowed(found.path):
            continue
        try:
            fd = os.open(found.name, _FILE, dir_fd=found.fd)
        except OSError:
            continue  # it is gone, may not be read, or became a link
        try:
            known = len(result.lines)
            _search_file(fd, os.fstat(fd).st_size, found.path, pattern, query, result)
        finally:
            os.close(fd)
        room -= sum(map(len, result.lines[known:]))
        if result.more or room < 0:
            result.more = True
            break
    return result


def _is_folder(folder: Folder, rel: str) -> bool:
    try:
        with folder.folder(rel):
            return True
    except FileError as error:
        if error.code == "not_directory":
            return False
        raise


def _chooser(glob: str | None) -> Callable[[str], bool]:
    """Return whether a file is searched: a pattern without a slash means names at any depth."""
    if not glob:
        return lambda path: True
    negated = glob.startswith("!")
    bare = glob.removeprefix("!").removeprefix("./")
    matches = compile_glob(bare.removeprefix("/") if "/" in bare else f"**/{bare}")
    return (lambda path: not matches(path)) if negated else matches


def _files(folder: Folder, start: str, query: Query, ripgrep: bool, stop: Callable[[], bool]) -> Iterator[Found]:
    """Yield the files to be searched, by path."""
    program = shutil.which("rg") if ripgrep else None
    names = _ripgrep(program, folder, start, query, stop) if program is not None else None
    if names is None:
        yield from walk(folder, start, ignores=not query.no_ignore, stop=stop)
        return
    for path in names:
        try:
            with folder.parent(path) as (fd, name):
                yield Found(path, fd, name)
        except FileError:
            continue  # it is gone, or became a link


def _ripgrep(program: str, folder: Folder, start: str, query: Query, stop: Callable[[], bool]) -> list[str] | None:
    """Return the files in which ripgrep finds the pattern, by path; ``None``: it cannot say."""
    options = [
        "--files-with-matches",
        "--null",
        "--no-config",
        "--no-messages",
        "--hidden",
        "--no-require-git",
        "--crlf",
    ]
    options += ["--no-ignore-global", "--no-ignore-exclude", "--no-ignore-parent", "--color=never", "--glob=!.git"]
    if start and not query.no_ignore and any(any(level.specs) for level in levels_above(folder, start)):
        # the ignore files between root and folder count; ripgrep would read those above the root too
        return None
    options += ["--no-ignore"] if query.no_ignore else []
    options += ["--ignore-case"] if query.ignore_case else ["--case-sensitive"]
    options += ["--fixed-strings"] if query.literal else []
    options += ["--multiline"] if query.multiline else []
    command = [program, *options, f"--regexp={query.pattern}", "--", f"./{start}" if start else "./"]
    with subprocess.Popen(
        command, cwd=folder.root, env={"PATH": os.environ.get("PATH", "")}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while True:
            try:
                output, _ = process.communicate(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                if stop():
                    process.kill()
    if process.returncode not in (0, 1):
        return None
    names = [os.fsdecode(name).removeprefix("./") for name in output.split(b"\0") if name]
    return sorted(names, key=lambda name: name.split("/"))


def _search_file(fd: int, size: int, path: str, pattern: Pattern, query: Query, result: Result) -> None:
    """Add what is found in one file. Add nothing of a binary one."""
    if size > _LARGEST:
        result.notes.append(f"[{shown(path)} is larger than {_LARGEST >> 20} MiB and was not searched]")
        return
    limit = query.limit - result.matches if query.output == "content" else None
    shown_lines: dict[int, tuple[bool, str]] = {}
    count = first = 0
    more, room = False, _ROOM
    for block in _blocks(fd, whole=query.multiline):
        if block is None:
            return
        if more or (count and query.output == "files"):
            continue  # the rest is read all the same: a NUL in it makes the file binary
        number = at = 0
        for start, end in _matches(block, pattern):
            if limit is not None and (count >= limit or room < 0):
                more = True
                break
            count += 1
            if query.output == "files":
                break
            if query.output == "content":
                begin = block.rfind(b"\n", 0, start) + 1
                number, at = number + block.count(b"\n", at, begin), begin
                known = len(shown_lines)
                _show(block, begin, first + number, (start, end), query, shown_lines)
                room -= sum(len(line) for _, line in islice(reversed(shown_lines.values()), len(shown_lines) - known))
        first += block.count(b"\n")
    if not count and not more:
        return
    if query.output != "content":
        if result.matches >= query.limit:
            result.more = True
            return
        result.matches += 1
        result.lines.append(shown(path) if query.output == "files" else f"{shown(path)}: {count}")
    else:
        result.more = more
        if not count:
            return
        result.matches += count
        result.lines.append(shown(path))
        last = None
        for number in sorted(shown_lines):
            if last is not None and number > last + 1 and (query.before or query.after):
                result.lines.append("--")
            matched, line = shown_lines[number]
            result.lines.append(f"{number + 1}{':' if matched else '-'}{line}")
            last = number
    result.files += 1


def _blocks(fd: int, *, whole: bool) -> Iterator[bytes | None]:
    """Yield the content with LF, in blocks of whole lines; ``None``: the file is binary.

    Args:
        whole: yield the content in one block, as far as it is not too large.
    """
    most = _BLOCK * 4 if whole else _BLOCK
    data = read_all(fd, most)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data += read_all(fd, _BLOCK * 4)
        codec = "utf-16-le" if data[0] == 0xFF else "utf-16-be"
        text = data[2:].decode(codec, "replace")
        yield None if "\0" in text else text.replace("\r\n", "\n").encode("utf-8", "replace")
        return
    data = data.removeprefix(b"\xef\xbb\xbf")
    rest = b""
    while data:
        if b"\0" in data:
            yield None
            return
        data = rest + data
        further = read_all(fd, _BLOCK)
        cut = data.rfind(b"\n") + 1 if further else len(data)
        if cut == 0:
            cut = len(data)
        block, rest = data[:cut], data[cut:]
        yield block.replace(b"\r\n", b"\n") if b"\r" in block else block
        data = further
    if rest:
        yield rest


def _matches(block: bytes, pattern: Pattern) -> Iterator[tuple[int, int]]:
    """Yield the matches, at most one for each line that they begin in."""
    regex, at, size = pattern.spans(block), 0, len(block)
    while at <= size:
        match = regex.search(block, at)
        if match is None:
            return
        start, end = match.span()
        if start >= size and (not size or block.endswith(b"\n")):
            return  # behind the last line
        yield start, end
        line_end = block.find(b"\n", max(start, end - 1 if end > start else end))
        if line_end < 0:
            return
        at = line_end + 1


def _show(
    block: bytes, begin: int, number: int, span: tuple[int, int], query: Query, lines: dict[int, tuple[bool, str]]
) -> None:
    """Add the lines of a match, and those around it.

    Args:
        block: the text.
        begin: where the first line of the match begins.
        number: number of that line, from 0.
        span: the match.
        query: how many lines around it are shown.
        lines: by number whether a line matches, and the line.
    """
    start, end = span
    at = begin
    for n in range(query.before):
        if at == 0:
            break
        previous = block.rfind(b"\n", 0, at - 1) + 1
        lines.setdefault(number - n - 1, (False, _cut(block[previous : at - 1])))
        at = previous
    at, inner = begin, True
    left = query.after
    while at < len(block) or at == begin:
        line_end = block.find(b"\n", at)
        line_end = len(block) if line_end < 0 else line_end
        if inner:
            lines[number] = (True, _cut(block[at:line_end], max(0, start - at), max(0, end - at)))
        elif left == 0:
            break
        else:
            left -= 1
            lines.setdefault(number, (False, _cut(block[at:line_end])))
        inner = inner and end > line_end + 1
        number += 1
        at = line_end + 1


def _cut(line: bytes, start: int = 0, end: int = 0) -> str:
    """Return a line, or the part of a long one that holds the match."""
    if len(line) <= _WIDTH:
        return sendable(line.decode("utf-8", "surrogateescape"))
    middle = (start + min(end, start + _WIDTH)) // 2
    low = max(0, min(middle - _WIDTH // 2, len(line) - _WIDTH))
    high = min(len(line), low + _WIDTH)
    # not in the middle of a character
    while low > 0 and line[low] & 0xC0 == 0x80:
        low -= 1
    while high < len(line) and line[high] & 0xC0 == 0x80:
        high += 1
    part = sendable(line[low:high].decode("utf-8", "surrogateescape"))
    left = f"[... {low} bytes] " if low else ""
    right = f" [{len(line) - high} more bytes]" if high < len(line) else ""
    return f"{left}{part}{right}"
