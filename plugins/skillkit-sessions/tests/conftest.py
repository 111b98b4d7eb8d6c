from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from skillkit_sessions import JsonlStore

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader


@pytest.fixture
def store(tmp_path: Path) -> JsonlStore:
    return JsonlStore(directory=tmp_path / "sessions")


@pytest.fixture
def go() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return asyncio.run


@pytest.fixture
def header() -> SessionHeader:
    return SessionHeader("s1", 1_700_000_000.5, "/work")


def make_entry(n: int, text: str = "hello", type: str = "message", **data: Any) -> SessionEntry:
    """The n-th entry of a straight conversation."""
    if type == "message":
        data = {"message": {"role": "user", "content": [{"type": "text", "text": text}]}}
    return SessionEntry(n, f"e{n}", f"e{n - 1}" if n > 1 else None, type, 1_700_000_000.0 + n, data)


@pytest.fixture
def entry() -> Callable[..., SessionEntry]:
    return make_entry


@pytest.fixture
def write(store: JsonlStore) -> Callable[..., Path]:
    """Write a session and close it; gives its file."""

    async def run(session_id: str, entries: list[SessionEntry], **fields: Any) -> Path:
        handle = await store.create(SessionHeader(session_id, 1_700_000_000.0, "/work", **fields))
        for item in entries:
            await handle.append(item)
        await handle.close()
        return Path(handle.location)

    return lambda session_id, entries=(), **fields: asyncio.run(run(session_id, list(entries), **fields))
