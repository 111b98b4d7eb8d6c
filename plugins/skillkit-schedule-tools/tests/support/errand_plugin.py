"""A plugin of these tests' own: tools that leave marks, that a guard asks about and that kill, and a model."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from skillkit_core import ModelDefinition, Provider, Tool, ToolCallEventResult, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel

TAME = {"mutates": "none"}


def mark(name):
    with Path("marks").open("a") as file:
        file.write(f"{name}\n")


def errand(args, ctx):
    mark("errand")
    return "done"


def deed(args, ctx):
    mark("deed")
    return "paid"


def die(args, ctx):
    """The first call ends the process, as a power cut would."""
    mark("die")
    if not Path("died").exists():
        Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "lived"


async def linger(args, ctx):
    mark("linger")
    await asyncio.sleep(0 if Path("lingered").exists() else 600)
    return "stayed"


class Obeys(ScriptedModel):
    """Calls the tools that the first line of a request names, one after the other, and then says what it knows."""

    def __init__(self, host, **options):
        super().__init__([self.answer], repeat=True)
        self.provider = "obeys"

    @staticmethod
    def answer(request):
        asked = next(m.text for m in request.messages if m.role == "user" and not m.text.startswith("<"))
        results = [m.text for m in request.messages if m.role == "tool_result"]
        names = [word for word in asked.splitlines()[0].split() if word in {tool.name for tool in request.tools}]
        if len(results) < len(names):
            return Reply("I will.", calls=[Call(names[len(results)], {}, f"call_{len(results)}")])
        return "; ".join(results) or f"You said: {asked}"


@hookimpl
def register_adapters(register):
    register(Provider("obeys", {"scripted": Obeys}, default_model="m"))


@hookimpl
def register_models(register):
    register(ModelDefinition("m", "obeys", context_window=1_000_000))


@hookimpl
def register_tools(register):
    for function in (errand, deed, die, linger):
        register(Tool(function.__name__, "A tool.", function, annotations=TAME))


@hookimpl(phase="guard", tools=("deed",))
def before_tool_call(event):
    return ToolCallEventResult(ask="Really?")
