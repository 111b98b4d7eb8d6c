"""What events carry besides what the loop's own tests look at (spec, section 5)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from skillkit_core import BeforeCompactResult, Limits, hookimpl
from skillkit_core.contracts.compactor import CompactionResult
from skillkit_core.descriptors import ContextProvider
from skillkit_core.testing import Call, Reply


class Place:
    """A plugin with a part of the system prompt."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    @hookimpl
    def register_context_providers(self, register: Any) -> None:
        register(ContextProvider("place", lambda agent: self.text))


def test_before_agent_start_tells_the_parts_of_the_system_prompt_by_name(kit: Any, go: Any) -> None:
    host = kit.host()
    for name, text in (("one", "In Zürich."), ("two", "By the lake."), ("none", None)):
        host.add_plugin(Place(text), name=name)
    agent = kit.agent("hello", host=host, system_prompt="Be kind.")

    go(lambda: agent.chat("go"))

    event = agent.seen.one("before_agent_start")
    assert event.parts == {"system_prompt": "Be kind.", "place": "In Zürich.", "place@two": "By the lake."}
    assert event.system_prompt == "\n\n".join(event.parts.values()) == agent.scripted.requests[0].system


def test_agent_start_tells_every_limit(kit: Any, go: Any) -> None:
    limits = Limits(turns=5, requests=6, tool_calls=7, tokens=8000, cost=9.5, depth=2)
    agent = kit.agent("hello", limits=limits)

    go(lambda: agent.chat("go"))

    assert agent.seen.one("agent_start").limits == asdict(limits)


def test_tool_execution_end_tells_what_ran(kit: Any, go: Any) -> None:
    agent = kit.agent(
        Reply(calls=[Call("a", {"n": 1}), Call("nobody", {"n": 2})]), "end", tools=[kit.tool("a", "fine")]
    )

    go(lambda: agent.chat("go"))

    assert [e.args for e in agent.seen.of("tool_execution_end")] == [{"n": 2}, {"n": 1}]
    started = {e.tool_call_id: e.args for e in agent.seen.of("tool_execution_start")}
    assert started == {e.tool_call_id: e.args for e in agent.seen.of("tool_execution_end")}


def test_before_compact_carries_the_signal_of_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        await agent.chat("go")

        def supply(event: Any, ctx: Any) -> BeforeCompactResult:
            assert event.signal is ctx.signal and not event.signal.aborted
            return BeforeCompactResult(compaction=CompactionResult("all of it", 2))

        agent.events.on("before_compact", supply)
        await agent.compact()
        assert not agent.seen.of("handler_error") and agent.messages[0].text.endswith("all of it")

    go(main())
