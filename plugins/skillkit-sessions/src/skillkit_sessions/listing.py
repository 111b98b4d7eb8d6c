"""What listings and searches say about a session file, without building its entries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, suspended_at_end
from skillkit_core.errors import SessionError
from skillkit_core.settings.documents import open_regular

from .codec import decode_entry, decode_header, dump
from .reader import broken_header, broken_line, unreadable

__all__ = ["excerpt", "search_file", "summarise", "text_in", "unsearched"]

_BLOCK = 1 << 20
_MESSAGE = b'\n{"type":"message",'
_INFO = b'\n{"type":"session_info",'
_AROUND = 60
_ENTRY = (b'{"type":"', (b"}\n", b"} \n"))  # how a line begins and ends that this plugin wrote
_TEXT_KEYS = ("text", "thinking", "raw_args")


def summarise(path: Path) -> dict[str, Any]:
    """The row of a listing (:meth:`skillkit_core.SessionStore.list`), with ``error`` when the file is broken.

    The file is scanned for line starts, at the speed of the disk; parsed are the header, a title, the last line, and what
    tells whether the session is suspended, which is a line or two near the end.
    """
    row: dict[str, Any] = {
        "id": path.name.removesuffix(".jsonl"),
        "created": None,
        "updated": None,
        "cwd": "",
        "title": None,
        "messages": 0,
        "suspended": False,
        "location": str(path),
        "parent_session": None,
        "nested": False,
    }
    try:
        row["updated"] = path.stat().st_mtime
        with open_regular(path) as file:
            header = _header(path, file.readline(1 << 20))
            row.update(id=header.id, created=header.created, cwd=header.cwd, title=header.title)
            row.update(parent_session=header.parent_session, nested=header.nested)
            file.seek(0)
            row["messages"], info = _scan(file)
            if info is not None:
                file.seek(info)
                row["title"] = _title(file.readline()) or row["title"]
            entries = _newest_first(file)
            last = next(entries, None)
            if last is not None:
                row.update(updated=last.ts, suspended=suspended_at_end(chain((last,), entries)))
    except OSError as error:
        row["error"] = str(unreadable(path, error))
    except SessionError as error:
        row["error"] = str(error)
    return row


def _header(path: Path, line: bytes) -> SessionHeader:
    try:
        return decode_header(line)
    except ValueError as error:
        raise broken_header(path, error) from None


def _scan(file: Any) -> tuple[int, int | None]:
    """How many messages there are, and where the last ``session_info`` line starts."""
    count, info, position, rest = 0, None, 0, b""
    keep = max(len(_MESSAGE), len(_INFO)) - 1
    while block := file.read(_BLOCK):
        data = rest + block
        count += data.count(_MESSAGE, max(0, len(rest) - len(_MESSAGE) + 1))
        found = data.rfind(_INFO)
        if found >= 0:
            info = position - len(rest) + found + 1
        position += len(block)
        rest = data[-keep:]
    return count, info


def _title(line: bytes) -> str | None:
    try:
        title = decode_entry(line).data.get("title")
    except ValueError:
        return None
    return title if isinstance(title, str) else None


def _newest_first(file: Any) -> Iterator[SessionEntry]:
    """The whole entries from the last one on; torn and broken lines are passed over, the header is none."""
    start = file.seek(0, os.SEEK_END)
    reach, rest = 4096, b""
    while start > 0:
        end, start = start, max(0, start - reach)
        file.seek(start)
        head, *lines = (file.read(end - start) + rest).split(b"\n")
        rest = head  # its beginning is in the block before; the very first line is the header
        reach = min(reach * 8, _BLOCK)
        for line in reversed(lines):
            try:
                yield decode_entry(line)
            except ValueError:
                continue


def search_file(path: Path, query: str, limit: int) -> tuple[list[dict[str, Any]], SessionError | None]:
    """Up to ``limit`` entries of a file whose text contains ``query``, and what kept the rest of it from being searched.

    A hit is ``session_id, entry_id, ts, excerpt``. A last line that a crash cut is no problem, as everywhere. Lines are
    parsed that contain the query, or do not look as if this plugin had written them.
    """
    wanted = query.casefold()
    needle = dump({"q": query}, "the query")[6:-3].decode().casefold()  # as it looks inside a JSON string
    session_id = path.name.removesuffix(".jsonl")
    hits: list[dict[str, Any]] = []
    broken: tuple[int, ValueError] | None = None
    problem: SessionError | None = None
    number = 1
    begin, ends = _ENTRY
    try:
        with open_regular(path) as file:
            try:
                _header(path, file.readline())
            except SessionError as error:
                problem = error
            for number, line in enumerate(file, 2):
                if needle not in line.decode("utf-8", "replace").casefold() and (
                    line.startswith(begin) and line.endswith(ends)
                ):
                    continue
                try:
                    entry = decode_entry(line)
                except ValueError as error:
                    broken = broken or (number, error)
                    continue
                for text in text_in(entry):
                    found = excerpt(text, wanted)
                    if found is not None:
                        hits.append({"session_id": session_id, "entry_id": entry.id, "ts": entry.ts, "excerpt": found})
                        break
                if len(hits) >= limit:
                    break
    except FileNotFoundError as error:
        return hits, unreadable(path, error) if path.is_symlink() else None  # else it was removed meanwhile
    except OSError as error:
        return hits, unreadable(path, error)
    if problem is None and broken is not None and broken[0] < number:
        problem = broken_line(path, *broken)
    return hits, problem


def unsearched(session_id: str, problem: SessionError) -> dict[str, Any]:
    """What a search says of a session that it could not search, or not all of it."""
    return {"session_id": session_id, "entry_id": None, "ts": None, "excerpt": None, "error": str(problem)}


def text_in(entry: SessionEntry) -> Iterator[str]:
    """What people would search for in an entry: said and thought text, arguments, summaries; no roles, ids or images."""
    message = entry.data.get("message")
    if entry.type in ("message", "custom_message") and isinstance(message, Mapping):
        for block in message.get("content") or ():
            if isinstance(block, Mapping):
                yield from (block[key] for key in _TEXT_KEYS if isinstance(block.get(key), str))
                yield from _strings(block.get("args"))
    elif entry.type != "partial":  # the message of the whole answer has it, or will have it
        yield from _strings(entry.data)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def excerpt(text: str, wanted: str) -> str | None:
    """``text`` around the first place of ``wanted`` (casefolded), on one line; ``None``: it is not there."""
    folded = text.casefold()
    place = folded.find(wanted)
    if place < 0:
        return None
    if len(folded) != len(text):  # folding made characters longer: places do not agree any more
        text = folded
    start, end = max(0, place - _AROUND), place + len(wanted) + _AROUND
    words = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{words}{'…' if end < len(text) else ''}"
