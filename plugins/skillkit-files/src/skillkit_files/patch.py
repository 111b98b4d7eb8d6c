"""Patches: OpenAI's format (``*** Begin Patch``) and unified diffs, read leniently, applied to all files or to none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .changes import Changes
from .folder import FileError, shown
from .places import GIT, OPENAI, Fold, Places
from .text import Text, lf, require_text

__all__ = ["Hunk", "Operation", "apply_patch", "paths_of", "read_patch"]

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_HEADS = ("*** Add File: ", "*** Delete File: ", "*** Update File: ")
_RANGE = re.compile(r"@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_UNIFIED = re.compile(r"^(?:rename from |GIT binary patch|Binary files .* differ$)", re.M)
_MAIL = re.compile(r"(?:From|commit) [0-9a-f]{40,64}\b")  # of format-patch, and of show and log
_VERSION = re.compile(r"\d+\.\d+[\w.() -]*$")
_PATCH_LINES = ("***", "@@", "+", "-", "diff ", "index ")
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
        grown: lines that the file has then, as a unified diff says; ``None``: not said.
        end: the hunk is at the end of the file.
        cut: the signs of lines that a marker says to have no line break.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    at: int | None = None
    size: int | None = None
    grown: int | None = None
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
    lines = _outdented(lf(patch).split("\n"))
    first = _first(lines)
    if first is not None and lines[first].strip() == _BEGIN:
        return _read_openai(lines)
    if first is not None or _UNIFIED.search("\n".join(lines)):
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


def _first(lines: Sequence[str]) -> int | None:
    """Return which line a patch begins with, blanks before it or not."""
    bare = [line.strip() for line in lines]
    for n, line in enumerate(bare):
        if line == _BEGIN or line.startswith("diff --git ") or _MAIL.match(line):
            return n
        if line.startswith("--- ") and "".join(bare[n + 1 : n + 2]).startswith("+++ "):
            return n
    return None


def _outdented(lines: list[str]) -> list[str]:
    """Return the lines without the blanks that stand before all lines of an indented patch."""
    first = _first(lines) or 0
    blanks = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    last = next(
        (n for n, line in enumerate(lines[first:], first) if line.strip() and not line.startswith(blanks)), None
    )
    if not blanks or (last is not None and lines[last].startswith(_PATCH_LINES)):
        return lines  # only the first line is indented
    end = len(lines) if last is None else last
    return [*lines[:first], *(line.removeprefix(blanks) for line in lines[first:end]), *lines[end:]]


# --- OpenAI's format --------------------------------------------------------------------------------------------


def _read_openai(lines: Sequence[str]) -> list[Operation]:
    begin = next(n for n, line in enumerate(lines) if line.strip() == _BEGIN)
    ends = [n for n, line in enumerate(lines) if n > begin and line.strip() == _END]
    # Blanks before the first or the last marker: then also before the others, which are no lines of a file.
    loose = lines[begin] != _BEGIN or bool(ends and all(lines[n][:1].isspace() for n in ends))
    operations: list[Operation] = []
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        bare = line.lstrip()
        if bare.startswith("*** ") and (loose or not operations or operations[-1].kind != "update"):
            line = bare
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
        self.begun = self.made = self.removed = False
        self.executable: bool | None = None
        self.hunks: list[Hunk] = []

    def operation(self) -> Operation | None:
        """Return what is done with the file; ``None``: nothing was said."""
        old, new = self.old, self.new
        if old is None and new is None and self.git is not None:
            old, new = self.git
            old, new = ("/dev/null" if self.made else old), ("/dev/null" if self.removed else new)
        if self.renamed:
            old, new = self.renamed[0], self.renamed[-1]
        if old is None or new is None:
            return None
        if not self.renamed and (self.git is None or self.git[0] != self.git[1]):  # they are equal without prefixes
            old, new = _without_prefix(old, new)
        if not (self.hunks or self.renamed or self.made or self.removed or self.executable is not None):
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
            header.begun, header.git = True, _git_names(line.removeprefix("diff --git "))
        elif _signed(lines, at):
            finish()
        elif _MAIL.match(line):
            finish()
            while at + 1 < len(lines) and not lines[at + 1].startswith("diff --git "):  # a message is no part of it
                at += 1
        elif (line := line.lstrip()).startswith("--- ") and "".join(lines[at + 1 : at + 2]).lstrip().startswith("+++ "):
            if header.old is not None:
                finish()
            header.old, header.new = _name(line[4:]), _name(lines[at + 1].lstrip()[4:])
            at += 1
        elif line.startswith("@@") and header.old is not None:
            at = _read_hunk(lines, at, header)
            continue
        elif line.startswith("GIT binary patch") or re.match("Binary files .* differ$", line):
            name = shown(_without_prefix(*header.git)[1]) if header.git else line
            raise FileError("binary", f"the patch changes a binary file ({name}), which it cannot; nothing was applied")
        elif header.begun and not header.hunks:
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
    elif match := re.match(r"(new file|deleted file|old|new) mode (\d+)|index \S+ (?:120000|160000)$", line):
        kind, mode = match[1], match[2]
        if mode in (None, "120000", "160000"):
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
        hunk.size, hunk.grown = (int(count) if count is not None else 1 for count in (match[2], match[4]))
        # an empty range names the line before it
        hunk.at = int(match[1]) - (1 if hunk.size else 0)
    elif lines[at].strip("@ "):
        hunk.anchors.append(lines[at][2:].strip())
    at += 1
    old = new = 0
    while at < len(lines):
        line = lines[at]
        if (
            line.startswith("--- ")
            and at + 2 < len(lines)
            and lines[at + 1].startswith("+++ ")
            and lines[at + 2].startswith("@@")
        ):
            break
        if _signed(lines, at) or (line == "-- " and (old, new) == (hunk.size, hunk.grown)):
            break
        old, new = old + (line[:1] in " -"), new + (line[:1] in " +")
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
        if hunk.size is not None and old <= hunk.size:
            break
        hunk.lines.pop()
        old, at = old - 1, at - 1
    if not hunk.lines:
        raise FileError("invalid", f"a hunk of {shown(header.new or '')} has no lines")
    header.hunks.append(hunk)
    return at if at < len(lines) and lines[at] else _behind(lines, at)


def _signed(lines: Sequence[str], at: int) -> bool:
    """Return whether a mail's signature begins here, under which git writes its version; a hunk has no such line."""
    return lines[at] in ("-- ", "--") and at + 1 < len(lines) and _VERSION.match(lines[at + 1]) is not None


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
    have = Places([part.removesuffix("\r") for part in parts])
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
    crlf = text.crlf
    kept = "\r" if crlf else ""
    mixed = "\r\n" in text.text and not crlf
    out: list[str] = []
    # In a text with both kinds a new line has the break of the next line that was there, else of the one before.
    behind: str | None = next((o for _, o in reversed(lines) if o is not None), "")
    for line, original in reversed(lines):
        if original is not None:
            behind = original
        carriage = "\r" if mixed and behind and behind.endswith("\r") else kept
        out.append(line + carriage if original is None else original)
    out.reverse()
    if not out:
        return ""
    if not ended:
        out[-1] = out[-1].removesuffix("\r")
    elif lines[-1][1] is not None and crlf and not out[-1].endswith("\r"):
        out[-1] += "\r"
    # a last line without a break that got lines behind it
    out[:-1] = [f"{line}\r" if crlf and not line.endswith("\r") else line for line in out[:-1]]
    return "\n".join(out) + ("\n" if ended else "")


def _place(have: Places, hunk: Hunk, start: int, op: Operation, number: int) -> tuple[Hunk, int]:
    """Return where a hunk belongs, from line ``start`` on; the hunk lacks blank lines at its end that are not there.

    Raises:
        FileError: it fits nowhere.
    """
    for anchor in hunk.anchors:
        found = have.first([anchor], start, OPENAI)
        if found is None:
            raise FileError(
                "no_match",
                f"{shown(op.path)} has no line {anchor.strip()!r} behind line {start}, where hunk {number} is",
            )
        start = found + 1
    want = hunk.old
    if not want:
        end = len(have.lines)
        return hunk, max(start, min(hunk.at, end)) if hunk.at is not None else end
    folds = GIT if op.unified else OPENAI
    found = _best(have, hunk, want, start, folds)
    if found is None and hunk.lines[-1] == (" ", "") and len(want) > 1:
        hunk = replace(hunk, lines=hunk.lines[:-1])
        found = _best(have, hunk, want[:-1], start, folds)
    if found is None:
        lines = "\n".join(want[:6]) + ("\n..." if len(want) > 6 else "")
        behind = f" behind line {start}" if start else ""
        raise FileError(
            "no_match",
            f"hunk {number} does not fit {shown(op.path)}: these lines are not there{behind} one after the other "
            f"(hunks go downwards). Nothing was applied; read the file again.\n{lines}",
        )
    return hunk, found


def _best(have: Places, hunk: Hunk, want: Sequence[str], start: int, folds: Sequence[Fold]) -> int | None:
    last = len(have.lines) - len(want)
    if hunk.end and last >= start and (found := have.first(want, last, folds)) is not None:
        return found
    return have.nearest(want, start, start if hunk.at is None else hunk.at, folds)
