"""A model that answers by the first word of the request, a tool that costs money, and a guard that asks about it."""

import json
from itertools import count

from skillkit_core import (
    ErrorKind,
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
from skillkit_core.testing import Call, Fail, Hang, Reply, ScriptedModel

_numbers = count(1)
SECRET = {"type": "object", "properties": {"secret": {"type": "boolean"}}}
AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}


def answer(request):
    """Return what the model says."""
    said = [m for m in request.messages if m.role == "user"]
    since = list(request.messages)[list(request.messages).index(said[-1]) + 1 :]
    results = " | ".join(m.text for m in since if m.role == "tool_result")
    word, _, rest = said[-1].text.strip().partition(" ")

    def call(*calls):
        return (
            f"done: {results}"
            if results
            else Reply("I will. ", calls=[Call(*c, id=f"c{next(_numbers)}") for c in calls])
        )

    match word:
        case "pay":
            return call(("pay", {"amount": int(rest)}))
        case "use":  # NAME {arguments}, a call after the other
            calls = json.loads(rest)
            done = sum(m.role == "tool_result" for m in since)
            return (
                Reply("", calls=[Call(*calls[done], id=f"c{next(_numbers)}")])
                if done < len(calls)
                else f"done: {results}"
            )
        case "think":
            return Reply("Four.", thinking="Two and two.")
        case "hang":
            return Hang("I begin and ")
        case "fail":
            return Fail(ErrorKind.invalid_request, "the model refuses", status=400)
        case "long":
            return Reply("cut", stop="length")
        case "seen":
            blocks = [type(b).__name__ for m in said for b in m.content]
            return " ".join(blocks) + " " + " / ".join(m.text for m in said)
    return f"You said: {said[-1].text}"


class Model(ScriptedModel):
    """The model."""

    api, provider = "obeys", "obeys"

    def __init__(self, *given, **options):
        super().__init__([answer], repeat=True)


async def ask(args, ctx):
    """Ask where to go."""
    questions = (
        SurveyQuestion("city", "Where to?", "choice", (SurveyOption("Rome"), SurveyOption("Oslo", "cool"))),
        SurveyQuestion("extras", "What else?", "choices", (SurveyOption("Seat"), SurveyOption("Meal")), required=False),
        SurveyQuestion("sure", "Sure?", "confirm", default=False),
        *((SurveyQuestion("pin", "The PIN?", "secret"),) if args.get("secret") else ()),
    )
    answers = await ctx.ui.ask(Survey("A journey", "Before I book.", questions)) if ctx.ui is not None else None
    return json.dumps(answers.to_dict(), sort_keys=True) if answers is not None else "nobody answered"


async def pay(args, ctx):
    """Pay."""
    ctx.on_output("paying\n")
    return f"paid {args['amount']}"


@hookimpl
def register_adapters(register):
    """Offer the model."""
    register(Provider("obeys", {"obeys": Model}, default_model="obeys"))


@hookimpl
def register_models(register):
    """Describe it, and another one."""
    can = {"text", "image", "tool_use", "reasoning"}
    for name in ("obeys", "other"):
        made = ModelDefinition(
            name, "obeys", "obeys", context_window=100_000, cost=ModelCost(input=1.0, output=2.0), capabilities=can
        )
        register(made)


@hookimpl
def register_tools(register):
    """Offer the tools."""
    print("a plugin prints")  # which must not reach the editor
    register(Tool("pay", "Pay.", pay, AMOUNT, annotations={"mutates": "none"}))
    register(Tool("ask", "Ask.", ask, SECRET, annotations={"mutates": "none"}))


@hookimpl(phase="guard", tools=("pay",))
def before_tool_call(event):
    """Ask about money."""
    return ToolCallEventResult(ask=f"Pay {event.args['amount']} euros?", ask_key="pay")
