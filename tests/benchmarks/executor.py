"""What a call costs with each transport of the executor, in a sandbox and without: ``python tests/benchmarks/executor.py``.

Prints the time until the first call has its output (the process starts in it), the least, the median and the 95th percentile of
one call after another, and calls a second with eight at once; an argument says how many calls. The tool ``echo`` does nothing.
The tool ``bash`` starts ``true``: with a sandbox for each command, or in a process that is in one. The loop around the calls is
not part of the figures.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import skillkit_bash.plugin
import skillkit_executor.plugin
import skillkit_sandbox.plugin
from skillkit_testkit.conformance import executor_tools

from skillkit_core import AbortSignal, AgentConfig, AgentRunner, Host
from skillkit_core.agent.tool_call import InProcessExecutor

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
PLUGINS = [
    ("bash", skillkit_bash.plugin), ("sandbox", skillkit_sandbox.plugin), ("executor", skillkit_executor.plugin),
    ("executor-tools", executor_tools),
]  # fmt: skip
ROWS = [
    ("echo", None, {}), ("echo", "local", {}), ("echo", "stdio", {}), ("echo", "http", {}),
    ("echo", "stdio", {"executor.sandbox": "project"}),
    ("bash", None, {}), ("bash", None, {"sandbox.commands": "project"}), ("bash", "stdio", {}),
    ("bash", "stdio", {"executor.sandbox": "project"}),
]  # fmt: skip


async def measure(name: str, transport: str | None, settings: dict[str, Any], folder: Path) -> list[str]:
    """Return a row of figures."""
    settings = {"tools.allow": ["bash"], "tools.executor": transport, **settings}
    given = {key: value for key, value in settings.items() if value is not None}
    host = Host(plugins=PLUGINS, discover=False, cwd=folder, settings=given)
    executor = await host.find_executor() or InProcessExecutor()
    args = {"text": "x" * 200} if name == "echo" else {"command": "true"}
    calls = CALLS if name == "echo" else max(CALLS // 10, 16)
    async with AgentRunner(AgentConfig(cwd=folder), host=host) as agent:
        await agent.open()
        tool = agent.offered(name)
        assert tool is not None

        async def one() -> float:
            ctx: Any = SimpleNamespace(
                agent=agent, cwd=folder, signal=AbortSignal(), session_id="s", tool_call_id="c", agent_path=("main",),
                answer=None, ui=None, tool_name=name, on_output=print,
            )  # fmt: skip
            began = perf_counter()
            output = await executor.execute(tool, args, ctx)
            assert not output.is_error, output
            return (perf_counter() - began) * 1000

        first = await one()
        times = sorted([await one() for _ in range(calls)])
        began = perf_counter()
        for _ in range(calls // 8):
            await asyncio.gather(*(one() for _ in range(8)))
        rate = calls // 8 * 8 / (perf_counter() - began)
    await executor.close()
    await host.aclose()
    held = (
        "whole process" if "executor.sandbox" in settings else "each command" if "sandbox.commands" in settings else ""
    )
    figures = (first, times[0], statistics.median(times), times[int(len(times) * 0.95)])
    return [name, transport or "none", held, *(f"{figure:.2f}" for figure in figures), f"{rate:,.0f}"]


async def main() -> None:
    """Print a table."""
    print("tool  transport  sandbox        first ms  least ms  median ms    p95 ms  calls/s, 8 at once", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, transport, settings in ROWS:
            row = await measure(name, transport, settings, Path(folder).resolve())
            left = f"{row[0]:4}  {row[1]:9}  {row[2]:13}"
            print(left, *(cell.rjust(9) for cell in row[3:7]), row[7].rjust(19), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
