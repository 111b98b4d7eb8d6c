"""What a session file costs: CPU microseconds per entry of appending, opening and building the context.

Run it: ``python tests/benchmarks/sessions.py [--json] [--entries N]``. The yardstick beside it writes the same conversation
with ``json.dumps``, a line and a ``write`` per message, and reads it back. Nothing is synced in the loop that is measured: what
``fsync`` costs is the disk's (see ``provider.py`` for a whole turn). The targets are those of the runtime's contract: 10 us for
an append without fsync, a second of CPU for opening 100,000 entries. Ends with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillkit_sessions import JsonlStore, SqliteStore

from skillkit_core import AgentMessage, AssistantMessage, UserMessage
from skillkit_core.agent.session import Session
from skillkit_core.contracts.session_store import SessionStore

TARGETS = {"append": 10.0, "open": 10.0}
TEXT = "The quick brown fox jumps over the lazy dog, and a model says so in a few words more. "


def conversation(entries: int) -> list[AgentMessage]:
    """User and assistant by turns, with texts of 90 to 360 characters."""
    return [
        (AssistantMessage if n % 2 else UserMessage)(content=TEXT * (1 + n % 4) + str(n), ts=1e9 + n)
        for n in range(entries)
    ]


async def appended(store: SessionStore, messages: list[AgentMessage]) -> float:
    """CPU seconds of appending all ``messages`` to a new session."""
    session = await Session.create(store, time.time, session_id="measured")
    started = time.process_time()
    for message in messages:
        await session.append_message(message)
    spent = time.process_time() - started
    await session.close()
    return spent


async def opened(store: SessionStore, messages: list[AgentMessage]) -> tuple[float, float]:
    """CPU seconds of opening the file, and of that and building the context."""
    started = time.process_time()
    handle = await store.open("measured")
    alone = time.process_time() - started
    assert len(handle.entries()) == len(messages)
    await handle.close()
    del handle
    started = time.process_time()
    session = await Session.open(store, "measured", time.time)
    whole = time.process_time() - started
    assert len(session.messages) == len(messages) and session.messages[-1].text == messages[-1].text
    await session.close()
    return alone, whole


def plain(path: Path, messages: list[AgentMessage]) -> tuple[float, float]:
    """The yardstick: CPU seconds of a line of JSON and a write for each message, and of reading them."""
    started = time.process_time()
    with path.open("ab", buffering=0) as file:
        for message in messages:
            file.write(json.dumps({"role": message.role, "text": message.text, "ts": message.ts}).encode() + b"\n")
    written = time.process_time() - started
    started = time.process_time()
    with path.open("rb") as file:
        assert len([json.loads(line) for line in file]) == len(messages)
    return written, time.process_time() - started


async def measure(entries: int) -> dict[str, dict[str, float]]:
    """Microseconds per entry and the ratio to the yardstick, by what is done, for each store."""
    messages = conversation(entries)
    found: dict[str, dict[str, float]] = {}
    makers: dict[str, Callable[[Path], Any]] = {"jsonl": JsonlStore.at, "sqlite": SqliteStore.at}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory(prefix="skillkit-sessions-") as folder:
            store = make(Path(folder) / "sessions")
            written, read = plain(Path(folder) / "plain.jsonl", messages)
            append = await appended(store, messages)
            alone, whole = await opened(store, messages)
        rows = {"append": (append, written), "open": (alone, read), "open and context": (whole, read)}
        for what, (spent, floor) in rows.items():
            found[f"{name}: {what}"] = {"us": spent / entries * 1e6, "ratio": spent / floor}
    return found


def main() -> int:
    """Measure, print, and say whether the targets of the default store are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000, help="entries in the session (default 100,000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = asyncio.run(measure(options.entries))
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, row in found.items():
            target = TARGETS.get(name.removeprefix("jsonl: "))
            limit = f"   target < {target:g} us" if target is not None else ""
            print(f"{name:26}{row['us']:8.1f} us an entry {row['ratio']:7.2f} x lines of JSON by hand{limit}")
    return int(any(found[f"jsonl: {what}"]["us"] > limit for what, limit in TARGETS.items()))


if __name__ == "__main__":
    sys.exit(main())
