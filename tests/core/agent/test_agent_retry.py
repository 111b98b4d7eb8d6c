"""Retries and the usage ledger (spec, section 7; edge cases 44 and 45)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    ErrorKind,
    ModelCost,
    ModelDefinition,
    ProviderError,
    RetryPolicy,
    RunAborted,
    Session,
    TokenUsage,
)
from skillkit_core.testing import Call, Fail, Reply


@pytest.mark.spec("9.45")
def test_a_failure_that_may_pass_is_tried_again_and_never_enters_the_context(kit: Any, go: Any) -> None:
    async def main() -> None:
        torn = Reply("half", fail=ProviderError("reset", kind=ErrorKind.connection))
        agent = kit.agent(torn, "whole")
        response = await agent.chat("go")
        assert response.content == "whole" and [m.text for m in agent.messages] == ["go", "whole"]
        assert (
            len(kit.ledger(agent)) == 2
            and "reset" in kit.ledger(agent)[0]["error"]
            and "error" not in kit.ledger(agent)[1]
        )
        assert response.usage == agent.session.usage == TokenUsage(20, 10)
        kinds = [t for t in agent.seen.types if t.startswith("retry")]
        assert kinds == ["retry_scheduled", "retry_start", "retry_end"]
        assert agent.seen.one("retry_end").success is True
        assert agent.scripted.requests[0].messages == agent.scripted.requests[1].messages
        kit.check(agent)

    go(main)


def test_waiting_doubles_up_to_the_limit_and_takes_no_real_time(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(), repeat=True, retry=RetryPolicy(attempts=6, base_delay=1.0, max_delay=6.0))
        with pytest.raises(AgentError):
            await agent.chat("go")
        assert len(agent.scripted.requests) == 6
        for slept, wanted in zip(agent.clock.slept, [1.0, 2.0, 4.0, 6.0, 6.0], strict=True):
            assert 0.75 * wanted <= slept <= 1.25 * wanted
        assert agent.seen.one("retry_end").success is False and agent.seen.one("retry_end").attempt == 6
        assert [e.attempt for e in agent.seen.of("retry_scheduled")] == [2, 3, 4, 5, 6]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.44")
def test_the_servers_own_delay_is_kept_unless_it_is_too_long(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.rate_limit, retry_after=7.0, status=429), "ok")
        await agent.chat("go")
        assert agent.clock.slept == [7.0]
        agent = kit.agent(Fail(ErrorKind.rate_limit, "slow down", retry_after=18_000.0, status=429), "never")
        with pytest.raises(AgentError, match="slow down") as caught:
            await agent.chat("go")
        assert agent.clock.slept == [] and len(agent.scripted.requests) == 1
        assert caught.value.__cause__.retry_after == 18_000.0  # type: ignore[union-attr]

    go(main)


def test_a_server_that_asks_to_come_back_at_once_is_asked_after_the_usual_delay(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.rate_limit, retry_after=0.0, status=429), "ok")
        await agent.chat("go")
        assert len(agent.clock.slept) == 1 and agent.clock.slept[0] > 0

    go(main)


@pytest.mark.spec("9.44", "13.5")
@pytest.mark.parametrize("kind", list(ErrorKind))
def test_only_the_kind_of_an_error_decides_never_its_text(kit: Any, go: Any, kind: ErrorKind) -> None:
    async def main() -> None:
        text = "error 500: 1500 tokens, 429 too many tokens, context overflow"
        agent = kit.agent(Fail(kind, text, status=None), "ok")
        wanted = kind in ("rate_limit", "overloaded", "server", "connection", "timeout", "protocol")
        try:
            await agent.chat("go")
            assert wanted
        except AgentError:
            assert not wanted
        assert len(agent.scripted.requests) == 1 + wanted
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.45")
def test_abort_during_the_wait_ends_it_at_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(), "never")
        sleeping = asyncio.Event()

        async def sleep(seconds: float) -> None:
            sleeping.set()
            await asyncio.Event().wait()

        agent.clock.sleep = sleep
        task = asyncio.create_task(agent.chat("go"))
        await sleeping.wait()
        agent.abort()
        with pytest.raises(RunAborted):
            await task
        assert len(agent.scripted.requests) == 1
        kit.check(agent)

    go(main)


def test_a_turn_with_tools_is_not_retried_once_they_started(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[int] = []
        tool = kit.tool("a", lambda a, c: ran.append(1) or "x")
        agent = kit.agent(Reply(calls=[Call("a")]), Fail(), "end", tools=[tool])
        await agent.chat("go")
        assert ran == [1] and len(agent.scripted.requests) == 3
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
def test_the_ledger_has_one_entry_for_each_request_with_its_price(kit: Any, go: Any) -> None:
    async def main() -> None:
        from skillkit_core import ToolOutput

        model = ModelDefinition("m", "scripted", "scripted", cost=ModelCost(1.0, 2.0, 0.5, 3.0))
        usage = TokenUsage(100, 10, 50, 5, 7, raw={"prompt_tokens": 150})
        nested = ToolOutput("x", usage=TokenUsage(1, 1))
        agent = kit.agent(
            Reply(calls=[Call("a")], usage=usage), Reply("end", usage=None), model=model, tools=[kit.tool("a", nested)]
        )
        response = await agent.chat("go")
        first, tool, last = kit.ledger(agent)
        price = (100 + 2 * 17 + 0.5 * 50 + 3 * 5) / 1e6
        assert first["cost"] == pytest.approx(price) and first["raw"] == {"prompt_tokens": 150}
        assert (first["purpose"], tool["purpose"], last["purpose"]) == ("turn", "tool", "turn")
        assert (first["provider"], first["model"]) == ("scripted", "m")
        assert response.usage == TokenUsage(101, 11, 50, 5, 7) and response.cost == pytest.approx(price + 3e-6)
        assert len(agent.seen.of("usage")) == 3
        kit.check(agent)

    go(main)


def test_the_cost_is_unknown_when_a_price_is(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        assert (await agent.chat("go")).cost is None

    go(main)


@pytest.mark.spec("I17")
def test_usage_survives_a_reload_and_failed_requests_are_in_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.auth), "x")
        with pytest.raises(AgentError):
            await agent.chat("go")
        assert len(kit.ledger(agent)) == 1 and "error" in kit.ledger(agent)[0]
        await agent.chat("go")
        assert Session(agent.session.handle, lambda: 0.0).usage == agent.session.usage == TokenUsage(10, 5)

    go(main)


@pytest.mark.spec("I17")
def test_an_abort_while_the_ledger_is_written_loses_no_entry(kit: Any, go: Any) -> None:
    async def main() -> None:
        store, writing = kit.RecordingStore(), asyncio.Event()
        agent = kit.agent("x", "fine", session=await Session.create(store, lambda: 1.0))

        async def slow(entry: Any) -> None:
            if entry.type == "usage" and not writing.is_set():
                writing.set()
                await asyncio.Event().wait()

        store.before = slow
        task = asyncio.create_task(agent.chat("go"))
        await writing.wait()
        agent.abort()
        with pytest.raises(RunAborted) as caught:
            await task
        (entry,) = kit.ledger(agent)
        assert (entry["input"], entry["output"], entry["error"]) == (10, 5, "aborted")
        assert caught.value.response.usage == agent.session.usage == TokenUsage(10, 5)
        kit.check(agent)

    go(main)
