"""The suite of handlers that wait for topics: before one is armed, they would have had nothing to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from skillkit_core import AgentConfig, AgentRunner, Host, Tool, ToolError
from skillkit_core.testing import Call, Reply, ScriptedModel

from .running import run

__all__ = ["ArmedConformance"]

ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


async def _works(args: Any, ctx: Any) -> str:
    return f"it worked with {len(args)}"


async def _fails(args: Any, ctx: Any) -> str:
    raise ToolError("it failed")


async def _asks(args: Any, ctx: Any) -> str:
    async with AgentRunner(AgentConfig(only_tools=frozenset({"works"}), tools=(_tool(_works),))) as below:
        below.set_adapter(ScriptedModel([Reply(calls=[Call("works", {})]), "the agent below is done"]))
        return (await below.chat("work below")).content


def _tool(execute: Any) -> Tool:
    return Tool(execute.__name__.strip("_"), "A stand-in.", execute, ANYTHING)


class ArmedConformance:
    """Subclass it, and name the ``plugin``, some of whose hooks have ``while_``.

    One conversation is held twice: as it is, where only what the plugin arms by itself is armed, and with every topic armed
    from its beginning. Requests, entries of the session, events and outcomes must be the same.

    Attributes:
        plugin: the plugin, a module or an object with ``hookimpl`` methods.
        settings: settings of the host, by dotted key.
        topics: what is armed the second time.
        turns: the answers of the model in each turn. The tools ``works``, ``fails`` and ``asks`` (another agent) are there.
    """

    plugin: ClassVar[Any] = None
    settings: ClassVar[dict[str, Any]] = {}
    topics: ClassVar[Sequence[str]] = ("*",)
    turns: ClassVar[Sequence[Sequence[Any]]] = (
        (Reply("I begin.", calls=[Call("works", {"n": 1}), Call("fails", {}), Call("missing", {})]), "Some worked."),
        (Reply(calls=[Call("asks", {})]), "Another agent worked."),
        ("Nothing is left to do.",),
    )

    @pytest.fixture
    def armed_host(self, make_host: Callable[..., Host]) -> Host:
        """A host that knows only the plugin. Override it where the plugin needs more."""
        if self.plugin is None:
            raise NotImplementedError("give plugin")
        return make_host(self.plugin, settings=self.settings)

    def played(self, host: Host, topics: Sequence[str]) -> dict[str, list[Any]]:
        """Hold the conversation with an agent of the host; return what came of it, without ids and times."""
        return run(self._played(host, topics))

    async def _played(self, host: Host, topics: Sequence[str]) -> dict[str, list[Any]]:
        model = ScriptedModel([turn for turns in self.turns for turn in turns])
        events: list[str] = []
        outcomes: list[str] = []
        tools = tuple(map(_tool, (_works, _fails, _asks)))
        async with AgentRunner(AgentConfig(tools=tools), host=host) as agent:
            agent.set_adapter(model)
            agent.events.observe(lambda event: events.append(event.type))
            agent.events.arm(*topics)
            for at in range(len(self.turns)):
                outcomes.append((await agent.chat(f"turn {at}")).outcome)
            entries = [(entry.type, str(dict(entry.data))) for entry in agent.session.entries]
        sent = [
            (one.system, [tool.name for tool in one.tools], [(m.role, m.text) for m in one.messages])
            for one in model.requests
        ]
        return {
            "outcomes": outcomes,
            "requests": _without_ids(sent),
            "entries": _without_ids(entries),
            "events": events,
        }

    def test_with_everything_armed_a_run_is_the_same(self, armed_host: Host) -> None:
        """What is called before its topic is armed says nothing, so that nobody misses it while it waits."""
        self.played(armed_host, ())  # what is said once in a host is said here
        plain, armed = self.played(armed_host, ()), self.played(armed_host, self.topics)
        assert plain["outcomes"] == ["completed"] * len(self.turns)
        for what, said in plain.items():
            assert armed[what] == said, f"the {what} are others where all topics are armed"

    def test_something_waits(self, armed_host: Host) -> None:
        """Else the suite compares a run with itself."""

        async def listeners() -> tuple[int, int]:
            async with AgentRunner(host=armed_host) as agent:
                before = sum(map(len, agent.events.table.values()))
                agent.events.arm(*self.topics)
                return before, sum(map(len, agent.events.table.values()))

        before, after = run(listeners())
        assert after > before, f"no hook waits for {', '.join(self.topics)}"


def _without_ids(rows: Sequence[Any]) -> list[str]:
    """Return rows as texts, without the ids of sessions and of agents below."""
    return [re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{10})?\b", "ID", str(row)) for row in rows]
