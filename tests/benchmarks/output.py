"""Print what a command's output costs while whoever shows it is slow: ``python tests/benchmarks/output.py [megabytes]``.

An observer of ``tool_execution_update`` sleeps for 50 ms with each update while a command writes 400 MB. Memory is that of this
process at its highest, over what it was after a command without output. The yardstick is the command alone, into a pipe.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from skillkit_bash import BashRuntime

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

PAUSE = 0.05
LINE = "a line of output that somebody looks at while the command goes on, and on\n"


def highest() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def main(megabytes: int) -> None:
    """Run the command twice: without output, then with all of it."""
    program = f"import sys; line = {LINE!r} * 1000\nfor _ in range({{}}): sys.stdout.write(line)"
    lines = megabytes * 1_000_000 // (len(LINE) * 1000)
    seen = {"updates": 0, "characters": 0, "notes": 0}

    async def shows(event: Any) -> None:
        seen["updates"] += 1
        seen["characters"] += len(event.output)
        seen["notes"] += event.output.count("characters left out")
        await asyncio.sleep(PAUSE)

    with tempfile.TemporaryDirectory() as folder:
        runtime = BashRuntime(spill_dir=Path(folder))

        async def run(args: Any, ctx: Any) -> str:
            argv = [sys.executable, "-c", program.format(args["lines"])]
            result = await runtime.execute(argv, on_output=ctx.on_output, max_output=30_000)
            return f"{result.stdout_bytes} bytes, kept whole in a file: {result.stdout_path is not None}"

        turns = [
            Reply(calls=[Call("run", {"lines": count})]) if count is not None else "ok"
            for count in (0, None, lines, None)
        ]
        tool = Tool("run", "", run, {"type": "object", "properties": {"lines": {"type": "integer"}}})
        async with AgentRunner(AgentConfig(tools=(tool,)), host=Host(discover=False)) as agent:
            agent.set_adapter(ScriptedModel(turns))
            agent.events.on("tool_execution_update", shows)
            await agent.chat("nothing")
            before, began = highest(), time.perf_counter()
            await agent.chat("much")
            took, more = time.perf_counter() - began, highest() - before
            result = next(m for m in reversed(agent.messages) if m.role == "tool_result")

    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program.format(lines)], check=True, stdout=subprocess.PIPE)
    alone = time.perf_counter() - began
    print(f"{megabytes} MB of output to an observer that takes {PAUSE * 1000:g} ms for each update")
    print(f"memory: {more:.0f} MB more")
    print(f"time: {took:.1f} s; the command alone into a pipe: {alone:.1f} s")
    print(
        f"shown: {seen['characters'] / 1e6:.1f} MB in {seen['updates']} updates, {seen['notes']} notes of what was left out"
    )
    print(f"result: {result.text}")


asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
