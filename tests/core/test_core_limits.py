"""How a run ends by itself: limits, handlers that stop it, stop hooks that go on (spec, 7)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import BeforeAgentEndResult, Limits, TurnEndResult
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
