"""Blocks: what a transcript consists of, whatever draws it. Each has a line that sums it up, and a whole."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from skillkit_core.cli.output import escaped, printable
from skillkit_core.frozen import thaw

__all__ = ["About", "Block", "Kind", "arguments_line", "one_line", "prose"]

Kind: TypeAlias = Literal["user", "thinking", "text", "tool", "error", "note", "asked"]
About: TypeAlias = Literal["", "notice", "warning", "retry", "model", "compaction", "plugin", "message", "end"]
OPEN: frozenset[Kind] = frozenset({"user", "text", "error", "note", "asked"})
"""Kinds that are open at first."""

_TAB = 4
_MOST_OF_A_VALUE = 60  # characters


def prose(text: str) -> str:
    """Return ``text`` with spaces for tabs, and an escape sequence of Python for what a terminal obeys or turns text around."""
    return "\n".join(map(printable, text.replace("\r\n", "\n").expandtabs(_TAB).split("\n")))


def one_line(text: str, width: int) -> str:
    """Return ``text`` on one line of at most ``width`` characters, with what nobody sees escaped."""
    line = escaped(" ".join(text[: 4 * width + 200].split()))
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"


def arguments_line(args: Mapping[str, Any]) -> str:
    """Return the arguments of a call on one line: a text alone as it is, other values as short JSON with their names."""
    if len(args) == 1 and isinstance(alone := next(iter(args.values())), str):
        return alone
    return ", ".join(f"{key}={_short(value)}" for key, value in args.items())


def _short(value: Any) -> str:
    """Return a value as JSON; of a long list or object how many items it has."""
    text = json.dumps(thaw(value), ensure_ascii=False, default=str)
    if len(text) <= _MOST_OF_A_VALUE or isinstance(value, str):
        return one_line(text, _MOST_OF_A_VALUE)
    if isinstance(value, Mapping):
        return f"{{{len(value)} keys}}"
    return f"[{len(value)} items]" if isinstance(value, Sequence) else one_line(text, _MOST_OF_A_VALUE)


class Block:
    """A part of a transcript.

    Attributes:
        kind: what it is. A ``tool`` is a call with its output, ``asked`` a call or a survey that a person is asked about.
        about: what a ``note`` is about: a ``notice`` or ``warning`` of a plugin, a ``retry``, another ``model``, a
            ``compaction``, a ``plugin`` that failed, a ``message`` that a plugin shows, or how a run came to its ``end``.
        head: a tool call's name and what it is called with, on one line.
        args: a tool call's arguments.
        done: nothing more comes.
        good: it went well; ``None``: that is not known yet, or no question.
        result: a few words about how it ended.
        diff: what the call would do, which stands before its output.
        command: the shell command that would run, of a call that a person is asked about.
        cut: the front end says here that it shows only a part of what would run, so that a person may ask for all of it.
        whole: a person asked for all of it.
        version: grows with every change.
    """

    __slots__ = (
        "_open", "_parts", "about", "args", "command", "cut", "diff", "done", "good", "head", "kind", "result", "version",
        "whole",
    )  # fmt: skip

    def __init__(
        self,
        kind: Kind,
        text: str = "",
        *,
        head: str = "",
        args: Mapping[str, Any] | None = None,
        done: bool = True,
        diff: str = "",
        good: bool | None = None,
        result: str = "",
        about: About = "",
    ) -> None:
        self.about, self.command, self.cut, self.whole = about, "", False, False
        self.kind, self.head, self.args, self.done, self.diff = kind, head, args, done, diff
        self.good, self.result = good, result
        self._parts = [text] if text else []
        self._open = kind in OPEN
        self.version = 0

    @property
    def text(self) -> str:
        """The whole text."""
        if len(self._parts) > 1:
            self._parts[:] = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @text.setter
    def text(self, text: str) -> None:
        self._parts = [text] if text else []
        self.version += 1

    @property
    def open(self) -> bool:
        """The whole block is shown, not only its line."""
        return self._open

    @open.setter
    def open(self, value: bool) -> None:
        self._open = value
        self.version += 1

    def add(self, text: str) -> None:
        """Go on with the text."""
        if text:
            self._parts.append(text)
            self.version += 1

    def end(self, *, good: bool | None = None, result: str = "") -> None:
        """Say that nothing more comes."""
        self.done, self.good, self.result = True, good, result
        self.version += 1

    def summary(self, width: int) -> str:
        """Return the line that sums the block up."""
        text = self.text
        lines = text.count("\n", 0, len(text.rstrip())) + 1 if text.strip() else 0
        more = f"  ({lines:,} lines)" if lines > 1 else ""
        if self.kind == "tool":
            told = self.result or ("running" if not self.done else "")
            if lines:
                last = next((line for line in reversed(text.rstrip().split("\n")) if line.strip()), "")
                shown = text.strip() if lines == 1 else f"{lines:,} lines" if self.done else last
                word, _, rest = told.partition(" ")
                if word and shown.casefold().startswith(f"{word.casefold()}:"):
                    told = rest  # "Denied: too early" says the word itself
                told = f"{told}, {shown}" if told else shown
            return _joined(self.head, told, width)
        first = next((line for line in _lines(text) if line.strip()), "")
        if self.kind == "thinking":
            if not self.done:
                return one_line(f"thinking: {text.rstrip()[-width:].rpartition(chr(10))[2]}", width)
            return one_line(f"thought: {first}", width - len(more)) + more
        if self.kind == "asked":
            return _joined(self.head, self.result, width)
        return one_line(first, width - len(more)) + more


def _lines(text: str) -> Iterable[str]:
    """Return the first lines, without cutting a long text into all of them."""
    return itertools.islice(text[:10_000].split("\n"), 50)


def _joined(head: str, told: str, width: int) -> str:
    """Return what was done and what came of it; of both the beginnings where they are long."""
    if not told:
        return one_line(head, width)
    tail = one_line(told, max(12, width // 2))
    return f"{one_line(head, max(8, width - len(tail) - 3))} — {tail}"
