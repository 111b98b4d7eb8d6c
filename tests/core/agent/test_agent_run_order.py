"""The order of a run: its events, what is kept before what has an effect, what each handler may change (spec, 1, 5)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    BeforeAgentStartResult,
    ContextTransformResult,
    CustomMessage,
    Handled,
    MessageEndResult,
    Session,
    SessionStartResult,
    TextBlock,
    Transform,
    TurnStartResult,
    UserMessage,
)
from skillkit_core.messages import blocks_of
from skillkit_core.testing import Call, Reply


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
            "turn_start", "context_transform", "before_model_request", "message_start(assistant)", "message_end(assistant)",
            "before_tool_call", "tool_execution_start", "before_tool_call", "tool_execution_start",
            "tool_execution_update", "after_tool_result", "tool_execution_end", "after_tool_result", "tool_execution_end",
            "message_start(tool_result)", "message_end(tool_result)",
            "message_start(tool_result)", "message_end(tool_result)", "turn_end",
            "turn_start", "context_transform", "before_model_request",
            "message_start(assistant)", "message_end(assistant)", "turn_end",
            "before_agent_end", "agent_end", "agent_settled", "session_shutdown",
        ]  # fmt: skip
        assert types == wanted
        seqs = [e.seq for e in agent.seen.events]
        assert seqs == sorted(seqs) and len(set(seqs)) == len(seqs)
        assert {e.run_id for e in agent.seen.events if e.type not in ("session_start", "session_shutdown")} == {"r1"}

    go(main)


@pytest.mark.spec("I10", "I11")
def test_everything_is_kept_before_it_has_an_effect(kit: Any, go: Any) -> None:
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


@pytest.mark.spec("I11")
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


@pytest.mark.spec("9.30")
def test_a_message_end_handler_cannot_take_a_call_away(kit: Any, go: Any) -> None:
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


def test_a_text_block_survives_the_round_trip() -> None:
    assert blocks_of("x") == (TextBlock("x"),)
