"""Plays plans gate by gate, with an agent that is asked, suspended, resumed, compacted, aborted, crashed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from core_gate import Gate, Stop
from drive_checks import Books, check_end, check_requests, check_session, check_shown
from drive_places import FilePlace, MemoryPlace
from drive_plans import ARGS, Plan, Turn
from drive_wires import check_wires

from skillkit_core import (
    AgentBusy,
    AgentError,
    ApprovalDecision,
    Approver,
    CompactionRequest,
    CompactionResult,
    Compactor,
    Factory,
    ModelDefinition,
    NoActiveRun,
    RunAborted,
    Session,
    SessionLocked,
    TokenUsage,
    ToolCallEventResult,
    ToolOutput,
    UsageError,
    hookimpl,
)

MOST_STOPS = 5000


class Crashed(Exception):
    """The process is gone."""


class PlannedApprover(Approver):
    """Answers as the plan says, after a stop at the gate."""

    def __init__(self, drive: Drive) -> None:
        self.drive, self.answers = drive, cycle(drive.plan.approvals)

    async def approve(self, request: Any) -> ApprovalDecision:
        """The next answer of the plan."""
        await self.drive.gate.mark("in an approver")
        answer = next(self.answers)
        if answer == "fails":
            raise RuntimeError("the window was closed")
        remember = answer == "remember"
        self.drive.books.decided(request.tool_call_id, request.args, "allow" if remember else answer)
        return ApprovalDecision("allow" if remember else answer, remember=remember)  # type: ignore[arg-type]


class PlannedCompactor(Compactor):
    """Shortens the history as the plan says, or not."""

    def __init__(self, drive: Drive) -> None:
        self.drive, self.kind = drive, drive.plan.compactor

    @hookimpl
    def register_compactors(self, register: Any) -> None:
        """The plugin's one item."""
        register(Factory("planned", lambda host: self))

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        """What the plan wants of it."""
        summary, keep = "in short", len(request.messages) - 2
        if self.kind == "fails":
            raise RuntimeError("no summary today")
        if self.kind == "waits":
            await self.drive.gate.mark("in a compactor")
        if self.kind == "asks":
            summary = await request.complete("Summarise.", request.messages)
        if self.kind == "frees nothing":
            summary, keep = "as long as before " * 100, 1
        return CompactionResult("", 99) if self.kind == "empties" else CompactionResult(summary, keep)


class Drive:
    """Plays one plan and checks what must hold."""

    def __init__(self, kit: Any, plan: Plan, place: MemoryPlace | FilePlace | None = None) -> None:
        self.kit, self.plan = kit, plan
        self.gate = Gate(at=self._at)
        self.place = place or MemoryPlace()
        self.books = Books()
        self.asking: list[asyncio.Task[None]] = []
        self.agents: list[Any] = []
        self.agent: Any = None
        self.outcome = ""
        self._turns: tuple[Turn, ...] = plan.turns
        self._stops, self._seen = 0, Counter[str]()

    # --- the agent --------------------------------------------------------------------------------------------

    async def build(self, turns: tuple[Turn, ...], session: Session) -> Any:
        """An agent on a session, with the plan's handlers, tools, approver and compactor."""
        plan, books = self.plan, self.books
        life = books.lives

        async def act(args: Any, ctx: Any) -> ToolOutput:
            if life == books.lives and not books.crashed:  # what still moves in a dead process has no effect
                books.ran(ctx.tool_call_id, args, self.kept(), safe=ctx.tool_name == "safe")
            if ctx.tool_name == "waits":
                ctx.on_output("waiting")
                await self.gate.mark("in a tool")
            if ctx.tool_name == "raises":
                raise ValueError("no")
            return ToolOutput("did it", usage=TokenUsage(1, 1) if ctx.tool_name == "alone" else None)

        def tool(name: str) -> Any:
            replay = "safe" if name == "safe" else "never"
            return self.kit.tool(name, act, parameters=ARGS, sequential=name == "alone", replay=replay)

        self.agent = agent = self.kit.agent(
            *(turn.scripted() for turn in turns), "done", repeat=True, session=session,
            tools=[tool(n) for n in ("waits", "alone", "once", "safe", "raises")],
            plugins=[] if plan.compactor == "none" else [("planned", PlannedCompactor(self))],
            model=ModelDefinition("model", "scripted", "scripted", context_window=plan.window),
            parallel_tools=plan.parallel, steer_policy=plan.policy, queue_mode=plan.mode, abort_grace=0.5,
            approver=PlannedApprover(self),
        )  # fmt: skip
        self.agents.append(agent)
        for name in plan.failing:
            agent.events.on(name, self._fails)
        if plan.guard == "rewrites":
            agent.events.on("before_tool_call", lambda e: ToolCallEventResult(args={"n": 7}), phase="rewrite")
        agent.events.on("before_tool_call", self._guard, phase="guard")
        if plan.watches:
            agent.events.on("message_update", self._watch)
        agent.events.on("turn_end", self._turn_end)
        agent.events.on("agent_end", self._agent_end)
        agent.events.observe(self._compaction_end, ["compaction_end"])
        return agent

    @staticmethod
    def _fails(event: Any) -> None:
        raise RuntimeError("a handler fails")

    def _guard(self, event: Any) -> Any:
        self.books.guarded[event.tool_call_id] = event.args
        if self.plan.guard == "fails":
            raise RuntimeError("a guard fails")
        if self.plan.guard == "asks" and event.args["n"] == 2:
            return ToolCallEventResult(ask="two, really?", ask_key="two")
        return ToolCallEventResult(block=True, reason="never") if self.plan.guard == "blocks" else None

    async def _watch(self, event: Any) -> None:
        await self.gate.mark("in a watcher")

    def kept(self) -> list[Any]:
        """The entries that are where they are kept."""
        return list(self.agent.session.handle.entries())

    def _turn_end(self, event: Any) -> None:
        ids = {e.data["message"].get("tool_call_id") for e in self.kept() if e.type == "message"}
        self.books.must(
            {r.tool_call_id for r in event.tool_results} <= ids, "I11: turn_end before its results were kept"
        )

    def _agent_end(self, event: Any) -> None:
        kept = {e.id: e.type for e in self.kept()}
        self.books.must(event.leaf_id in kept, "I11: agent_end names what is not kept")
        if event.outcome == "suspended":
            self.books.must(kept[event.leaf_id] == "suspension", "I11: agent_end before the suspension was kept")

    def _compaction_end(self, event: Any) -> None:
        if event.entry_id is not None:
            self.books.must(
                event.entry_id in {e.id for e in self.kept()}, "I11: compaction_end before its entry was kept"
            )
            self.books.compacted_at.append((self.agent, len(self.agent.scripted.requests)))

    def _at(self, stop: Stop) -> None:
        """I10, while the effect has not happened yet."""
        if self.agent is None or self.books.crashed or stop.kind not in ("tool", "request"):
            return
        kept = self.kept()
        if stop.kind == "request":
            unkept = set(self.agent.session.context_ids) - {e.id for e in kept}
            self.books.must(not unkept, "I10: a request before what it sends is kept")
        else:
            messages = [e.data["message"] for e in kept if e.type == "message"]
            calls = [b["name"] for m in messages for b in m["content"] if b["type"] == "tool_call"]
            self.books.must(stop.what in calls, "I10: a tool before its call is kept")

    # --- the actions ------------------------------------------------------------------------------------------

    async def _say(self, agent: Any, way: Any, text: str) -> None:
        try:
            taken = await way(text)
        except (NoActiveRun, AgentBusy):  # nothing runs, or the agent is about to leave its session
            return
        except AgentError:
            if not agent.scheduler.closed:  # meanwhile, for another one to open the session
                raise
            return
        self.books.accepted[agent, getattr(taken, "id", taken)] = text

    async def _act(self, action: str, n: int, task: asyncio.Task[Any]) -> None:
        agent, books = self.agent, self.books
        if action in ("steer", "follow_up"):
            way = agent.steer if action == "steer" else agent.follow_up
            self.asking.append(asyncio.create_task(self._say(agent, way, f"{action} {n}")))
        elif action == "trigger":
            self.asking.append(
                asyncio.create_task(self._say(agent, partial(agent.steer, trigger=True), f"trigger {n}"))
            )
        elif action == "next_run":
            books.accepted[agent, agent.next_run(f"next {n}")] = f"next {n}"
        elif action == "cancel_item" and books.accepted:
            (owner, item), text = next(iter(books.accepted.items()))
            if owner.cancel(item) == "cancelled":
                books.returned.append(text)
        elif action == "abort":
            books.returned += [item.text for item in agent.abort("enough")]
        elif action == "cancel_task":
            task.cancel()
        elif action == "read":
            reader = await Session.open(self.place.reader(), "s", lambda: 1.0, read_only=True)
            assert [e.id for e in reader.entries] == [e.id for e in self.kept()], "I18: a reader sees something else"
            check_session(reader)
            await reader.close()
            with pytest.raises(SessionLocked):  # I18: one writer
                await self.place.reader().open("s")
        elif action == "crash":
            raise Crashed

    # --- playing ----------------------------------------------------------------------------------------------

    async def play(self) -> None:
        """The whole plan: a prompt, decisions about what waits, a compaction by hand, another prompt."""
        session = await Session.create(self.place.store, lambda: 1.0, session_id="s")
        agent = await self._attached(self.plan.turns, session)
        try:
            self.outcome = await self._drive(agent.chat("go"))
            await self._decide()
            if self.plan.by_hand and self.agent.suspension is None:
                await self._drive(self.agent.compact())
                self._check()
        except Crashed:
            await self._after_the_crash()
            return
        self.gate.release_all()
        await asyncio.gather(*self.asking)
        await self.agent.wait_idle()  # the last of them may have begun a run
        await self._again()

    async def _attached(self, turns: tuple[Turn, ...], session: Session) -> Any:
        """An agent behind the gate, its session open; nothing is parked before that."""
        self._turns = turns
        agent = await self.build(turns, session)
        drive, self.gate.drive = self.gate.drive, "auto"
        await self.gate.attach(agent, hooks=self.plan.hooks)
        self.gate.drive = drive
        return agent

    async def _drive(self, work: Coroutine[Any, Any, Any]) -> str:
        """Drive one call of the agent, stop by stop, under the plan's actions; what came of it."""
        task = asyncio.create_task(work)
        try:
            while await self.gate.settle(task):
                stop = self.gate.parked[self.plan.choices[self._stops % len(self.plan.choices)] % len(self.gate.parked)]
                kinds = ("any", stop.kind, f"{stop.kind} {stop.what}")
                for number, (kind, at, action) in enumerate(self.plan.actions):
                    if kind in kinds and self._seen[kind] == at:
                        await self._act(action, number, task)
                self._seen.update(kinds)
                stop.release()
                self._stops += 1
                assert self._stops < MOST_STOPS, "it does not end"
            outcome = await self._result(task)
            if (
                self.agent.scheduler.run is not None
            ):  # a message came too late for the run, and has begun one of its own
                await self._drive(self.agent.wait_idle())
            return outcome
        except Crashed:
            self.left = self.place.snapshot()
            self.books.crashed = True
            self.agent.abort()
            task.cancel()
            self.gate.release_all()
            await self._result(task)
            await asyncio.gather(*self.asking, return_exceptions=True)
            while self.agent.scheduler.run is not None:
                self.agent.abort()
                await self.agent.wait_idle()
            await self.agent.session.close()
            raise

    async def _result(self, task: asyncio.Task[Any]) -> str:
        try:
            return str(getattr(await task, "outcome", "completed"))
        except RunAborted:
            return "aborted"
        except UsageError:
            return "refused"
        except AgentError:
            return "failed"
        except asyncio.CancelledError:
            return "cancelled"

    async def _decide(self) -> None:
        """What happens to calls that wait, as often as the plan says."""
        self._check()
        for decision in self.plan.decisions:
            if self.agent.suspension is None:
                return
            if self.plan.reopen:
                await self._reopen()
            if decision == "chat":
                await self._drive(self.agent.chat("never mind"))
            else:
                answers = {"mixed": ("allow", "deny"), "nothing": ()}.get(decision, (decision,))
                waiting = [call.id for call in self.agent.suspension.calls]
                await self._drive(self.agent.resume(dict(zip(waiting, cycle(answers), strict=False))))
            self._check()

    async def _reopen(self) -> None:
        """Another agent goes on with the same session."""
        old, rest = self.agent, self._turns[len(self.agent.scripted.requests) :]
        await self._drive(old.aclose())
        await self._attached(rest, await Session.open(self.place.store, "s", lambda: 1.5))

    async def _after_the_crash(self) -> None:
        """What was kept is all that is left; another agent goes on with it."""
        books, self.place = self.books, self.left
        books.next_life()
        self.gate = Gate("auto")
        agent = await self.build((), await Session.open(self.place.store, "s", lambda: 2.0))
        await self.gate.attach(agent, hooks=self.plan.hooks)
        check_session(agent.session)
        books.after_a_crash(agent)
        if self.plan.recover == "resume":
            waiting = agent.suspension
            try:
                await agent.resume(dict.fromkeys(waiting.open_calls, "allow") if waiting is not None else None)
            except UsageError:
                pass
        while agent.suspension is not None:
            await agent.chat("never mind")
        assert (await agent.chat("again")).outcome == "completed"
        self._check()
        await self._close()

    async def _again(self) -> None:
        """The agent goes on after whatever happened; what waited for the next run is said."""
        agent = self.agent
        agent.config = replace(agent.config, compaction=False)
        agent.scripted.turns[:] = ["fine"]
        assert (await agent.chat("again")).content == "fine"
        self._check()
        self.books.all_accounted_for(self.agents)
        requests = sum(stop.kind == "request" for stop in self.gate.passed)
        told = [e for e in self.kit.ledger(agent) if e["purpose"] in ("turn", "compaction")]
        assert len(told) == requests, f"I17: {requests} requests, {len(told)} entries in the ledger"
        await self._close()

    async def _close(self) -> None:
        await self.agent.aclose()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"I19: tasks are left: {left}"

    def _check(self) -> None:
        """What must hold whenever nothing runs."""
        agent = self.agent
        assert not self.books.problems, self.books.problems
        self.kit.check(agent)  # I1, I2, I8, I9, I17
        check_requests(agent, [n for owner, n in self.books.compacted_at if owner is agent])
        check_session(agent.session)
        check_end(agent, crashed=self.books.lives > 1)
        check_shown(agent)
        if agent.scripted.requests:
            check_wires(agent.scripted.requests[-1])
