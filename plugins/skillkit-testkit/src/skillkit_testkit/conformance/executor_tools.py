"""Tools for the executor suite. The module is a plugin, so that an executor elsewhere can load it by its name."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from skillkit_core import (
    Block,
    ImageBlock,
    Survey,
    SurveyQuestion,
    TextBlock,
    TokenUsage,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
    hookimpl,
)

from .processes import GRANDCHILD

__all__ = ["LIVE_LINES", "register_tools"]

LIVE_LINES = 300
_started: list[subprocess.Popen[bytes]] = []
_TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def _count(ctx: ToolContext, text: str) -> None:
    """Write down that a tool ran."""
    with (ctx.cwd / "ran").open("a") as file:
        file.write(f"{text}\n")


async def echo(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Return the text, and everything else that an output may have."""
    _count(ctx, args["text"])
    content: list[Block] = [TextBlock(args["text"]), ImageBlock(data="aGk=", mime_type="image/png")]
    details = {"cwd": str(ctx.cwd), "call": ctx.tool_call_id, "path": [*ctx.agent_path], "pid": os.getpid()}
    return ToolOutput(content, details, usage=TokenUsage(input=3, output=4), pinned=True)


def fail(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Fail in words for the model, or by accident."""
    _count(ctx, "fail")
    if args["text"]:
        raise ToolError(args["text"])
    raise ZeroDivisionError("by zero")


def live(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Show many lines on two streams, in a thread."""
    for n in range(LIVE_LINES):
        ctx.on_output(f"{args['text']}{n}\n", "stderr" if n % 50 == 49 else "stdout")
    return "shown"


async def linger(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Say that it runs, and wait until the call is aborted."""
    _count(ctx, "linger")
    ctx.on_output("running")
    try:
        await ctx.signal.wait()
    finally:
        _count(ctx, "ended")
    return "aborted"


def stubborn(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Hold a thread for a while, whatever happens."""
    ctx.on_output("running")
    time.sleep(float(args["text"]))
    _count(ctx, "stubborn")
    return "done"


async def family(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Start a command with a grandchild that ignores signals, in a session of its own."""
    argv = [sys.executable, "-c", GRANDCHILD, str(ctx.cwd / "alive")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)  # noqa: ASYNC220 - it stays
    _started.append(process)
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    _count(ctx, "family")
    ctx.on_output("running")
    await ctx.signal.wait()
    return "aborted"


async def journey(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Ask first, and act afterwards."""
    answers = await ctx.ask(Survey(args["text"], "", (SurveyQuestion("city", "Where to?"),)))
    _count(ctx, f"journey {answers['city'] if answers is not None else 'nowhere'}")
    return "gone"


@hookimpl
def register_tools(register: Callable[[Tool], None]) -> None:
    """Offer the tools."""
    functions: tuple[Any, ...] = (echo, fail, live, linger, stubborn, family)
    for function in functions:
        more: dict[str, Any] = {"timeout": 1.0} if function is linger else {}
        register(Tool(function.__name__, "For tests.", function, _TEXT, annotations={"remote": True}, **more))
    register(Tool("patient", "For tests.", linger, _TEXT, annotations={"remote": True}))
    register(Tool("again", "For tests.", family, _TEXT, replay="safe", annotations={"remote": True}))
    register(Tool("journey", "For tests.", journey, _TEXT, annotations={"remote": True, "asks": True}))
    register(Tool("long", "For tests.", echo, _TEXT, max_output=2_000, annotations={"remote": True}))
