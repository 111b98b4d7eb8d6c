"""One model call in a handler or a tool, beside the conversation (spec, section 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    ErrorKind,
    LimitReached,
    Limits,
    ModelDefinition,
    ModelRequestResult,
    NoActiveRun,
    ProviderRequestResult,
    RunAborted,
    TokenUsage,
    ToolOutput,
    UsageError,
    UserMessage,
)
from skillkit_core.testing import Call, Fail, Hang, Reply

ASK = [UserMessage(content="which?")]


def asking(kit: Any, *turns: Any, ask: Any, **config: Any) -> Any:
    """An agent whose tool asks a model; its result is what ``ask(ctx)`` returns, or the error."""

    async def look(args: Any, ctx: Any) -> Any:
        answer = await ask(ctx)
        return answer if isinstance(answer, ToolOutput) else answer.text

    return kit.agent(*turns, tools=[kit.tool("look", look)], **config)


def test_a_tool_asks_once_and_only_the_books_know(kit: Any, go: Any) -> None:
    schema = {"type": "object"}

    async def ask(ctx: Any) -> Any:
        return await ctx.complete(ASK, system="choose", schema=schema, purpose="routing.select", max_tokens=7)

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), Reply("this one"), "end", ask=ask, system_prompt="main")
        response = await agent.chat("go")
        assert response.content == "end" and kit.results(agent)[0].text == "this one"
        asked = agent.scripted.requests[1]
        assert (asked.system, asked.tools, [m.text for m in asked.messages]) == ("choose", (), ["which?"])
        assert asked.settings.max_tokens == 7 and asked.settings.response_schema == schema
        assert [e["purpose"] for e in kit.ledger(agent)] == ["turn", "routing.select", "turn"]
        assert [e.purpose for e in agent.seen.of("before_model_request")] == ["turn", "routing.select", "turn"]
        assert [e.purpose for e in agent.seen.of("usage")] == ["turn", "routing.select", "turn"]
        assert "this one" not in "".join(e.content for e in agent.seen.of("message_update"))
        assert len([e for e in agent.seen.of("message_start") if e.role == "assistant"]) == 2
        assert kit.roles(agent) == ["user", "assistant", "tool_result", "assistant"]
        kit.check(agent)

    go(main)


def test_a_handler_asks_and_every_guard_of_requests_sees_it(kit: Any, go: Any) -> None:
    payloads: list[Any] = []

    async def handler(event: Any, ctx: Any) -> None:
        await ctx.complete(ASK, purpose="test.route")

    def guard(event: Any) -> ProviderRequestResult:
        payloads.append(event.payload)
        return ProviderRequestResult()

    class Wire(type(kit.agent().scripted)):  # type: ignore[misc]
        async def stream(self, request: Any) -> Any:
            if request.on_request is not None:
                await request.on_request({"n": len(request.messages)}, {})
            async for event in super().stream(request):
                yield event

    async def main() -> None:
        agent = kit.agent(adapter=Wire(["routed", "end"]))
        agent.events.on("before_agent_start", handler)
        agent.events.on("before_provider_request", guard, phase="guard")
        await agent.chat("go")
        assert [dict(p) for p in payloads] == [{"n": 1}, {"n": 1}]
        assert [e["purpose"] for e in kit.ledger(agent)] == ["test.route", "turn"]

    go(main)


def test_the_request_counts_under_the_limits_and_may_be_refused(kit: Any, go: Any) -> None:
    seen: list[str] = []

    async def ask(ctx: Any) -> Any:
        for _ in range(2):
            try:
                await ctx.complete(ASK, purpose="test.more")
            except LimitReached as error:
                seen.append(error.message)
        return ToolOutput("ok")

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), "a", "b", ask=ask, limits=Limits(requests=2))
        response = await agent.chat("go")
        assert response.outcome == "limit" and seen == ["the limit of 2 requests is reached"]
        agent = asking(kit, Reply(calls=[Call("look")]), "end", ask=ask)
        agent.events.on(
            "before_model_request",
            lambda e: ModelRequestResult(stop=True, reason="too dear") if e.purpose == "test.more" else None,
        )
        assert (await agent.chat("go")).content == "end" and seen[1:] == ["too dear", "too dear"]

    go(main)


def test_a_failure_is_retried_and_the_requests_say_what_they_repeat(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        return await ctx.complete(ASK, purpose="test.retry")

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), Fail(), "there", Fail(), "end", ask=ask)
        await agent.chat("go")
        events = agent.seen.of("before_model_request")
        assert [(e.purpose, e.attempt) for e in events] == [
            ("turn", 1), ("test.retry", 1), ("test.retry", 2), ("turn", 1), ("turn", 2),
        ]  # fmt: skip
        assert [e.first for e in events] == [None, None, events[1].request, None, events[3].request]
        assert len(agent.seen.of("retry_scheduled")) == 2
        kit.check(agent)

    go(main)


def test_an_error_that_no_retry_helps_is_the_callers(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        return await ctx.complete(ASK, purpose="test.fail")

    async def main() -> None:
        bad = Fail(ErrorKind.invalid_request, "it refused", status=400)
        agent = asking(kit, Reply(calls=[Call("look")]), bad, "end", ask=ask)
        assert (await agent.chat("go")).content == "end" and "it refused" in kit.results(agent)[0].text
        assert kit.ledger(agent)[1]["error"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
def test_an_answer_that_does_not_come_in_time_is_in_the_books_and_the_run_goes_on(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        try:
            return await ctx.complete(ASK, purpose="test.slow", timeout=0.01)
        except TimeoutError:
            return ToolOutput("too slow")

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), Hang("wor"), "end", ask=ask)
        assert (await agent.chat("go")).content == "end" and kit.results(agent)[0].text == "too slow"
        assert [(e["purpose"], e.get("error")) for e in kit.ledger(agent)] == [
            ("turn", None), ("test.slow", "cancelled"), ("turn", None),
        ]  # fmt: skip
        kit.check(agent)

    go(main)


def test_an_abort_ends_it_and_a_late_one_asks_nobody(kit: Any, go: Any) -> None:
    started = asyncio.Event()
    kept: list[Any] = []

    async def ask(ctx: Any) -> Any:
        kept.append(ctx)
        return await ctx.complete(ASK, purpose="test.hang")

    async def late(event: Any, ctx: Any) -> None:
        with pytest.raises(RunAborted):
            await ctx.complete(ASK, purpose="test.late")
        kept.append("refused")

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), Hang("wor", started), ask=ask)
        agent.events.on("agent_end", late)
        chat = asyncio.create_task(agent.chat("go"))
        await started.wait()
        agent.abort("enough")
        with pytest.raises(RunAborted):
            await chat
        assert [(e["purpose"], e.get("error")) for e in kit.ledger(agent)] == [("turn", None), ("test.hang", "aborted")]
        assert kept[1:] == ["refused"] and len(agent.scripted.requests) == 2
        with pytest.raises(NoActiveRun, match="the call has its result"):
            await kept[0].complete(ASK, purpose="test.late")
        with pytest.raises(NoActiveRun):
            await agent.scheduler.complete(ASK, purpose="test.late")
        kit.check(agent)

    go(main)


def test_wrong_questions_are_refused_before_anybody_is_asked(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        for wrong in ({"purpose": "turn"}, {"purpose": "test.x", "model": "no-such"}):
            with pytest.raises(UsageError):
                await ctx.complete(ASK, **wrong)
        with pytest.raises(UsageError, match="nothing to ask"):
            await ctx.complete([], purpose="test.x")
        return ToolOutput("ok")

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), "end", ask=ask)
        assert (await agent.chat("go")).content == "end" and kit.results(agent)[0].text == "ok"
        assert len(agent.scripted.requests) == 2

    go(main)


def test_a_handler_that_asks_about_its_own_asking_ends(kit: Any, go: Any) -> None:
    async def handler(event: Any, ctx: Any) -> None:
        await ctx.complete(ASK, purpose="test.again")

    async def main() -> None:
        agent = kit.agent("end", repeat=True)
        agent.events.on("before_model_request", handler)
        assert (await agent.chat("go")).content == "end"
        assert len(agent.scripted.requests) < 20 and agent.seen.of("handler_error")

    go(main)


def test_another_model_is_asked_without_being_chosen(kit: Any, go: Any) -> None:
    other = ModelDefinition("other", "scripted", "scripted")

    async def ask(ctx: Any) -> Any:
        return await ctx.complete(ASK, purpose="test.other", model=other)

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), "there", "end", ask=ask)
        await agent.chat("go")
        assert [r.model.id for r in agent.scripted.requests] == ["model", "other", "model"]
        assert agent.seen.of("model_select") == [] and agent.session.model.model == "model"
        assert [e["model"] for e in kit.ledger(agent)] == ["model", "other", "model"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("I17")
def test_a_tool_that_reports_what_it_asked_is_not_counted_twice(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        answer = await ctx.complete(ASK, purpose="test.count")
        return ToolOutput(answer.text, usage=TokenUsage(answer.usage.input, answer.usage.output + 3))

    async def main() -> None:
        agent = asking(kit, Reply(calls=[Call("look")]), "there", "end", ask=ask)
        response = await agent.chat("go")
        assert (response.usage.input, response.usage.output) == (30, 18)
        kit.check(agent)

    go(main)


def test_a_nested_agents_requests_are_in_the_books_of_all(kit: Any, go: Any) -> None:
    async def ask(ctx: Any) -> Any:
        return await ctx.complete(ASK, purpose="test.below")

    async def nest(args: Any, ctx: Any) -> str:
        child = asking(kit, ask=ask, host=ctx.agent.host)
        return (await child.chat("below")).content  # type: ignore[no-any-return]

    async def main() -> None:
        turns = Reply(calls=[Call("nest")]), Reply(calls=[Call("look")]), "there", "below", "end"
        agent = kit.agent(*turns, tools=[kit.tool("nest", nest), kit.tool("look", "")])
        response = await agent.chat("go")
        assert response.content == "end" and response.usage.input == 50

    go(main)


def test_asking_outside_of_a_run_is_refused(kit: Any, go: Any) -> None:
    refused: list[str] = []

    async def handler(event: Any, ctx: Any) -> None:
        try:
            await ctx.complete(ASK, purpose="test.early")
        except AgentError as error:
            refused.append(type(error).__name__)

    async def main() -> None:
        agent = kit.agent("end")
        agent.events.on("session_start", handler)
        await agent.chat("go")
        assert refused == ["NoActiveRun"]

    go(main)
