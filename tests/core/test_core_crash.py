"""Crash proof (spec, section 9, edge cases 38 and 39): SIGKILL at every gate of a set of runs, then another process goes on.

Checked each time: I1 and I2 (the history is legal), I10 (what was sent or had an effect is in the file), I14 (no message
twice), I17 (the ledger), and that a tool with side effects runs at most once unless it is declared ``replay="safe"``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from skillkit_core import (
    ApprovalDecision,
    Approver,
    BeforeCompactResult,
    ErrorKind,
    ModelDefinition,
    ProviderError,
    ToolCallEventResult,
    UsageError,
)
from skillkit_core.agent.session import Session
from skillkit_core.contracts.compactor import CompactionResult
from skillkit_core.testing import Call, Fail, Gate, Reply, Stop

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

SMALL = ModelDefinition("model", "scripted", "scripted", context_window=600)
STEERED = ("turn left", "and then?", "later")


@dataclass(frozen=True)
class Scenario:
    """A run: what the model answers, what is said to it, which tools it has."""

    turns: tuple[Any, ...]
    prompts: tuple[str, ...] = ("go",)
    tools: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    compacts: bool = False
    steers: bool = False
    asks: bool = False


def effects(*ids: str, **args: Any) -> Reply:
    return Reply("I will act.", calls=[Call("once" if i[0] == "o" else "safe", {"key": i, **args}, id=i) for i in ids])


HALF = Reply("half an answer", fail=ProviderError("it broke", kind=ErrorKind.server))
SCENARIOS = {
    "text": Scenario((Reply(["hel", "lo"], thinking="hm"),)),
    "one tool": Scenario((effects("o1"), "done"), tools=("once",)),
    "two parallel tools": Scenario((effects("o1", "s1"), effects("s2", "o2"), "done"), tools=("once", "safe")),
    "two tools, one after the other": Scenario(
        (effects("o1", "o2"), "done"), tools=("once",), config={"parallel_tools": False}
    ),
    "retry": Scenario((Fail(), HALF, effects("o1"), Fail(), "done"), tools=("once",)),
    "steer": Scenario(
        (effects("o1", "o2", say=True), "turned", "so", "fine"),
        ("go", "again"),
        ("once",),
        {"parallel_tools": False},
        steers=True,
    ),
    "compaction": Scenario(
        (effects("o1"), "first " + "long " * 350, "second"), ("go", "on"), ("once",), {"model": SMALL}, compacts=True
    ),
    "suspension": Scenario(
        (effects("o1", "o2", "s1"), "done", "fine"), ("go", "on"), ("once", "safe"), asks=True
    ),
}  # fmt: skip


class Defers(Approver):
    """Decides nothing."""

    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


class Play:
    """One process that plays a scenario over files in ``folder``."""

    def __init__(self, kit: Any, folder: Path, scenario: Scenario, kill_at: int = 0, plugin: bool = False) -> None:
        self.kit, self.folder, self.scenario, self.kill_at = kit, folder, scenario, kill_at
        self.gate = Gate("auto", at=self._at)
        if plugin:
            from skillkit_sessions import JsonlStore

            below: Any = JsonlStore(directory=folder, fsync="never")
        else:
            below = kit.FileStore(folder, lambda: self.gate.note("mark", "the middle of a line"))
        self.store = self.gate.store(below)

    def _at(self, stop: Stop) -> None:
        if stop.n == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.write("gates", f"{stop.kind} {stop.what}")

    def write(self, name: str, line: str) -> None:
        with (self.folder / f"{name}.log").open("a") as file:
            file.write(line + "\n")

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
        agent = self.kit.agent(*(turn(t) for t in turns), tools=tools, session=session, **config)
        if self.scenario.asks:
            agent.config = replace(agent.config, approver=Defers())
            agent.events.on("before_tool_call", self._ask, phase="guard")
        if self.scenario.compacts:
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
                await agent.resume({"o2": "allow", "s1": "deny"})
        self.kit.check(agent)
        await agent.aclose()

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
            if answer.outcome == "suspended":  # a call that is safe to run again: its guard asks again as well
                assert waiting is None and agent.suspension.open_calls == {"s1"}
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
            self.kit.check_legal(agent.view.messages())
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
                made_up = ("Summary of the conversation" in text, "[This answer was inter" in text, "not known" in text)
                assert text in said or any(made_up), f"sent but not kept: {text}"
        did = Counter(self.read("effects"))
        assert set(did) <= calls, f"a tool ran before its call was kept: {set(did) - calls}"
        assert all(n == 1 for key, n in did.items() if key[0] == "o"), did
        assert results <= calls
        assert all(n == 1 for n in Counter(m["tool_call_id"] for m in messages if "tool_call_id" in m).values())
        for text in (*STEERED, *self.scenario.prompts):
            assert said.count(f"user:{text}") <= 1, f"{text!r} was said twice"


def survives(kit: Any, folder: Path, scenario: Scenario, *, plugin: bool = False) -> int:
    """Kill at every gate, reopen, go on; gives how many gates there are."""
    whole, warm = folder / "whole", folder / "warm"
    whole.mkdir()
    warm.mkdir()
    kit.run(Play(kit, warm, scenario, plugin=plugin).first)  # what it imports, the processes below need not
    kit.run(Play(kit, warm, scenario, plugin=plugin).second)
    assert not kit.forked(Play(kit, whole, scenario, plugin=plugin).first)
    stops = Play(kit, whole, scenario).read("gates")
    for n in range(1, len(stops) + 1):
        place = folder / f"gate{n}"
        place.mkdir()
        try:
            assert kit.forked(Play(kit, place, scenario, n, plugin).first), "the run did not reach the gate"
            passed = Play(kit, place, scenario).read("gates")
            assert sorted(passed) == sorted(stops[: n - 1]) or len(passed) == n - 1
            if any(place.glob("s.jsonl")):
                copy = folder / f"gate{n}, resumed"
                shutil.copytree(place, copy)
                assert not kit.forked(Play(kit, place, scenario, plugin=plugin).second)
                assert not kit.forked(Play(kit, copy, scenario, plugin=plugin).third)
            else:
                assert stops[n - 1] == "persist session"
        except AssertionError as error:
            raise AssertionError(f"killed at gate {n} of {len(stops)}, before {stops[n - 1]!r}: {error}") from error
    return len(stops)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_process_killed_at_any_gate_loses_and_repeats_nothing(kit: Any, tmp_path: Path, name: str) -> None:
    """Edge cases 38 and 39; I1, I2, I10, I14, I17."""
    count = survives(kit, tmp_path, SCENARIOS[name])
    assert count > 15, f"only {count} gates: the scenario does not do what it is for"


@pytest.mark.skipif(find_spec("skillkit_sessions") is None, reason="skillkit-sessions is not installed")
@pytest.mark.parametrize("name", ["two parallel tools", "steer"])
def test_the_session_files_of_the_plugin_survive_as_well(kit: Any, tmp_path: Path, name: str) -> None:
    """Edge cases 38 and 40: the lock of the killed process is taken over."""
    survives(kit, tmp_path, SCENARIOS[name], plugin=True)
