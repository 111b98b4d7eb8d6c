"""What dispatching an event costs, in nanoseconds of CPU per call and as a ratio to an empty async call.

Run it: ``python tests/benchmarks/dispatch.py [--json] [--rounds N]``. The targets are those of the runtime's contract:
nobody listening under 100 ns at the call site, an awaited emit to nobody under 300 ns, one sync handler under 2000 ns.
Ends with 1 when a target is missed. The goals are what is worth trying for; what stops it is in the README beside this file.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from skillkit_core import EventBus, ToolCallEventResult
from skillkit_core.events.types import AgentSettledEvent, ToolCallEvent

TARGETS = {"call site, nobody listens": 100.0, "emit to nobody": 300.0, "one sync handler": 2000.0}
GOALS = {"one async handler": 600.0, "ten async handlers": 2500.0}


async def empty(event: Any) -> None:
    """The yardstick."""


def handler(event: Any) -> None:
    """A handler with no opinion."""


async def async_handler(event: Any) -> None:
    """The same, async."""


Loop = Callable[[int], Awaitable[None]]


def measured() -> dict[str, Loop]:
    """The loops to time: each does its thing ``n`` times."""
    nobody, event = EventBus(), AgentSettledEvent()
    one, one_async, ten, ten_async, observed, guarded = (EventBus() for _ in range(6))
    one.on("agent_settled", handler)
    one_async.on("agent_settled", async_handler)
    for _ in range(10):
        ten.on("agent_settled", handler)
        ten_async.on("agent_settled", async_handler)
    observed.observe(handler, ["agent_settled"])
    call = ToolCallEvent(tool_name="t")
    guarded.on("before_tool_call", lambda e: ToolCallEventResult(), phase="guard")

    async def nothing(n: int) -> None:
        for _ in range(n):
            pass

    async def yardstick(n: int) -> None:
        for _ in range(n):
            await empty(event)

    async def call_site(n: int) -> None:
        for _ in range(n):
            if nobody.has("agent_settled"):
                await nobody.emit(nobody.make(AgentSettledEvent))

    async def build(n: int) -> None:
        for _ in range(n):
            nobody.make(AgentSettledEvent)

    def emits(bus: EventBus, event: Any) -> Loop:
        async def loop(n: int) -> None:
            emit = bus.emit
            for _ in range(n):
                await emit(event)

        return loop

    return {
        "empty loop": nothing,
        "empty async call": yardstick,
        "call site, nobody listens": call_site,
        "emit to nobody": emits(nobody, event),
        "one sync handler": emits(one, event),
        "one async handler": emits(one_async, event),
        "ten sync handlers": emits(ten, event),
        "ten async handlers": emits(ten_async, event),
        "one observer": emits(observed, event),
        "one guard of a tool call": emits(guarded, call),
        "building an event": build,
    }


async def cpu(loop: Loop, n: int) -> float:
    """CPU nanoseconds per iteration."""
    started = time.process_time_ns()
    await loop(n)
    return (time.process_time_ns() - started) / n


async def measure(rounds: int, n: int) -> dict[str, float]:
    """The median of several interleaved rounds, without the loop's own cost."""
    loops = measured()
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            times[name].append(await cpu(loop, n))
    medians = {name: statistics.median(values) for name, values in times.items()}
    bare = medians.pop("empty loop")
    return {name: max(0.0, value - bare) for name, value in medians.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20_000, help="calls per round")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    gc.disable()
    found = asyncio.run(measure(args.rounds, args.calls))
    unit = found["empty async call"] or 1.0
    missed = [name for name, most in TARGETS.items() if found[name] >= most]
    if args.json:
        rows = {name: {"ns": round(ns, 1), "ratio": round(ns / unit, 2)} for name, ns in found.items()}
        print(json.dumps({"results": rows, "targets": TARGETS, "goals": GOALS, "missed": missed}, indent=2))
    else:
        for name, ns in found.items():
            target = f"   target < {TARGETS[name]:.0f} ns" if name in TARGETS else ""
            goal = f"   goal < {GOALS[name]:.0f} ns" if name in GOALS else ""
            print(f"{name:28} {ns:9.1f} ns   {ns / unit:6.2f} x an empty async call{target}{goal}")
        for name in missed:
            print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
