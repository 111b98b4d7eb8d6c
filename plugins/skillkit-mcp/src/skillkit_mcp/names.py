"""Names that every provider takes: ``mcp__SERVER__TOOL``, at most 64 characters of ``[A-Za-z0-9_-]``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

__all__ = ["PREFIX", "server_names", "tool_names"]

PREFIX = "mcp__"
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_MOST = 64
_SERVER = 28


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]


def server_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each server's name the one in the names of its tools.

    It has no ``__`` and no ``_`` at its ends, so that ``mcp__a__b`` can be read in one way only.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    # names that need no change keep theirs
    for name in sorted(names, key=lambda n: (_short_server(n) != n, n)):
        short = _short_server(name)
        if short.lower() in taken:
            short = f"{short[: _SERVER - 9].rstrip('_')}-{_hash(name)}"
        taken.add(short.lower())
        found[name] = short
    return found


def _short_server(name: str) -> str:
    clean = re.sub(r"_{2,}", "_", _ODD.sub("_", name)).strip("_")
    if not clean:
        return f"server-{_hash(name)}"
    return clean if len(clean) <= _SERVER else f"{clean[: _SERVER - 9].rstrip('_')}-{_hash(name)}"


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return for each tool of a server the name that models know it by. ``server`` is as :func:`server_names` gives it."""
    room = _MOST - len(PREFIX) - len(server) - 2
    found: dict[str, str] = {}
    taken: set[str] = set()
    for tool in sorted(tools, key=lambda t: (_ODD.search(t) is not None, t)):
        clean = _ODD.sub("_", tool)
        if len(clean) > room or not clean.strip("_") or clean.lower() in taken:
            clean = f"{clean[: room - 9].rstrip('_') or 'tool'}_{_hash(tool)}"
        taken.add(clean.lower())
        found[tool] = f"{PREFIX}{server}__{clean}"
    return found
