"""Patches: OpenAI's format (``*** Begin Patch``) and unified diffs, read leniently, applied to all files or to none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .changes import Changes
from .folder import FileError, shown
from .near_miss import loosened
from .text import Text, lf, require_text

__all__ = ["Hunk", "Operation", "apply_patch", "paths_of", "read_patch"]

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_HEADS = ("*** Add File: ", "*** Delete File: ", "*** Update File: ")
_RANGE = re.compile(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_UNIFIED = re.compile(r"^(?:diff --git |--- |rename from |GIT binary patch|Binary files )", re.M)
_OCTAL = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_PREFIXES = frozenset({("a", "b"), ("i", "w"), ("c", "i"), ("c", "w"), ("o", "w")})


@dataclass(slots=True)
class Hunk:
    """Lines that change together.

    Attributes:
        lines: pairs of sign (blank, ``-``, ``+``) and line.
        anchors: lines behind which the hunk is, one behind the other.
        at: number of the first line in a unified diff, from 0; ``None``: not said.
        size: lines of the original that a unified diff says it has; ``None``: not said.
        end: the hunk is at the end of the file.
        cut: the signs of lines that a marker says to have no line break.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    at: int | None = None
    size: int | None = None
    end: bool = False
    cut: set[str] = field(default_factory=set)

    @property
    def old(self) -> list[str]:
        """The lines that the file has."""
        return [line for sign, line in self.lines if sign != "+"]


@dataclass(slots=True)
class Operation:
    """What a patch does with one file.

    Attributes:
        kind: what is done.
        path: the file.
        target: the place to which it moves.
        hunks: its changes; those of a new file are its content.
        executable: the mode that the patch gives it.
        unified: it comes from a unified diff.
    """

    kind: Literal["add", "delete", "update"]
    path: str
    target: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    executable: bool | None = None
    unified: bool = False


def paths_of(args: dict[str, Any]) -> list[str]:
    """Return the paths that a call of ``apply_patch`` would touch.

    Raises:
        FileError: the patch cannot be read.
    """
    found = [path for op in read_patch(str(args.get("patch", ""))) for path in (op.path, op.target) if path is not None]
    return list(dict.fromkeys(found))


def read_patch(patch: str) -> list[Operation]:
    """Return the operations of a patch, or raise :class:`FileError`."""
    require_text(patch, "the patch")
    lines = lf(patch).split("\n")
    if any(line.strip() == _BEGIN for line in lines):
        return _read_openai(lines)
    if _UNIFIED.search(lf(patch)):
        return _read_unified(lines)
    hint = f"'{_BEGIN}' must be its first line" if "*** " in patch else f"begin with '{_BEGIN}', or give a unified diff"
    raise FileError("invalid", f"this is no patch: {hint}")


def apply_patch(patch: str, changes: Changes) -> None:
    """Apply all operations of a patch to ``changes``; raise :class:`FileError` when one does not fit."""
    for op in read_patch(patch):
        if op.kind == "add":
            _add(op, changes)
        elif op.kind == "delete":
            _delete(op, changes)
        else:
            _update(op, changes)


# --- OpenAI's format --------------------------------------------------------------------------------------------


def _read_openai(lines: Sequence[str]) -> list[Operation]:
    begin = next(n for n, line in enumerate(lines) if line.strip() == _BEGIN)
    operations: list[Operation] = []
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        if line.rstrip() == _END:
            break
        if line.startswith(_HEADS):
            operations.append(_openai_head(line))
        elif not operations:
            if line.strip():
                raise _invalid(
                    number, line, "'*** Add File: ', '*** Delete File: ' or '*** Update File: ' must stand here"
                )
        else:
            _openai_line(operations[-1], line, number)
    else:
        raise FileError("invalid", f"the patch has no last line '{_END}'; it may be cut off, so nothing was applied")
    if not operations:
        raise FileError("invalid", "the patch is empty")
    for op in operations:
        op.hunks = [hunk for hunk in op.hunks if hunk.lines or hunk.anchors]
        if op.kind == "update" and op.target is None and not any(hunk.lines for hunk in op.hunks):
            raise FileError("invalid", f"the update of {shown(op.path)} has no changes")
    return operations


def _openai_head(line: str) -> Operation:
    kind, _, path = line.removeprefix("*** ").partition(" File: ")
    if not path.strip():
        raise FileError("invalid", f"{line.strip()!r} names no file")
    kinds: dict[str, Literal["add", "delete", "update"]] = {"Add": "add", "Delete": "delete", "Update": "update"}
    op = Operation(kinds[kind], path if path == path.strip() else path.strip())
    op.hunks = [Hunk()]
    return op


def _openai_line(op: Operation, line: str, number: int) -> None:
    """Take one line of an operation."""
    hunk = op.hunks[-1]
    if op.kind == "delete":
        if line.strip():
            raise _invalid(number, line, "a file that is deleted has no lines")
    elif op.kind == "add":
        if line.startswith("+"):
            hunk.lines.append(("+", line[1:]))
        elif line.strip():
            raise _invalid(number, line, "each line of a new file begins with +")
    elif line.startswith("*** Move to: "):
        if op.target is not None or hunk.lines or hunk.anchors:
            raise _invalid(number, line, "it must follow '*** Update File: '")
        op.target = line.removeprefix("*** Move to: ").strip()
    elif line.rstrip() == "*** End of File":
        hunk.end = True
    elif line.startswith("@@"):
        text = line[2:].removeprefix(" ")
        if hunk.lines:
            op.hunks.append(hunk := Hunk())
        if text.strip() and not _RANGE.match(line):
            hunk.anchors.append(text)
    elif line[:1] in (" ", "+", "-"):
        hunk.lines.append((line[0], line[1:]))
    elif not line:
        hunk.lines.append((" ", ""))
    else:
        raise _invalid(number, line, "a line begins with a blank, + or -")


def _invalid(number: int, line: str, why: str) -> FileError:
    return FileError("invalid", f"line {number} of the patch, {line[:80]!r}: {why}; nothing was applied")


# --- unified diffs ----------------------------------------------------------------------------------------------


class _Header:
    """What the lines in front of the hunks of one file say."""

    def __init__(self) -> None:
        self.old: str | None = None
        self.new: str | None = None
        self.git: tuple[str, str] | None = None
        self.renamed: list[str] = []
        self.made = self.removed = False
        self.executable: bool | None = None
        self.hunks: list[Hunk] = []

    def operation(self) -> Operation | None:
        """Return what is done with the file; ``None``: nothing was said."""
        old, new = self.old, self.new
        if old is None and new is None and self.git is not None:
            old, new = self.git
            old, new = ("/dev/null" if self.made else old), ("/dev/null" if self.removed else new)
        if old is None or new is None:
            return None
        old, new = _without_prefix(old, new)
        if self.renamed:
            old, new = self.renamed[0], self.renamed[-1]
        elif not self.hunks and not self.made and not self.removed and self.executable is None:
            raise FileError("invalid", f"the diff of {shown(new)} has no hunks")
        if old == "/dev/null":
            return Operation("add", new, None, self.hunks, self.executable, True)
        if new == "/dev/null":
            return Operation("delete", old, None, self.hunks, None, True)
        target = new if new != old else None
        return Operation("update", old, target, self.hunks, self.executable, True)


def _read_unified(lines: Sequence[str]) -> list[Operation]:
    operations: list[Operation] = []
    header = _Header()
    at = 0

    def finish() -> None:
        nonlocal header
        if (op := header.operation()) is not None:
            operations.append(op)
        header = _Header()

    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            finish()
            header.git = _git_names(line.removeprefix("diff --git "))
        elif line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if header.old is not None:
                finish()
            header.old, header.new = _name(line[4:]), _name(lines[at + 1][4:])
            at += 1
        elif line.startswith("@@") and header.old is not None:
            at = _read_hunk(lines, at, header)
            continue
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise FileError("binary", "the patch changes a binary file, which cannot be done by a patch")
        elif header.git is not None:
            _git_line(line, header)
        at += 1
    finish()
    if not operations:
        raise FileError("invalid", "the patch has no changes")
    return operations


def _git_line(line: str, header: _Header) -> None:
    """Take a line between ``diff --git`` and the hunks."""
    if line.startswith(("rename from ", "rename to ")):
        header.renamed.append(_name(line.split(" ", 2)[2]))
    elif line.startswith(("copy from ", "copy to ")):
        raise FileError("invalid", "copies in a diff are not supported; add the file instead")
    elif match := re.match(r"(new file|deleted file|old|new) mode (\d+)", line):
        kind, mode = match[1], match[2]
        if mode in ("120000", "160000"):
            raise FileError("unsupported", "a patch cannot make or change links and submodules")
        header.made = header.made or kind == "new file"
        header.removed = header.removed or kind == "deleted file"
        if kind in ("new file", "new"):
            header.executable = mode.endswith("755") if kind == "new" or mode.endswith("755") else None


def _read_hunk(lines: Sequence[str], at: int, header: _Header) -> int:
    """Read the hunk whose head is ``lines[at]``; return where it ends."""
    match = _RANGE.match(lines[at])
    hunk = Hunk()
    if match:
        hunk.size = int(match[2]) if match[2] is not None else 1
        # an empty range names the line before it
        hunk.at = int(match[1]) - (1 if hunk.size else 0)
    elif lines[at].strip("@ "):
        hunk.anchors.append(lines[at][2:].strip())
    at += 1
    while at < len(lines):
        line = lines[at]
        if (
            line.startswith("--- ")
            and at + 2 < len(lines)
            and lines[at + 1].startswith("+++ ")
            and lines[at + 2].startswith("@@")
        ):
            break
        if line.startswith("\\"):
            if hunk.lines:
                sign = hunk.lines[-1][0]
                hunk.cut |= {"-", "+"} if sign == " " else {sign}
        elif line[:1] in (" ", "+", "-"):
            hunk.lines.append((line[0], line[1:]))
        elif not line:
            hunk.lines.append((" ", ""))
        else:
            break
        at += 1
    while hunk.lines and at > 0 and lines[at - 1] == "" and hunk.lines[-1] == (" ", ""):
        # blank lines behind the patch are none of its lines, unless its head counts them
        if hunk.size is not None and len(hunk.old) <= hunk.size:
            break
        hunk.lines.pop()
        at -= 1
    if not hunk.lines:
        raise FileError("invalid", f"a hunk of {shown(header.new or '')} has no lines")
    header.hunks.append(hunk)
    return at if at < len(lines) and lines[at] else _behind(lines, at)


def _behind(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and not lines[at]:
        at += 1
    return at


def _git_names(text: str) -> tuple[str, str] | None:
    """Return the two names of a ``diff --git`` line, where they can be told apart."""
    if text.startswith('"'):
        quoted = re.match(r'("(?:[^"\\]|\\.)*") (.*)', text)
        return (_name(quoted[1]), _name(quoted[2])) if quoted else None
    half = len(text) // 2
    if text[:half].partition("/")[2] == text[half + 1 :].partition("/")[2] and text[half : half + 1] == " ":
        return text[:half], text[half + 1 :]
    parts = text.split(" ")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _name(text: str) -> str:
    """Return a name in a diff: without the time behind it, with git's quotes undone."""
    if text.startswith('"') and (end := text.rfind('"')) > 0:
        out = bytearray()
        rest, inner = 0, text[1:end]
        for match in _OCTAL.finditer(inner):
            out += inner[rest : match.start()].encode()
            out.append(int(match[1], 8) & 255 if match[1].isdigit() else _ESCAPES[match[1]])
            rest = match.end()
        out += inner[rest:].encode()
        return out.decode("utf-8", "surrogateescape")
    return text.partition("\t")[0].rstrip()


def _without_prefix(old: str, new: str) -> tuple[str, str]:
    """Return both names without git's ``a/`` and ``b/``, if they have them."""
    none = "/dev/null"
    one, two = old.partition("/"), new.partition("/")
    if old == none and two[1] and two[0] in {b for _, b in _PREFIXES}:
        return none, two[2]
    if new == none and one[1] and one[0] in {a for a, _ in _PREFIXES}:
        return one[2], none
    if one[1] and two[1] and (one[0], two[0]) in _PREFIXES:
        return one[2], two[2]
    return old, new


# --- applying ---------------------------------------------------------------------------------------------------


def _add(op: Operation, changes: Changes) -> None:
    rel, _ = changes.look(op.path, link=True)
    if changes.exists(rel):
        raise FileError("exists", f"{shown(op.path)} exists already; update it, or delete it first")
    lines = [line for hunk in op.hunks for sign, line in hunk.lines if sign == "+"]
    text = "\n".join(lines) + ("\n" if lines else "")
    if op.hunks and "+" in op.hunks[-1].cut:
        text = text.removesuffix("\n")
    if any(hunk.old for hunk in op.hunks):
        raise FileError("no_match", f"{shown(op.path)} is a new file, but the patch expects lines in it")
    changes.put(rel, text.encode())
    if op.executable:
        changes.set_mode(rel, executable=True)


def _delete(op: Operation, changes: Changes) -> None:
    if op.unified:
        _, text = changes.text(op.path)
        rest = _patched(text, op) if op.hunks else text.text
        if rest:
            raise FileError("no_match", f"{shown(op.path)} has other lines than the patch deletes; it stays")
    changes.remove(op.path)


def _update(op: Operation, changes: Changes) -> None:
    hunks = [hunk for hunk in op.hunks if hunk.lines]
    if hunks:
        rel, text = changes.text(op.path)
        changes.put(rel, text.encode(_patched(text, replace(op, hunks=hunks)), op.path))
    else:
        rel = changes.require(op.path)
    if op.target is not None:
        _, rel = changes.move(op.path, op.target)
    if op.executable is not None:
        changes.set_mode(rel, executable=op.executable)


def _patched(text: Text, op: Operation) -> str:
    """Return the text with all hunks of an operation."""
    parts = text.text.split("\n")
    ended = parts[-1] == ""
    if ended:
        parts.pop()
    have = [part.removesuffix("\r") for part in parts]
    out: list[tuple[str, str | None]] = []
    done = 0
    for number, hunk in enumerate(op.hunks, 1):
        hunk, at = _place(have, hunk, done, op, number)
        out += ((part, part) for part in parts[done:at])
        for sign, line in hunk.lines:
            if sign == "+":
                out.append((line, None))
                continue
            if sign == " ":
                out.append((parts[at], parts[at]))
            at += 1
        done = at
    out += ((part, part) for part in parts[done:])
    if op.unified and op.hunks[-1].cut:
        ended = "+" not in op.hunks[-1].cut
    elif not parts:
        ended = True
    return _joined(text, out, ended)


def _joined(text: Text, lines: Sequence[tuple[str, str | None]], ended: bool) -> str:
    """Return the lines as a text. A new line gets the line break of its place."""
    kept = "\r" if text.crlf else ""
    mixed = "\r\n" in text.text and not text.crlf
    out: list[str] = []
    for n, (line, original) in enumerate(lines):
        if original is not None:
            out.append(original)
            continue
        carriage = kept
        if mixed:
            after = next((o for _, o in lines[n + 1 :] if o is not None), None)
            before = next((o for _, o in reversed(lines[:n]) if o is not None), "")
            carriage = "\r" if (after if after is not None else before).endswith("\r") else ""
        out.append(line + carriage)
    if not out:
        return ""
    if not ended:
        out[-1] = out[-1].removesuffix("\r")
    elif lines[-1][1] is not None and text.crlf and not out[-1].endswith("\r"):
        out[-1] += "\r"
    # a last line without a break that got lines behind it
    out[:-1] = [f"{line}\r" if text.crlf and not line.endswith("\r") else line for line in out[:-1]]
    return "\n".join(out) + ("\n" if ended else "")


_Fold = Callable[[str], str]
_EXACT: _Fold = str
_OPENAI: Sequence[_Fold] = (_EXACT, str.rstrip, str.strip, lambda line: loosened(line).strip())
_GIT: Sequence[_Fold] = (_EXACT, str.rstrip)


def _place(have: Sequence[str], hunk: Hunk, start: int, op: Operation, number: int) -> tuple[Hunk, int]:
    """Return where a hunk belongs, from line ``start`` on; the hunk lacks blank lines at its end that are not there.

    Raises:
        FileError: it fits nowhere.
    """
    folds = _GIT if op.unified else _OPENAI
    for anchor in hunk.anchors:
        found = next(_places(have, [anchor], start, _OPENAI), None)
        if found is None:
            raise FileError(
                "no_match",
                f"{shown(op.path)} has no line {anchor.strip()!r} behind line {start}, where hunk {number} is",
            )
        start = found + 1
    want = hunk.old
    if not want:
        return hunk, max(start, min(hunk.at, len(have))) if hunk.at is not None else len(have)
    found = _best(have, hunk, start, folds)
    if found is None and hunk.lines[-1] == (" ", "") and len(want) > 1:
        hunk = replace(hunk, lines=hunk.lines[:-1])
        found = _best(have, hunk, start, folds)
    if found is None:
        lines = "\n".join(want[:6]) + ("\n..." if len(want) > 6 else "")
        behind = f" behind line {start}" if start else ""
        raise FileError(
            "no_match",
            f"hunk {number} does not fit {shown(op.path)}: these lines are not there{behind} one after the other "
            f"(hunks go downwards). Nothing was applied; read the file again.\n{lines}",
        )
    return hunk, found


def _best(have: Sequence[str], hunk: Hunk, start: int, folds: Sequence[_Fold]) -> int | None:
    want = hunk.old
    if hunk.end and len(have) - len(want) >= start:
        found = next(_places(have, want, len(have) - len(want), folds), None)
        if found is not None:
            return found
    if hunk.at is None:
        return next(_places(have, want, start, folds), None)
    for fold in folds:
        fitting = list(_places(have, want, start, (fold,)))
        if fitting:
            at = hunk.at
            return min(fitting, key=lambda place: (abs(place - at), place))
    return None


def _places(have: Sequence[str], want: Sequence[str], start: int, folds: Sequence[_Fold]) -> Iterator[int]:
    """Yield the places from ``start`` on where the lines stand, exact ones first."""
    for fold in folds:
        mine = have if fold is _EXACT else [fold(line) for line in have]
        wanted = [fold(line) for line in want]
        for at in range(start, len(have) - len(wanted) + 1):
            if mine[at] == wanted[0] and list(mine[at : at + len(wanted)]) == wanted:
                yield at
