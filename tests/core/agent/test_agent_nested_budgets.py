"""Books, budgets and depth of runs inside runs (spec, section 7; section 9, edge case 49)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    Limits,
    ModelCost,
    ModelDefinition,
    TokenUsage,
    ToolOutput,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

PRICED = ModelDefinition("model", "scripted", "scripted", cost=ModelCost(input=1_000_000.0, output=0.0))


def ledger(agent: AgentRunner) -> list[dict[str, Any]]:
    return [dict(e.data) for e in agent.session.entries if e.type == "usage"]


@pytest.mark.spec("9.49", "I17")
def test_usage_rolls_up_once_whatever_the_tool_reports(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def delegate(args: Any, ctx: Any) -> ToolOutput:
            child = AgentRunner(AgentConfig(model=parent.config.model))
            child.set_adapter(ScriptedModel([Reply("found", usage=TokenUsage(input=100, output=7))]))
            response = await child.chat("look")
            extra = TokenUsage(input=1000) if args["more"] else TokenUsage()
            return ToolOutput(response.content, usage=response.usage + extra)

        parent = kit.agent(
            Reply(calls=[Call("delegate", {"more": False})]),
            Reply(calls=[Call("delegate", {"more": True})]),
            "done",
            tools=[kit.tool("delegate", delegate)],
            model=PRICED,
        )
        response = await parent.chat("go")
        own = 3 * TokenUsage(input=10, output=5).total
        assert response.usage.total == own + 2 * 107 + 1000 == parent.session.usage.total
        purposes = [e["purpose"] for e in ledger(parent)]
        assert purposes.count("nested") == 2 and purposes.count("turn") == 3
        nested = next(e for e in ledger(parent) if e["purpose"] == "nested")
        assert nested["agent_path"][0] == "main" and nested["input"] == 100 and nested["session"]
        assert response.cost == pytest.approx(3 * 10 + 2 * 100 + 1000)

    go(main)


def test_the_budget_of_the_run_above_stops_a_nested_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        calls = [Reply(calls=[Call("inner")], usage=TokenUsage(input=100))] * 20
        team = Team(kit, [DELEGATE, "never"], calls, child_tools=[kit.tool("inner", "x")], limits=Limits(tokens=350))
        response = await team.parent.chat("go")
        assert response.outcome == "limit" and "350 tokens" in response.reason
        (answer,) = team.answers
        assert answer.outcome == "limit" and "the run that this one is a part of" in answer.reason
        assert len(team.scripted.requests) == 4  # 15 + 4 * 100 is over 350, and was seen before the fifth
        assert response.usage.total == 15 + 400

    go(main)


def test_a_cost_budget_counts_grandchildren(kit: Any, go: Any) -> None:
    async def main() -> None:
        spent: list[Any] = []

        def tool(level: int) -> Any:
            async def delegate(args: Any, ctx: Any) -> str:
                inner = (tool(level + 1),) if level < 2 else ()
                child = AgentRunner(AgentConfig(model=PRICED, tools=inner))
                first = [Reply(calls=[Call("delegate")], usage=TokenUsage(input=1))] if inner else []
                child.set_adapter(ScriptedModel([*first, *[Reply("x", usage=TokenUsage(input=1))]]))
                response = await child.chat("go")
                spent.append((len(child.events.agent_path), response.outcome, response.cost))
                return response.content

            return kit.tool("delegate", delegate)

        parent = kit.agent(
            Reply(calls=[Call("delegate")], usage=TokenUsage(input=1)),
            Reply("never"),
            tools=[tool(1)],
            model=PRICED,
            limits=Limits(cost=3.0),
        )
        response = await parent.chat("go")
        assert response.outcome == "limit" and response.cost == 3.0
        assert spent == [(3, "completed", 1.0), (2, "limit", 2.0)]

    go(main)


@pytest.mark.spec("9.49")
def test_a_budget_holds_for_what_a_tool_left_behind(kit: Any, go: Any) -> None:
    async def main() -> None:
        late: list[asyncio.Task[Any]] = []
        child = ScriptedModel([Reply(calls=[Call("inner")], usage=TokenUsage(input=15))], repeat=True)

        async def leave(args: Any, ctx: Any) -> str:
            agent = AgentRunner(AgentConfig(model=parent.config.model, tools=(kit.tool("inner", "x"),)))
            agent.set_adapter(child)
            late.append(asyncio.create_task(agent.chat("go")))
            return "left"

        parent = kit.agent(
            Reply(calls=[Call("leave")]), "done", tools=[kit.tool("leave", leave)], limits=Limits(tokens=300)
        )
        await parent.chat("go")
        response = await late[0]
        assert response.outcome == "limit" and len(child.requests) == 18  # 30 of its own and 18 times 15 are 300

    go(main)


def test_depth_is_limited_by_the_outermost_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        depths: list[int] = []
        errors: list[str] = []

        async def dig(args: Any, ctx: Any) -> str:
            depths.append(len(ctx.agent_path))
            child = AgentRunner(AgentConfig(model=parent.config.model, tools=(digger,), limits=Limits(depth=99)))
            child.set_adapter(ScriptedModel([Reply(calls=[Call("dig")]), "up"]))
            try:
                return (await child.chat("deeper")).content
            except AgentError as error:
                errors.append(str(error))
                raise

        digger = kit.tool("dig", dig)
        parent = kit.agent(Reply(calls=[Call("dig")]), "done", tools=[digger], limits=Limits(depth=2))
        await parent.chat("go")
        assert depths == [1, 2, 3]
        assert len(errors) == 1 and "nested more than 2 deep" in errors[0] and "main > sub:" in errors[0]

    go(main)
