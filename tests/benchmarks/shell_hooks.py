"""What a hook costs beside its process: a command of ``PreToolUse``, and the same command started and waited for alone.

The goal is 2 ms more than the process. Also the same call in a host without hooks, where the plugin costs nothing::

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
from pathlib import Path
from typing import Any

import skillkit_shell_hooks.plugin

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

GOAL = 2.0  # ms
COMMAND = "exit 0"
HOOKS = {"PreToolUse": [{"matcher": "nothing", "hooks": [{"type": "command", "command": COMMAND}]}]}


async def _nothing(args: Any, ctx: Any) -> str:
    return "done"


async def calls(n: int, folder: Path, settings: dict[str, Any]) -> float:
    """Return the milliseconds of one call of a tool in a run with many."""
    host = Host(
        environ={**os.environ, "SKILLKIT_HOME": str(folder)}, cwd=folder, discover=False, settings=settings,
        plugins=(("shell-hooks", skillkit_shell_hooks.plugin),),
    )  # fmt: skip
    tool = Tool("nothing", "Do nothing.", _nothing, {"type": "object"})
    async with AgentRunner(AgentConfig(tools=(tool,), model="any"), host=host) as agent:
        turns = [Reply(calls=[Call("nothing", {})]) for _ in range(n)]
        agent.set_adapter(ScriptedModel([*turns[:20], "done"]))
        await agent.chat("warm up")
        agent.set_adapter(ScriptedModel([*turns, "done"]))
        began = time.perf_counter()
        await agent.chat("go")
        took = time.perf_counter() - began
    await host.aclose()
    return took / n * 1000


def process(n: int) -> float:
    """Return the milliseconds of the process alone."""
    argv = ["sh", "-c", COMMAND]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    began = time.perf_counter()
    for _ in range(n):
        subprocess.run(argv, check=True, start_new_session=True, **options)
    return (time.perf_counter() - began) / n * 1000


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, n = Path(folder), options.calls
        rounds = [
            (process(n), asyncio.run(calls(n, place, {})), asyncio.run(calls(n, place, {"hooks": HOOKS})))
            for _ in range(3)
        ]
    alone, without, with_hook = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"{'the process alone':32}{alone:8.2f} ms")
    print(f"{'a call without hooks':32}{without:8.2f} ms")
    print(f"{'a call with the hook':32}{with_hook:8.2f} ms")
    print(f"{'the hook beside its process':32}{with_hook - without - alone:8.2f} ms (goal: {GOAL:g})")


if __name__ == "__main__":
    main()
