"""Random scripts under random actions at random gates; after each, the invariants of the runtime (spec, sections 8 and 9).

A plan says what the model answers, which handlers fail, in which order parked effects go on, and what somebody does at which
stop: steer, follow up, queue for the next run, cancel an item, abort, cancel the task, crash. Checked, by number: I1, I2, I3,
I4, I7, I8, I9, I10, I11, I12, I13, I14, I15, I16, I17, and I5 as far as one provider shows it. I6 is the providers' to check,
I18 the session stores', I19 and I20 the host's. A failure prints its plan and a blob for ``@reproduce_failure``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from skillkit_core import AgentError, ErrorKind, NoActiveRun, ProviderError, RunAborted, StopReason
from skillkit_core.agent.memory import MemoryStore
from skillkit_core.agent.repair import repair
from skillkit_core.agent.session import Session
from skillkit_core.messages import ThinkingBlock
from skillkit_core.testing import Call, Fail, Gate, Reply, Stop

COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
}
QUICK = settings(max_examples=1000, derandomize=True, **COMMON)
SOAK = settings(max_examples=10_000, derandomize=False, **COMMON)

FAILING = ("input", "turn_start", "context_transform", "message_update", "message_end", "after_tool_result", "turn_end",
           "tool_execution_start", "before_agent_end", "agent_end", "usage", "queue_update", "agent_settled")  # fmt: skip
ACTIONS = ("steer", "follow_up", "next_run", "cancel_item", "abort", "cancel_task", "crash")
KINDS = ("persist user", "persist tool_result", "persist", "request", "tool", "hook", "timer", "mark")
ARGS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@dataclass(frozen=True)
class Plan:
    """One example, printed whole when it fails."""

    turns: tuple[Any, ...]
    actions: tuple[tuple[str, int, str], ...] = ()  # before the n-th stop of a kind, what to do
    choices: tuple[int, ...] = (0,)
    failing: tuple[str, ...] = ()
    guard: str = "allows"
    hooks: bool = False
    parallel: bool = True
    policy: str = "skip_remaining"
    mode: str = "one_at_a_time"


CALLS = st.builds(
    Call,
    st.sampled_from(["once", "waits", "raises", "alone", "unknown"]),
    st.sampled_from([{"n": 1}, {"n": 2}, {"n": "no"}, {}]).map(dict),
    id=st.sampled_from(["", "c", "d"]),
    raw=st.sampled_from([None, None, None, None, '{"n":']),
)
BROKEN = ProviderError("it broke", kind=ErrorKind.server)
REPLIES = st.builds(
    Reply,
    st.lists(st.sampled_from(["some ", "text", ""]), max_size=3).map(tuple),
    st.lists(CALLS, max_size=3).map(tuple),
    st.sampled_from(["", "", "hm"]),
    st.sampled_from([None, None, None, None, StopReason.length]),
    fail=st.sampled_from([None, None, None, None, BROKEN]),
)
TURNS = st.lists(
    st.one_of(REPLIES, REPLIES, REPLIES, st.builds(Fail, st.sampled_from([ErrorKind.server, ErrorKind.auth]))),
    max_size=5,
).map(tuple)
PLANS = st.builds(
    Plan,
    TURNS,
    st.lists(
        st.one_of(
            st.tuples(st.just("any"), st.integers(0, 20), st.sampled_from(ACTIONS)),
            st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.sampled_from(ACTIONS)),
        ),
        max_size=5,
    ).map(tuple),
    st.lists(st.integers(0, 5), min_size=1, max_size=8).map(tuple),
    st.lists(st.sampled_from(FAILING), max_size=2, unique=True).map(tuple),
    st.sampled_from(["allows", "allows", "blocks", "fails", "rewrites"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["skip_remaining", "after_batch"]),
    st.sampled_from(["one_at_a_time", "all"]),
)


class Drive:
    """Plays one plan and checks what must hold."""

    def __init__(self, kit: Any, plan: Plan) -> None:
        self.kit, self.plan = kit, plan
        self.gate = Gate(at=self._at)
        self.store = MemoryStore()
        self.effects: Counter[str] = Counter()
        self.guarded: dict[str, Any] = {}
        self.accepted: dict[str, str] = {}
        self.returned: list[str] = []
        self.asking: list[asyncio.Task[None]] = []
        self.crashed = False
        self.problems: list[str] = []
        self.agent: Any = None

    # --- the agent --------------------------------------------------------------------------------------------

    async def build(self, turns: tuple[Any, ...], session: Session) -> Any:
        async def act(args: Any, ctx: Any) -> str:
            if not self.crashed:
                self.effects[ctx.tool_call_id] += 1
                self.must(self.effects[ctx.tool_call_id] == 1, "one call ran twice")
                self.must(
                    self.guarded[ctx.tool_call_id] == args, "I12: a guard saw other arguments than those that run"
                )
            if ctx.tool_name == "waits":
                ctx.on_output("waiting")
                await self.gate.mark("in a tool")
            if ctx.tool_name == "raises":
                raise ValueError("no")
            return "did it"

        tool = self.kit.tool
        tools = [tool(n, act, parameters=ARGS, sequential=n == "alone") for n in ("waits", "alone", "once", "raises")]
        plan = self.plan
        agent = self.kit.agent(
            *turns, "done", tools=tools, session=session, repeat=True, parallel_tools=plan.parallel,
            steer_policy=plan.policy, queue_mode=plan.mode, abort_grace=0.5,
        )  # fmt: skip
        for name in plan.failing:
            agent.events.on(name, self._fails)
        if plan.guard == "rewrites":
            from skillkit_core import ToolCallEventResult

            agent.events.on("before_tool_call", lambda e: ToolCallEventResult(args={"n": 7}), phase="rewrite")
        agent.events.on("before_tool_call", self._guard, phase="guard")
        agent.events.on("turn_end", self._turn_end)
        agent.events.on("agent_end", self._agent_end)
        await self.gate.attach(agent, hooks=plan.hooks)
        return agent

    @staticmethod
    def _fails(event: Any) -> None:
        raise RuntimeError("a handler fails")

    def _guard(self, event: Any) -> Any:
        from skillkit_core import ToolCallEventResult

        self.guarded[event.tool_call_id] = event.args
        if self.plan.guard == "fails":
            raise RuntimeError("a guard fails")
        return ToolCallEventResult(block=True, reason="never") if self.plan.guard == "blocks" else None

    def kept(self) -> list[Any]:
        """The entries that are where they are kept."""
        return list(self.agent.session.handle.entries())

    def _turn_end(self, event: Any) -> None:
        ids = {e.data["message"].get("tool_call_id") for e in self.kept() if e.type == "message"}
        self.must({r.tool_call_id for r in event.tool_results} <= ids, "I11: turn_end before its results were kept")

    def _agent_end(self, event: Any) -> None:
        self.must(event.leaf_id in {e.id for e in self.kept()}, "I11: agent_end names what is not kept")

    def _at(self, stop: Stop) -> None:
        """I10, while the effect has not happened yet."""
        if self.agent is None or self.crashed or stop.kind not in ("tool", "request"):
            return
        kept = [e.data["message"] for e in self.kept() if e.type == "message"]
        if stop.kind == "request":
            self.must(len(kept) == len(self.agent.messages) > 0, "I10: a request before what it sends is kept")
        else:
            calls = [b["name"] for m in kept for b in m["content"] if b["type"] == "tool_call"]
            self.must(stop.what in calls, "I10: a tool before its call is kept")

    def must(self, holds: bool, what: str) -> None:
        """Note what does not hold: an exception in a handler or a tool would be one of the run's own."""
        if not holds:
            self.problems.append(what)

    # --- the actions ------------------------------------------------------------------------------------------

    async def _say(self, way: Any, text: str) -> None:
        try:
            self.accepted[await way(text)] = text
        except NoActiveRun:
            pass

    def act(self, action: str, n: int, task: asyncio.Task[Any]) -> None:
        agent = self.agent
        if action in ("steer", "follow_up"):
            way = agent.steer if action == "steer" else agent.follow_up
            self.asking.append(asyncio.create_task(self._say(way, f"{action} {n}")))
        elif action == "next_run":
            self.accepted[agent.next_run(f"next {n}")] = f"next {n}"
        elif action == "cancel_item" and self.accepted:
            item = next(iter(self.accepted))
            if agent.cancel(item) == "cancelled":
                self.returned.append(self.accepted[item])
        elif action == "abort":
            self.returned += [item.text for item in agent.abort("enough")]
        elif action == "cancel_task":
            task.cancel()

    async def play(self) -> None:
        """The whole plan, then a second run, then the checks."""
        session = await Session.create(self.store, lambda: 1.0, session_id="s")
        self.agent = agent = await self.build(self.plan.turns, session)
        task = asyncio.create_task(agent.chat("go"))
        n, seen = 0, Counter[str]()
        while await self.gate.settle(task):
            stop = self.gate.parked[self.plan.choices[n % len(self.plan.choices)] % len(self.gate.parked)]
            kinds = ("any", stop.kind, f"{stop.kind} {stop.what}")
            for number, (kind, at, action) in enumerate(self.plan.actions):
                if kind in kinds and seen[kind] == at:
                    if action == "crash":
                        await self.crash(task)
                        return
                    self.act(action, number, task)
            seen.update(kinds)
            stop.release()
            n += 1
            assert n < 5000, "it does not end"
        self.gate.release_all()
        self.outcome = await self._result(task)
        await asyncio.gather(*self.asking)
        self.check(agent)
        self.shown(agent)
        results = {m.tool_call_id for m in agent.messages if m.role == "tool_result"}
        for message in (m for m in agent.messages if m.role == "assistant"):
            cut = message.stop_reason in (StopReason.aborted, StopReason.error)
            assert cut or {c.id for c in message.tool_calls} <= results, "I1: a call without a result in the session"
        await self.again(agent)

    async def _result(self, task: asyncio.Task[Any]) -> str:
        try:
            return str((await task).outcome)
        except RunAborted:
            return "aborted"
        except AgentError:
            return "failed"
        except asyncio.CancelledError:
            return "cancelled"

    async def crash(self, task: asyncio.Task[Any]) -> None:
        """What is kept right now is all that is left; another agent goes on with it."""
        header, entries = self.store._sessions["s"]
        left = list(entries)
        self.crashed = True
        self.agent.abort()
        task.cancel()
        self.gate.release_all()
        await self._result(task)
        await asyncio.gather(*self.asking, return_exceptions=True)
        store = MemoryStore()
        store._sessions["s"] = (header, left)
        self.gate = Gate("auto")
        self.agent = again = await self.build((), await Session.open(store, "s", lambda: 2.0))
        self.kit.check_legal(again.view.messages())
        said = Counter(m.text for m in again.messages if m.role == "user")
        assert all(said[text] <= 1 for text in self.accepted.values()), "I14: said twice"
        results = {m.tool_call_id for m in again.messages if m.role == "tool_result"}
        calls = {c.id for m in again.messages if m.role == "assistant" for c in m.tool_calls}
        assert results <= calls and set(self.effects) <= calls, "I10: an effect whose call is not kept"
        assert (await again.chat("again")).outcome == "completed"
        self.check(again)

    async def again(self, agent: Any) -> None:
        """The agent goes on after whatever happened; what waited for the next run is said."""
        agent.scripted.turns[:] = ["fine"]
        assert (await agent.chat("again")).content == "fine"
        self.check(agent)
        said = Counter(m.text for m in agent.messages if m.role == "user")
        gone = Counter(self.returned)
        for item, text in self.accepted.items():
            waiting = item in agent.queues.waiting("steer") + agent.queues.waiting("follow_up")
            places = said[text] + gone[text] + waiting
            lost = self.outcome == "cancelled" and places == 0  # abort() of a cancelled caller has nobody to return to
            assert places == 1 or lost or not item, f"I14: {text!r} is in {places} places"

    # --- the checks -------------------------------------------------------------------------------------------

    def check(self, agent: Any) -> None:
        assert self.problems == []
        self.kit.check(agent)  # I1, I2, I8, I9, I17
        sent = agent.scripted.requests
        for message in (m for request in sent for m in request.messages if m.role == "assistant"):
            if message.stop_reason in (StopReason.aborted, StopReason.error):
                unsigned = [b for b in message.content if isinstance(b, ThinkingBlock) and not b.signature]
                assert not unsigned, "I5: unsigned thinking of a cut answer was sent"
        for one, two in pairwise(sent):
            assert one.messages == two.messages[: len(one.messages)], "I15: the prefix changed"
            assert one.tools is two.tools and one.system == two.system
        assert all([t.name for t in r.tools] == sorted(t.name for t in r.tools) for r in sent), "I16"
        legal = repair(tuple(agent.messages))
        assert repair(legal) is legal and list(agent.view.messages()) == list(legal), "I3, I4"

    def shown(self, agent: Any) -> None:
        """I7: the text that was shown before an end that nobody planned is in the session."""
        text, kept = "", True
        for event in agent.seen.events:
            if event.type == "message_start" and event.role == "assistant":
                text, kept = "", True
            elif event.type == "message_update" and event.event.type == "text_delta":
                text += event.event.content
            elif event.type == "message_end" and event.message.role == "assistant":
                kept = bool(event.entry_id)
        if text and kept:
            last = [m for m in agent.messages if m.role == "assistant"][-1]
            assert text.strip() in last.text.strip() or last.text.strip() in text, (text, last.text)
            assert len(last.text) >= len(text) or self.plan.hooks, "I7: shown, not kept"


ONE = (Reply(calls=(Call("waits", {"n": 1}, "c"),)),)


@QUICK
@given(PLANS)
@example(Plan(ONE, actions=(("persist tool_result", 0, "abort"),)))
@example(Plan(ONE, actions=(("tool", 0, "follow_up"), ("mark", 0, "abort"))))
@example(Plan(ONE, actions=(("tool", 0, "steer"), ("persist user", 1, "abort"))))
def test_random_runs_under_random_actions_keep_the_invariants(kit: Any, go: Any, plan: Plan) -> None:
    """I1 to I17 where one agent shows them; edge cases 1 to 27, 31 and 38."""
    go(Drive(kit, plan).play)


@pytest.mark.slow
@SOAK
@given(PLANS)
def test_soak(kit: Any, go: Any, plan: Plan) -> None:
    go(Drive(kit, plan).play)


@settings(max_examples=60, derandomize=True, **COMMON)
@given(TURNS, st.lists(st.sampled_from(FAILING), min_size=1, max_size=4, unique=True).map(tuple), st.booleans())
def test_failing_handlers_that_are_no_guards_change_nothing(
    kit: Any, go: Any, turns: Any, failing: Any, parallel: bool
) -> None:
    """I13."""

    async def play(names: tuple[str, ...]) -> tuple[Any, ...]:
        drive = Drive(kit, Plan(turns, failing=names, parallel=parallel))
        await drive.play()
        return drive.outcome, [(m.role, m.text) for m in drive.agent.messages], drive.agent.session.usage

    assert go(lambda: play(())) == go(lambda: play(failing))
