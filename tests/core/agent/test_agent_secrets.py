"""Keys never reach the session, an event, or an error (architecture: secrets)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    ApprovalDecision,
    Approver,
    AssistantMessage,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    CustomMessage,
    Host,
    MemoryStore,
    MessageEndResult,
    Provider,
    Session,
    SessionStartResult,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallEventResult,
    ToolOutput,
    TurnStartResult,
    UserMessage,
    event_to_dict,
    hookimpl,
)
from skillkit_core.errors import ErrorKind
from skillkit_core.host.secrets import redact_headers
from skillkit_core.stream import StreamEvent
from skillkit_core.testing import Call, Fail, Raw, Reply, ScriptedModel

KEY = "sk-very-secret-0123456789"
OTHER = "sk-another-one-987654321"
ODD = 'sk-"odd"\\one/ünïcødé-<&>\'\n12'


class Providers:
    """Two providers with keys; neither is asked."""

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        register(Provider("one", {"scripted": ScriptedModel}, api_key_env=("ONE_KEY", "UNO_KEY")))
        register(Provider("two", {"scripted": ScriptedModel}, api_key_env=("TWO_KEY",)))


def everything(agent: Any) -> str:
    """All that the agent has told or kept, as text; but for the pieces of an answer, which are shown as they come."""
    events = [event for event in agent.seen.events if event.type != "message_update"]
    told = json.dumps([event_to_dict(event) for event in events], default=str)
    session: Session = agent.session
    return told + json.dumps([dict(entry.data) for entry in session.entries], default=str)


@pytest.fixture
def agent_of(kit: Any) -> Any:
    def make(*turns: Any, **options: Any) -> Any:
        environ = {"HOME": str(kit.cwd), "ONE_KEY": KEY, "TWO_KEY": OTHER}
        host = Host(discover=False, plugins=[("providers", Providers())], cwd=kit.cwd, environ=environ)
        return kit.agent(*turns, host=host, **options)

    return make


def test_keys_of_providers_that_are_not_asked_are_redacted_too(agent_of: Any, kit: Any, go: Any) -> None:
    async def main() -> None:
        tools = [kit.tool("env", f"ONE_KEY={KEY}\nTWO_KEY={OTHER}")]
        agent = agent_of(Reply(calls=[Call("env")]), f"The key is {KEY}.", tools=tools)
        response = await agent.chat(f"my key is {OTHER}, keep it")
        assert response.content == "The key is ***."
        assert KEY not in everything(agent) and OTHER not in everything(agent)
        assert [m.text for m in agent.messages] == [
            "my key is ***, keep it",
            "",
            "ONE_KEY=***\nTWO_KEY=***",
            "The key is ***.",
        ]

    go(main)


def test_an_error_and_a_half_answer_that_echo_a_key_do_not_keep_it(agent_of: Any, go: Any) -> None:
    async def main() -> None:
        half = [StreamEvent("text_start", index=0), StreamEvent("text_delta", f"your {KEY}", index=0)]
        for turn in (Fail(ErrorKind.auth, f"bad key {KEY}", status=401), Raw(half)):
            agent = agent_of(turn)
            with pytest.raises(AgentError) as caught:
                await agent.chat("hello")
            assert KEY not in str(caught.value) and KEY not in json.dumps(caught.value.to_dict())
            assert KEY not in everything(agent)

    go(main)


def test_a_system_prompt_with_a_key_is_shown_and_sent_without_it(agent_of: Any, go: Any) -> None:
    async def main() -> None:
        agent = agent_of("ok", system_prompt=f"Use {KEY}.")
        agent.events.on("before_agent_start", lambda e: BeforeAgentStartResult(system_prompt=e.system_prompt + " Now."))
        await agent.chat("hello")
        assert agent.scripted.requests[0].system == "Use ***. Now."
        assert KEY not in everything(agent)

    go(main)


def test_a_key_in_what_is_queued_or_what_handlers_say_is_redacted_too(agent_of: Any, kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = agent_of("one", "two", "three")
        context = CustomMessage(custom_type="note", content=(TextBlock(f"context {KEY}"),), in_context=True)
        said = UserMessage(content=(TextBlock(f"at the turn {KEY}"),))
        on = agent.events.on
        on("session_start", lambda e: SessionStartResult(context=[context]))
        on("turn_start", lambda e: TurnStartResult(append=[said]) if e.turn_index == 0 else None)
        on("before_agent_end", lambda e: None if e.n_continues else BeforeAgentEndResult(continue_with=f"go on {KEY}"))
        on("message_end", lambda e: MessageEndResult(message=replace(e.message, content=(TextBlock(f"said {KEY}"),))))

        agent.next_run(f"next {KEY}")
        await agent.follow_up(f"follow {KEY}")
        await agent.chat("hello")

        assert kit.texts(agent)[:5] == [
            "custom:context ***",
            "user:next ***",
            "user:follow ***",
            "user:hello",
            "user:at the turn ***",
        ]
        assert "user:go on ***" in kit.texts(agent) and "assistant:said ***" in kit.texts(agent)
        kept = json.dumps([dict(entry.data) for entry in agent.session.entries], default=str)
        assert KEY not in kept and not any(KEY in m.text for r in agent.scripted.requests for m in r.messages)

    go(main())


@pytest.mark.parametrize(
    "name",
    ["Authorization", "proxy-authorization", "X-API-Key", "api-key", "x-acme-api-key", "Cookie", "Set-Cookie",
     "x-acme-security-token", "x-client-secret"],
)  # fmt: skip
def test_the_name_of_a_header_says_whether_it_is_a_credential(name: str) -> None:
    assert redact_headers({name: "Bearer x"}) == {name: "***"}


@pytest.mark.parametrize("name", ["Accept", "idempotency-key", "x-ratelimit-remaining-tokens", "www-authenticate"])
def test_headers_that_are_no_credentials_are_shown(name: str) -> None:
    assert redact_headers({name: "z"}) == {name: "z"}


def spellings(key: str) -> set[str]:
    """The key as it is, and as JSON writes it once and twice."""
    once = {
        key,
        json.dumps(key)[1:-1],
        json.dumps(key, ensure_ascii=False)[1:-1],
        json.dumps(key)[1:-1].replace("/", "\\/"),
    }
    return (
        once | {json.dumps(text)[1:-1] for text in once} | {json.dumps(text, ensure_ascii=False)[1:-1] for text in once}
    )


def holds(text: str) -> list[str]:
    return [spelling for key in (KEY, ODD) for spelling in spellings(key) if spelling in text]


def kept(agent: Any) -> str:
    """What the store has, as it is written."""
    return json.dumps([dict(entry.data) for entry in agent.session.handle.entries()], default=dict)


@pytest.mark.parametrize("spelling", sorted(spellings(ODD)))
def test_a_key_is_found_however_json_writes_it(spelling: str) -> None:
    host = Host(discover=False, environ={})
    host.remember_secret(ODD)
    assert host.redact(f"is {spelling}.") == "is ***."
    assert host.redact({spelling: [1, (spelling,), None]}) == {"***": [1, ("***",), None]}
    clean = {"a": ["nothing", {"b": 1.5}], "c": None}
    assert host.redact(clean) is clean


def test_no_entry_and_no_event_holds_a_key(agent_of: Any, kit: Any, go: Any) -> None:
    """Thinking, calls, arguments, results, details, notes, titles, labels, summaries."""
    ran: list[Any] = []

    async def look(args: Any, ctx: Any) -> ToolOutput:
        ran.append(dict(args))
        ctx.on_output(f"out {ODD}")
        return ToolOutput(f"it is {json.dumps(ODD)}", details={"found": ODD, ODD: [KEY, {"deep": ODD}]})

    async def main() -> None:
        said = f"{KEY} {ODD}"
        calls = [
            Call("look", {"key": said, ODD: [said]}),
            Call(f"no {KEY}", {"a": 1}),
            Call("look", raw=f"no JSON {said}"),
        ]
        agent = agent_of(
            Reply(said, calls=calls, thinking=f"think {said}"),
            "done",
            tools=[kit.tool("look", look)],
            system_prompt=said,
        )
        agent.host.remember_secret(ODD)
        await agent.open()
        session = agent.session
        await session.append("session_info", {"title": said})
        await session.note("plan.step", {"key": said, ODD: {KEY: 1}})
        response = await agent.chat(said)
        await session.label(session.leaf_id, said)
        await session.append_compaction(f"Summary {said}", 2, 100, {"files": [said]})
        await session.append_branch_summary(f"Branch {said}")

        assert ran == [{"key": said, ODD: [said]}], "what runs are the arguments that the model wrote"
        assert holds(kept(agent)) == []
        assert holds(json.dumps([event_to_dict(event) for event in agent.seen.events], default=str)) == []
        assert holds(repr([*agent.messages, *response.messages])) == [] and response.content == "done"
        assert session.notes("plan.step")[0].data == {"key": "*** ***", "***": {"***": 1}}
        assert agent.messages == Session(session.handle, lambda: 0.0).messages, "a reload gives the same"
        assert all(holds(repr(request.messages)) == [] for request in agent.scripted.requests)
        kit.check(agent)

    go(main)


def test_what_proves_or_encrypts_stays_byte_for_byte(agent_of: Any, go: Any) -> None:
    async def main() -> None:
        agent = agent_of("ok")
        await agent.open()
        blob = f"AAAA{KEY}BBBB"  # by chance: nothing of this is a key
        data = {"item": {"encrypted_content": blob, "text": KEY}}
        content = (
            ThinkingBlock("I think", signature=blob, data=blob, provider_data=data | {"thought_signature": blob}),
            ThinkingBlock(f"of {KEY}", signature="signed"),
            ToolCall("c1", "look", {"data": KEY, "signature": KEY}, "{}", provider_data={"thought_signature": blob}),
        )
        await agent.session.append_message(AssistantMessage(content=content, provider="p", api="a", model="m"))
        proven, thought, call = agent.session.messages[-1].content
        assert thought == ThinkingBlock("of ***"), "it is not what was signed any more"
        assert call.args == {"data": "***", "signature": "***"}
        assert call.provider_data == {"thought_signature": blob}
        assert proven == ThinkingBlock("I think"), "the item had a key in its text"
        whole = ThinkingBlock("I think", signature=blob, data=blob, provider_data={"item": {"encrypted_content": blob}})
        message = AssistantMessage(content=(whole,))
        assert agent.host.redact(message) is message

    go(main)


class Later(Approver):
    """An approver that puts every question off."""

    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


@pytest.mark.parametrize("where", ["call", "guard"])
def test_a_call_that_waits_does_not_run_without_the_key_that_it_had(
    agent_of: Any, kit: Any, go: Any, where: str
) -> None:
    """``guard``: the model did not write the key, a handler put it into the arguments."""
    ran: list[Any] = []

    async def main() -> None:
        tools = [kit.tool("spend", lambda args, ctx: ran.append(args) or "spent")]
        calls = [
            Call("spend", {"key": KEY if where == "call" else "KEY"}, id="c1"),
            Call("spend", {"key": "***"}, id="c2"),
        ]
        agent = agent_of(Reply(calls=calls), "I see.", tools=tools, approver=Later())
        agent.host.secrets.learn()

        def asks(event: Any) -> ToolCallEventResult:
            put = {"key": KEY} if event.args["key"] == "KEY" else None
            return ToolCallEventResult(ask="May it?", **({"args": put} if put else {}))

        agent.events.on("before_tool_call", asks)
        assert (await agent.chat("go")).outcome == "suspended"
        assert [(c.args["key"], c.redacted) for c in agent.suspension.calls] == [("***", True), ("***", False)]
        assert holds(kept(agent)) == []
        response = await agent.resume({"c1": "allow", "c2": "allow"})
        assert response.content == "I see."
        first, second = kit.results(agent)
        assert first.outcome == "error" and "its arguments held a secret, which no session keeps" in first.text
        assert (second.outcome, second.text, ran) == ("ok", "spent", [{"key": "***"}])

    go(main)


def test_a_call_that_a_crash_left_does_not_run_without_the_key_that_it_had(agent_of: Any, kit: Any, go: Any) -> None:
    ran: list[Any] = []

    async def main() -> None:
        store = MemoryStore()
        session = await Session.create(store, lambda: 1.0)
        calls = (ToolCall("c1", "look", {"key": KEY}, "{}"), ToolCall("c2", "look", {"key": "none"}, "{}"))
        agent = agent_of(
            "on", tools=[kit.tool("look", lambda a, c: ran.append(a) or "saw", replay="safe")], session=session
        )
        await agent.open()
        await session.append_message(UserMessage(content=(TextBlock("go"),)))
        await session.append_message(AssistantMessage(content=calls, stop_reason="tool_calls"))
        assert (await agent.resume()).content == "on"
        assert ran == [{"key": "none"}] and [r.outcome for r in kit.results(agent)] == ["interrupted", "ok"]

    go(main)
