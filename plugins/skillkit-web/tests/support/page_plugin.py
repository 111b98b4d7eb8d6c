"""A model that answers by the first word of the request, tools, and a guard that asks about money."""

import os
from itertools import count

from skillkit_core import (
    ModelCost,
    ModelDefinition,
    Provider,
    Survey,
    SurveyOption,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    hookimpl,
)
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel

_numbers = count(1)
AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
FORM = Survey(
    "A journey",
    "Before I book.",
    (
        SurveyQuestion("city", "Where to?", "choice", (SurveyOption("Rome"), SurveyOption("Oslo"))),
        SurveyQuestion("sure", "Book it?", "confirm", default=False),
    ),
)


def answer(request):
    """Return what the model says."""
    said = [m for m in request.messages if m.role == "user"]
    since = list(request.messages)[list(request.messages).index(said[-1]) + 1 :]
    results = " | ".join(m.text for m in since if m.role == "tool_result")
    word, _, rest = said[-1].text.strip().partition(" ")

    def call(name, args):
        return (
            f"done: {results}"
            if results
            else Reply("I will. ", calls=[Call(name, args, id=f"{name}-{next(_numbers)}")])
        )

    match word:
        case "pay":
            return call("pay", {"amount": int(rest)})
        case "write":
            return call("write", {"path": "note.txt", "content": f"{rest}\n"})
        case "book":
            return call("book", {})
        case "hang":
            return Hang("I begin and ")
        case "pieces":
            return Reply([f"piece{i} " for i in range(int(rest))])
        case "images":
            return f"{sum(type(b).__name__ == 'ImageBlock' for m in said for b in m.content)} images"
        case "where":
            return call("where", {})
    return f"You said: {said[-1].text}"


class Model(ScriptedModel):
    """The model."""

    api, provider = "obeys", "obeys"

    def __init__(self, *given, **options):
        super().__init__([answer], repeat=True)


async def pay(args, ctx):
    """Take money."""
    return f"paid {args['amount']}"


async def book(args, ctx):
    """Ask where to, and book it."""
    answers = await ctx.ui.ask(FORM)
    return "declined" if answers is None else f"{answers['city']}, {answers['sure']}"


async def where(args, ctx):
    """Tell the folder, and whether the token is in sight."""
    return f"{ctx.cwd} {'SKILLKIT_WEB_TOKEN' in os.environ}"


@hookimpl
def register_adapters(register):
    """Offer the model."""
    register(Provider("obeys", {"obeys": Model}, default_model="obeys"))


@hookimpl
def register_models(register):
    """Describe the model."""
    cost = ModelCost(input=1.0, output=2.0)
    can = {"text", "image", "tool_use"}
    register(ModelDefinition("obeys", "obeys", "obeys", context_window=100_000, cost=cost, capabilities=can))


@hookimpl
def register_tools(register):
    """Offer the tools."""
    quiet = {"mutates": "none"}
    register(Tool("pay", "Pay an amount.", pay, AMOUNT, annotations=quiet))
    register(Tool("book", "Book a journey.", book, annotations=quiet))
    register(Tool("where", "Tell the folder.", where, annotations=quiet))


@hookimpl(phase="guard", tools=("pay",))
def before_tool_call(event):
    """Ask about money."""
    return ToolCallEventResult(ask=f"Pay {event.args.get('amount')} euros?", ask_key="pay")
