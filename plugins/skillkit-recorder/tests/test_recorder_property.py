"""Whatever happens to an agent, its recording replays: random answers, tools, guards, approvers and users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings, strategies as st
from skillkit_recorder import Recorder, Recording, replay

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    Approver,
    ErrorKind,
    Host,
    LLMRequest,
    NoActiveRun,
    ProviderError,
    StopReason,
    StreamEvent,
    Tool,
    ToolCallEventResult,
    ToolError,
)
from skillkit_core.testing import Call, Fail, Raw, Reply, ScriptedModel, VirtualClock

COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
}
QUICK = settings(max_examples=50, derandomize=True, **COMMON)
SOAK = settings(max_examples=10_000, derandomize=False, **COMMON)

ARGS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = ("quick", "slow", "slow", "shows", "raises", "fails", "alone", "late", "thread", "unknown")
SAID = ("steer", "follow_up", "next_run", "abort", "cancel")
EVENTS = ("input", "turn_start", "message_start", "message_update", "message_end", "before_tool_call", "tool_execution_start",
          "tool_execution_update", "after_tool_result", "tool_execution_end", "turn_end", "before_agent_end", "usage",
          "queue_update", "retry_scheduled", "context_transform", "agent_end", "approval_request")  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """One example, printed whole when it fails."""

    turns: tuple[Any, ...]
    user: tuple[tuple[int, str], ...] = ()  # as the n-th event is seen, a task of its own says this
    handlers: tuple[tuple[str, int, str], ...] = ()  # while the n-th event of a type is handled, this is said
    guard: str = "allows"
    approver: str = "none"
    parallel: bool = True
    policy: str = "skip_remaining"
    mode: str = "one_at_a_time"
    slow_stream: bool = False
    async_handlers: bool = False


CALLS = st.builds(
    Call,
    st.sampled_from(TOOLS),
    st.sampled_from([{"n": 0}, {"n": 1}, {"n": 2}, {"n": 5}, {"n": "no"}]).map(dict),
    id=st.sampled_from(["", "c", "d"]),
    raw=st.sampled_from([None, None, None, None, None, '{"n":']),
)
REPLIES = st.builds(
    Reply,
    st.lists(st.sampled_from(["some ", "text", "", "\ud83d", "é"]), max_size=3).map(tuple),
    st.lists(CALLS, max_size=4).map(tuple),
    st.sampled_from(["", "", "hm"]),
    st.sampled_from([None, None, None, None, StopReason.length]),
    fail=st.sampled_from(
        [
            *[None] * 5,
            ProviderError("it broke", kind=ErrorKind.server, status=500),
            ProviderError("closed", kind=ErrorKind.connection, sent=True),
        ]
    ),
)
FAILS = st.builds(
    Fail,
    st.sampled_from([ErrorKind.server, ErrorKind.rate_limit, ErrorKind.auth]),
    retry_after=st.sampled_from([None, 3.0]),
)
TORN = st.just(Raw((StreamEvent("text_start", index=0), StreamEvent("text_delta", "torn", index=0))))
HANGS = st.just(Raw((StreamEvent("text_start", index=0), StreamEvent("text_delta", "hangs", index=0)), hang=True))
PLANS = st.builds(
    Plan,
    st.lists(st.one_of(REPLIES, REPLIES, REPLIES, REPLIES, FAILS, TORN, HANGS), max_size=5).map(tuple),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(SAID)), max_size=4).map(tuple),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(1, 3), st.sampled_from(SAID)), max_size=3).map(tuple),
    st.sampled_from(["allows", "allows", "blocks", "asks", "rewrites", "breaks"]),
    st.sampled_from(["none", "allows", "denies", "defers", "breaks"]),
    st.booleans(),
    st.sampled_from(["skip_remaining", "after_batch"]),
    st.sampled_from(["one_at_a_time", "all"]),
    st.booleans(),
    st.booleans(),
)


async def turns_of_the_loop(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def act(args: Any, ctx: Any) -> str:
    n, name = args["n"], ctx.tool_name
    if name in ("slow", "shows"):
        for k in range(n):
            if name == "shows":
                ctx.on_output(f"line {k}\n")
            await asyncio.sleep(0)
    if name == "raises":
        raise ValueError("no")
    if name == "fails":
        await asyncio.sleep(0)
        raise ToolError("it cannot be done", hint="do something else")
    if name == "late":
        try:
            await turns_of_the_loop(10 * n)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return "late"
    return f"{name} {n}"


def in_a_thread(args: Any, ctx: Any) -> str:
    ctx.on_output("from a thread")
    return f"thread {args['n']}"


class Decides(Approver):
    def __init__(self, how: str) -> None:
        self.how = how

    async def approve(self, request: Any) -> ApprovalDecision:
        await turns_of_the_loop(3)
        if self.how == "breaks":
            raise OSError("the line is dead")
        decision: Any = {"allows": "allow", "denies": "deny", "defers": "defer"}[self.how]
        return ApprovalDecision(decision, "because")


class Slow(ScriptedModel):
    """Lets others work between two events."""

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        async for item in super().stream(request):
            await asyncio.sleep(0)
            yield item


def guard(agent: AgentRunner, how: str) -> None:
    """The application's guards, there in the recorded session and in its replay."""
    answers = {
        "blocks": lambda e: ToolCallEventResult(block=e.tool_name == "slow", reason="not this one"),
        "asks": lambda e: ToolCallEventResult(ask=f"run {e.tool_name}?") if e.tool_name != "quick" else None,
        "breaks": lambda e: 1 / 0 if e.tool_name == "quick" else None,
        "rewrites": lambda e: ToolCallEventResult(args={"n": 1}),
    }
    if how in answers:
        agent.events.on("before_tool_call", answers[how], phase="rewrite" if how == "rewrites" else "guard")


class Session:
    """One plan played on a real agent."""

    def __init__(self, plan: Plan, host: Host) -> None:
        self.plan = plan
        # a handler's abort strikes where the run waits next, which may be in a handler that the replay does not have
        self.waits = plan.async_handlers and not any(what == "abort" for _, _, what in plan.handlers)
        tools = [
            Tool(n, n, act, ARGS, sequential=n == "alone")
            for n in dict.fromkeys(TOOLS)
            if n not in ("unknown", "thread")
        ]
        config = AgentConfig(
            tools=(*tools, Tool("thread", "thread", in_a_thread, ARGS)),
            approver=None if plan.approver == "none" else Decides(plan.approver),
            parallel_tools=plan.parallel,
            steer_policy=plan.policy,  # type: ignore[arg-type]
            queue_mode=plan.mode,  # type: ignore[arg-type]
            abort_grace=1.0,
        )
        self.agent = AgentRunner(config, host=host, clock=VirtualClock())
        model = Slow if plan.slow_stream else ScriptedModel
        self.agent.set_adapter(model([*plan.turns, "done"], repeat=True))
        self.items: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.seen = 0
        self.run_id: str | None = None
        self.count: dict[str, int] = {}

    async def say(self, what: str, text: str) -> None:
        agent = self.agent
        try:
            if what in ("steer", "follow_up"):
                self.items.append(await (agent.steer if what == "steer" else agent.follow_up)(text))
            elif what == "next_run":
                self.items.append(agent.next_run(text))
            elif what == "abort" and self.run_id == agent.events.run_id:
                agent.abort("enough")
            elif what == "cancel" and self.items:
                agent.cancel(self.items[0])
        except NoActiveRun:
            pass

    def watch(self, e: Any) -> None:
        if e.type == "before_agent_start" or (e.type == "input" and e.delivery == "prompt"):
            self.run_id = e.run_id  # the run has begun: before that it must not be aborted
        for at, what in self.plan.user:
            if at == self.seen:
                self.tasks.append(asyncio.create_task(self.say(what, f"user {what} {at}")))
        self.seen += 1

    def handler(self, kind: str, at: int, what: str) -> Any:
        async def handle(e: Any) -> None:
            if self.waits and kind != "input":  # a steer whose handlers outlast the run comes to nothing
                await asyncio.sleep(0)
            await self.say(what, f"handler {what} {at}")

        def plainly(e: Any) -> Any:
            self.count[kind] = self.count.get(kind, 0) + 1
            if self.count[kind] != at:
                return None
            if kind in ("queue_update", "tool_execution_update"):  # emitted where nothing can be awaited
                if what in ("abort", "next_run"):
                    (self.agent.abort if what == "abort" else self.agent.next_run)("from here")
                return None
            return handle(e)

        return plainly

    async def ask(self, way: Any) -> Any:
        """One run, aborted when nothing happens any more."""
        task = asyncio.ensure_future(way)
        while not task.done():
            seen = self.seen
            await asyncio.wait([task], timeout=0.05)
            if seen == self.seen and self.run_id == self.agent.events.run_id:
                self.agent.abort("nothing happens")
        try:
            return await task
        except AgentError as error:
            return error.response

    async def play(self) -> Recording:
        agent, plan = self.agent, self.plan
        guard(agent, plan.guard)
        for kind, at, what in plan.handlers:
            agent.events.on(kind, self.handler(kind, at, what))
        agent.events.observe(self.watch)
        async with agent:
            with Recorder(agent) as recorder:
                response = await self.ask(agent.chat("go"))
                for _ in range(2):
                    if getattr(response, "outcome", "") == "suspended":
                        waiting = agent.suspension
                        assert waiting is not None
                        response = await self.ask(agent.resume({call.id: "allow" for call in waiting.calls}))
                await self.ask(agent.chat("again"))
                await asyncio.gather(*self.tasks)
            return recorder.recording


def check(plan: Plan, path: Path) -> None:
    async def work() -> None:
        async with asyncio.timeout(30):
            host = Host(discover=False, environ={"HOME": str(path)}, cwd=path)
            recording = await Session(plan, host).play()
            recording.save(path / "session.jsonl")
            again = await replay(path / "session.jsonl", prepare=lambda agent: guard(agent, plan.guard), patience=0.5)
            assert again.matches, f"{again}\n" + (path / "session.jsonl").read_text()
            event(f"{len(recording.requests)} requests")

    asyncio.run(work())


ERROR_BEHIND_A_USER = Plan(  # what a user says while a handler waits comes before the failure of the next handler
    (Reply(calls=(Call("quick", {"n": 2}),)), "done"),
    user=((11, "follow_up"), (12, "next_run"), (13, "next_run")),
    handlers=(("before_tool_call", 1, "next_run"),),
    guard="breaks",
    async_handlers=True,
)


@QUICK
@example(ERROR_BEHIND_A_USER)
@given(PLANS)
def test_what_was_recorded_replays(tmp_path: Path, plan: Plan) -> None:
    check(plan, tmp_path)


@pytest.mark.slow
@SOAK
@given(PLANS)
def test_soak(tmp_path: Path, plan: Plan) -> None:
    check(plan, tmp_path)
