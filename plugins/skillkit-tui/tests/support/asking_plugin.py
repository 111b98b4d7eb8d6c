"""A tool that writes a file, about which a guard asks; and a chord that edits a file."""

import asyncio

from skillkit_core import Tool, ToolCallEventResult, hookimpl


async def write(args, ctx):
    (ctx.cwd / "made").write_text(args["text"])
    return "written\n" * 30


async def mark(args, ctx):
    (ctx.cwd / "marked").touch()
    return "marked"


async def spin(args, ctx):
    ctx.on_output("spinning\n")
    await asyncio.sleep(0.2)  # it is drawn
    while True:
        pass


async def edit(front):
    await front.edit(front.agent.cwd / "plan.md")
    return f"the plan is {(front.agent.cwd / 'plan.md').read_text().strip()}"


@hookimpl
def register_tools(register):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    register(Tool("jot", "Write a file.", write, schema))
    register(Tool("spin", "Never end.", spin, {"type": "object"}, annotations={"mutates": "none"}))
    register(Tool("mark", "Make a file.", mark, {"type": "object"}, annotations={"mutates": "none"}))


@hookimpl
def before_tool_call(event):
    return ToolCallEventResult(ask="Write it?", ask_key="jot") if event.tool_name == "jot" else None


@hookimpl(optionalhook=True)
def register_chords(register):
    from skillkit_tui import Chord

    register(Chord("edit", "w", "edit a file", edit))
