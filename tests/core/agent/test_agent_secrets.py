"""Keys never reach the session, an event, or an error (architecture: secrets)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    BeforeAgentEndResult,
    BeforeAgentStartResult,
    CustomMessage,
    Host,
    MessageEndResult,
    Provider,
    SessionStartResult,
    TextBlock,
    TurnStartResult,
    UserMessage,
    event_to_dict,
    hookimpl,
)
from skillkit_core.agent.session import Session
from skillkit_core.errors import ErrorKind
from skillkit_core.host.text import redact_headers
from skillkit_core.stream import StreamEvent
from skillkit_core.testing import Call, Fail, Raw, Reply, ScriptedModel

KEY = "sk-very-secret-0123456789"
OTHER = "sk-another-one-987654321"


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
