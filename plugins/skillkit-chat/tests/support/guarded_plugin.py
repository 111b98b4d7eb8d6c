"""A plugin of these tests' own: tools that pay and crash, a guard that asks, and a model that calls what it is told to."""

import asyncio
import json
import os
import signal
from pathlib import Path

from skillkit_core import (
    ModelCost,
    ModelDefinition,
    Provider,
    Survey,
    SurveyOption,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    TurnEndResult,
    TurnStartResult,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

AMOUNT = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
# no other guard asks about these tools
TAME = {"mutates": "none"}


def pay(args, ctx):
    with Path("paid").open("a") as file:
        file.write(f"{args['amount']}\n")
    return f"paid {args['amount']}"


def note(args, ctx):
    Path("noted").write_text(json.dumps(args))
    return "noted"


def crash(args, ctx):
    """The first call ends the process, as a power cut would."""
    marker = Path(f"tried-{ctx.tool_name}")
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "ran again"


async def linger(args, ctx):
    """Run until the run is aborted."""
    print("printed by a plugin")
    ctx.on_output("lingering\n")
    await asyncio.Event().wait()


async def flood(args, ctx):
    """Print a megabyte for each unit of the amount, say so in the pipe ``flooded``, and run until the run is aborted."""
    for _ in range(16 * args["amount"]):
        ctx.on_output("x" * 65_000 + "\n")
        await asyncio.sleep(0)
    await asyncio.to_thread(Path("flooded").write_text, "done")
    await asyncio.Event().wait()


async def question(args, ctx):
    """Ask the person for a city."""
    options = (SurveyOption("Rome"), SurveyOption("Oslo"))
    survey = Survey("A journey", "", (SurveyQuestion("city", "Where to?", "choice", options),))
    answers = await ctx.ui.ask(survey) if ctx.ui is not None else None
    if answers is None:
        return "nobody said where to"
    await ctx.ui.notify(f"off to {answers['city']}", "warning")
    return f"going to {answers['city']}"


class Obeys(ScriptedModel):
    """``pay 5 7`` makes two calls, ``note args.json`` one; results are repeated; everything else is answered with itself."""

    def __init__(self, host, **options):
        super().__init__([self.answer], repeat=True)
        self.provider = "obeys"

    @staticmethod
    def answer(request):
        last = request.messages[-1]
        if last.role == "tool_result":
            return "; ".join(m.text for m in request.messages if m.role == "tool_result")
        name, *amounts = last.text.split()
        if name not in {tool.name for tool in request.tools}:
            return f"You said: {last.text}"
        if name == "note":
            return Reply("I will.", calls=[Call(name, json.loads(Path(amounts[0]).read_text()), "call_note")])
        return Reply("I will.", calls=[Call(name, {"amount": int(n)}, f"call_{n}") for n in amounts])


@hookimpl
def register_adapters(register):
    register(Provider("obeys", {"scripted": Obeys}, default_model="m"))


@hookimpl
def register_models(register):
    register(ModelDefinition("m", "obeys", context_window=1_000_000, cost=ModelCost(0, 0)))


@hookimpl
def register_tools(register):
    register(Tool("pay", "Pay an amount.", pay, AMOUNT, annotations=TAME))
    register(Tool("pay_abroad", "Pay an amount.", pay, AMOUNT, opt_in=True, annotations=TAME))
    register(Tool("pay_in_turn", "Pay an amount, after those before.", pay, AMOUNT, sequential=True, annotations=TAME))
    register(Tool("note", "Note anything.", note, {"type": "object"}, annotations=TAME))
    register(Tool("crash", "End the process.", crash, AMOUNT, annotations=TAME))
    register(Tool("linger", "Wait.", linger, AMOUNT, annotations=TAME))
    register(Tool("flood", "Print much.", flood, AMOUNT, annotations=TAME))
    register(Tool("question", "Ask.", question, AMOUNT, annotations=TAME))
    register(Tool("crash_safely", "End the process.", crash, AMOUNT, replay="safe", annotations=TAME))


@hookimpl(phase="guard", tools=("pay", "pay_abroad", "pay_in_turn", "note"))
def before_tool_call(event):
    if event.tool_name == "note":
        return ToolCallEventResult(ask="Note \u202ethat\u202c?", ask_key="note")
    with Path("guarded").open("a") as file:
        file.write(f"{event.args['amount']}\n")
    if "PAY_NOTHING" in os.environ:
        return ToolCallEventResult(block=True, reason="the rules changed")
    if event.args["amount"] > 1:
        return ToolCallEventResult(ask=f"Pay {event.args['amount']} euros?")
    return None


@hookimpl
def turn_start(event):
    return TurnStartResult(stop=True, reason="nothing is left of today") if os.environ.get("BUDGET") == "0" else None


@hookimpl
def turn_end(event):
    return TurnEndResult(stop=os.environ.get("BUDGET") == "1", reason="one turn is enough", outcome="limit")
