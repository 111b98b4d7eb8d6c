"""A recording: what happened to one agent, in order, and the file that it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from skillkit_core import UsageError

from .packing import Packer, Unpacker
from .records import LINE, TYPES, VERSION, Entry, Header, Line, Request, Seen, Told, ToolEnd

__all__ = ["Recording", "RecordingError"]

JSON = dict[str, Any]
L = TypeVar("L", bound=Line)


class RecordingError(UsageError):
    """A file that is no recording, is damaged, or was written by a newer version; ``where`` is ``file:line``."""


class Recording:
    """What happened to one agent, line by line.

    Attributes:
        header: under which circumstances. entries: what its session held before.
        lines: everything that happened, in order: ``told``, ``request``, ``stream``, ``tool``, ``event`` and so on.
    """

    def __init__(self, header: Header, entries: Sequence[Entry], lines: Sequence[Line]) -> None:
        self.header = header
        self.entries = tuple(entries)
        self.lines = tuple(lines)

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, Any]]) -> Recording:
        """The recording that whole JSON lines make; raises :class:`RecordingError`."""
        return cls._parsed(enumerate(lines, 1), "recording")

    @classmethod
    def _parsed(cls, lines: Iterable[tuple[int, Any]], where: str) -> Recording:
        found: list[Line] = []
        for number, raw in lines:
            line = _line(raw, f"{where}:{number}")
            if (number == 1) != isinstance(line, Header):
                what = "it is no recording: the first line must be its head" if number == 1 else "a second head"
                raise RecordingError(what, where=f"{where}:{number}")
            found.append(line)
        if not found:
            raise RecordingError("it is no recording: it is empty", where=f"{where}:1")
        entries = [line for line in found if isinstance(line, Entry)]
        return cls(found[0], entries, [x for x in found[1:] if not isinstance(x, Entry)])  # type: ignore[arg-type]

    # --- what is in it ----------------------------------------------------------------------------------------

    def _all(self, cls: type[L]) -> list[L]:
        return [line for line in self.lines if isinstance(line, cls)]

    @property
    def events(self) -> list[JSON]:
        """The events, those of nested agents included (they have ``below``)."""
        return [line.event for line in self._all(Seen)]

    @property
    def requests(self) -> list[Request]:
        """The requests."""
        return self._all(Request)

    @property
    def tools(self) -> list[ToolEnd]:
        """How the executions of tools ended, in that order."""
        return self._all(ToolEnd)

    @property
    def directives(self) -> list[Told]:
        """What the agent was told."""
        return self._all(Told)

    def __str__(self) -> str:
        def count(n: int, what: str) -> str:
            return f"{n} {what}" if n == 1 else f"{n} {what}s"

        parts = (len(self.requests), "request"), (len(self.tools), "tool execution"), (len(self.events), "event")
        return ", ".join(count(n, what) for n, what in parts)

    # --- files ------------------------------------------------------------------------------------------------

    def to_json(self) -> list[JSON]:
        """Every line as a JSON object. Lines share what they say about the same message."""
        return [line.to_json() for line in (self.header, *self.entries, *self.lines)]

    def save(self, path: str | Path) -> None:
        """Write JSON Lines to ``path``, replacing what is there."""
        packer = Packer()
        text = "".join(_written(packer.pack(line)) + "\n" for line in self.to_json())
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Recording:
        """Read a file.

        Raises:
            RecordingError: a line of it is damaged, or a newer version wrote it. OSError: it cannot be read.
        """
        unpacker = Unpacker()

        def lines() -> Iterable[tuple[int, Any]]:
            with Path(path).open("rb") as file:
                for number, raw in enumerate(file, 1):
                    where = f"{path}:{number}"
                    line = _decoded(raw, number, where)
                    _check_version(line, where)
                    try:
                        yield number, unpacker.unpack(line)
                    except ValueError as error:
                        raise RecordingError(f"the line is damaged: {error}", where=where) from None

        return cls._parsed(lines(), str(path))


def _decoded(raw: bytes, number: int, where: str) -> JSON:
    """The JSON object of a line of a file."""
    hint = None
    try:
        line = json.loads(raw)
        if isinstance(line, dict):
            return line
        what = "no JSON object"
    except json.JSONDecodeError as error:
        what = f"{error.msg} (column {error.colno})"
        if not raw.endswith(b"\n"):
            what, hint = "the file ends in the middle of it", f"keep what is whole: head -n {number - 1}"
    except (ValueError, RecursionError):
        what = "no text in UTF-8, or nested too deeply"
    if number == 1:
        raise RecordingError("it is no recording: the first line must be its head", where=where)
    raise RecordingError(f"the line is damaged: {what}", where=where, hint=hint)


def _line(raw: Any, where: str) -> Line:
    if not isinstance(raw, dict) or str(raw.get("type")) not in TYPES:
        raise RecordingError("the line is damaged: it has no type that is known", where=where)
    try:
        return LINE.validate_python(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        what = first["msg"].removeprefix("Value error, ")
        raise RecordingError(f"the line is damaged: {place + ': ' if place else ''}{what}", where=where) from None


def _check_version(line: JSON, where: str) -> None:
    version = line.get("version")
    if line.get("type") == "recording" and isinstance(version, int) and version > VERSION:
        raise RecordingError(
            f"it was written by a newer version (format {version}, this one reads {VERSION})",
            where=where,
            hint="pip install --upgrade skillkit-recorder",
        )


def _written(line: JSON) -> str:
    """One line; half of a character, as a stream may cut it, is written as an escape."""
    text = json.dumps(line, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(line)
    return text
