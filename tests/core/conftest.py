"""Helpers of the core's tests: an agent over a scripted model, and a recorder of its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, EventBus, Host, ModelDefinition, Tool, ToolOutput
from skillkit_core.events.types import Event
from skillkit_core.testing import ScriptedModel, VirtualClock

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


class Recorder:
    """Every event of a bus, in order."""

    def __init__(self, bus: EventBus) -> None:
        self.events: list[Event] = []
        bus.observe(self.events.append)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def one(self, kind: str) -> Any:
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events of type {kind}: {self.types}"
        return found[0]


class Kit:
    """Builds what a test of the loop needs. Nothing of it touches the disk or the network."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.Recorder = Recorder

    def host(self, *plugins: Any) -> Host:
        return Host(discover=False, plugins=plugins, cwd=self.cwd, environ={"HOME": str(self.cwd)})

    def agent(
        self,
        *turns: Any,
        tools: Sequence[Tool] = (),
        plugins: Sequence[Any] = (),
        host: Host | None = None,
        session: Any = None,
        model: ModelDefinition = MODEL,
        repeat: bool = False,
        adapter: Any = None,
        **config: Any,
    ) -> AgentRunner:
        host = host or self.host(*plugins)
        scripted = adapter or ScriptedModel(turns, repeat=repeat)
        if "scripted" not in host.adapters:
            host.adapters.register("scripted", scripted)
        agent = AgentRunner(
            AgentConfig(model=model, tools=tuple(tools), **config), host=host, session=session, clock=VirtualClock()
        )
        agent.scripted = scripted  # type: ignore[attr-defined]
        agent.seen = Recorder(agent.events)  # type: ignore[attr-defined]
        return agent

    @staticmethod
    def tool(name: str, execute: Any = None, **options: Any) -> Tool:
        """A tool; ``execute`` is a text, or a function of ``(args, ctx)``, sync or async."""

        async def run(args: Any, ctx: Any) -> Any:
            answer = execute(args, ctx) if callable(execute) else execute
            return await answer if asyncio.iscoroutine(answer) else answer

        return Tool(name, f"the tool {name}", run, options.pop("parameters", OBJECT), **options)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def _run(work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], seconds: float = 20.0) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(seconds):  # a hang is a failure, not a stop
            return await (work() if callable(work) else work)

    return asyncio.run(bounded())


@pytest.fixture
def go() -> Callable[..., Any]:
    """Run a coroutine; a hang becomes a failure."""
    return _run


__all__ = ["Kit", "Recorder", "ToolOutput"]
