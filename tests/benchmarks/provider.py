"""What SkillKit costs on top of a model: CPU of a turn, a delta and a step beside the bare OpenAI SDK, in one process.

Run it: ``python tests/benchmarks/provider.py [--json] [--rounds N]``. Both sides talk to the same loopback server in a process
of its own and take turns, so that other work on the machine hits both. Ratios transfer to other machines, times do not.
Ends with 1 when a ratio is over its target.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from skillkit_core import AgentConfig, AgentRunner, Host, Limits, Tool

DELTAS, STEPS, LIVE = 20_000, 100, 300
PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TARGETS = {
    "turn": 0.62,
    "delta": 0.0625,
    "live delta": 0.4,
    "step": 0.058,
}  # the limits over the SDK's own figures
Work = Callable[[], Awaitable[int]]


# --- the server -----------------------------------------------------------------------------------------------------


def answer_of(body: dict[str, Any]) -> dict[str, Any]:
    """A call of ``add`` while the model's name asks for more of them, else a few words."""
    done = sum(m["role"] == "tool" for m in body["messages"])
    kind, _, count = body["model"].partition("-")
    message: dict[str, Any] = {"role": "assistant", "content": "the of that and in a to is with"}
    if kind == "loop" and done < int(count):
        function = {"name": "add", "arguments": json.dumps({"a": done, "b": 1})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{done}", "type": "function", "function": function}],
        }
    usage = {"prompt_tokens": 11, "completion_tokens": 8, "total_tokens": 19}
    return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": usage}


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until the client leaves."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await serve(reader, writer)
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    while head := await reader.readuntil(b"\r\n\r\n"):
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = json.loads(await reader.readexactly(int(length.split(b":")[1])))
        if not body.get("stream"):
            data = json.dumps(answer_of(body)).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data
            )
            continue
        kind, _, count = body["model"].partition("-")
        delta = {"id": "x", "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
        event = b"data: " + json.dumps(delta).encode() + b"\n\n"
        piece = b"%x\r\n%s\r\n" % (len(event), event)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(int(count)):
            writer.write(piece)
            if kind == "live":
                await asyncio.sleep(0.001)
        delta["choices"][0].update(delta={}, finish_reason="stop")  # type: ignore[index]
        end = b"data: " + json.dumps(delta).encode() + b"\n\ndata: [DONE]\n\n"
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))


async def server() -> None:
    """Serve until this process is ended; the port is printed."""
    running = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(running.sockets[0].getsockname()[1], flush=True)
    await running.serve_forever()


# --- both sides -----------------------------------------------------------------------------------------------------


class Sdk:
    """The bare SDK, with a loop by hand."""

    def __init__(self, url: str) -> None:
        self.client = AsyncOpenAI(base_url=url, api_key="sk-benchmark", max_retries=0)

    async def ask(self, model: str) -> int:
        messages: list[Any] = [{"role": "user", "content": "Please do the work."}]
        function = {"name": "add", "description": "Add.", "parameters": PARAMETERS}
        more: dict[str, Any] = {"tools": [{"type": "function", "function": function}]} if "loop" in model else {}
        for n in range(10_000):
            reply = (
                (await self.client.chat.completions.create(model=model, messages=messages, **more)).choices[0].message
            )
            if not reply.tool_calls:
                return n
            messages.append(reply.model_dump(exclude_none=True))
            messages += [{"role": "tool", "tool_call_id": c.id, "content": "1"} for c in reply.tool_calls]
        raise AssertionError("the model never answered")

    async def stream(self, model: str) -> int:
        asked: list[Any] = [{"role": "user", "content": "Please do the work."}]
        stream = await self.client.chat.completions.create(model=model, messages=asked, stream=True)
        return sum([1 async for chunk in stream if chunk.choices[0].delta.content])


class SkillKit:
    """An agent for every turn, on one host with the installed plugins."""

    def __init__(self, url: str, home: str, session: str | None) -> None:
        self.host = Host(environ={"SKILLKIT_HOME": home, "OPENAI_API_KEY": "sk-benchmark"}, cwd=Path(home))
        self.url, self.session = url, session
        self.runs = 0

        async def add(args: Any, ctx: Any) -> str:
            self.runs += 1
            return str(args["a"] + args["b"])

        self.tool = Tool("add", "Add.", add, PARAMETERS)

    def agent(self, model: str, stream: bool) -> AgentRunner:
        tools = (self.tool,) if "loop" in model else ()
        only = frozenset(t.name for t in tools)
        given = {"provider": "openai", "base_url": self.url, "tools": tools, "only_tools": only, "stream": stream}
        return AgentRunner(
            AgentConfig(model=model, limits=Limits(turns=10_000), **given), host=self.host, session=self.session
        )

    async def ask(self, model: str) -> int:
        self.runs = 0
        async with self.agent(model, False) as agent:
            await agent.chat("Please do the work.")
        return self.runs

    async def stream(self, model: str) -> int:
        async with self.agent(model, True) as agent:
            return sum([1 async for e in agent.chat_stream_events("Please do the work.") if e.type == "text_delta"])


# --- the measure ----------------------------------------------------------------------------------------------------


def workloads(side: Sdk | SkillKit) -> dict[str, tuple[Work, int, int]]:
    """By name: the work, what it must give, and into how many parts its time is divided."""

    async def turns() -> int:
        return sum([await side.ask("text-8") for _ in range(50)])

    return {
        "turn": (turns, 0, 50),
        "delta": (lambda: side.stream(f"text-{DELTAS}"), DELTAS, DELTAS),
        "live delta": (lambda: side.stream(f"live-{LIVE}"), LIVE, LIVE),
        "step": (lambda: side.ask(f"loop-{STEPS}"), STEPS, STEPS),
    }


async def measure(url: str, home: str, rounds: int) -> dict[str, dict[str, float]]:
    """CPU milliseconds of each part of each workload, by side: medians of interleaved rounds after one that is not counted."""
    sides = {
        "sdk": Sdk(url),
        "skillkit": SkillKit(url, home, None),
        "skillkit, session file": SkillKit(url, home, "new"),
    }
    works = {name: workloads(side) for name, side in sides.items()}
    times: dict[str, dict[str, list[float]]] = {w: {name: [] for name in sides} for w in TARGETS}
    for number in range(rounds + 1):
        for workload, found in times.items():
            for name in sides:
                work, expected, parts = works[name][workload]
                gc.collect()
                started = time.process_time()
                got = await work()
                spent = (time.process_time() - started) * 1e3 / parts
                assert got == expected, f"{name}: {got} of {expected} of {workload}"
                if number:
                    found[name].append(spent)
    await sides["sdk"].client.close()  # type: ignore[union-attr]
    for name in ("skillkit", "skillkit, session file"):
        await sides[name].host.aclose()  # type: ignore[union-attr]
    return {w: {name: statistics.median(v) for name, v in found.items()} for w, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(server())
    os.environ |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    command = [sys.executable, __file__, "--serve"]
    with tempfile.TemporaryDirectory() as home, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
            found = asyncio.run(measure(url, home, args.rounds))
        finally:
            process.terminate()
    missed = [w for w, times in found.items() if times["skillkit"] / times["sdk"] > TARGETS[w]]
    if args.json:
        print(json.dumps({"ms": found, "targets": TARGETS, "missed": missed}, indent=2))
    else:
        for workload, times in found.items():
            cells = [f"{name} {ms:8.4f} ms  {ms / times['sdk']:6.3f}x" for name, ms in times.items()]
            print(f"{workload:11} {'   '.join(cells)}   target {TARGETS[workload]}x")
        for workload in missed:
            print(f"missed: {workload}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
