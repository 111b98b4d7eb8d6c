"""I24: ids of runs are unique in a session, over processes, agents and forks; each event of a run has the id of the run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core_kit import forked
from core_stores import FileStore

from skillkit_core import AgentConfig, AgentRunner, Handled, Host, ModelDefinition, Tool
from skillkit_core.agent.session import Session
from skillkit_core.testing import Call, Reply, ScriptedModel

MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)


class Desk:
    """Agents on one session file, whose host finds the session by its id."""

    def __init__(self, folder: Path) -> None:
        self.store = FileStore(folder)
        self.events: list[Any] = []

    def agent(self, session: Session | str | None, *turns: Any, tools: tuple[Tool, ...] = ()) -> AgentRunner:
        host = Host(discover=False)
        host.session_stores.register("files", self.store)
        agent = AgentRunner(AgentConfig(model=MODEL, tools=tools), host=host, session=session)
        agent.set_adapter(ScriptedModel(turns))
        agent.events.on("session_start", self.events.append)
        agent.events.on("before_model_request", self.events.append)
        agent.events.on("agent_settled", self.events.append)
        return agent

    async def begin(self, *turns: Any, **options: Any) -> None:
        session = await Session.create(self.store, lambda: 1000.0, session_id="s1")
        agent = self.agent(session, *turns, **options)
        for _ in turns:
            await agent.chat("go")
        await session.close()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def booked(session: Session) -> list[str]:
    return [entry.data["run_id"] for entry in session.entries if entry.type == "usage"]


def test_runs_of_several_processes_have_ids_of_their_own(desk: Desk, go: Callable[..., Any]) -> None:
    async def again() -> None:
        async with desk.agent("s1", "fine", "fine") as agent:
            await agent.chat("go")
            await agent.chat("go")

    assert not forked(lambda: desk.begin("fine", "fine", "fine"))
    assert not forked(again)
    assert not forked(again)

    async def main() -> None:
        session = await Session.open(desk.store, "s1", lambda: 2000.0)
        ids = booked(session)
        assert ids[:3] == ["r1", "r2", "r3"] and len(ids) == len(set(ids)) == 7

    go(main())


def test_the_first_event_of_a_run_that_opens_the_session_has_its_id(desk: Desk, go: Callable[..., Any]) -> None:
    async def main() -> None:
        await desk.begin("fine", "fine")
        desk.events.clear()
        agent = desk.agent("s1", "fine", "fine")
        response = await agent.chat("go")
        assert desk.events[0].type == "session_start"
        assert {event.run_id for event in desk.events} == {response.run_id}
        assert {event.runs for event in desk.events if event.type == "before_model_request"} == {(response.run_id,)}
        second = await agent.chat("go")
        assert booked(agent.session) == ["r1", "r2", response.run_id, second.run_id]
        assert len(set(booked(agent.session))) == 4

    go(main())


def test_runs_that_leave_nothing_behind_do_not_make_a_later_process_repeat_an_id(
    desk: Desk, go: Callable[..., Any]
) -> None:
    async def main() -> None:
        session = await Session.create(desk.store, lambda: 1000.0, session_id="s1")
        agent = desk.agent(session, "fine")
        remove = agent.events.on("input", lambda event: Handled(reply="a command", keep=False))
        for _ in range(20):
            await agent.chat("/help")
        remove()
        assert (await agent.chat("go")).run_id == "r21"
        await session.close()
        assert (await desk.agent("s1", "fine").chat("go")).run_id == "r22"

    go(main())


def test_a_run_that_was_killed_before_its_first_answer_keeps_its_id(desk: Desk, go: Callable[..., Any]) -> None:
    def die(request: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    assert forked(lambda: desk.begin("fine", die))

    async def main() -> None:
        agent = desk.agent("s1", "fine")
        await agent.open()
        assert (await agent.chat("go")).run_id not in {"r1", "r2"}

    go(main())


def test_two_agents_on_one_session_and_a_fork_count_on(desk: Desk, go: Callable[..., Any]) -> None:
    async def main() -> None:
        session = await Session.create(None, lambda: 1000.0)
        first, second = desk.agent(session, "a", "c"), desk.agent(session, "b", "d")
        said = [await agent.chat("go") for agent in (first, second, first)]
        assert [response.run_id for response in said] == ["r1", "r2", "r3"] == booked(session)
        await second.fork()
        forked_run = await second.chat("go")
        assert forked_run.run_id not in {"r1", "r2", "r3"} and booked(second.session)[-1] == forked_run.run_id

    go(main())


def test_the_books_of_nested_agents_do_not_count_and_their_paths_differ_over_processes(
    desk: Desk, go: Callable[..., Any]
) -> None:
    paths: list[tuple[str, ...]] = []

    async def delegate(args: Any, ctx: Any) -> str:
        agent = desk.agent(None, *["fine"] * 3)
        for _ in range(2):
            await agent.chat("go")
        response = await agent.chat("go")
        assert response.run_id == "r3", "it counts in its own session"
        paths.append(agent.events.agent_path)
        return "done"

    tool = Tool("delegate", "", delegate)
    turns = [Reply(calls=[Call("delegate", {}, "A")]), "done"]

    async def main() -> None:
        session = await Session.create(desk.store, lambda: 1000.0, session_id="s1")
        assert (await desk.agent(session, *turns, tools=(tool,)).chat("go")).run_id == "r1"
        await session.close()
        agent = desk.agent("s1", Reply(calls=[Call("delegate", {}, "B")]), "done", tools=(tool,))
        response = await agent.chat("go")
        own = [e.data["run_id"] for e in agent.session.entries if e.type == "usage" and e.data["purpose"] != "nested"]
        assert own == ["r1", "r1", response.run_id, response.run_id] and response.run_id != "r1"
        assert len(set(paths)) == 2

    go(main())
