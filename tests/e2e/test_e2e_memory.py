"""Memory is counted: what agents, sessions and hosts have done leaves no object behind, with every plugin installed.

Objects are counted by type, and what their containers hold. A pass that imports something is told from a leak by another pass.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

pytest.importorskip("skillkit_subagents")
pytest.importorskip("skillkit_sessions")

Work = Callable[[Host, int], Awaitable[None]]
TOGETHER = 5  # sub-agents of one session
SLACK = 20  # objects of a type that come and go by time, such as those of an idle thread
TURN = {  # most objects of a turn that are kept, because the transcript is: its messages and its entries
    "SessionEntry": 8, "MessageData": 4, "TextBlock": 4, "UserMessage": 1, "AssistantMessage": 2, "ToolResultMessage": 1,
    "TokenUsage": 2, "ToolCall": 1, "FrozenDict": 8, "tuple": 8, "dict": 4, "(held)": 40,
}  # fmt: skip


def census() -> Counter[str]:
    """How many objects there are by type; ``(held)``: what containers hold of what the collector does not see."""
    while gc.collect():  # what a weak dictionary lets go of is found by the next pass
        pass
    found, held = Counter[type](), 0
    for one in gc.get_objects():
        kind = type(one)
        found[kind] += 1
        if kind is dict or kind is list or kind is set or kind is deque:
            held += len(one)
    by_name = Counter[str]()
    for kind, count in found.items():
        by_name[kind.__name__] += count
    by_name["(held)"] = held
    return by_name


def more(after: Counter[str], before: Counter[str], slack: int) -> dict[str, int]:
    return {name: count for name, count in (after - before).items() if count > slack}


async def nothing_stays(work: Work, host: Host, size: int) -> None:
    await work(host, TOGETHER)
    for _ in range(3):
        before = census()
        await work(host, size)
        await asyncio.sleep(0)
        grown = more(census(), before, max(SLACK, size // 100))
        if not grown:
            return
    pytest.fail(f"{size} leave behind: {grown}")


async def sub_agents(host: Host, size: int) -> None:
    """Sessions, each of which asks five agents, and is closed."""

    def answer(request: Any) -> Reply | str:
        words = [message for message in request.messages if not message.text.startswith("<")]
        if words[-1].role == "user" and words[-1].text == "go":
            return Reply(calls=[Call("spawn_agent", {"task": "below: work"})] * TOGETHER)
        return "done"

    for _ in range(size // TOGETHER):
        async with AgentRunner(host=host, session="new") as agent:
            agent.set_adapter(ScriptedModel([answer], repeat=True))
            assert (await agent.chat("go")).content == "done"
            results = [message for message in agent.messages if message.role == "tool_result"]
            assert len(results) == TOGETHER and not any(one.is_error for one in results)


async def at_once(host: Host, size: int) -> None:
    """Agents that all are in a turn before the first is closed."""
    everybody, inside = asyncio.Event(), [0]

    async def wait(args: Any, ctx: Any) -> str:
        inside[0] += 1
        if inside[0] == size:
            everybody.set()
        await everybody.wait()
        return "all are here"

    async def one() -> AgentRunner:
        agent = AgentRunner(AgentConfig(tools=(Tool("wait", "Wait for all.", wait),)), host=host)
        agent.set_adapter(ScriptedModel([Reply(calls=[Call("wait")]), "done"]))
        assert (await agent.chat("go")).content == "done"
        return agent

    agents = await asyncio.gather(*(one() for _ in range(size)))
    assert inside == [size]
    for agent in agents:
        await agent.aclose()


async def hosts(_: Host, size: int) -> None:
    """Hosts, each with an agent and its session."""
    for _ in range(size):
        host = Host()
        async with AgentRunner(host=host, session="new") as agent:
            agent.set_adapter(ScriptedModel(["done"]))
            assert (await agent.chat("go")).content == "done"
        await host.aclose()


@pytest.mark.parametrize(
    ("work", "size"),
    [
        pytest.param(sub_agents, 150, id="sub-agents-150"),
        pytest.param(sub_agents, 2_000, id="sub-agents-2000", marks=pytest.mark.slow),
        pytest.param(at_once, 100, id="at-once-100"),
        pytest.param(at_once, 5_000, id="at-once-5000", marks=pytest.mark.slow),
        pytest.param(hosts, 8, id="hosts-8"),
        pytest.param(hosts, 100, id="hosts-100", marks=pytest.mark.slow),
    ],
)
async def test_what_is_closed_leaves_no_object(skillkit_home: Any, work: Work, size: int) -> None:
    host = Host()
    await nothing_stays(work, host, size)
    await host.aclose()


@pytest.mark.parametrize("size", [200, pytest.param(20_000, marks=pytest.mark.slow)])
async def test_turns_leave_their_transcript_and_nothing_else(skillkit_home: Any, size: int) -> None:
    host = Host()
    model = ScriptedModel(
        [lambda r: "done" if r.messages[-1].role == "tool_result" else Reply(calls=[Call("look")])], repeat=True
    )
    async with AgentRunner(AgentConfig(tools=(Tool("look", "Look.", look),)), host=host, session="new") as agent:
        agent.set_adapter(model)
        for _ in range(TOGETHER):
            await agent.chat("go")
        before = census()
        for _ in range(size):
            await agent.chat("go")
        grown = more(census(), before, 110)  # up to a hundred cancelled timers wait in the loop
        assert len(agent.messages) >= 4 * (size + TOGETHER)
        assert {name: count / size for name, count in grown.items() if count > size * TURN.get(name, 0)} == {}
    del agent, model  # whose last requests hold the conversation
    await host.aclose()
    assert more(census(), before, 110) == {}


async def look(args: Any, ctx: Any) -> str:
    return "seen"
