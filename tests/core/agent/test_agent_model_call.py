"""What a request sends: the repaired context, the prefix that stays, the wire hooks and the guards before it (spec, 4, 5)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import AgentError, ContextTransformResult, StreamEvent, TurnStartResult, UserMessage
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import blocks_of
from skillkit_core.testing import Call, Reply


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
        assert adapter.sent == [] and len(kit.ledger(agent)) == 1, "a guard's no is not tried again"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.28", "I4")
@pytest.mark.parametrize("change", ["drop assistant", "drop results", "reverse", "duplicate"])
def test_what_context_transform_breaks_is_repaired_before_it_leaves(kit: Any, go: Any, change: str) -> None:
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


@pytest.mark.spec("9.29")
def test_an_empty_transform_is_ignored_and_reported(kit: Any, go: Any) -> None:
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


@pytest.mark.spec("I15", "I16")
def test_requests_of_a_run_extend_each_other(kit: Any, go: Any) -> None:
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
