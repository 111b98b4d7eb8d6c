"""A plugin of these tests' own: tools that show what they would change, write as they work, or ask; and indicators."""

import asyncio
from pathlib import Path

from skillkit_commands import Indicator

from skillkit_core import Survey, SurveyOption, SurveyQuestion, Tool, ToolCallEventResult, hookimpl

CHANGE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["path"],
}


async def preview(agent, tool_name, args):
    """The difference that a call would make."""
    if args["path"] == "broken":
        raise ValueError("no such file")
    lines = [f"+{line}" for line in args["text"].splitlines()]
    return "\n".join([f"--- {args['path']}", f"+++ {args['path']}", "@@ -1 +1 @@", "-before", *lines])


def change(args, ctx):
    Path(args["path"]).write_text(args["text"])
    return f"changed {args['path']}"


async def build(args, ctx):
    """Write a hundred lines, and end when somebody writes into the pipe ``go``."""
    for number in range(100):
        ctx.on_output(f"step {number}\n")
    await asyncio.to_thread(Path("go").read_text)
    return "\n".join(f"step {number}" for number in range(100))


async def linger(args, ctx):
    """Run until the run is aborted."""
    print("printed by a plugin")
    ctx.on_output("lingering\n")
    await asyncio.Event().wait()


async def spin(args, ctx):
    """Never end, and let nobody else work."""
    ctx.on_output("spinning\n")
    await asyncio.sleep(0.5)  # it is drawn
    while True:
        pass


async def interview(args, ctx):
    """Ask one question of each kind."""
    colours = tuple(
        SurveyOption(word, f"like {thing}") for word, thing in (("red", "fire"), ("blue", "water"), ("green", "grass"))
    )
    survey = Survey(
        "A bicycle",
        "For whom we build it.",
        (
            SurveyQuestion("name", "What is it called?"),
            SurveyQuestion("one", "Which colour?", "choice", colours),
            SurveyQuestion("many", "Which other colours?", "choices", colours),
            SurveyQuestion("fast", "Is it fast?", "confirm"),
            SurveyQuestion("code", "The code of its lock?", "secret"),
        ),
    )
    answers = await ctx.ui.ask(survey)
    if answers is None:
        return "nobody said"
    await ctx.ui.notify("the bicycle is ordered", "warning")
    return f"{answers.to_dict()} and a code of {len(answers['code'])} characters"


@hookimpl
def register_tools(register):
    here = "talking_plugin:preview"
    register(Tool("change", "Change a file.", change, CHANGE, annotations={"preview": here, "mutates": "none"}))
    register(Tool("build", "Build.", build, annotations={"mutates": "none"}))
    register(Tool("spin", "Loop.", spin, annotations={"mutates": "none"}))
    register(Tool("linger", "Wait.", linger, annotations={"mutates": "none"}))
    register(Tool("interview", "Ask.", interview, annotations={"mutates": "none"}))


@hookimpl(optionalhook=True)
def register_indicators(register):
    for name in ("activity", "network", "weather"):  # what a file of that name says
        register(Indicator(name, lambda agent, file=name: said(agent.cwd / file)))


def said(file):
    return file.read_text() if file.exists() else ""


@hookimpl(phase="guard", tools=("change",))
def before_tool_call(event):
    rule = "Edit(**), for 30 days" if event.args["path"] == "kept" else None
    return ToolCallEventResult(ask=f"Change {event.args['path']}?", ask_key="change", ask_rule=rule)
