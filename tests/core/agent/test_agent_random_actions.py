"""Random scripts under random actions at random events and writes (spec, 8); ``test_agent_drive.py`` goes gate by gate."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from skillkit_core import AgentError, ErrorKind, NoActiveRun, Session, StopReason, StreamEvent, TurnEndResult
from skillkit_core.events.types import EVENTS
from skillkit_core.testing import Call, Fail, Raw, Reply

PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


ACTIONS = st.sampled_from(["abort", "steer", "follow_up", "raise", "next_run", "cancel", "stop"])


CALLS = st.builds(Call, st.sampled_from(["a", "b", "zzz"]))


TURNS = st.lists(
    st.one_of(
        st.builds(Reply, st.sampled_from(["", "text"]), st.lists(CALLS, max_size=3)),
        st.just(Reply("cut", [Call("a", raw='{"x')], stop=StopReason.length)),
        st.builds(Fail, st.sampled_from([ErrorKind.server, ErrorKind.auth, ErrorKind.overflow])),
        st.just(Raw([StreamEvent("text_delta", "torn", index=0)])),
    ),
    min_size=1,
    max_size=5,
)  # fmt: skip


@pytest.mark.spec("I1", "I2", "I8", "I9", "I13", "I14", "I17")
@PROPERTY
@given(
    turns=TURNS,
    plan=st.dictionaries(st.integers(1, 60), st.tuples(ACTIONS, st.booleans()), max_size=4),
    parallel=st.booleans(),
    stream=st.booleans(),
    gates=st.booleans(),
)
def test_whatever_happens_at_whatever_event_the_invariants_hold(
    kit: Any, turns: list[Any], plan: dict[int, tuple[str, bool]], parallel: bool, stream: bool, gates: bool
) -> None:
    """Two runs each."""

    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            ctx.on_output("x")
            await asyncio.sleep(0)
            return "ok"

        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)
        tools = [kit.tool("a", act), kit.tool("b", "b")]
        agent = kit.agent(*turns, tools=tools, parallel_tools=parallel, session=session)
        accepted: list[str] = []
        returned: list[str] = []
        count = 0

        async def gate(event: Any, suspend: bool) -> Any:
            nonlocal count
            count += 1
            action, early = plan.get(count, ("", False))
            if suspend and not early:
                await asyncio.sleep(0)
            try:
                if action == "abort":
                    returned.extend(i.id for i in agent.abort())
                elif action == "steer":
                    accepted.append(await agent.steer("steered"))
                elif action == "follow_up":
                    accepted.append(await agent.follow_up("followed"))
                elif action == "next_run":
                    accepted.append(agent.next_run("next"))
                elif action == "cancel" and accepted and agent.cancel(accepted[-1]) == "cancelled":
                    returned.append(accepted[-1])
            except NoActiveRun:
                pass
            if suspend:
                await asyncio.sleep(0)
            if action == "raise":
                raise ValueError("handler broke")
            return TurnEndResult(stop=True) if action == "stop" and event.type == "turn_end" else None

        async def waits(event: Any) -> Any:
            return await gate(event, True)

        for name in EVENTS:
            if name not in ("queue_update", "handler_error", "session_start", "message_update"):
                agent.events.on(name, waits)
        store.before = lambda entry: gate(entry, True) if gates else None
        for _ in range(2):
            if stream:
                events = [e async for e in agent.chat_stream_events("go")]
                assert [e.type for e in events if e.terminal] == [events[-1].type]
            else:
                try:
                    await agent.chat("go")
                except AgentError as error:
                    assert error.response is not None
            assert agent.events.run_id is None
            kit.check(agent)
        starts, ends = len(agent.seen.of("agent_start")), len(agent.seen.of("agent_end"))
        assert starts == ends
        consumed = sum(m.text in ("steered", "followed", "next") for m in agent.messages)
        waiting = [i for kind in ("steer", "follow_up", "next_run") for i in agent.queues.waiting(kind)]
        assert sorted([*returned, *waiting]) == sorted(set(returned) | set(waiting))
        assert consumed + len(returned) + len(waiting) == len(accepted)

    asyncio.run(main())
