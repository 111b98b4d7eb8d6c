"""What a hook of an isolated plugin costs: ``python tests/benchmarks/isolation.py [--calls N]``.

Prints microseconds for a hook of a plugin in the host's process and of the same plugin in a process of its own: an observer of a
small event, a guard of a tool call, and a hook that gets a conversation of 100 messages; then the milliseconds in which such a
process starts. The figures are medians by the clock, for the time of a second process is part of them.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from skillkit_core import AgentConfig, AgentRunner, Host, Selection, UserMessage
from skillkit_core.events.types import AgentSettledEvent, ContextTransformEvent, ToolCallEvent

PLUGIN = """
from skillkit_core import hookimpl

@hookimpl
def agent_settled(event): ...

@hookimpl(phase="guard")
def before_tool_call(event): ...

@hookimpl
def context_transform(event): ...
"""
EVENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "observer of a small event": (AgentSettledEvent, {}),
    "guard of a tool call": (ToolCallEvent, {"tool_name": "bash", "args": {"command": "ls -l"}}),
    "100 messages of 400 letters": (
        ContextTransformEvent, {"messages": tuple(UserMessage(content="x" * 400) for _ in range(100))}
    ),
}  # fmt: skip


async def measure(isolated: bool, calls: int) -> tuple[float, dict[str, float]]:
    """Return the milliseconds of loading, and the microseconds of each hook."""
    settings = {"plugins.isolate": ["measured"] if isolated else []}
    began = perf_counter()
    host = Host(selection=Selection(only=("isolation", "measured")), settings=settings)
    assert host.load().loaded["measured"], host.problems
    loaded = (perf_counter() - began) * 1000
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        found = {}
        for name, (cls, fields) in EVENTS.items():
            times = []
            for _ in range(calls):
                event = agent.events.make(cls, **fields)
                began = perf_counter()
                await agent.events.emit(event)
                times.append((perf_counter() - began) * 1e6)
            found[name] = statistics.median(times)
    await host.aclose()
    return loaded, found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "measured-1.0.dist-info"
        info.mkdir()
        (Path(folder) / "measured_plugin.py").write_text(PLUGIN)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: measured\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[skillkit.plugins]\nmeasured = measured_plugin\n")
        sys.path.insert(0, folder)
        bare, here = asyncio.run(measure(False, calls))
        loaded, apart = asyncio.run(measure(True, calls))
    for name in EVENTS:
        print(f"{name:28} {here[name]:8.1f} us here {apart[name]:8.1f} us isolated")
    print(f"{'start of its process':28} {loaded - bare:8.1f} ms")


if __name__ == "__main__":
    main()
