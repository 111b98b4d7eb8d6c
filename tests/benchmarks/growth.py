"""What grows with what: CPU time at three sizes, how straight the line is, and the figure that has a goal.

Run it with the Python of an environment that has SkillKit and its plugins installed::

    python tests/benchmarks/growth.py [ROW ...] [--rounds N] [--json]

``bend`` is what one more costs in the second half over what it costs in the first: 1 on a straight line, 3 where it is
quadratic. The sizes of a row take turns, with an empty Python between them, and the least of all rounds counts: ratios hold on a
busy machine, too. A new row is a function that prepares one size and returns its measurement, and a line in :data:`ROWS`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from startup import EMPTY, START, cpu

Measure = Callable[[], float]
PLUGIN = '''"""A plugin of the usual size."""

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, Factory


@hookimpl
def register_commands(register):
    register(Command("grown{0}", "json:dumps", "Do the work of plugin {0}."))


@hookimpl
def register_compactors(register):
    register(Factory("grown{0}", "json:dumps", "Compact as plugin {0} does."))
'''


SKILL = """---
name: grown-{0}
description: Answers questions about subject {0}.
---
Do the work of skill {0}.
"""

# Programs that get a size as their argument.
BEGIN = """
import asyncio, os, sys
from pathlib import Path
os.chdir(os.environ["SKILLKIT_HOME"])
from skillkit_core import AgentConfig, AgentRunner, EventBus, Host, Limits, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel
size = int(sys.argv[1])
"""
STEPS = (
    BEGIN
    + """
async def add(args, ctx):
    return "1"

async def main():
    tool = Tool("add", "Add.", add, {"type": "object"})
    config = AgentConfig(tools=(tool,), limits=Limits(turns=size + 2))
    async with AgentRunner(config, host=Host(discover=False)) as agent:
        agent.set_adapter(ScriptedModel([*[Reply(calls=[Call("add")]) for _ in range(size)], "done"]))
        await agent.chat("go")
asyncio.run(main())
"""
)
ENTRIES = (
    BEGIN
    + """
async def main():
    async with AgentRunner(host=Host(), session=Path("session").read_text()) as agent:
        agent.set_adapter(ScriptedModel(["done"]))
        await agent.chat("go")
asyncio.run(main())
"""
)
FILL = (
    BEGIN
    + """
from skillkit_core import TextBlock, UserMessage, AssistantMessage
async def main():
    async with AgentRunner(host=Host(), session="new") as agent:
        agent.set_adapter(ScriptedModel(["done"] * (size + 1), repeat=True))
        session = await agent.open()
        Path("session").write_text(session.id)
        for i in range(size // 2 + 1):
            await session.append_message(UserMessage(content=f"question {i}"))
            await session.append_message(AssistantMessage(content=(TextBlock(f"answer {i}"),)))
asyncio.run(main())
"""
)
SESSIONS = (
    BEGIN
    + """
async def main():
    host = Host(discover=False)
    host.freeze()
    everybody, here = asyncio.Event(), []
    async def wait(args, ctx):
        here.append(ctx)
        if len(here) == size:
            everybody.set()
        await everybody.wait()
        return "1"
    tool = Tool("wait", "Wait for all sessions.", wait, {"type": "object"})
    async def one():
        async with AgentRunner(AgentConfig(tools=(tool,)), host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("wait")]), "two", "three"]))
            for _ in range(2):
                await agent.chat("go")
    await asyncio.gather(*(one() for _ in range(size)))
asyncio.run(main())
"""
)
HANDLERS = (
    BEGIN
    + """
from skillkit_core.events.types import AgentSettledEvent
async def main():
    bus = EventBus()
    for _ in range(size):
        bus.on("agent_settled", lambda event: None)
    for _ in range(2000):
        await bus.emit(bus.make(AgentSettledEvent))
asyncio.run(main())
"""
)
# Without the fields that no client reads; the server is this program, too.
CALLS = (
    BEGIN
    + """
import json
from skillkit_core import LLMRequest, ModelDefinition, ToolCall
from skillkit_core.stream import MessageBuilder

def chat():
    number = lambda at: {} if BARE else {"index": at}
    call = lambda at, **more: {"choices": [{"index": 0, "delta": {"tool_calls": [{**number(at), **more}]}}]}
    for at in range(size):
        yield call(at, id=f"c{at}", function={"name": "add", "arguments": ""})
        yield call(at, function={"arguments": "{}"})
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

def responses():
    item = lambda at: {"type": "function_call", "id": f"f{at}", "call_id": f"c{at}", "name": "add", "arguments": "{}"}
    for at in range(size):
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item(at), "arguments": ""}}
        yield {"type": "response.function_call_arguments.delta", "output_index": at, "delta": "{}"}
        yield {"type": "response.output_item.done", "output_index": at, "item": item(at)}
    output = [item(at) for at in range(size)]
    yield {"type": "response.completed", "response": {"id": "x", "status": "completed", "output": output}}

def messages():
    yield {"type": "message_start", "message": {"id": "x", "role": "assistant", "content": [], "usage": {}}}
    for at in range(size):
        block = {"type": "tool_use", "id": f"c{at}", "name": "add", "input": {}}
        yield {"type": "content_block_start", "index": at, "content_block": block}
        yield {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": "{}"}}
        yield {"type": "content_block_stop", "index": at}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}
    yield {"type": "message_stop"}

async def serve(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    events = {"openai-chat": chat, "openai-responses": responses, "anthropic-messages": messages}[API]()
    body = b"".join(b"data: %s\\n\\n" % json.dumps(event).encode() for event in events)
    head = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\nconnection: close\\r\\ncontent-length: %d\\r\\n\\r\\n"
    writer.write(head % len(body) + body)
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host = Host()
    url = "http://127.0.0.1:%d/v1" % server.sockets[0].getsockname()[1]
    name = "anthropic" if API == "anthropic-messages" else "openai"
    adapter = host.adapters.resolve(name, API, base_url=url, api_key="x")
    built = MessageBuilder()
    async for event in adapter.stream(LLMRequest(ModelDefinition(id="m", provider=name), messages=())):
        built.add(event)
    assert built.error is None and len([b for b in built.blocks() if isinstance(b, ToolCall)]) == size, built.error
    server.close()
    await host.aclose()
asyncio.run(main())
"""
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        prepare: makes a folder ready for a size, and returns what measures CPU seconds.
        sizes: none or few, half, all.
        goal: most times that the largest size may cost of the ``yardstick``.
        yardstick: "empty" is an empty Python, "least" the row's smallest size; "bend": the goal is one of the bend.
    """

    prepare: Callable[[int, Path], Measure]
    sizes: tuple[int, int, int]
    goal: float
    yardstick: str


@dataclass(frozen=True, slots=True)
class Grown:
    """What a row came to: CPU milliseconds by size, and the figure beside its goal."""

    sizes: tuple[int, ...]
    ms: tuple[float, ...]
    bend: float
    figure: float
    goal: float
    yardstick: str


def plugins(arguments: list[str], size: int, scratch: Path) -> Measure:
    """Run a command with ``size`` more plugins installed."""
    for i in range(size):
        package, metadata = scratch / f"skillkit_grown{i}", scratch / f"skillkit_grown{i}-1.0.dist-info"
        package.mkdir()
        metadata.mkdir()
        (package / "__init__.py").touch()
        (package / "plugin.py").write_text(PLUGIN.format(i))
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: skillkit-grown{i}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[skillkit.plugins]\ngrown{i} = skillkit_grown{i}.plugin\n")
    for source in scratch.rglob("*.py"):
        os.utime(source, (1e9, 1e9))  # installed long ago
    env = environment(scratch) | {"PYTHONPATH": str(scratch)}
    asked = ["-c", START, *arguments]
    for _ in range(2):  # byte code, parsed documents, the index of commands
        subprocess.run([sys.executable, *asked], env=env, capture_output=True, check=True)
    return partial(cpu, asked, env)


def program(code: str, size: int, scratch: Path, fill: str = "") -> Measure:
    """Run a program with ``size`` as its argument, after ``fill`` has run once."""
    env = environment(scratch)
    (scratch / "home").mkdir()
    for first in (fill, code):
        if first:
            subprocess.run([sys.executable, "-c", first, str(size)], env=env, capture_output=True, check=True)
    return partial(cpu, ["-c", code, str(size)], env)


def skills(size: int, scratch: Path) -> Measure:
    """List ``size`` skills."""
    for i in range(size):
        folder = scratch / "skills" / f"grown-{i}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(i))
    env = environment(scratch) | {"SKILLKIT_SKILLS__DIRS": str(scratch / "skills")}
    asked = ["-c", START, "skills", "list"]
    for _ in range(2):  # the index of the skills
        subprocess.run([sys.executable, *asked], env=env, capture_output=True, check=True)
    return partial(cpu, asked, env)


def environment(scratch: Path) -> dict[str, str]:
    """Return an environment with a home and byte code of its own, and without the keys of providers."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SKILLKIT_", "OPENAI_", "ANTHROPIC_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {"SKILLKIT_HOME": str(scratch / "home"), "PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}


# Goals against an empty Python are those in milliseconds where an empty Python takes 12.
ROWS = {
    "plugins/--help": Row(partial(plugins, ["--help"]), (0, 500, 1000), 12.5, "empty"),
    "plugins/list": Row(partial(plugins, ["plugins", "list"]), (0, 500, 1000), 1.1, "bend"),
    "plugins/run": Row(partial(plugins, ["run", "--no-session", "what is 15% of 80"]), (0, 500, 1000), 2.0, "least"),
    "skills/list": Row(skills, (10, 1000, 2000), 2.0, "least"),
    "steps": Row(partial(program, STEPS), (10, 1000, 2000), 4.0, "least"),
    "entries": Row(partial(program, ENTRIES, fill=FILL), (10, 5000, 10000), 2.0, "least"),
    **{
        f"calls/{api}{' bare' * bare}": Row(
            partial(program, f"API, BARE = {api!r}, {bare}\n{CALLS}"), (10, 5000, 10000), 4.0, "least"
        )
        for api, bare in (
            ("openai-chat", False),
            ("openai-chat", True),
            ("openai-responses", False),
            ("anthropic-messages", False),
        )
    },
    "sessions": Row(partial(program, SESSIONS), (200, 1000, 5000), 1.1, "bend"),
    "handlers": Row(partial(program, HANDLERS), (1, 50, 100), 1.5, "least"),
}


def grown(row: Row, rounds: int) -> Grown:
    """Measure a row."""
    with tempfile.TemporaryDirectory() as folder:
        scratches = [Path(folder, str(size)) for size in row.sizes]
        for scratch in scratches:
            scratch.mkdir()
        measures = [row.prepare(size, scratch) for size, scratch in zip(row.sizes, scratches, strict=True)]
        empty, env = float("inf"), environment(Path(folder))
        best = [float("inf")] * len(measures)
        for _ in range(rounds):
            empty = min(empty, cpu(EMPTY, env))
            best = [min(known, measure()) for known, measure in zip(best, measures, strict=True)]
    few, _, most = best
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(zip(row.sizes, best, strict=True))]
    bend = slopes[1] / slopes[0] if slopes[0] > 0 else float("nan")
    figure = {"empty": most / empty, "least": most / few, "bend": bend}[row.yardstick]
    ms = tuple(round(seconds * 1000, 1) for seconds in best)
    return Grown(row.sizes, ms, round(bend, 2), round(figure, 2), row.goal, row.yardstick)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"one of {', '.join(ROWS)}; default: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if wrong := set(options.rows) - set(ROWS):
        parser.error(f"no row {min(wrong)!r}; there are {', '.join(ROWS)}")
    found = {name: grown(ROWS[name], options.rounds) for name in options.rows or ROWS}
    if options.json:
        print(json.dumps({name: asdict(row) for name, row in found.items()}, indent=1))
        return
    print(f"{'':18} {'sizes':>14} {'CPU ms':>22} {'bend':>5} {'figure':>8} {'goal':>6}")
    for name, row in found.items():
        sizes, ms = " ".join(map(str, row.sizes)), " ".join(f"{value:.0f}" for value in row.ms)
        print(f"{name:18} {sizes:>14} {ms:>22} {row.bend:5.2f} {row.figure:7.2f}x {row.goal:5.1f}x of {row.yardstick}")


if __name__ == "__main__":
    main()
