"""An agent over a scripted model, a recorder of its events, stores that can be watched and torn, and what must hold."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from core_stores import FileStore, RecordingStore

from skillkit_core import AgentConfig, AgentRunner, EventBus, Host, ModelDefinition, Session, Tool
from skillkit_core.events.types import Event
from skillkit_core.testing import ScriptedModel, VirtualClock

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


class Recorder:
    """Every event of a bus, in order."""

    def __init__(self, bus: EventBus) -> None:
        self.events: list[Event] = []
        bus.observe(self._note)

    def _note(self, event: Event) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def one(self, kind: str) -> Any:
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events of type {kind}: {self.types}"
        return found[0]


def run(work: Coroutine[Any, Any, Any] | Callable[[], Coroutine[Any, Any, Any]], seconds: float = 20.0) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(seconds):  # a hang is a failure, not a stop
            return await (work() if callable(work) else work)

    return asyncio.run(bounded())


def forked(work: Callable[[], Coroutine[Any, Any, Any]]) -> bool:
    """Run a coroutine in a process of its own; whether that was killed with SIGKILL. A failure in it is one here."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            run(work)
            code = 0
        except BaseException:
            os.write(writer, traceback.format_exc()[-20_000:].encode())
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, said or f"the process ended with status {status}"
    return False


BRACKETS = {
    "agent_start": "agent_end",
    "turn_start": "turn_end",
    "message_start": "message_end",
    "compaction_start": "compaction_end",
}


def check_brackets(events: Sequence[Event]) -> None:
    """I8 and I9: starts and ends balance and nest; nothing but ``agent_settled`` follows ``agent_end``."""
    open_: list[str] = []
    tools: set[str] = set()
    ended: str | None = "none yet"
    for event in events:
        kind = event.type
        late = (
            "agent_settled",
            "queue_update",
            "handler_error",
            "input",
        )  # a handler of the end may fail, a steer come late
        assert event.run_id != ended or kind in late, f"{kind} after the end"
        if kind == "tool_execution_start":
            assert event.tool_call_id not in tools
            tools.add(event.tool_call_id)
        elif kind == "tool_execution_end":
            tools.remove(event.tool_call_id)
        elif kind in BRACKETS:
            open_.append(kind)
        elif kind in BRACKETS.values():
            if kind == "agent_end":
                ended = event.run_id
            assert open_ and BRACKETS[open_[-1]] == kind, f"{kind} closes {open_}"
            open_.pop()
            assert not tools or kind != "agent_end", f"{kind} with open tools"
    assert not open_ and not tools, (open_, tools)


def check_legal(messages: Sequence[Any], open_calls: frozenset[str] = frozenset()) -> None:
    """I1 and I2: each call has one result, right after it, in order; no result without a call. ``open_calls`` have none."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message.role == "tool_result":
            assert waiting and waiting[0] == message.tool_call_id, (waiting, message)
            waiting.pop(0)
            continue
        assert not waiting, f"{message.role} before the results of {waiting}"
        if message.role == "assistant":
            ids = [call.id for call in message.tool_calls]
            assert len(set(ids)) == len(ids) and not seen & set(ids) and all(ids)
            seen |= set(ids)
            waiting = [i for i in ids if i not in open_calls]
    assert not waiting, waiting


class Kit:
    """Builds what a test of the loop needs. Nothing of it touches the disk or the network."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.Recorder = Recorder
        self.RecordingStore = RecordingStore
        self.FileStore = FileStore
        self.forked = forked
        self.run = run
        self.check_brackets = check_brackets
        self.check_legal = check_legal

    def host(self, *plugins: Any, **options: Any) -> Host:
        return Host(discover=False, plugins=plugins, cwd=self.cwd, environ={"HOME": str(self.cwd)}, **options)

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
    def check(agent: AgentRunner) -> None:
        """What must hold after every run: I1, I2, I8, I9, I17, and that a reload gives the same conversation."""
        check_brackets(agent.seen.events)  # type: ignore[attr-defined]
        waiting = agent.suspension
        check_legal(agent.conversation.context.messages(), waiting.open_calls if waiting is not None else frozenset())
        for request in agent.scripted.requests:  # type: ignore[attr-defined]
            check_legal(request.messages)
        session = agent.session
        ledger = Kit.ledger(agent)
        for bucket in ("input", "output", "cache_read", "cache_write", "reasoning"):
            assert getattr(session.usage, bucket) == sum(e.get(bucket, 0) for e in ledger)
        again = Session(session.handle, lambda: 0.0)
        assert again.messages == session.messages and again.leaf_id == session.leaf_id

    @staticmethod
    def results(agent: AgentRunner) -> list[Any]:
        """The tool results of the conversation."""
        return [m for m in agent.messages if m.role == "tool_result"]

    @staticmethod
    def roles(agent: AgentRunner) -> list[str]:
        """Who spoke."""
        return [m.role for m in agent.messages]

    @staticmethod
    def texts(agent: AgentRunner) -> list[str]:
        """What was said: ``user:hello``."""
        return [f"{m.role}:{m.text}" for m in agent.messages]

    @staticmethod
    def ledger(agent: AgentRunner) -> list[Any]:
        """What the session's usage entries say, one for each request."""
        return [e.data for e in agent.session.entries if e.type == "usage"]

    @staticmethod
    def tool(name: str, execute: Any = None, **options: Any) -> Tool:
        """A tool; ``execute`` is a text, or a function of ``(args, ctx)``, sync or async."""

        async def run(args: Any, ctx: Any) -> Any:
            answer = execute(args, ctx) if callable(execute) else execute
            return await answer if asyncio.iscoroutine(answer) else answer

        return Tool(name, f"the tool {name}", run, options.pop("parameters", OBJECT), **options)
