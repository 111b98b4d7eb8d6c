"""What a session file costs: CPU microseconds per entry of appending, opening and building the context, and a whole turn.

Run it: ``python tests/benchmarks/sessions.py [--json] [--entries N] [--rounds N]``. The yardstick of the entries writes the same
conversation with ``json.dumps``, a line and a ``write`` per message, and reads it back; nothing is synced in that loop. The
yardstick of the turn is the bare SDK of OpenAI, against a server on the loopback: an agent and a session for every turn, as
durable as by default, with the plugins of the provider and the sessions alone. Best of the rounds, which take turns; CPU time of
all threads. Ends with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from skillkit_sessions import JsonlStore, SqliteStore

from skillkit_core import AgentMessage, AssistantMessage, Host, Session, UserMessage
from skillkit_core.contracts.session_store import SessionStore

GOALS = {"jsonl: append": 8.0, "jsonl: open and context": 8.0}  # microseconds
TURN, TURNS = 0.85, 40  # times the bare SDK; turns of a round
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


async def turns(url: str, home: str, rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of a turn and the ratio to the bare SDK, without and with a session file."""
    import skillkit_openai.plugin
    import skillkit_sessions.plugin
    from provider import OpenAI, Side, SkillKit

    sides: dict[str, Side] = {"the bare SDK": OpenAI(url)}
    for name, session in {"in memory": None, "with a file": "new"}.items():
        side = sides[name] = SkillKit("openai", url, home, session)
        side.host = Host(environ={"SKILLKIT_HOME": home, "OPENAI_API_KEY": "sk-benchmark"}, discover=False)
        side.host.add_plugin(skillkit_openai.plugin, name="openai")
        side.host.add_plugin(skillkit_sessions.plugin, name="sessions")
    times: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, side in sides.items():
            gc.collect()
            started = time.process_time()
            for _ in range(TURNS):
                await side.ask("text-8")
            if number:
                times[name].append((time.process_time() - started) / TURNS)
    for side in sides.values():
        await side.close()
    floor = min(times["the bare SDK"])
    return {f"turn: {name}": {"us": min(found) * 1e6, "ratio": min(found) / floor} for name, found in times.items()}


def measure_turns(rounds: int) -> dict[str, dict[str, float]]:
    """The turns, with the server that answers them."""
    os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    command = [sys.executable, str(Path(__file__).with_name("provider_server.py"))]
    with tempfile.TemporaryDirectory() as home, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            return asyncio.run(turns(f"http://127.0.0.1:{int(process.stdout.readline())}", home, rounds))
        finally:
            process.terminate()


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
    parser.add_argument("--entries", type=int, default=20_000, help="entries in the session (default 20,000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=7, help="rounds, of which the best counts (default 7)")
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name, row in asyncio.run(measure(options.entries)).items():
            found[name] = min(found.get(name, row), row, key=lambda one: one["us"])
    found |= measure_turns(options.rounds)
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for name, row in found.items():
            goal = f"   goal {GOALS[name]:g} us" if name in GOALS else ""
            if name == "turn: with a file":
                goal = f"   goal {TURN:g} x"
            what, floor = (
                ("a turn", "the bare SDK") if name.startswith("turn") else ("an entry", "lines of JSON by hand")
            )
            print(f"{name:26}{row['us']:8.1f} us {what:9}{row['ratio']:7.2f} x {floor}{goal}")
    missed = any(found[name]["us"] > goal for name, goal in GOALS.items())
    return int(missed or found["turn: with a file"]["ratio"] > TURN)


if __name__ == "__main__":
    sys.exit(main())
