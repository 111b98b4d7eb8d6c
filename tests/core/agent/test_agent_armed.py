"""Handlers that wait for a topic, and tool sets whose answer lasts: what has nothing to do is not asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, Host, Tool, ToolCallEventResult, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel
from skillkit_core.tools import ToolSet


async def answer(args: Any, ctx: Any) -> str:
    return "4"


ADD = Tool("add", "Add.", answer, {"type": "object"})


def guard(topic: str, seen: list[str]) -> Any:
    """A plugin with a guard that waits for ``topic`` and blocks."""

    @hookimpl(phase="guard", while_=(topic,))
    def before_tool_call(event: Any, ctx: Any) -> ToolCallEventResult:
        seen.append(event.tool_name)
        return ToolCallEventResult(block=True, reason="armed")

    return SimpleNamespace(name="waits", before_tool_call=before_tool_call)


async def call_add(agent: AgentRunner) -> str:
    agent.set_adapter(ScriptedModel([Reply(calls=[Call("add", {})]), "done"]))
    await agent.chat("add")
    return next(m.text for m in reversed(agent.messages) if m.role == "tool_result")


@pytest.mark.parametrize("topic", ["alarm", "*"])
def test_a_handler_waits_for_its_topic_and_no_longer_than_it(topic: str, go: Any) -> None:
    async def main() -> None:
        seen: list[str] = []
        host = Host(plugins=[guard("alarm", seen)], discover=False)
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            assert await call_add(agent) == "4"
            assert not agent.events.has("before_tool_call")
            agent.events.arm(topic)
            assert await call_add(agent) == "Blocked: armed"
            agent.events.disarm(topic)
            assert await call_add(agent) == "4"
        assert seen == ["add"]

    go(main())


def test_an_agent_arms_nothing_in_another_one(go: Any) -> None:
    async def main() -> None:
        host = Host(plugins=[guard("alarm", [])], discover=False)
        async with (
            AgentRunner(AgentConfig(tools=(ADD,)), host=host) as one,
            AgentRunner(AgentConfig(tools=(ADD,)), host=host) as other,
        ):
            one.events.arm("alarm")
            assert await call_add(other) == "4"
            assert await call_add(one) == "Blocked: armed"

    go(main())


def test_a_note_arms_by_its_type_and_so_does_the_session_that_holds_it(go: Any) -> None:
    async def main() -> None:
        host = Host(plugins=[guard("waits.alarm", [])], discover=False)
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            assert await call_add(agent) == "4"
            start = agent.session.leaf_id
            await agent.session.note("waits.alarm", {"on": True})
            assert await call_add(agent) == "Blocked: armed"
            await agent.fork()
            assert await call_add(agent) == "Blocked: armed"
            session = agent.session
            async with AgentRunner(AgentConfig(tools=(ADD,)), host=host, session=session) as resumed:
                assert await call_add(resumed) == "Blocked: armed"
                assert start is not None

    go(main())


def test_a_setting_arms_by_its_name_also_in_agents_that_are_there(go: Any) -> None:
    async def main() -> None:
        host = Host(
            plugins=[guard("setting:limits.turns", [])], discover=False, settings={"limits": {"tool_calls": 50}}
        )
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            assert await call_add(agent) == "4"
            host.configure({"limits.turns": 9})
            assert await call_add(agent) == "Blocked: armed"
        host = Host(plugins=[guard("setting:limits.turns", [])], discover=False, settings={"limits": {"turns": 9}})
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            assert await call_add(agent) == "Blocked: armed"

    go(main())


def test_moving_to_a_branch_with_the_note_arms(go: Any) -> None:
    async def main() -> None:
        host = Host(plugins=[guard("waits.alarm", [])], discover=False)
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            await call_add(agent)
            before = agent.session.leaf_id
            noted = await agent.session.note("waits.alarm", {})
            await agent.move_to(before)
            agent.events.disarm("waits.alarm")
            assert await call_add(agent) == "4"
            await agent.move_to(noted)
            assert await call_add(agent) == "Blocked: armed"

    go(main())


def test_an_armed_guard_holds_the_agents_below(go: Any) -> None:
    async def main() -> None:
        seen: list[str] = []

        async def ask(args: Any, ctx: Any) -> str:
            ctx.agent.events.arm("alarm")
            async with AgentRunner(AgentConfig(tools=(ADD,))) as below:
                return await call_add(below)

        host = Host(plugins=[guard("alarm", seen)], discover=False)
        async with AgentRunner(AgentConfig(tools=(Tool("ask", "Ask.", ask, {"type": "object"}),)), host=host) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("ask", {})]), "done"]))
            await agent.chat("ask")
            assert agent.messages[-2].text == "Blocked: armed"
        assert seen == ["add"]

    go(main())


def test_a_handler_that_waits_comes_and_goes_with_its_plugin(go: Any) -> None:
    async def main() -> None:
        host = Host(discover=False)
        async with AgentRunner(AgentConfig(tools=(ADD,)), host=host) as agent:
            agent.events.arm("alarm")
            host.add_plugin(guard("alarm", []))
            assert await call_add(agent) == "Blocked: armed"
            host.remove_plugin("waits")
            assert await call_add(agent) == "4"

    go(main())


def test_a_lasting_tool_set_is_asked_once_a_run_and_after_a_change(go: Any) -> None:
    async def main() -> None:
        asked: list[str] = []
        sets = {"lasting": True, "each": False}

        def of(name: str) -> Any:
            def tools(agent: AgentRunner) -> tuple[Tool, ...]:
                asked.append(name)
                return (Tool(name, name, answer, {"type": "object"}),)

            return tools

        async def change(args: Any, ctx: Any) -> str:
            ctx.agent.toolbox.changed()
            return "changed"

        @hookimpl
        def register_tools(register: Any) -> None:
            for name, lasting in sets.items():
                register(ToolSet(name, of(name), lasting=lasting))

        host = Host(plugins=[SimpleNamespace(name="sets", register_tools=register_tools)], discover=False)
        config = AgentConfig(tools=(ADD, Tool("change", "Change.", change, {"type": "object"})))
        async with AgentRunner(config, host=host) as agent:
            steps = [Reply(calls=[Call("add", {})]), Reply(calls=[Call("lasting", {})]), "done"]
            agent.set_adapter(ScriptedModel(steps))
            await agent.chat("work")
            assert asked.count("lasting") == 1
            assert asked.count("each") == 3  # requests
            asked.clear()
            assert {tool.name for tool in agent.tools} >= sets.keys() and asked == ["lasting", "each"], (
                "between two runs"
            )
            asked.clear()
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("change", {})]), "done"]))
            await agent.chat("change")
            assert asked.count("lasting") == 2

    go(main())
