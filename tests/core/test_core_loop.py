"""The loop: order of events, persistence before effect, tools, limits, stop hooks (spec, sections 1, 5, 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentBusy,
    AgentError,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    ContextTransformResult,
    CustomMessage,
    Handled,
    ImageBlock,
    Limits,
    MessageEndResult,
    ReentrancyError,
    SessionStartResult,
    StreamEvent,
    TextBlock,
    Tool,
    ToolCallEventResult,
    ToolError,
    ToolOutput,
    ToolResultEventResult,
    Transform,
    TurnEndResult,
    TurnStartResult,
    UserMessage,
    hookimpl,
)
from skillkit_core.agent.session import Session
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import StopReason, blocks_of
from skillkit_core.testing import Call, Fail, Raw, Reply

# --- order ----------------------------------------------------------------------------------------------------------


def test_a_run_with_tools_emits_the_events_in_the_order_of_the_spec(kit: Any, go: Any) -> None:
    async def main() -> None:
        tools = [kit.tool("a", lambda args, ctx: ctx.on_output("out") or "A"), kit.tool("b", "B")]
        agent = kit.agent(Reply("thinking", [Call("a", id="1"), Call("b", id="2")]), "done", tools=tools)
        async with agent:
            await agent.chat("go")
        kit.check(agent)
        types = [
            f"{e.type}({getattr(e.message, 'role', None) or e.role})" if e.type in ("message_start",)
            else f"{e.type}({e.message.role})" if e.type == "message_end" else e.type
            for e in agent.seen.events if e.type not in ("message_update", "usage")
        ]  # fmt: skip
        wanted = [
            "session_start", "input", "before_agent_start", "agent_start",
            "turn_start", "context_transform", "message_start(assistant)", "message_end(assistant)",
            "before_tool_call", "tool_execution_start", "before_tool_call", "tool_execution_start",
            "tool_execution_update", "after_tool_result", "tool_execution_end", "after_tool_result", "tool_execution_end",
            "message_start(tool_result)", "message_end(tool_result)",
            "message_start(tool_result)", "message_end(tool_result)", "turn_end",
            "turn_start", "context_transform", "message_start(assistant)", "message_end(assistant)", "turn_end",
            "before_agent_end", "agent_end", "agent_settled", "session_shutdown",
        ]  # fmt: skip
        assert types == wanted
        seqs = [e.seq for e in agent.seen.events]
        assert seqs == sorted(seqs) and len(set(seqs)) == len(seqs)
        assert {e.run_id for e in agent.seen.events if e.type not in ("session_start", "session_shutdown")} == {"r1"}

    go(main)


def test_everything_is_kept_before_it_has_an_effect(kit: Any, go: Any) -> None:
    """I10, I11."""

    async def main() -> None:
        store = kit.RecordingStore()
        log = store.log
        session = await Session.create(store, lambda: 1.0)

        def request(text: Any) -> Any:
            return lambda r: log.append("request") or text

        tool = kit.tool("act", lambda a, ctx: log.append("tool") or "ok")
        agent = kit.agent(
            request(Reply(calls=[Call("act"), Call("act")])), request("end"), tools=[tool], session=session
        )
        await agent.chat("go")
        assert log == [
            "kept user", "request", "kept usage", "kept assistant", "tool", "tool",
            "kept tool_result", "kept tool_result", "request", "kept usage", "kept assistant",
        ]  # fmt: skip
        kit.check(agent)

    go(main)


def test_message_end_names_the_entry_under_which_the_message_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("act")]), "end", tools=[kit.tool("act", "ok")])
        await agent.chat("go")
        by_id = {e.id: e.data["message"] for e in agent.session.entries if e.type == "message"}
        for event in agent.seen.of("message_end"):
            assert by_id[event.entry_id]["role"] == event.message.role

    go(main)


def test_each_kind_of_handler_can_change_what_it_may(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("model")
        on = agent.events.on
        on(
            "session_start",
            lambda e: SessionStartResult([CustomMessage(custom_type="n", content=blocks_of("note"), in_context=True)]),
        )
        on("input", lambda e: Transform(text=e.text.upper()))
        on(
            "before_agent_start",
            lambda e: BeforeAgentStartResult(
                messages=[UserMessage(content=blocks_of(e.prompt + "!"))], system_prompt="be brief"
            ),
        )
        on("turn_start", lambda e: TurnStartResult(append=[UserMessage(content=blocks_of("tail"))]))
        on(
            "context_transform",
            lambda e: ContextTransformResult(messages=[*e.messages, UserMessage(content=blocks_of("ephemeral"))]),
        )
        on("message_end", lambda e: MessageEndResult(message=type(e.message)(content=blocks_of("replaced"))))
        response = await agent.chat("hi")
        (request,) = agent.scripted.requests
        assert [m.text for m in request.messages] == ["note", "HI", "HI!", "tail", "ephemeral"]
        assert request.system == "be brief"
        assert response.content == "replaced"
        assert [m.text for m in agent.messages] == ["note", "HI", "HI!", "tail", "replaced"]
        kit.check(agent)

    go(main)


def test_turn_start_may_replace_what_this_turn_alone_sends(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two")
        only = UserMessage(content=blocks_of("instead"))
        agent.events.on(
            "turn_start",
            lambda e: TurnStartResult(messages=[only]) if e.turn_index == 0 and len(e.messages) == 1 else None,
        )
        await agent.chat("first")
        await agent.chat("second")
        assert [[m.text for m in r.messages] for r in agent.scripted.requests] == [
            ["instead"],
            ["first", "one", "second"],
        ]

    go(main)


def test_a_handled_input_starts_no_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent()
        agent.events.on("input", lambda e: Handled("pong") if e.text == "ping" else None)
        response = await agent.chat("ping")
        events = [e async for e in agent.chat_stream_events("ping")]
        assert response.content == "pong" and response.outcome == "completed"
        assert [e.type for e in events] == ["text_delta", "done"] and events[-1].content == "pong"
        assert agent.scripted.requests == [] and agent.messages == ()
        assert "agent_start" not in agent.seen.types and agent.seen.types[-1] == "agent_settled"

    go(main)


def test_a_failing_guard_on_input_rejects_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("never")
        agent.events.on("input", lambda e: 1 / 0, phase="guard")
        with pytest.raises(AgentError, match="rejected"):
            await agent.chat("hi")
        assert agent.messages == () and agent.scripted.requests == []

    go(main)


@pytest.mark.parametrize("event", ["context_transform"])
def test_a_failing_guard_on_a_request_fails_the_turn_and_nothing_leaves(kit: Any, go: Any, event: str) -> None:
    async def main() -> None:
        agent = kit.agent("never")
        agent.events.on(event, lambda e: 1 / 0, phase="guard")
        with pytest.raises(AgentError, match="guard"):
            await agent.chat("hi")
        assert agent.scripted.requests == [] and agent.seen.one("agent_end").outcome == "failed"
        kit.check(agent)

    go(main)


class Wire:
    """A scripted model that asks ``on_request`` and tells ``on_response`` as every HTTP adapter does."""

    def __new__(cls, *turns: Any, swallow: bool = False) -> Any:
        from skillkit_core.testing import ScriptedModel

        class Adapter(ScriptedModel):
            sent: list[Any]

            async def stream(self, request: Any) -> Any:
                payload, headers = {"n": [1]}, {"Authorization": "Bearer secret", "x": "1"}
                if request.on_request is not None:
                    try:
                        payload, headers = await request.on_request(payload, headers)
                    except Exception as error:
                        if not swallow:
                            raise
                        from skillkit_core import ProviderError

                        yield StreamEvent("error", error=ProviderError(str(error), kind=ErrorKind.connection))
                        return
                self.sent.append((payload, headers))
                if request.on_response is not None:
                    await request.on_response(200, {"set-cookie": "secret", "id": "7"})
                async for event in super().stream(request):
                    yield event

        adapter = Adapter(turns)
        adapter.sent = []
        return adapter


def test_the_wire_request_can_be_changed_and_credentials_are_hidden(kit: Any, go: Any) -> None:
    from skillkit_core import ProviderRequestResult

    async def main() -> None:
        adapter = Wire("hello")
        agent = kit.agent(adapter=adapter)
        agent.events.on(
            "before_provider_request",
            lambda e: ProviderRequestResult(payload={**e.payload, "m": 2}, headers={"y": "2"}),
        )
        agent.events.on("before_provider_request", lambda e: ProviderRequestResult(options={"k": 3}))
        await agent.chat("hi")
        ((payload, headers),) = adapter.sent
        assert payload == {"n": [1], "m": 2, "k": 3}
        assert headers == {"Authorization": "Bearer secret", "x": "1", "y": "2"}
        seen = agent.seen.one("before_provider_request")
        assert seen.headers["Authorization"] == "***"
        with pytest.raises(TypeError):
            seen.payload["n"].append(2)
        assert agent.seen.one("after_provider_response").headers == {"set-cookie": "***", "id": "7"}

    go(main)


@pytest.mark.parametrize("swallow", [False, True])
def test_a_failing_guard_on_the_wire_lets_no_request_leave_whatever_the_adapter_does(
    kit: Any, go: Any, swallow: bool
) -> None:
    async def main() -> None:
        adapter = Wire("never", "never", swallow=swallow)
        agent = kit.agent(adapter=adapter)
        agent.events.on("before_provider_request", lambda e: 1 / 0, phase="guard")
        with pytest.raises(AgentError, match="guard"):
            await agent.chat("hi")
        assert adapter.sent == []
        kit.check(agent)

    go(main)


# --- tools ----------------------------------------------------------------------------------------------------------


def test_parallel_tools_overlap_and_their_results_keep_the_order_of_the_calls(kit: Any, go: Any) -> None:
    async def main() -> None:
        second_done, first_running = asyncio.Event(), asyncio.Event()

        async def first(args: Any, ctx: Any) -> str:
            first_running.set()
            await second_done.wait()
            return "first"

        async def second(args: Any, ctx: Any) -> str:
            await first_running.wait()
            second_done.set()
            return "second"

        agent = kit.agent(
            Reply(calls=[Call("one", id="1"), Call("two", id="2")]),
            "end",
            tools=[kit.tool("one", first), kit.tool("two", second)],
        )
        await agent.chat("go")
        assert [r.text for r in kit.results(agent)] == ["first", "second"]
        assert [e.tool_call_id for e in agent.seen.of("tool_execution_end")] == ["2", "1"]
        assert [e.tool_call_id for e in agent.seen.of("tool_execution_start")] == ["1", "2"]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("how", ["tool", "config"])
def test_sequential_tools_run_one_after_the_other(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        running = most = 0

        async def body(args: Any, ctx: Any) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running -= 1
            return "ok"

        tools = [kit.tool("a", body, sequential=how == "tool"), kit.tool("b", body)]
        agent = kit.agent(
            Reply(calls=[Call("b"), Call("a"), Call("b")]), "end", tools=tools, parallel_tools=how == "tool"
        )
        await agent.chat("go")
        assert most == 1 and [r.outcome for r in kit.results(agent)] == ["ok"] * 3

    go(main)


def test_blocked_calls_between_others_do_not_disturb_the_order(kit: Any, go: Any) -> None:
    """Section 13: results leave in source order also where some calls were blocked."""

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a", {"i": i}, id=str(i)) for i in range(4)]),
            "end",
            tools=[kit.tool("a", lambda a, c: str(a["i"]))],
        )
        agent.events.on("tool_call", lambda e: ToolCallEventResult(block=e.index % 2 == 1, reason="odd"))
        await agent.chat("go")
        assert [(r.tool_call_id, r.outcome) for r in kit.results(agent)] == [
            ("0", "ok"),
            ("1", "blocked"),
            ("2", "ok"),
            ("3", "blocked"),
        ]
        kit.check(agent)

    go(main)


def test_duplicate_call_ids_are_made_unique_and_results_follow(kit: Any, go: Any) -> None:
    """Edge case 18."""

    async def main() -> None:
        calls = [Call("a", {"i": 0}, id="x"), Call("a", {"i": 1}, id="x"), Call("a", {"i": 2}, id="x")]
        agent = kit.agent(
            Reply(calls=calls),
            Reply(calls=[Call("a", {"i": 3}, id="x")]),
            "end",
            tools=[kit.tool("a", lambda a, c: str(a["i"]))],
        )
        await agent.chat("go")
        assert [(r.tool_call_id, r.text) for r in kit.results(agent)] == [
            ("x", "0"),
            ("x_2", "1"),
            ("x_3", "2"),
            ("x_4", "3"),
        ]
        kit.check(agent)

    go(main)


def test_ids_stay_unique_over_a_reload(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0, session_id="s")
        first = kit.agent(Reply(calls=[Call("a", id="x")]), "end", tools=[kit.tool("a", "1")], session=session)
        await first.chat("go")
        await first.aclose()
        again = await Session.open(store, "s", lambda: 2.0)
        second = kit.agent(Reply(calls=[Call("a", id="x")]), "end", tools=[kit.tool("a", "2")], session=again)
        await second.chat("more")
        assert [r.tool_call_id for r in kit.results(second)] == ["x", "x_2"]
        kit.check(second)

    go(main)


@pytest.mark.parametrize("raw", ["{broken", "[1]", '"text"', '{"n": NaN}', '{"n": Infinity}', '{"n": 1e999}', "null"])
def test_arguments_that_are_no_strict_json_object_give_an_error_and_the_others_run(kit: Any, go: Any, raw: str) -> None:
    """Edge case 19."""

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a", raw=raw), Call("a"), Call("zzz")]), "end", tools=[kit.tool("a", "ok")])
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok", "error"]
        assert "not a JSON object" in kit.results(agent)[0].text
        kit.check(agent)

    go(main)


BAD_OUTPUTS: dict[str, Any] = {
    "raises": lambda a, c: 1 / 0,
    "none": None,
    "number": 5,
    "dict": {"a": 1},
    "content none": ToolOutput(None),  # type: ignore[arg-type]
    "content of numbers": ToolOutput([1, 2]),  # type: ignore[list-item]
    "content of calls": ToolOutput([__import__("skillkit_core").ToolCall("1", "a")]),
}


@pytest.mark.parametrize("kind", sorted(BAD_OUTPUTS))
def test_a_tool_that_raises_or_answers_nonsense_gives_an_error_result(kit: Any, go: Any, kind: str) -> None:
    """Edge case 20."""

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a"), Call("b")]), "end", tools=[kit.tool("a", BAD_OUTPUTS[kind]), kit.tool("b", "ok")]
        )
        response = await agent.chat("go")
        assert response.content == "end"
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok"] and kit.results(agent)[0].text
        kit.check(agent)

    go(main)


def test_a_tool_error_is_told_in_its_own_words(kit: Any, go: Any) -> None:
    async def main() -> None:
        def body(args: Any, ctx: Any) -> str:
            raise ToolError("no such file", hint="list the folder first")

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", body)])
        await agent.chat("go")
        assert kit.results(agent)[0].text == "no such file; list the folder first"

    go(main)


def test_huge_output_is_cut_in_the_middle_and_says_how_much(kit: Any, go: Any) -> None:
    """Edge case 20: 10 MB."""

    async def main() -> None:
        text = "a" * 5_000_000 + "b" * 5_000_000
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", text, max_output=1000)])
        await agent.chat("go")
        got = kit.results(agent)[0].text
        assert len(got) <= 1000 and got.startswith("aaa") and got.endswith("bbb") and "characters left out" in got

    go(main)


def test_lone_surrogates_are_replaced_and_details_stay_with_people(kit: Any, go: Any) -> None:
    async def main() -> None:
        output = ToolOutput("a\ud83d b \ud83d\ude00", details={"rows": 3, "when": object})
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", output)])
        await agent.chat("x\udc00y")
        assert kit.results(agent)[0].text == "a\ufffd b 😀" and kit.results(agent)[0].details["rows"] == 3
        assert agent.messages[0].text == "x\ufffdy"
        for message in agent.scripted.requests[-1].messages:
            message.text.encode()

    go(main)


def test_images_alone_are_a_legal_result(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", ToolOutput([ImageBlock("aGk=")]))])
        await agent.chat("go")
        assert kit.results(agent)[0].content == (ImageBlock("aGk="),) and kit.results(agent)[0].outcome == "ok"
        kit.check(agent)

    go(main)


def test_a_tool_that_takes_too_long_gets_the_outcome_timeout(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", lambda a, c: asyncio.Event().wait(), timeout=0.02)]
        )
        agent.events.on("tool_result", lambda e: ToolResultEventResult(details=str(e.outcome)))
        await agent.chat("go")
        assert kit.results(agent)[0].outcome == "timeout" and kit.results(agent)[0].details == "timeout"
        kit.check(agent)

    go(main)


def test_a_tool_that_is_cancelled_from_the_inside_fails_alone(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def body(args: Any, ctx: Any) -> str:
            inner = asyncio.ensure_future(asyncio.Event().wait())
            inner.cancel()
            await inner
            return ""

        agent = kit.agent(Reply(calls=[Call("a"), Call("b")]), "end", tools=[kit.tool("a", body), kit.tool("b", "ok")])
        response = await agent.chat("go")
        assert response.outcome == "completed" and [r.outcome for r in kit.results(agent)] == ["error", "ok"]
        kit.check(agent)

    go(main)


def test_an_adapter_that_is_cancelled_from_the_inside_fails_the_run_and_not_the_caller(kit: Any, go: Any) -> None:
    async def main() -> None:
        def broken(request: Any) -> Any:
            raise asyncio.CancelledError

        agent = kit.agent(broken)
        with pytest.raises(AgentError, match="inside"):
            await agent.chat("go")
        assert agent.seen.one("agent_end").outcome == "failed"
        kit.check(agent)

    go(main)


def test_updates_are_counted_delivered_in_order_and_dropped_after_the_call_has_settled(kit: Any, go: Any) -> None:
    async def main() -> None:
        kept: list[Any] = []

        async def body(args: Any, ctx: Any) -> str:
            kept.append(ctx)
            ctx.on_output("one\n")
            ctx.on_output("")
            ctx.on_output("two\n", "stderr")
            await asyncio.to_thread(ctx.on_output, "three\n")
            await asyncio.sleep(0)
            return "ok"

        agent = kit.agent(
            Reply(calls=[Call("a")]), lambda r: kept[0].on_output("late") or "end", tools=[kit.tool("a", body)]
        )
        slow: list[str] = []

        async def waits(event: Any) -> None:
            await asyncio.sleep(0)
            slow.append(event.output)

        agent.events.on("tool_execution_update", waits)
        await agent.chat("go")
        assert [(e.n, e.output, e.stream) for e in agent.seen.of("tool_execution_update")] == [
            (1, "one\n", "stdout"), (2, "two\n", "stderr"), (3, "three\n", "stdout"),
        ]  # fmt: skip
        assert slow == ["one\n", "two\n", "three\n"]
        assert max(e.seq for e in agent.seen.of("tool_execution_update")) < agent.seen.one("tool_execution_end").seq

    go(main)


def test_a_raising_handler_of_a_result_keeps_earlier_patches_and_the_batch_whole(kit: Any, go: Any) -> None:
    """Edge case 25; section 13."""

    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a"), Call("a")]), "end", tools=[kit.tool("a", "raw")])
        agent.events.on("tool_result", lambda e: ToolResultEventResult(content="patched"))
        agent.events.on("tool_result", lambda e: 1 / 0)
        await agent.chat("go")
        assert [r.text for r in kit.results(agent)] == ["patched", "patched"]
        assert len(agent.seen.of("handler_error")) == 2
        kit.check(agent)

    go(main)


@pytest.mark.parametrize(("is_error", "patch", "outcome"), [(False, True, "error"), (True, False, "ok")])
def test_a_patch_flips_the_error_both_ways(kit: Any, go: Any, is_error: bool, patch: bool, outcome: str) -> None:
    """Edge case 26; section 13."""

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", ToolOutput("x", details={"a": 1}, is_error=is_error))]
        )
        agent.events.on("tool_result", lambda e: ToolResultEventResult(is_error=patch))
        agent.events.on("tool_result", lambda e: ToolResultEventResult(details=None))
        await agent.chat("go")
        (result,) = kit.results(agent)
        assert (result.is_error, result.outcome, result.details) == (patch, outcome, None)

    go(main)


def test_a_failing_guard_of_a_result_withholds_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", "the secret")])
        agent.events.on("tool_result", lambda e: 1 / 0, phase="guard")
        await agent.chat("go")
        (result,) = kit.results(agent)
        assert "secret" not in result.text and "withheld" in result.text and result.is_error
        assert all("secret" not in str(e) for e in agent.seen.of("tool_execution_end"))

    go(main)


def test_truncated_calls_are_not_run_and_a_second_time_fails_the_run(kit: Any, go: Any) -> None:
    """Edge case 21."""

    async def main() -> None:
        ran: list[Any] = []
        tool = kit.tool("a", lambda a, c: ran.append(a) or "ok")
        cut = Reply(calls=[Call("a", {"x": 1}), Call("a", raw='{"x": 1')], stop=StopReason.length)
        agent = kit.agent(cut, "recovered", tools=[tool])
        assert (await agent.chat("go")).content == "recovered"
        assert ran == [] and [r.outcome for r in kit.results(agent)] == ["truncated", "truncated"]
        kit.check(agent)
        agent = kit.agent(cut, cut, "never", tools=[tool])
        with pytest.raises(AgentError, match="twice in a row"):
            await agent.chat("go")
        assert ran == [] and len(agent.scripted.requests) == 2
        kit.check(agent)

    go(main)


def test_a_message_end_handler_cannot_take_a_call_away(kit: Any, go: Any) -> None:
    """Edge case 30."""

    async def main() -> None:
        agent = kit.agent(Reply("text", [Call("a")]), "end", tools=[kit.tool("a", "ok")])

        def remove(event: Any) -> Any:
            if event.message.role == "assistant" and event.message.tool_calls:
                return MessageEndResult(message=type(event.message)(content=blocks_of("no call")))
            return MessageEndResult(message=UserMessage(content=blocks_of("other role")))

        agent.events.on("message_end", remove)
        await agent.chat("go")
        assert kit.roles(agent) == ["user", "assistant", "tool_result", "assistant"]
        assert len(agent.messages[1].tool_calls) == 1 and len(agent.seen.of("handler_error")) == 3
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("change", ["drop assistant", "drop results", "reverse", "duplicate"])
def test_what_context_transform_breaks_is_repaired_before_it_leaves(kit: Any, go: Any, change: str) -> None:
    """Edge case 28."""

    async def main() -> None:
        def transform(event: Any) -> Any:
            messages = list(event.messages)
            if change == "drop assistant":
                messages = [m for m in messages if m.role != "assistant"]
            elif change == "drop results":
                messages = [m for m in messages if m.role != "tool_result"]
            elif change == "reverse":
                messages.reverse()
            else:
                messages = messages * 2
            return ContextTransformResult(messages=messages)

        agent = kit.agent(Reply(calls=[Call("a"), Call("a")]), "end", tools=[kit.tool("a", "ok")])
        agent.events.on("context", transform)
        await agent.chat("go")
        assert kit.roles(agent) == ["user", "assistant", "tool_result", "tool_result", "assistant"]
        kit.check(agent)

    go(main)


def test_an_empty_transform_is_ignored_and_reported(kit: Any, go: Any) -> None:
    """Edge case 29."""

    async def main() -> None:
        agent = kit.agent("end")
        agent.events.on("context", lambda e: ContextTransformResult(messages=[]))
        await agent.chat("go")
        assert [m.text for m in agent.scripted.requests[0].messages] == ["go"]
        assert agent.seen.one("handler_error").event == "context_transform"

    go(main)


def test_a_context_transformer_of_the_roadmap_changes_requests_and_can_be_removed(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("a", "b")

        async def prune(messages: list[Any]) -> list[Any]:
            return messages[-1:]

        off = agent.add_context_transformer(prune)
        await agent.chat("one")
        await agent.chat("two")
        off()
        assert [m.text for m in agent.scripted.requests[1].messages] == ["two"]
        assert len(agent.messages) == 4

    go(main)


# --- wrappers -------------------------------------------------------------------------------------------------------


def test_around_hooks_nest_first_outermost_and_may_ask_again(kit: Any, go: Any) -> None:
    async def main() -> None:
        log: list[str] = []

        class Outer:
            @hookimpl
            async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
                log.append("outer")
                try:
                    return await call_next()
                except Exception:
                    return await call_next()

            @hookimpl
            async def wrap_tool_call(self, call: Any, call_next: Any, ctx: Any) -> Any:
                log.append(f"tool {call.tool_name} {dict(call.args)}")
                output = await call_next()
                return ToolOutput(output.content + "!")

        class Inner:
            @hookimpl
            async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
                log.append("inner")
                return await call_next()

        agent = kit.agent(
            Fail(ErrorKind.invalid_request),
            Reply(calls=[Call("a", {"x": 1})]),
            "end",
            tools=[kit.tool("a", "ok")],
            plugins=[("outer", Outer()), ("inner", Inner())],
        )
        response = await agent.chat("go")
        assert log == ["outer", "inner", "inner", "tool a {'x': 1}", "outer", "inner"]
        assert kit.results(agent)[0].text == "ok!" and response.content == "end"
        ledger = [e.data for e in agent.session.entries if e.type == "usage"]
        assert len(ledger) == 3 and "error" in ledger[0]
        kit.check(agent)

    go(main)


def test_an_around_hook_may_answer_without_a_request(kit: Any, go: Any) -> None:
    from skillkit_core import AssistantMessage

    class Cache:
        @hookimpl
        async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
            return AssistantMessage(content=blocks_of("cached"))

    async def main() -> None:
        agent = kit.agent(plugins=[("cache", Cache())])
        assert (await agent.chat("go")).content == "cached"
        assert agent.scripted.requests == [] and [e for e in agent.session.entries if e.type == "usage"] == []
        kit.check(agent)

    go(main)


def test_a_raising_around_hook_fails_what_it_wraps(kit: Any, go: Any) -> None:
    class Broken:
        @hookimpl
        async def wrap_tool_call(self, call: Any, call_next: Any) -> Any:
            if call.args.get("bad"):
                raise RuntimeError("wrapper broke")
            return await call_next()

        @hookimpl
        async def wrap_model_call(self, request: Any, call_next: Any) -> Any:
            if "explode" in request.messages[-1].text:
                raise RuntimeError("wrapper broke")
            return await call_next()

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a", {"bad": True}), Call("a")]),
            "end",
            tools=[kit.tool("a", "ok")],
            plugins=[("broken", Broken())],
        )
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["error", "ok"] and "wrapper broke" in kit.results(agent)[
            0
        ].text
        with pytest.raises(AgentError, match="wrapper broke"):
            await agent.chat("explode")
        kit.check(agent)

    go(main)


# --- limits and ends ------------------------------------------------------------------------------------------------


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


def test_stop_hooks_that_always_go_on_are_stopped_after_three(kit: Any, go: Any) -> None:
    """Edge case 33."""

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


def test_a_stop_hook_that_fails_allows_the_stop(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("done")
        agent.events.on("before_agent_end", lambda e: 1 / 0)
        assert (await agent.chat("go")).outcome == "completed"

    go(main)


def test_a_handler_that_calls_chat_is_told_so_and_the_run_is_unaffected(kit: Any, go: Any) -> None:
    """Edge case 32."""

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]), "end", "later", tools=[kit.tool("a", lambda a, c: c.agent.chat("nested"))]
        )
        later: list[Any] = []

        async def reenter(event: Any, ctx: Any) -> None:
            off()
            ctx.when_idle(again)
            for call in (agent.chat("x"), agent.wait_idle(), agent.aclose()):
                with pytest.raises(ReentrancyError):
                    await call

        async def again() -> None:
            later.append((await agent.chat("from the callback")).content)

        off = agent.events.on("turn_start", reenter)
        response = await agent.chat("go")
        assert response.content == "end" and kit.results(agent)[0].outcome == "error"
        assert "chat was called from" in kit.results(agent)[0].text
        assert later == ["later"]

    go(main)


def test_a_callback_for_later_that_fails_harms_nobody(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        agent.events.on("turn_start", lambda e, ctx: ctx.when_idle(lambda: 1 / 0))
        assert (await agent.chat("go")).content == "end"
        assert [e async for e in agent.chat_stream_events("go")][-1].type == "error"  # the script is over
        assert len(agent.seen.of("handler_error")) == 2

    go(main)


def test_a_second_chat_is_refused_while_one_runs(kit: Any, go: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()
        agent = kit.agent(Reply("slow", before=gate.wait), "next")
        first = asyncio.create_task(agent.chat("one"))
        while not agent.scripted.requests:
            await asyncio.sleep(0)
        with pytest.raises(AgentBusy):
            await agent.chat("two")
        events = [e async for e in agent.chat_stream_events("two")]
        assert [e.type for e in events] == ["error"] and isinstance(events[0].error, AgentBusy)
        gate.set()
        assert (await first).content == "slow"
        assert (await agent.chat("two")).content == "next"

    go(main)


# --- the stream -----------------------------------------------------------------------------------------------------


def test_the_stream_tells_everything_in_order_and_ends_with_done(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply("one", [Call("a", {"x": 1}, id="c")], thinking="hm"), Reply(["tw", "o"]), tools=[kit.tool("a", "ok")]
        )
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events] == [
            "thinking_start", "thinking_delta", "thinking_end", "text_start", "text_delta", "text_end",
            "tool_call_start", "tool_call_delta", "tool_call_end", "tool_result",
            "text_start", "text_delta", "text_delta", "text_end", "done",
        ]  # fmt: skip
        assert [e.index for e in events[:9]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
        result = events[9]
        assert (result.content, result.tool_name, result.tool_call_id) == ("ok", "a", "c")
        assert events[-1].content == "two" and events[-1].usage is not None and events[-1].usage.input == 20

    go(main)


def test_chat_stream_gives_the_text_and_raises_as_chat(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(["a", "b", "c"]), Fail(ErrorKind.auth, "no key"))
        assert [t async for t in agent.chat_stream("go")] == ["a", "b", "c"]
        with pytest.raises(AgentError, match="no key"):
            [t async for t in agent.chat_stream("go")]

    go(main)


BROKEN: dict[str, Any] = {
    "fails": Fail(ErrorKind.auth, "no"),
    "raises": lambda r: 1 / 0,
    "dies": Raw([StreamEvent("text_delta", "par", index=0), StreamEvent("text_delta", "tial", index=0)]),
    "says nothing": Raw([]),
    "script over": None,
}


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_failing_run_ends_the_stream_with_one_error_and_chat_raises_with_the_partial_response(
    kit: Any, go: Any, kind: str
) -> None:
    """Edge case 43."""

    async def main() -> None:
        from skillkit_core import RetryPolicy

        turns = [BROKEN[kind]] * 2 if BROKEN[kind] is not None else []
        agent = kit.agent(*turns, retry=RetryPolicy(attempts=1))
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events if e.terminal] == ["error"] and events[-1].type == "error"
        with pytest.raises(AgentError) as caught:
            await agent.chat("go")
        response = caught.value.response
        assert response is not None and response.outcome == "failed" and response.session_id == agent.session.id
        if kind == "dies":
            assert response.content == "partial" and agent.messages[1].text == "partial"
            assert agent.messages[1].stop_reason == "error"
        assert len(agent.seen.of("agent_end")) == 2
        kit.check(agent)

    go(main)


def test_two_done_events_and_events_after_the_end_count_once(kit: Any, go: Any) -> None:
    """Edge case 43."""
    from skillkit_core import TokenUsage

    async def main() -> None:
        usage = TokenUsage(3, 4)
        done = StreamEvent("done", usage=usage, stop_reason=StopReason.stop)
        text = [StreamEvent("text_start", index=0), StreamEvent("text_delta", "x", index=0, usage=usage)]
        agent = kit.agent(Raw([*text, done, done, *text]))
        response = await agent.chat("go")
        assert response.content == "x" and agent.session.usage == usage
        assert agent.messages[-1].stop_reason == "stop"
        kit.check(agent)

    go(main)


def test_a_session_that_cannot_be_opened_or_written_is_an_error_and_never_a_hang(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("x", session="nope")
        with pytest.raises(AgentError, match="unknown session"):
            await agent.chat("go")
        assert [e.type async for e in agent.chat_stream_events("go")] == ["error"]

        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)

        def full(entry: Any) -> None:
            if entry.type == "message" and entry.data["message"]["role"] == "assistant":
                raise OSError("disk full")

        store.before = full
        agent = kit.agent("x", "y", session=session)
        events = [e async for e in agent.chat_stream_events("go")]
        assert [e.type for e in events if e.terminal] == ["error"] and "disk full" in str(events[-1].error)
        with pytest.raises(AgentError, match="disk full"):
            await agent.chat("go")
        assert agent.seen.of("agent_end")[0].outcome == "failed"

    go(main)


def test_the_first_chat_opens_the_session_and_says_so_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("a", "b")
        opened = await asyncio.gather(agent.open(), agent.open())
        assert opened[0] is opened[1]
        await agent.chat("x")
        await agent.chat("y")
        await agent.aclose()
        await agent.aclose()
        assert agent.seen.one("session_start").reason == "new"
        assert agent.seen.one("session_shutdown")
        with pytest.raises(AgentError, match="closed"):
            await agent.chat("z")

    go(main)


def test_requests_of_a_run_extend_each_other(kit: Any, go: Any) -> None:
    """I15, I16."""

    async def main() -> None:
        tools = [kit.tool("b", "B"), kit.tool("a", "A")]
        agent = kit.agent(
            Reply(calls=[Call("a")]), Reply("x", [Call("b"), Call("a")]), "end", tools=tools, system_prompt="s"
        )
        await agent.chat("go")
        first, second, third = agent.scripted.requests
        assert list(second.messages[: len(first.messages)]) == list(first.messages)
        assert list(third.messages[: len(second.messages)]) == list(second.messages)
        assert [t.name for t in first.tools] == ["a", "b"] and first.tools is third.tools
        assert first.system == third.system == "s"

    go(main)


def test_tools_of_plugins_collide_by_order_and_a_distribution_may_choose(kit: Any, go: Any) -> None:
    """Edge case 47."""

    def plugin(text: str) -> Any:
        class Plugin:
            @hookimpl
            def register_tools(self, register: Any) -> None:
                register(kit.tool("same", text))

        return Plugin()

    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("same")]), "end", plugins=[("one", plugin("from one")), ("two", plugin("from two"))]
        )
        await agent.chat("go")
        assert kit.results(agent)[0].text == "from one"
        host = agent.host
        assert host.tools.list() == ["same", "same@two"]
        assert host.tools.get("same@two").name == "same"
        assert [(p.plugin, p.stage) for p in host.problems] == [("two", "register_tools")]
        host = kit.host(("one", plugin("from one")), ("two", plugin("from two")))
        host.tools.prefer["same"] = "two"
        agent = kit.agent(Reply(calls=[Call("same")]), "end", host=host)
        await agent.chat("go")
        assert kit.results(agent)[0].text == "from two"

    go(main)


def test_a_tool_that_disappears_while_a_call_waits_gives_an_error(kit: Any, go: Any) -> None:
    """Edge case 46."""

    class Fleeting:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("gone", "never"))

    async def main() -> None:
        host = kit.host(("fleeting", Fleeting()))
        agent = kit.agent(Reply(calls=[Call("gone")]), "end", host=host)
        agent.events.on("message_end", lambda e: host.tools.unregister("gone") if "gone" in host.tools else None)
        await agent.chat("go")
        assert kit.results(agent)[0].outcome == "error" and "no tool 'gone'" in kit.results(agent)[0].text
        assert agent.scripted.requests[1].tools == ()

    go(main)


def test_opt_in_tools_need_a_name_and_tool_sets_that_fail_have_no_tools(kit: Any, go: Any) -> None:
    from skillkit_core import ToolSet

    class Plugin:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            register(kit.tool("risky", "x", opt_in=True))
            register(kit.tool("tame", "x"))
            register(ToolSet("broken", lambda agent: 1 / 0))
            register(ToolSet("more", lambda agent: [Tool("extra", "d", "m:f")]))

    async def main() -> None:
        def names(**config: Any) -> list[str]:
            host = kit.host(("p", Plugin()))
            agent = kit.agent(host=host, **config)
            return [t.name for t in agent.toolbox.tools()]

        assert names() == ["extra", "tame"]
        assert names(allow_tools=("risky",)) == ["extra", "risky", "tame"]
        assert names(allow_tools=("risky",), only_tools=frozenset({"risky"})) == ["risky"]

    go(main)


def test_a_text_block_survives_the_round_trip() -> None:
    assert blocks_of("x") == (TextBlock("x"),)
