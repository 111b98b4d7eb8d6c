"""A provider for processes: its first word chooses, as ``run --provider traced "hang"``."""

import asyncio

from skillkit_core import Provider, Tool, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel


def answer(request):
    last = request.messages[-1]
    if last.role == "tool_result":
        return "done"
    return Reply("I call it.", calls=[Call("hang")]) if last.text.startswith("hang") else Reply("The answer is 4.")


async def hang(args, ctx):
    await asyncio.Event().wait()


class Traced(ScriptedModel):
    provider = "traced"


@hookimpl
def register_adapters(register):
    register(
        Provider("traced", {"scripted": lambda host, **_: Traced([answer], repeat=True)}, default_model="traced-1")
    )


@hookimpl
def register_models(register):
    from skillkit_core import ModelDefinition

    register(ModelDefinition("traced-1", "traced", "scripted"))


@hookimpl
def register_tools(register):
    register(Tool("hang", "Hangs.", hang, annotations={"mutates": "none"}))
