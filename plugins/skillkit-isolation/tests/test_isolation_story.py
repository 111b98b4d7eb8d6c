"""What an isolated plugin does for a run: tools, guards, hooks, notes, state, settings, parts of the prompt."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, ConfigError
from skillkit_core.testing import Call, Reply, ScriptedModel

ACME = '''
import pydantic

print("imported")

class Section(pydantic.BaseModel, extra="forbid"):
    unlucky: int = pydantic.Field(13, description="a number")

@hookimpl
def register_config(register):
    register(ConfigSection("acme", Section))

async def add(args, ctx):
    """Add, tell, and note."""
    ctx.on_output("adding\\n")
    await ctx.agent.session.note("acme.added", {"sum": args["a"] + args["b"]})
    sums = [note.data["sum"] for note in ctx.agent.session.notes("acme.added")]
    return ToolOutput(f"sums {sums}", details={"pid": os.getpid(), "key": ctx.idempotency_key, "cwd": str(ctx.cwd)})

def plain(args, ctx):
    return f"{ctx.tool_name} in {ctx.agent_path}"

@hookimpl
def register_tools(register, config):
    numbers = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
    register(Tool("add", f"Adds, but {config.unlucky}.", add, numbers, annotations={"mutates": "none"}))
    register(Tool("plain", "Tells its name.", plain))
    register(ToolSet("more", lambda agent: ()))

@hookimpl
def register_models(register):
    register(ModelDefinition("acme-1", "acme", context_window=1000, cost=ModelCost(1, 2)))

@hookimpl
def register_context_providers(register):
    register(ContextProvider("acme", lambda agent: f"Notes: {len(agent.session.notes())}."))

@hookimpl
def turn_start(event, ctx):
    state = ctx.agent.state("acme")
    state["turns"] = state.get("turns", 0) + 1
    return TurnStartResult(append=[UserMessage(content=f"turn {state['turns']} of {[m.role for m in event.messages]}")])

@hookimpl(phase="guard", tools=("add",))
def before_tool_call(event):
    if event.args["a"] == 13:
        return ToolCallEventResult(block=True, reason="unlucky")

@hookimpl
async def message_end(event):
    if event.message.role == "assistant" and event.message.text:
        return MessageEndResult(message=AssistantMessage(content=event.message.text.upper(), ts=event.message.ts))

@hookimpl
async def agent_end(event, ctx):
    print("over:", event.outcome, event.usage.total, type(event.messages[-1]).__name__)
    try:
        await ctx.steer("more")
    except PluginError as error:
        print(error)

@hookimpl
async def wrap_tool_call(call, call_next):
    return await call_next()

@hookimpl
def select_compactor(request):
    return None
'''


async def test_a_run_with_an_isolated_plugin_is_as_with_it_in_the_process(
    install: Any, isolated: Any, caplog: Any, capfd: Any
) -> None:
    host = isolated(install("acme", ACME), settings={"acme.unlucky": 7})
    outputs: list[str] = []
    async with AgentRunner(AgentConfig(model="any", system_prompt="Be brief."), host=host) as agent:
        calls = [Call("add", {"a": 1, "b": 2}), Call("add", {"a": 13, "b": 2}), Call("plain")]
        agent.set_adapter(model := ScriptedModel([Reply(calls=calls), "done"]))
        agent.events.observe(lambda e: outputs.append(e.output), ["tool_execution_update"])
        response = await agent.chat("go")
        details = next(m.details for m in response.messages if m.role == "tool_result")
        notes = [(n.type, n.data) for n in agent.session.notes()]
        assert await agent.transform_context(agent.messages) is not None
    assert response.content == "DONE" and outputs == ["adding\n"] and notes == [("acme.added", {"sum": 3})]
    assert [m.text for m in response.messages if m.role == "tool_result"] == [
        "sums [3]", "Blocked: unlucky", "plain in ('main',)"
    ]  # fmt: skip
    assert details["pid"] != os.getpid() and details["key"] and details["cwd"] == str(host.cwd)
    assert model.requests[0].system == "Be brief.\n\nNotes: 0."
    turns = [m.text for m in response.messages if m.role == "user" and m.text.startswith("turn")]
    assert turns[0] == "turn 1 of ['user']" and turns[1].startswith("turn 2 of ['user', 'user', 'assistant'")
    tool = host.tools.get("add")
    assert tool.description == "Adds, but 7." and tool.annotations == {"mutates": "none"}
    assert host.models.get("acme-1").cost.output == 2
    assert host.config.values() and ("acme.unlucky", 7, "flag for acme.unlucky") in list(host.config.values())
    await host.aclose()
    said = [r.getMessage() for r in caplog.records if r.name == "skillkit.isolation" and r.levelno == logging.WARNING]
    assert said[0] == "imported" and said[1].startswith("over: completed") and said[1].endswith("AssistantMessage")
    assert "context.steer is not there for an isolated plugin: it has notes and state" in said[2]
    assert capfd.readouterr().out == ""  # nothing that it prints is on stdout
    assert {p.severity for p in host.problems} == {"warning"}
    assert sorted(f"{p.stage}: {p.message}" for p in host.problems) == [
        "isolation: select_compactor does not work isolated: it answers with an object, which must be in the process of the host",
        "isolation: wrap_tool_call does not work isolated: it would hold what it wraps, which is in the process of the host",
        "register_tools: ToolSet 'more' is left out: an isolated plugin cannot register it",
    ]  # fmt: skip


@pytest.mark.smoke
async def test_what_a_handler_raises_is_reported_and_its_process_goes_on(install: Any, isolated: Any) -> None:
    code = """
    @hookimpl
    def turn_start(event):
        raise ValueError("no luck")

    @hookimpl
    def turn_end(event):
        raise KeyboardInterrupt

    async def fail(args, ctx):
        raise ToolError("not today") if args else RuntimeError("broken")

    @hookimpl
    def register_tools(register):
        register(Tool("fail", "Fails.", fail, {"type": "object"}))
    """
    host, errors = isolated(install("acme", code)), []
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("fail"), Call("fail", {"a": 1})]), "done"]))
        agent.events.observe(lambda e: errors.append((e.event, e.error)), ["handler_error"])
        response = await agent.chat("go")
    assert [m.text for m in response.messages if m.role == "tool_result"] == ["RuntimeError: broken", "not today"]
    assert response.content == "done" and len(errors) == 4
    assert errors[0] == ("turn_start", "SkillKitError: ValueError: no luck") and "KeyboardInterrupt" in errors[1][1]


def test_a_section_that_is_a_dataclass_knows_its_settings_and_an_unknown_one_is_an_error(
    install: Any, isolated: Any
) -> None:
    code = """
    from dataclasses import dataclass
    from skillkit_core.config import setting

    @dataclass(frozen=True, slots=True)
    class Section:
        size: int = setting(3, "how large", gt=0)
        names: list[str] = setting(list, "which")

    @hookimpl
    def register_config(register):
        register(ConfigSection("acme", Section))

    @hookimpl
    def register_models(register, config):
        register(ModelDefinition(f"size-{config.size}", "acme"))
    """
    host = isolated(install("acme", code), settings={"acme.size": 4})
    host.check_config()
    rows = {key: (value, origin) for key, value, origin in host.config.values() if key.startswith("acme.")}
    assert rows == {"acme.size": (4, "flag for acme.size"), "acme.names": ([], "default")}
    assert host.models.get("size-4").provider == "acme"
    host.close()
    wrong = isolated("acme", settings={"acme.sise": 4})
    with pytest.raises(ConfigError, match="unknown setting 'sise'"):
        wrong.check_config()
    wrong.close()
    unfit = isolated("acme", settings={"acme.size": -1})  # values are checked in the process
    assert unfit.models.list_by_provider("acme") == []
    assert "acme.size" in " ".join(p.message for p in unfit.problems)


async def test_a_plugin_without_anything_isolated_starts_nothing(make_host: Any) -> None:
    from skillkit_isolation import plugin

    host = make_host(("isolation", plugin))
    host.load()
    assert host.state("isolation") == {} and host.problems == []
