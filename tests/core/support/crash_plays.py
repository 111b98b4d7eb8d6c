"""Runs that a process is killed in, and what another process finds and goes on with.

Checked each time: I1 and I2 (the history is legal), I10 (what was sent or had an effect is in the file), I14 (no message
twice), I17 (the ledger), and that a tool with side effects runs at most once unless it is declared ``replay="safe"``.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core_gate import Gate, Stop

from skillkit_core import (
    ApprovalDecision,
    Approver,
    BeforeCompactResult,
    CompactionRequest,
    CompactionResult,
    Compactor,
    ErrorKind,
    Factory,
    ModelDefinition,
    ProviderError,
    Session,
    ToolCallEventResult,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Fail, Reply

SMALL = ModelDefinition("model", "scripted", "scripted", context_window=600)
STEERED = ("turn left", "and then?", "later")


@dataclass(frozen=True)
class Scenario:
    """A run: what the model answers, what is said to it, which tools it has."""

    turns: tuple[Any, ...]
    prompts: tuple[str, ...] = ("go",)
    tools: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    compacts: Literal["no", "a handler", "a compactor"] = "no"
    asks: bool = False
    reopens: bool = False  # between the suspension and the decision the session is closed and opened again
    passes: tuple[str, ...] = ()  # gates that it must come by


def effects(*ids: str, **args: Any) -> Reply:
    return Reply("I will act.", calls=[Call("once" if i[0] == "o" else "safe", {"key": i, **args}, id=i) for i in ids])


HALF = Reply("half an answer", fail=ProviderError("it broke", kind=ErrorKind.server))
SCENARIOS = {
    "text": Scenario((Reply(["hel", "lo"], thinking="hm"),)),
    "one tool": Scenario((effects("o1"), "done"), tools=("once",), passes=("persist assistant", "tool once", "mark after")),
    "two parallel tools": Scenario((effects("o1", "s1"), effects("s2", "o2"), "done"), tools=("once", "safe")),
    "two tools, one after the other": Scenario(
        (effects("o1", "o2"), "done"), tools=("once",), config={"parallel_tools": False}
    ),
    "retry": Scenario((Fail(), HALF, effects("o1"), Fail(), "done"), tools=("once",), passes=("timer", "persist usage")),
    "steer": Scenario(
        (effects("o1", "o2", say=True), "turned", "so", "fine"), ("go", "again"), ("once",), {"parallel_tools": False},
        passes=("hook input", "hook queue_update"),
    ),
    "compaction": Scenario(
        (effects("o1"), "first " + "long " * 350, "second"), ("go", "on"), ("once",), {"model": SMALL},
        compacts="a handler", passes=("hook before_compact", "persist compaction"),
    ),
    "overflow": Scenario(
        (effects("o1"), "first " + "long " * 350, Fail(ErrorKind.overflow, "too long"), "said before", effects("o2"), "second"),
        ("go", "on"), ("once",), compacts="a compactor", passes=("persist compaction",),
    ),
    "suspension": Scenario(
        (effects("o1", "o2", "s1"), "done", "fine"), ("go", "on"), ("once", "safe"),
        asks=True, passes=("persist suspension", "persist custom"),
    ),
    "suspension, decided in another process": Scenario(
        (effects("o1", "o2", "s1"), effects("s2"), "fine"), ("go",), ("once", "safe"),
        asks=True, reopens=True, passes=("persist suspension", "persist custom"),
    ),
}  # fmt: skip


class Defers(Approver):
    """Decides nothing."""

    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


class Summarises(Compactor):
    """Asks the model for the summary, and keeps the last message."""

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        text = await request.complete("Summarise.", request.messages)
        return CompactionResult(text, max(1, len(request.messages) - 1))

    @hookimpl
    def register_compactors(self, register: Any) -> None:
        register(Factory("summarises", lambda host: self))


class Play:
    """One process that plays a scenario over files in ``folder``."""

    def __init__(self, kit: Any, folder: Path, scenario: Scenario, kill_at: int = 0, plugin: bool = False) -> None:
        self.kit, self.folder, self.scenario, self.kill_at = kit, folder, scenario, kill_at
        self.gate = Gate("auto", at=self._at)
        self.logs: dict[str, Any] = {}
        if plugin:
            from skillkit_sessions import JsonlStore

            below: Any = JsonlStore(directory=folder)
        else:
            below = kit.FileStore(folder, lambda: self.gate.note("mark", "the middle of a line"))
        self.store = self.gate.store(below)

    def _at(self, stop: Stop) -> None:
        if stop.n == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.write("gates", f"{stop.kind} {stop.what}")

    def write(self, name: str, line: str) -> None:
        file = self.logs.get(name)
        if file is None:
            file = self.logs[name] = (self.folder / f"{name}.log").open("ab", buffering=0)
        file.write(f"{line}\n".encode())

    def read(self, name: str) -> list[str]:
        path = self.folder / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []

    def agent(self, turns: tuple[Any, ...], session: Session, **config: Any) -> Any:
        async def act(args: Any, ctx: Any) -> str:
            self.write("effects", args["key"])
            await self.gate.mark("after the effect")
            if args.get("say"):
                for text, way in zip(STEERED, (ctx.agent.steer, ctx.agent.follow_up), strict=False):
                    await way(text)
                ctx.agent.next_run(STEERED[2])
            return f"did {args['key']}"

        def turn(answer: Any) -> Callable[[Any], Any]:
            def said(request: Any) -> Any:
                self.write("requests", json.dumps([f"{m.role}:{m.text}" for m in request.messages]))
                return answer

            return said

        tools = [self.kit.tool(n, act, replay="safe" if n == "safe" else "never") for n in self.scenario.tools]
        plugins = [("summarises", Summarises())] if self.scenario.compacts == "a compactor" else []
        agent = self.kit.agent(*(turn(t) for t in turns), tools=tools, session=session, plugins=plugins, **config)
        if self.scenario.asks:
            agent.config = replace(agent.config, approver=Defers())
            agent.events.on("before_tool_call", self._ask, phase="guard")
        if self.scenario.compacts == "a handler":
            agent.events.on("before_compact", self._compact)
        return agent

    @staticmethod
    def _ask(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask="really?") if event.args["key"] in ("o2", "s1") else None

    @staticmethod
    def _compact(event: Any) -> BeforeCompactResult:
        shorter = CompactionResult("what was said", max(1, len(event.preparation.messages) - 1))
        return BeforeCompactResult(compaction=shorter)

    async def first(self) -> None:
        """The process that may be killed."""
        session = await Session.create(self.store, lambda: 1000.0, session_id="s")
        agent = await self.gate.attach(self.agent(self.scenario.turns, session, **self.scenario.config))
        for prompt in self.scenario.prompts:
            self.write("said", prompt)
            response = await agent.chat(prompt)
            if response.outcome == "suspended":
                agent = await self.reopened(agent) if self.scenario.reopens else agent
                await agent.resume({"o2": "allow", "s1": "deny"})
        self.kit.check(agent)
        await agent.aclose()

    async def reopened(self, agent: Any) -> Any:
        """Another agent on the same session, with the rest of the script."""
        await agent.aclose()
        rest = self.scenario.turns[len(agent.scripted.requests) :]
        session = await Session.open(self.store, "s", lambda: 1500.0)
        return await self.gate.attach(self.agent(rest, session, **self.scenario.config))

    async def third(self) -> None:
        """Instead of the second: what is left unfinished is resumed, with the decisions that are asked for."""
        session = await Session.open(self.store, "s", lambda: 2000.0)
        agent = self.agent(("recovered",), session)
        await agent.open()
        waiting = agent.suspension
        try:
            answer = await agent.resume(dict.fromkeys(waiting.open_calls, "allow") if waiting is not None else None)
        except UsageError:
            last = agent.messages[-1] if agent.messages else None
            assert last is None or (last.role == "assistant" and not last.tool_calls), "it would not resume"
        else:
            if answer.outcome == "suspended":  # a call about which nobody had been asked when the process ended
                asked = {call.id for call in waiting.calls if call.questions} if waiting is not None else set()
                assert "s1" not in asked and agent.suspension.open_calls == {"s1"}
                answer = await agent.resume({"s1": "allow"})
            assert answer.content == "recovered" and agent.suspension is None
            if waiting is not None:
                assert waiting.open_calls <= {*self.read("effects")}, "what was allowed did not run"
        self.kit.check(agent)
        self.kept(session, self.read("requests"))
        await agent.aclose()

    async def second(self) -> None:
        """The process that opens what is left, and goes on."""
        before = self.read("requests")
        session = await Session.open(self.store, "s", lambda: 2000.0)
        agent = self.agent(("recovered",), session)
        await agent.open()
        if agent.suspension is None:
            self.kit.check_legal(agent.conversation.context.messages())
        self.kept(session, before)
        assert (await agent.chat("are you there?")).content == "recovered"
        self.kit.check(agent)
        self.kept(session, self.read("requests"))
        told = json.loads(self.read("requests")[-1])
        assert told[-1] == "user:are you there?"
        await agent.aclose()

    def kept(self, session: Session, requests: list[str]) -> None:
        """I10, I14 and the effects, from what was written outside of the session."""
        messages = [e.data["message"] for e in session.entries if e.type == "message"]
        said = [f"{m['role']}:{''.join(b.get('text', '') for b in m['content'])}" for m in messages]
        results = {m["tool_call_id"] for m in messages if m["role"] == "tool_result"}
        calls = {b["id"] for m in messages for b in m["content"] if b.get("type") == "tool_call"}
        for request in requests:
            for text in json.loads(request):
                made_up = (
                    "Summary of the conversation" in text,
                    "[This answer was inter" in text,
                    "not known" in text,
                    text == "user:Summarise.",
                )
                assert text in said or any(made_up), f"sent but not kept: {text}"
        did = Counter(self.read("effects"))
        assert set(did) <= calls, f"a tool ran before its call was kept: {set(did) - calls}"
        assert all(n == 1 for key, n in did.items() if key[0] == "o"), did
        assert results <= calls
        assert all(n == 1 for n in Counter(m["tool_call_id"] for m in messages if "tool_call_id" in m).values())
        for text in (*STEERED, *self.scenario.prompts):
            assert said.count(f"user:{text}") <= 1, f"{text!r} was said twice"
