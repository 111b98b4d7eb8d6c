"""How a run ends by itself: limits, handlers that stop it, stop hooks that go on (spec, 7)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import BeforeAgentEndResult, Limits, TurnEndResult, TurnStartResult, hookimpl
from skillkit_core.testing import Call, Fail, Reply


@pytest.mark.parametrize(
    ("limits", "requests"),
    [
        (Limits(turns=2), 2),
        (Limits(requests=2), 2),
        (Limits(tool_calls=3), 3),
        (Limits(tokens=30), 2),
        (Limits(turns=0), 0),
    ],
)
def test_a_limit_ends_the_run_before_the_next_request_and_the_history_is_legal(
    kit: Any, go: Any, limits: Limits, requests: int
) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), repeat=True, tools=[kit.tool("a", "ok")], limits=limits)
        response = await agent.chat("go")
        assert response.outcome == "limit" and "limit of" in response.reason
        assert len(agent.scripted.requests) == requests
        assert agent.seen.one("agent_end").outcome == "limit"
        kit.check(agent)

    go(main)


def test_a_cost_limit_counts_dollars(kit: Any, go: Any) -> None:
    from skillkit_core import ModelCost, ModelDefinition

    async def main() -> None:
        model = ModelDefinition("m", "scripted", "scripted", cost=ModelCost(1_000.0, 2_000.0))  # 10 in, 5 out: 2 cents
        agent = kit.agent(
            Reply(calls=[Call("a")]), repeat=True, tools=[kit.tool("a", "ok")], model=model, limits=Limits(cost=0.05)
        )
        response = await agent.chat("go")
        assert len(agent.scripted.requests) == 3 and response.cost == pytest.approx(0.06)
        assert agent.session.cost == pytest.approx(0.06)

    go(main)


def test_retries_are_requests_and_count_against_the_limit(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(), repeat=True, limits=Limits(requests=2))
        response = await agent.chat("go")
        assert response.outcome == "limit" and len(agent.scripted.requests) == 2
        kit.check(agent)

    go(main)


def test_a_handler_of_turn_end_may_stop_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "never", tools=[kit.tool("a", "ok")])
        agent.events.on("turn_end", lambda e: TurnEndResult(stop=True, reason="enough"))
        response = await agent.chat("go")
        assert response.outcome == "completed" and response.reason == "enough"
        assert len(agent.scripted.requests) == 1
        kit.check(agent)

    go(main)


class Budget:
    """A plugin that lets a run take one turn; ``where`` says who stops it."""

    def __init__(self, where: str) -> None:
        self.where = where

    @hookimpl
    def turn_start(self, event: Any) -> Any:
        stop = self.where == "turn_start" and event.turn_index == 1
        return TurnStartResult(stop=stop, reason="the budget of the team is used up") if stop else None

    @hookimpl
    def turn_end(self, event: Any) -> Any:
        stop = self.where == "turn_end"
        return TurnEndResult(stop=stop, reason="the budget of the team is used up", outcome="limit")


@pytest.mark.parametrize("where", ["turn_start", "turn_end"])
def test_a_budget_of_a_plugin_ends_the_run_as_a_limit_with_its_reason(kit: Any, go: Any, where: str) -> None:
    async def main() -> None:
        plugins = [("budget", Budget(where))]
        agent = kit.agent(Reply(calls=[Call("a")]), "never", tools=[kit.tool("a", "ok")], plugins=plugins)
        response = await agent.chat("go")
        assert (response.outcome, response.reason) == ("limit", "the budget of the team is used up")
        end = agent.seen.one("agent_end")
        assert (end.outcome, end.reason) == ("limit", "the budget of the team is used up")
        assert len(agent.scripted.requests) == 1
        kit.check(agent)

    go(main)


def test_reasons_of_several_handlers_that_stop_are_joined(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("never")
        agent.events.on("turn_start", lambda e: TurnStartResult(stop=True, reason="no money"))
        agent.events.on("turn_start", lambda e: TurnStartResult(stop=True, reason="no time"))
        agent.events.on("turn_start", lambda e: TurnStartResult(stop=False))
        response = await agent.chat("go")
        assert (response.outcome, response.reason) == ("limit", "no money\n\nno time")
        assert agent.scripted.requests == []

    go(main)


def test_a_turn_may_offer_other_tools_and_have_another_prompt(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[str] = []
        other = kit.tool("other", lambda args, ctx: ran.append("other") or "ok")
        calls = Reply(calls=[Call("a"), Call("other"), Call("unasked")])
        agent = kit.agent(
            calls, "done", tools=[kit.tool("a", "ok")], only_tools=frozenset({"a", "other"}), system_prompt="Be kind."
        )
        unasked = kit.tool("unasked", "ok")

        def first(event: Any) -> TurnStartResult | None:
            if event.turn_index:
                return None
            assert [tool.name for tool in event.tools] == ["a"] and event.system_prompt == "Be kind."
            return TurnStartResult(tools=[unasked, other], system_prompt="Be brief.")

        agent.events.on("turn_start", first)
        await agent.chat("go")
        sent = [([tool.name for tool in r.tools], r.system) for r in agent.scripted.requests]
        assert sent == [(["other"], "Be brief."), (["a"], "Be kind.")]
        assert ran == ["other"]
        assert [m.outcome.value for m in kit.results(agent)] == ["error", "ok", "error"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.33")
def test_stop_hooks_that_always_go_on_are_stopped_after_three(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("again", repeat=True)
        seen: list[Any] = []
        agent.events.on(
            "before_agent_end",
            lambda e: seen.append((e.stop_hook_active, e.n_continues)) or BeforeAgentEndResult("go on"),
        )
        response = await agent.chat("go")
        assert response.outcome == "completed" and len(agent.scripted.requests) == 4
        assert seen == [(False, 0), (True, 1), (True, 2), (True, 3)]
        assert "3 times" in agent.seen.one("handler_error").error
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.33")
def test_a_stop_hook_that_fails_allows_the_stop(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("done")
        agent.events.on("before_agent_end", lambda e: 1 / 0)
        assert (await agent.chat("go")).outcome == "completed"

    go(main)
