"""A model that answers by the first word of the request, tools that it calls, and a guard that asks before money is spent."""

import asyncio
import json
import os
from itertools import count
from pathlib import Path

from skillkit_core import (
    ErrorKind,
    Handled,
    ModelDefinition,
    Provider,
    Survey,
    SurveyOption,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    ToolOutput,
    hookimpl,
)
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

_numbers = count(1)
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def answer(request):
    """Return what the model says."""
    said = [m for m in request.messages if m.role == "user"]
    since = list(request.messages)[list(request.messages).index(said[-1]) + 1 :]
    results = " | ".join(m.text for m in since if m.role == "tool_result")
    word, _, rest = said[-1].text.strip().partition(" ")
    if word in ("pay", "journey", "hang", "leave"):
        call = Reply("I will. ", calls=[Call(word, {"text": rest}, id=f"c{os.getpid()}-{next(_numbers)}")])
        return f"done: {results}" if results else call
    if word == "act":  # calls the action of a skill
        (name,) = [tool.name for tool in request.tools if "__" in tool.name]
        return f"done: {results}" if results else Reply("", calls=[Call(name, {}, id=f"c{next(_numbers)}")])
    if word == "loud":
        calls = [Call(name, {}, id=f"c{next(_numbers)}") for name in ("leave", "chatter")]
        return "done" if results else Reply("", calls=calls)
    if word == "both":
        calls = [Call("pay", {"text": text}, id=f"c{next(_numbers)}") for text in ("1", "2")]
        return f"done: {results}" if results else Reply("", calls=calls)
    if word == "say":
        return Reply([f"word{i} " for i in range(int(rest or 3))])
    if word == "fail":
        return Fail(ErrorKind.invalid_request, "the model refuses", status=400)
    if word == "skills":
        return " ".join(sorted(t.name for t in request.tools)) + " " + request.system
    if word == "seen":
        return json.dumps([said[-1].text, len(said), [type(b).__name__ for b in said[-1].content]])
    if word == "origin":
        return json.dumps(said[-1].origin.to_dict(), default=dict)
    return f"You said: {said[-1].text}"


class Model(ScriptedModel):
    """The model."""

    api, provider = "obeys", "obeys"

    def __init__(self, *given, **options):
        super().__init__([answer], repeat=True)


async def pay(args, ctx):
    """Pay, and write down that it was done."""
    with Path(ctx.cwd, "paid.txt").open("a") as file:
        file.write(f"{args['text']}\n")
    return f"paid {args['text']}"


async def journey(args, ctx):
    """Ask where to go."""
    questions = [SurveyQuestion("city", "Where to?", "choice", (SurveyOption("Rome"), SurveyOption("Oslo", "cool")))]
    if args["text"]:
        questions.append(SurveyQuestion("sure", "Sure?", "confirm", default=False))
    answers = await ctx.ask(Survey("A journey", "Before I book.", tuple(questions)))
    return "nobody answered" if answers is None else json.dumps(answers.to_dict(), sort_keys=True)


async def hang(args, ctx):
    """Work until somebody says that it is enough, and a little longer where that is wanted."""
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(2 if args["text"] else 0)


async def leave(args, ctx):
    """Hand several things over."""
    Path(ctx.cwd, "report.txt").write_text("a report")
    made = [{"path": "report.txt"}, {"path": "/etc/hostname"}, {"data": {"n": 1}}, {"name": "note", "text": "a note"}]
    return ToolOutput("left", {"artifacts": made})


async def chatter(args, ctx):
    """Say much."""
    for number in range(400):
        ctx.on_output(f"{number}\n")
        await asyncio.sleep(0)
    return "said"


@hookimpl
def register_adapters(register):
    """Offer the model."""
    register(Provider("obeys", {"obeys": Model}, default_model="obeys", rank=1))


@hookimpl
def register_models(register):
    """Describe it."""
    register(
        ModelDefinition("obeys", "obeys", "obeys", context_window=100_000, capabilities={"text", "image", "tool_use"})
    )


@hookimpl
def register_tools(register):
    """Offer the tools."""
    for tool in (pay, hang, leave, chatter):
        register(Tool(tool.__name__, tool.__doc__, tool, TEXT, annotations={"mutates": "none"}))
    register(Tool("journey", "Ask.", journey, TEXT, annotations={"mutates": "none", "asks": True}))


@hookimpl(phase="guard", tools=("pay",))
def before_tool_call(event):
    """Ask about money."""
    return ToolCallEventResult(ask=f"Pay {event.args['text']} euros?", ask_key="pay")


@hookimpl
def input(event):
    """Answer without a run, or refuse."""
    return Handled("Pong.") if event.text.startswith("ping") else None
