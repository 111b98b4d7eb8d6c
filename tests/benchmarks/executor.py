"""What a call costs with each transport of the executor, beside one in this process: ``python tests/benchmarks/executor.py``.

Prints the time until the first call has its output (the process starts in it), the median and the 95th percentile of one call
after another, and calls a second with eight at once. The tool does nothing; the loop around it is not part of the figures.
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

from skillkit_executor.executor import RemoteExecutor
from skillkit_testkit.conformance import executor_tools

from skillkit_core import AbortSignal, AgentConfig, AgentRunner, Host
from skillkit_core.agent.tool_call import InProcessExecutor

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 500


async def measure(transport: str, folder: Path) -> list[str]:
    """Return a row of figures."""
    host = Host(plugins=[("executor-tools", executor_tools)], discover=False, cwd=folder)
    executor = InProcessExecutor() if transport == "none" else RemoteExecutor(host, transport)  # type: ignore[arg-type]
    async with AgentRunner(AgentConfig(cwd=folder), host=host) as agent:
        tool = agent.toolbox.get("echo")
        assert tool is not None

        async def one() -> float:
            ctx: Any = SimpleNamespace(
                agent=agent, cwd=folder, signal=AbortSignal(), session_id="s", tool_call_id="c", agent_path=("main",),
                answer=None, ui=None, tool_name="echo", on_output=print,
            )  # fmt: skip
            began = perf_counter()
            await executor.execute(tool, {"text": "x" * 200}, ctx)
            return (perf_counter() - began) * 1000

        first = await one()
        times = sorted([await one() for _ in range(CALLS)])
        began = perf_counter()
        for _ in range(CALLS // 8):
            await asyncio.gather(*(one() for _ in range(8)))
        rate = CALLS // 8 * 8 / (perf_counter() - began)
    await executor.close()
    await host.aclose()
    late = times[int(len(times) * 0.95)]
    return [transport, f"{first:.1f}", f"{statistics.median(times):.2f}", f"{late:.2f}", f"{rate:,.0f}"]


async def main() -> None:
    """Print a table."""
    rows = [["transport", "first ms", "median ms", "p95 ms", "calls/s, 8 at once"]]
    with tempfile.TemporaryDirectory() as folder:
        for transport in ("none", "local", "stdio", "http"):
            rows.append(await measure(transport, Path(folder).resolve()))
    for row in rows:
        print("  ".join(cell.rjust(18 if n else 9) for n, cell in enumerate(row)))


if __name__ == "__main__":
    asyncio.run(main())
