"""Lines of a session file: the header, and entries as bytes (spec, section 12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from skillkit_core.contracts.session_store import ENTRY_TYPES, SESSION_VERSION, SessionEntry, SessionHeader
from skillkit_core.errors import SessionError
from skillkit_core.frozen import EMPTY, FrozenDict, FrozenList

__all__ = ["decode_entry", "decode_header", "encode_entry", "encode_header"]

_TYPES = {name: name for name in ENTRY_TYPES}  # one string for every entry of a type
_OWN = frozenset({"type", "seq", "id", "parent_id", "ts", "data"})
_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
_BY_JSON = b" "  # ends a line that orjson cannot write and would not read alike (lone surrogates, integers over 64 bit)
_loads = orjson.loads
_dumps = orjson.dumps


class LineData(Mapping[str, Any]):
    """The data of a message's entry, ``{"message": ...}``, read from its line at each access.

    Kept as JSON values, a message would take four times the memory, and as long to keep as to read twice.
    """

    __slots__ = ("line",)

    def __init__(self, line: bytes) -> None:
        self.line = line

    def __getitem__(self, key: str) -> Any:
        if key != "message":
            raise KeyError(key)
        return _loads(self.line)["message"]

    def __iter__(self) -> Iterator[str]:
        return iter(("message",))

    def __len__(self) -> int:
        return 1

    def __hash__(self) -> int:
        # as FrozenDict: equal mappings need equal hashes
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return repr(dict(self))


def encode_header(header: SessionHeader) -> bytes:
    """The first line of a file."""
    line: dict[str, Any] = {
        "type": "session",
        "version": header.version,
        "id": header.id,
        "created": header.created,
        "cwd": header.cwd,
    }
    if header.parent_session is not None:
        line["parent_session"] = header.parent_session
    if header.nested:
        line["nested"] = True
    if header.title is not None:
        line["title"] = header.title
    return dump(line, f"the header of session {header.id!r}")


def decode_header(line: bytes) -> SessionHeader:
    """The header in ``line``.

    Raises:
        ValueError: it is not one; the message says why.
    """
    raw = load(line)
    if raw.get("type") != "session":
        raise ValueError("the first line is not a session header")
    version, session_id, created = raw.get("version"), raw.get("id"), raw.get("created")
    if type(version) is not int or version < 1:
        raise ValueError(f"the header has no version (supported: {SESSION_VERSION})")
    if not isinstance(session_id, str) or not isinstance(created, (int, float)):
        raise ValueError("the header has no id or no time of creation")
    cwd, parent, title = raw.get("cwd"), raw.get("parent_session"), raw.get("title")
    return SessionHeader(
        id=session_id,
        created=float(created),
        cwd=cwd if isinstance(cwd, str) else "",
        version=version,
        parent_session=parent if isinstance(parent, str) else None,
        title=title if isinstance(title, str) else None,
        nested=raw.get("nested") is True,
    )


def encode_entry(entry: SessionEntry) -> bytes:
    """``entry`` as one line.

    ``type`` comes first, so that listings can count lines of one type without parsing them. The entry's data follow its own
    fields; data that use one of their names go below ``data`` as a whole. What JSON cannot say is written as its text,
    NaN and infinity as ``null``.

    Raises:
        SessionError: the data are nested too deeply.
    """
    data = entry.data
    line = {
        "type": entry.type,
        "seq": entry.seq,
        "id": entry.id,
        "parent_id": entry.parent_id,
        "ts": entry.ts,
    }
    for key in data:
        if key in _OWN:
            line["data"] = data
            break
    else:
        for key in data:  # a mapping that is no dict has no quicker way
            line[key] = data[key]
    try:
        return _dumps(line, _text, _OPTIONS)
    except TypeError:
        return dump(line, f"entry {entry.id!r}")


def decode_entry(line: bytes) -> SessionEntry:
    """The entry in ``line``; its type may be one that this version does not know.

    Raises:
        ValueError: it is not one; the message says why.
    """
    if line.endswith((_BY_JSON, b" \n")):
        raw = load(line)
    else:
        try:
            raw = _loads(line)
        except ValueError:
            raw = load(line)  # says in words what is wrong, and takes what somebody else's writer escaped
        if type(raw) is not dict:
            raise ValueError("not a JSON object")
    try:
        kind, seq, entry_id, parent = raw.pop("type"), raw.pop("seq"), raw.pop("id"), raw.pop("parent_id")
        ts = raw.pop("ts")
    except KeyError as error:
        raise ValueError(f"the entry has no {error.args[0]!r}") from None
    if (
        type(seq) is not int
        or type(entry_id) is not str
        or type(kind) is not str
        or not (parent is None or type(parent) is str)
        or not (type(ts) is float or type(ts) is int)
    ):
        raise ValueError("a field of the entry has the wrong type")
    if len(raw) == 1:
        if "message" in raw and not line.endswith((_BY_JSON, b" \n")):
            return SessionEntry(seq, entry_id, parent, _TYPES.get(kind, kind), ts, LineData(line))
        if type(raw.get("data")) is dict:
            raw = raw["data"]
    return SessionEntry(seq, entry_id, parent, _TYPES.get(kind, kind), ts, _freeze(raw) if raw else EMPTY)


def load(line: bytes) -> dict[str, Any]:
    """The object in ``line``, also when it holds what orjson refuses (lone surrogates, integers over 64 bit).

    Raises:
        ValueError: it is not a JSON object.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if type(value) is not dict:
        raise ValueError("not a JSON object")
    return value


def dump(line: Mapping[str, Any], what: str) -> bytes:
    """``line`` as JSON with a newline, also when orjson refuses it.

    Raises:
        SessionError: ``what`` cannot be written.
    """
    try:
        return _dumps(line, _text, _OPTIONS)
    except TypeError:
        pass
    try:
        return json.dumps(line, default=_text, separators=(",", ":")).encode() + _BY_JSON + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise SessionError(f"{what} cannot be written as JSON: {error}") from None


def _text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)


def _freeze(value: dict[str, Any]) -> FrozenDict:
    """As :func:`skillkit_core.frozen.freeze`, for what the parser just made and nobody else holds."""
    for key, item in value.items():
        kind = type(item)
        if kind is dict:
            value[key] = _freeze(item)
        elif kind is list:
            value[key] = _freeze_list(item)
    return FrozenDict(value)


def _freeze_list(value: list[Any]) -> FrozenList:
    for i, item in enumerate(value):
        kind = type(item)
        if kind is dict:
            value[i] = _freeze(item)
        elif kind is list:
            value[i] = _freeze_list(item)
    return FrozenList(value)
