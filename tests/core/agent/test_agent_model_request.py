"""``before_model_request``: a budget stops a request before it is made."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    AgentRunner,
    CompactionResult,
    Factory,
    Limits,
    ModelCost,
    ModelDefinition,
    ModelRequestResult,
    TokenUsage,
    ToolOutput,
    hookimpl,
)
from skillkit_core.testing import Call, Fail, Reply

PRICED = ModelDefinition("model", "scripted", "scripted", max_output_tokens=500, cost=ModelCost(1.0, 2.0))


class Budget:
    """Allows a number of requests, and notes each."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.seen = allowed, []

    @hookimpl(phase="guard")
    def before_model_request(self, event: Any) -> ModelRequestResult | None:
        self.seen.append(event)
        stop = len(self.seen) > self.allowed
        return ModelRequestResult(stop=True, reason="the budget is used up") if stop else None


def test_a_stop_ends_the_run_before_the_request_with_outcome_limit(kit: Any, go: Any) -> None:
    async def main() -> None:
        budget = Budget(1)
        tool = kit.tool("look", ToolOutput("seen", usage=TokenUsage(5, 1)))
        agent = kit.agent(
            Reply(calls=[Call("look")]), "never", tools=[tool], plugins=[("budget", budget)], model=PRICED
        )
        response = await agent.chat("go")
        assert (response.outcome, response.reason) == ("limit", "the budget is used up")
        assert len(agent.scripted.requests) == 1
        first, second = budget.seen
        assert first.request != second.request and first.purpose == "turn" and first.max_output == 500
        assert 0 < first.tokens < second.tokens
        assert first.runs == (response.run_id,) and first.sessions == (response.session_id,)
        used = agent.seen.of("usage")
        assert [(u.request, u.purpose, u.tool_name) for u in used] == [
            (first.request, "turn", ""),
            ("", "tool", "look"),
        ]
        assert [e.get("tool_name") for e in kit.ledger(agent)] == [None, "look"]
        kit.check(agent)

    go(main)


def test_retries_nested_runs_and_compactions_are_asked_about(kit: Any, go: Any) -> None:
    async def main() -> None:
        budget = Budget(99)

        async def research(args: Any, ctx: Any) -> str:
            async with AgentRunner(host=agent.host) as child:
                return (await child.chat("find")).content

        class Summary:
            async def compact(self, request: Any) -> CompactionResult:
                return CompactionResult(await request.complete("Sum up.", request.messages), len(request.messages) - 1)

        class Compacting:
            @hookimpl
            def register_compactors(self, register: Any) -> None:
                register(Factory("summary", lambda host: Summary()))

        agent = kit.agent(
            Fail(), Reply(calls=[Call("research")]), "found", "done", "in short",
            tools=[kit.tool("research", research)], plugins=[("budget", budget), ("compacting", Compacting())],
        )  # fmt: skip
        response = await agent.chat("go")
        await agent.compact()
        assert [e.purpose for e in budget.seen] == ["turn", "turn", "turn", "turn", "compaction"]
        nested = budget.seen[2]
        assert nested.runs[1:] == (response.run_id,) and nested.sessions[1:] == (response.session_id,)
        assert {u.request for u in agent.seen.of("usage")} == {e.request for e in budget.seen}

    go(main)


def test_a_guard_that_fails_stops_the_request(kit: Any, go: Any) -> None:
    async def main() -> None:
        class Broken:
            @hookimpl(phase="guard")
            def before_model_request(self, event: Any) -> None:
                raise RuntimeError("no ledger")

        agent = kit.agent("never", plugins=[("broken", Broken())])
        with pytest.raises(AgentError, match="no ledger"):
            await agent.chat("go")
        assert not agent.scripted.requests

    go(main)


def test_under_a_limit_in_dollars_a_model_without_a_price_is_not_asked(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("never", limits=Limits(cost=5.0))
        response = await agent.chat("go")
        assert response.outcome == "limit" and not agent.scripted.requests
        assert response.reason.startswith("the price of scripted/model is not known, so the limit of 5 US dollars")
        agent = kit.agent("yes", limits=Limits(cost=5.0, unpriced=True))
        assert (await agent.chat("go")).content == "yes"
        agent = kit.agent("yes", limits=Limits(cost=5.0), model=PRICED)
        assert (await agent.chat("go")).cost == pytest.approx(20 / 1e6)

    go(main)


def test_what_is_known_counts_where_unpriced_models_are_allowed(kit: Any, go: Any) -> None:
    async def main() -> None:
        spent = ToolOutput("seen", usage=TokenUsage(1_000_000))
        agent = kit.agent(
            Reply(calls=[Call("look")]), "never", tools=[kit.tool("look", spent)],
            model=PRICED, limits=Limits(cost=1.0, unpriced=True),
        )  # fmt: skip
        response = await agent.chat("go")
        assert (response.outcome, response.reason) == ("limit", "the limit of 1 US dollars is reached")

    go(main)
