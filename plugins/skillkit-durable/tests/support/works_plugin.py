"""A model that answers by the first word of the request, and tools that leave a line in a file, which is the world."""

from __future__ import annotations

import asyncio
import json
import os
import uuid

from skillkit_core import (
    ErrorKind,
    ModelDefinition,
    Provider,
    Survey,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    hookimpl,
)
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

NAME = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "seconds": {"type": "number"}},
    "required": ["name"],
}
QUIET = {"mutates": "none"}


def answer(request):
    """Return what the model says."""
    said = [m for m in request.messages if m.role == "user" and m.source != "crash"]
    since = list(request.messages)[list(request.messages).index(said[-1]) + 1 :]
    results = [m.text for m in since if m.role == "tool_result"]
    word, _, rest = said[-1].text.strip().partition(" ")

    def call(*calls):
        made = [Call(name, args, id=f"{name}-{uuid.uuid4().hex[:8]}") for name, args in calls]
        return f"done: {' | '.join(results)}" if results else Reply("I will. ", calls=made)

    match word:
        case "note":  # NAME [SECONDS]
            name, _, seconds = rest.partition(" ")
            return call(("note", {"name": name, "seconds": float(seconds or 0)}))
        case "once":
            name, _, seconds = rest.partition(" ")
            return call(("once", {"name": name, "seconds": float(seconds or 0)}))
        case "pay":
            return call(*[("pay", {"name": name}) for name in rest.split()])
        case "ask":
            return call(("wish", {"name": rest}))
        case "die":
            return call(("die", {"name": rest}))
        case "delegate":  # what an agent below is asked
            return call(("spawn_agent", {"task": rest}))
        case "fail":
            ready = os.path.exists(os.environ["WORKS_WORLD"] + ".ready")
            return "well" if ready else Fail(ErrorKind.invalid_request, "the model refuses", status=400)
    return f"You said: {said[-1].text}"


def leave(name, ctx):
    """Leave a line in the world."""
    line = json.dumps({"name": name, "key": ctx.idempotency_key, "pid": os.getpid(), "folder": str(ctx.cwd)})
    with open(os.environ["WORKS_WORLD"], "a") as file:
        file.write(line + "\n")


async def note(args, ctx):
    """Leave a line, then take a while."""
    leave(args["name"], ctx)
    await asyncio.sleep(args.get("seconds", 0))
    return f"noted {args['name']}"


async def pay(args, ctx):
    """Leave a line."""
    leave(args["name"], ctx)
    return f"paid {args['name']}"


async def wish(args, ctx):
    """Ask, then leave a line."""
    answers = await ctx.ask(Survey("A wish", "", (SurveyQuestion("what", "What do you wish?", "text"),)))
    if answers is None:
        return "nobody wishes anything"
    leave(f"{args['name']} {answers['what']}", ctx)
    return f"you wish {answers['what']}"


async def die(args, ctx):
    """End the process, as a fault in the machine would."""
    leave(args["name"], ctx)
    os._exit(77)


@hookimpl
def register_adapters(register):
    """Bring the provider."""

    class Model(ScriptedModel):
        api, provider = "works", "works"

        def __init__(self, *given, **options):
            super().__init__([answer], repeat=True)

    register(Provider("works", {"works": Model}, default_model="works"))


@hookimpl
def register_models(register):
    """Bring the model."""
    register(
        ModelDefinition(
            "works", "works", "works", context_window=100_000, max_output_tokens=8_000, capabilities={"tool_use"}
        )
    )


@hookimpl
def register_tools(register):
    """Bring the tools."""
    register(Tool("note", "Note something; may be repeated.", note, NAME, replay="safe", annotations=QUIET))
    register(Tool("once", "Note something; must not be repeated.", note, NAME, annotations=QUIET))
    register(Tool("pay", "Pay; asks before.", pay, NAME, annotations=QUIET))
    register(Tool("wish", "Ask a person.", wish, NAME, annotations={**QUIET, "asks": True}))
    register(Tool("die", "End the process.", die, NAME, replay="safe", annotations=QUIET))


@hookimpl(phase="guard", tools=("pay",))
def before_tool_call(event):
    """Ask about payments."""
    return ToolCallEventResult(ask=f"Pay {event.args.get('name', '')}?", ask_key="pay")
