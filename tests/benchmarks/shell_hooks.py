"""What a hook costs beside its process: a command of ``PreToolUse``, and the same command started and waited for alone.

The goal is 2 ms more than the process. Also the same call in a host without hooks, and in one without the plugin, between which
nothing may lie. On a busy machine the clock tells of others, too, and the seconds of CPU of this process alone count::

    python tests/benchmarks/shell_hooks.py [--calls N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import skillkit_shell_hooks.plugin

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

GOAL = 2.0  # ms
COMMAND = "exit 0"
HOOKS = {"PreToolUse": [{"matcher": "nothing", "hooks": [{"type": "command", "command": COMMAND}]}]}
PLUGIN = (("shell-hooks", skillkit_shell_hooks.plugin),)


async def _nothing(args: Any, ctx: Any) -> str:
    return "done"


class Taken:
    """The milliseconds of one of several calls, by the clock and of this process's CPU."""

    def __init__(self, n: int) -> None:
        self._n, self._clock, self._cpu = n, time.perf_counter(), time.process_time()

    def end(self) -> tuple[float, float]:
        """Return both."""
        each = 1000 / self._n
        return (time.perf_counter() - self._clock) * each, (time.process_time() - self._cpu) * each


async def calls(n: int, folder: Path, settings: dict[str, Any], plugins: Any = PLUGIN) -> tuple[float, float]:
    """Return what one call of a tool takes in a run with many."""
    host = Host(
        environ={**os.environ, "SKILLKIT_HOME": str(folder)}, cwd=folder, discover=False, settings=settings,
        plugins=plugins,
    )  # fmt: skip
    tool = Tool("nothing", "Do nothing.", _nothing, {"type": "object"})
    async with AgentRunner(AgentConfig(tools=(tool,), model="any"), host=host) as agent:
        turns = [Reply(calls=[Call("nothing", {})]) for _ in range(n)]
        agent.set_adapter(ScriptedModel([*turns[:20], "done"]))
        await agent.chat("warm up")
        agent.set_adapter(ScriptedModel([*turns, "done"]))
        taken = Taken(n)
        await agent.chat("go")
        found = taken.end()
    await host.aclose()
    return found


def process(n: int) -> tuple[float, float]:
    """Return what the process alone takes."""
    argv = ["sh", "-c", COMMAND]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    taken = Taken(n)
    for _ in range(n):
        subprocess.run(argv, check=True, start_new_session=True, **options)
    return taken.end()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, n = Path(folder), options.calls
        work: dict[str, Callable[[], tuple[float, float]]] = {
            "the process alone": lambda: process(n),
            "a call without the plugin": lambda: asyncio.run(calls(n, place, {}, ())),
            "a call without hooks": lambda: asyncio.run(calls(n, place, {})),
            "a call with the hook": lambda: asyncio.run(calls(n, place, {"hooks": HOOKS})),
        }
        rounds = [{name: one() for name, one in work.items()} for _ in range(5)]
    print(f"{'':32}{'clock':>8}    {'CPU':>8}")
    found = {name: [statistics.median(one[name][at] for one in rounds) for at in (0, 1)] for name in work}
    alone, bare, without, with_hook = found.values()
    found["a host without hooks pays"] = [a - b for a, b in zip(without, bare, strict=True)]
    found["the hook beside its process"] = [c - b - a for a, b, c in zip(alone, without, with_hook, strict=True)]
    for name, (clock, cpu) in found.items():
        print(f"{name:32}{clock:8.2f} ms {cpu:8.2f} ms")
    print(f"goal: a hook costs its process and {GOAL:g} ms")


if __name__ == "__main__":
    main()
