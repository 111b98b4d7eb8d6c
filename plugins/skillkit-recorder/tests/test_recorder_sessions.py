"""A recording goes along when the agent forks its session, moves in it, reads it again, or talks in another one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from skillkit_recorder import Recorder, Recording, Replay, replay

from skillkit_core import (
    AgentConfig,
    AgentError,
    AgentRunner,
    ApprovalDecision,
    Approver,
    Host,
    SessionBeforeResult,
    SkillKitError,
    Tool,
    ToolCallEventResult,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

plugin = pytest.importorskip("skillkit_sessions.plugin")


def recorded(
    path: Path,
    work: Callable[[AgentRunner], Awaitable[Any]],
    before: Callable[[AgentRunner], Awaitable[Any]] | None = None,
) -> Path:
    """What an agent with sessions on a disk is told; each answer counts the messages that were sent."""

    async def main() -> None:
        environ = {"SKILLKIT_HOME": str(path)}
        host = Host(discover=False, plugins=[("sessions", plugin)], environ=environ, cwd=path)
        async with AgentRunner(AgentConfig(), host=host, session="new") as agent:
            agent.set_adapter(ScriptedModel([lambda request: f"{len(request.messages)} messages"], repeat=True))
            if before is not None:
                await before(agent)
            with Recorder(agent, path / "recording.jsonl"):
                await work(agent)
        await host.aclose()

    asyncio.run(main())
    return path / "recording.jsonl"


def matching(path: Path) -> Replay:
    """The replay; it must match, and nothing may appear on the disk."""
    files = sorted(path.parent.rglob("*"))
    done = asyncio.run(replay(path))
    assert done.matches, done.report()
    assert sorted(path.parent.rglob("*")) == files
    return done


def answers(done: Replay) -> list[str]:
    return [response.content for response in done.responses if not isinstance(response, SkillKitError)]


@pytest.mark.smoke
def test_forks_and_moves_are_replayed_at_the_same_entries(tmp_path: Path) -> None:
    async def work(agent: AgentRunner) -> None:
        await agent.session.append("session_info", {"title": "a note that no replay writes"})
        await agent.chat("One.")
        first = agent.session.leaf_id
        await agent.chat("Two.")
        await agent.fork(first)
        await agent.chat("Two again.")
        await agent.move_to(None, summary="It was about numbers.", label="start")
        await agent.chat("Three.")
        await agent.fork()
        await agent.chat("Four.")
        await agent.fork(None)
        await agent.chat("Five.")

    async def before(agent: AgentRunner) -> None:
        await agent.open()
        await agent.chat("Zero.")

    done = matching(recorded(tmp_path, work, before))
    sent = [3, 5, 5, 2, 4, 1]
    assert answers(done) == [f"{n} messages" for n in sent]


def test_other_sessions_come_with_what_they_held(tmp_path: Path) -> None:
    ids: list[str] = []

    async def before(agent: AgentRunner) -> None:
        ids.append((await agent.open()).id)
        await agent.chat("Long ago.")
        await agent.switch("new")

    async def work(agent: AgentRunner) -> None:
        second = agent.session.id
        await agent.chat("Here.")
        await agent.switch(ids[0])
        await agent.chat("There.")
        await agent.reload()
        await agent.chat("There again.")
        await agent.switch(second)
        await agent.chat("Back.")
        await agent.switch("new")
        await agent.chat("Fresh.")

    done = matching(recorded(tmp_path, work, before))
    assert answers(done) == [f"{n} messages" for n in (1, 3, 5, 3, 1)]
    begun = [e["reason"] for e in done.recording.events if e["type"] == "session_start"]
    assert begun == ["resume", "reload", "resume", "new"]


def test_a_run_that_was_suspended_before_the_recording_is_resumed_in_it(tmp_path: Path) -> None:
    """The process that decides is often another one than that which asked."""
    path, ran = tmp_path / "recording.jsonl", []

    class Later(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    async def act(args: Any, ctx: Any) -> str:
        ran.append(ctx.tool_call_id)
        return "done"

    async def main() -> None:
        calls = [Call("act", id="one"), Call("act", id="two")]
        model = ScriptedModel([Reply(calls=calls), "Done."])
        name = "new"
        for _ in range(2):
            host = Host(
                discover=False, plugins=[("sessions", plugin)], environ={"SKILLKIT_HOME": str(tmp_path)}, cwd=tmp_path
            )
            config = AgentConfig(tools=(Tool("act", "Act.", act),), approver=Later())
            async with AgentRunner(config, host=host, session=name) as agent:
                agent.set_adapter(model)
                agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="really?"))
                if name == "new":
                    name = (await agent.open()).id
                    await agent.chat("Act.")
                else:
                    with Recorder(agent, path):
                        await agent.resume({"one": "allow", "two": "deny"})
            await host.aclose()

    asyncio.run(main())
    assert ran == ["one"]
    done = asyncio.run(
        replay(path, prepare=lambda a: a.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="really?")))
    )
    assert done.matches and answers(done) == ["Done."] and ran == ["one"], done.report()


def test_what_could_not_be_done_is_not_done_in_the_replay_either(tmp_path: Path) -> None:
    def no_forks(agent: AgentRunner) -> None:
        agent.events.on("session_before_fork", lambda e: SessionBeforeResult(cancel=True, reason="not now"))

    async def work(agent: AgentRunner) -> None:
        no_forks(agent)
        await agent.chat("One.")
        for way in (
            lambda: agent.fork(),
            lambda: agent.fork("e999"),
            lambda: agent.move_to("e999"),
            lambda: agent.switch("nowhere"),
            lambda: agent.switch(agent.session.id),
        ):
            with pytest.raises(SkillKitError):
                await way()
        await agent.chat("Two.")

    done = asyncio.run(replay(recorded(tmp_path, work), prepare=no_forks))
    assert done.matches and answers(done) == ["1 messages", "3 messages"], done.report()


def test_what_is_asked_of_a_busy_agent_is_refused_again(tmp_path: Path) -> None:
    async def work(agent: AgentRunner) -> None:
        refused: list[str] = []

        async def forks(event: Any) -> None:
            try:
                await agent.fork()
            except AgentError as error:
                refused.append(type(error).__name__)

        agent.events.on("turn_start", forks)
        await agent.chat("One.")
        await agent.chat("Two.")
        assert refused == ["ReentrancyError", "ReentrancyError"]

    path = recorded(tmp_path, work)
    assert answers(matching(path)) == ["1 messages", "3 messages"]
    assert [line.refused for line in Recording.load(path).directives if line.name == "fork"] == [True, True]
