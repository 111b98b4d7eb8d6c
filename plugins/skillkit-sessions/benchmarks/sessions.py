"""Print what sessions cost: ``python plugins/skillkit-sessions/benchmarks/sessions.py [entries]``.

CPU is that of this process (``time.process_time``: all threads, user and system), the best of a few rounds; wall time is
beside it. Entries are messages of about 250 bytes. Nothing is synced unless the row says so.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from skillkit_sessions import JsonlStore, SqliteStore

from skillkit_core import Session
from skillkit_core.agent.clock import SystemClock
from skillkit_core.contracts.session_store import SessionEntry, SessionHeader, SessionStore
from skillkit_core.frozen import freeze

ROUNDS = 3
TEXT = "The parser loses the last token of every line, because the loop ends one step early; number {} of many. " * 2


def entries(count: int) -> list[SessionEntry]:
    """A straight conversation."""
    made = []
    for n in range(1, count + 1):
        role = "user" if n % 2 else "assistant"
        message = freeze({"role": role, "content": [{"type": "text", "text": TEXT.replace("{}", str(n))}]})
        made.append(
            SessionEntry(n, f"e{n}", f"e{n - 1}" if n > 1 else None, "message", 1e9 + n, freeze({"message": message}))
        )
    return made


async def measured(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """CPU and wall seconds of ``work()``."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return time.process_time() - cpu, time.perf_counter() - wall


def row(name: str, times: list[tuple[float, float]], per: int = 1, unit: str = "ms", note: str = "") -> None:
    """Print the best round."""
    scale = {"ms": 1e3, "us": 1e6}[unit] / per
    cpu, wall = min(times)
    print(f"{name:<44} {cpu * scale:>9.2f} {unit} CPU {wall * scale:>9.2f} {unit} wall  {note}")


async def one_session(
    name: str, make: Callable[[Path], SessionStore], place: Path, planted: list[SessionEntry]
) -> None:
    """Append and open."""
    count = len(planted)
    times: dict[str, list[tuple[float, float]]] = {"append": [], "open": [], "agent": [], "sync": []}
    for n in range(ROUNDS):
        store = make(place / f"{name}{n}")
        handle = await store.create(SessionHeader("big", 1e9))

        async def append(handle=handle) -> None:
            for entry in planted:
                await handle.append(entry)

        async def synced(store=store) -> None:
            other = await store.create(SessionHeader("synced", 1e9))
            for entry in planted[:100]:
                await other.append(entry, sync=True)
            await other.close()

        async def read(store=store) -> None:
            await (await store.open("big", read_only=True)).close()

        async def resumed(store=store) -> None:
            await (await Session.open(store, "big", SystemClock().time)).close()

        times["append"].append(await measured(append))
        await handle.close()
        times["open"].append(await measured(read))
        times["agent"].append(await measured(resumed))
        times["sync"].append(await measured(synced))
        await store.close()
    row(f"{name}: append, each", times["append"], count, "us")
    row(f"{name}: append with fsync, each", times["sync"], 100, "us")
    row(f"{name}: open {count:,} entries", times["open"])
    row(f"{name}: the same and build the context", times["agent"])


async def many_sessions(name: str, make: Callable[[Path], SessionStore], place: Path) -> None:
    """List and search 1,000 sessions of 50 entries."""
    store = make(place / f"{name}-many")
    planted = entries(50)
    for n in range(1000):
        needle = SessionEntry(51, "e51", "e50", "custom", 2e9 + n, freeze({"text": f"needle{n} in the haystack"}))
        await (await store.restore(SessionHeader(f"s{n:04}", 1e9 + n, "/work"), [*planted, needle])).close()

    async def search(query: str) -> None:
        found = [hit async for hit in store.search(query, limit=20)]
        assert found, query

    first = [await measured(lambda: search("needle500"))]
    row(f"{name}: list 1,000 sessions", [await measured(store.list) for _ in range(ROUNDS)])
    row(f"{name}: list the newest 20", [await measured(lambda: store.list(limit=20)) for _ in range(ROUNDS)])
    row(f"{name}: first search in 51,000 entries", first, note="SQLite takes them into its index first")
    row(f"{name}: search, one hit", [await measured(lambda: search("needle500")) for _ in range(ROUNDS)])
    row(f"{name}: search, 20 of 50,000 hits", [await measured(lambda: search("token")) for _ in range(ROUNDS)])
    await store.close()


async def main(count: int) -> None:
    """All rows."""
    planted = entries(count)
    stores: list[tuple[str, Callable[[Path], SessionStore]]] = [("jsonl", JsonlStore.at), ("sqlite", SqliteStore.at)]
    with tempfile.TemporaryDirectory() as place:
        for name, make in stores:
            await one_session(name, make, Path(place), planted)
            await many_sessions(name, make, Path(place))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
