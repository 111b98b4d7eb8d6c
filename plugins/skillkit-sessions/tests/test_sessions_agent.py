"""An agent on a session of a disk: killed and resumed, branched, forked (spec, section 9: 38, 41; I1, I2, I10, I14, I17)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from skillkit_sessions import JsonlStore, SqliteStore
from skillkit_sessions.branches import Branches

from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition, Session, SessionLocked, Tool, UserMessage
from skillkit_core.agent.repair import NO_RESULT
from skillkit_core.descriptors import load_object
from skillkit_core.messages import blocks_of
from skillkit_core.models import TokenUsage
from skillkit_core.testing import Call, Reply, ScriptedModel

STORES = {
    "jsonl": "skillkit_sessions.store:JsonlStore.at",
    "sqlite": "skillkit_sessions.sqlite_store:SqliteStore.at",
}
MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


async def look(args: Any, ctx: Any) -> str:
    return f"saw {dict(args)}"


@pytest.fixture(params=sorted(STORES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return STORES[request.param], tmp_path / "sessions"


@pytest.fixture
def store(place: tuple[str, Path]) -> JsonlStore | SqliteStore:
    return load_object(place[0])(place[1])


@asynccontextmanager
async def agent_on(session: Session, *turns: Any) -> AsyncIterator[tuple[AgentRunner, ScriptedModel]]:
    """An agent that answers by script and goes on with ``session``."""
    model = ScriptedModel(turns)
    host = Host(discover=False)
    runner = AgentRunner(AgentConfig(model=MODEL, tools=(Tool("look", "", look, OBJECT),)), host=host, session=session)
    runner.set_adapter(model)
    try:
        async with runner:
            yield runner, model
    finally:
        await host.aclose()


async def said(store: Any, text: str, *turns: Any, session_id: str = "s1", to: Any = ...) -> ScriptedModel:
    """Say ``text`` in the session (made if need be), after moving the leaf to ``to``; gives the model that answered."""
    known = [row["id"] for row in await store.list()]
    if session_id in known:
        session = await Session.open(store, session_id, lambda: 2000.0)
    else:
        session = await Session.create(store, lambda: 1000.0, session_id=session_id)
    if to is not ...:
        await session.move_to(to)
    async with agent_on(session, *turns) as (agent, model):
        await agent.chat(text)
    return model


async def reading(store: Any, session_id: str = "s1") -> Branches:
    handle = await store.open(session_id, read_only=True)
    await handle.close()
    return Branches(handle.entries(), session_id)


def check_legal(messages: Sequence[Any]) -> None:
    """Each call has one result, right after it, in order; no result without a call."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool_result":
            assert waiting and waiting.pop(0) == message.tool_call_id
            continue
        assert not waiting
        if message.role == "assistant":
            waiting = [call.id for call in message.tool_calls]
    assert not waiting


def words(messages: Sequence[Any]) -> list[str]:
    return [message.text for message in messages if message.role in ("user", "assistant")]


KILLED = textwrap.dedent(
    """
    import asyncio, os, signal, sys
    from pathlib import Path
    from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition, Tool
    from skillkit_core import Session
    from skillkit_core.descriptors import load_object
    from skillkit_core.testing import Call, Reply, ScriptedModel

    async def die(args, ctx):
        Path(sys.argv[3]).write_text("ran")
        os.kill(os.getpid(), signal.SIGKILL)

    async def main():
        store = load_object(sys.argv[1])(Path(sys.argv[2]))
        session = await Session.create(store, lambda: 1000.0, session_id="s1")
        tools = (Tool("die", "", die, {"type": "object"}),)
        agent = AgentRunner(
            AgentConfig(model=ModelDefinition("model", "scripted", "scripted", context_window=0), tools=tools),
            host=Host(discover=False), session=session,
        )
        calls = [Call("die", id="a"), Call("die", id="b")]
        agent.set_adapter(ScriptedModel(["first answer", Reply("I will try.", calls)]))
        await agent.chat("first")
        await agent.chat("second")

    asyncio.run(main())
    """
)


@pytest.mark.spec("9.38")
def test_a_run_that_was_killed_in_a_tool_is_resumed(place, store, go, tmp_path):
    """38: kill -9 while the tool runs: what was said is there, the call counts as interrupted, nothing runs twice."""
    ran = tmp_path / "ran"
    done = subprocess.run([sys.executable, "-c", KILLED, place[0], str(place[1]), str(ran)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL and ran.read_text() == "ran"
    ran.unlink()

    branches = go(reading(store))
    state = branches.state()
    assert state["state"] == "interrupted"
    assert state["open_calls"] == [{"id": "a", "name": "die"}, {"id": "b", "name": "die"}]

    model = go(said(store, "third", "and on"))
    [request] = model.requests
    check_legal(request.messages)
    assert words(request.messages) == ["first", "first answer", "second", "I will try.", "third"]
    results = [m for m in request.messages if m.role == "tool_result"]
    assert [(m.tool_call_id, m.text, m.is_error) for m in results] == [("a", NO_RESULT, True), ("b", NO_RESULT, True)]
    assert not ran.exists()

    after = go(reading(store))
    assert [e.id for e in after.entries[: len(branches.entries)]] == [e.id for e in branches.entries]
    assert after.state()["state"] == "complete"


@pytest.mark.spec("I4")
def test_what_was_sent_after_a_crash_is_sent_alike_after_every_reload(place, store, go, tmp_path):
    """The repaired history does not change from run to run."""
    subprocess.run(
        [sys.executable, "-c", KILLED, place[0], str(place[1]), str(tmp_path / "ran")], check=False, timeout=60
    )
    first = go(said(store, "third", "and on")).requests[0].messages
    second = go(said(store, "fourth", "and so on")).requests[0].messages
    assert list(second[: len(first)]) == list(first)


@pytest.mark.spec("9.41")
def test_a_branch_starts_at_a_user_message_inside_a_finished_tool_turn(store, go):
    """41: the path ends at the call's question; what followed stays on its own branch."""

    async def work() -> None:
        await said(store, "look here", Reply("looking", [Call("look", {"n": 1}, id="a")]), "seen")
        await said(store, "and there", "there is nothing")
        branches = await reading(store)
        first = branches.path()[0].id
        model = await said(store, "rather there", "a new answer", to=first)
        assert words(model.requests[0].messages) == ["look here", "rather there"]
        after = await reading(store)
        assert [e.id for e in after.children[first]] == [branches.path()[1].id, after.path()[1].id]
        assert len(after.path()) == 3

    go(work())


@pytest.mark.spec("9.41", "I1")
@pytest.mark.parametrize("at", [1, 2])
def test_a_branch_between_a_call_and_its_last_result_is_legal(store, go, at):
    """41: at the answer with two calls, and after the first result; the open calls count as interrupted."""

    async def work() -> None:
        calls = [Call("look", {"n": 1}, id="a"), Call("look", {"n": 2}, id="b")]
        await said(store, "look twice", Reply("looking", calls), "seen")
        path = (await reading(store)).path()
        assert [e.data["message"]["role"] for e in path] == [
            "user",
            "assistant",
            "tool_result",
            "tool_result",
            "assistant",
        ]
        model = await said(store, "stop that", "well then", to=path[at].id)
        sent = model.requests[0].messages
        check_legal(sent)
        results = [m for m in sent if m.role == "tool_result"]
        assert [m.tool_call_id for m in results] == ["a", "b"]
        assert [m.text == NO_RESULT for m in results] == [at == 1, True]

    go(work())


@pytest.mark.spec("9.41")
def test_the_leaf_survives_a_reload_without_a_new_entry(store, go):
    """41: moving back and closing is enough; the next run follows the entry."""

    async def work() -> None:
        await said(store, "one", "first")
        there = (await reading(store)).leaf
        await said(store, "two", "second")
        session = await Session.open(store, "s1", lambda: 1.0)
        await session.move_to(there)
        await session.close()
        count = len((await reading(store)).entries)
        again = await Session.open(store, "s1", lambda: 1.0)
        assert again.leaf_id == there
        assert words(again.messages) == ["one", "first"]
        await again.close()
        branches = await reading(store)
        assert (branches.leaf, len(branches.entries)) == (there, count)
        assert words((await said(store, "three", "third")).requests[0].messages) == ["one", "first", "three"]

    go(work())


@pytest.mark.spec("9.41")
def test_a_session_can_start_again_before_its_first_entry(store, go):
    async def work() -> None:
        await said(store, "one", "first")
        model = await said(store, "anew", "second", to=None)
        assert words(model.requests[0].messages) == ["anew"]
        branches = await reading(store)
        assert len(branches.children[None]) == 2 and len(branches.path()) == 2

    go(work())


@pytest.mark.spec("9.41")
@pytest.mark.parametrize("at", ["root", "leaf", "start"])
def test_a_fork_goes_on_by_itself(store, go, at):
    """41: at the root, at the leaf and before everything; the old session does not change, nor does the fork cost again."""

    async def work() -> None:
        await said(store, "one", "first")
        await said(store, "two", "second")
        old = await reading(store)
        kept = {"root": old.path()[:1], "leaf": old.path(), "start": []}[at]
        handle = await store.fork("s1", kept[-1].id if kept else None, new_id="s2")
        await handle.close()
        model = await said(store, "three", "third", session_id="s2")
        expected = {"root": ["one", "three"], "leaf": ["one", "first", "two", "second", "three"], "start": ["three"]}
        assert words(model.requests[0].messages) == expected[at]
        assert (await reading(store)).entries == old.entries
        fork = await Session.open(store, "s2", lambda: 1.0, read_only=True)
        assert fork.usage == TokenUsage(input=10, output=5)
        assert len({e.id for e in fork.entries}) == len(fork.entries)
        await fork.close()

    go(work())


@pytest.mark.spec("I17")
def test_usage_is_the_sum_of_the_ledger_on_all_branches(store, go):
    """Requests of a branch that was left are paid for as well, and a reload counts them once."""

    async def work() -> None:
        await said(store, "one", Reply("first", usage=TokenUsage(input=1, output=2)))
        await said(store, "two", Reply("second", usage=TokenUsage(input=10, output=20)), to=None)
        for _ in range(2):
            session = await Session.open(store, "s1", lambda: 1.0)
            assert session.usage == TokenUsage(input=11, output=22)
            await session.close()

    go(work())


@pytest.mark.spec("13.7", "I10")
def test_what_the_user_said_is_kept_before_the_request_leaves(store, go):
    """Another reader sees the prompt while the model has not been asked."""

    async def work() -> None:
        seen: list[list[str]] = []

        async def now() -> None:
            seen.append([e.data["message"]["role"] for e in (await reading(store)).path()])

        await said(store, "one", Reply("first", [Call("look", id="a")], before=now), Reply("second", before=now))
        assert seen == [["user"], ["user", "assistant", "tool_result"]]

    go(work())


def test_an_abandoned_session_is_free_for_the_next_one(store, go):
    """The handle of a run that was cancelled and forgotten does not lock anybody out after close."""

    async def work() -> None:
        session = await Session.create(store, lambda: 1.0, session_id="s1")
        await session.append_message(UserMessage(content=blocks_of("one")), sync=True)
        task = asyncio.create_task(session.append_message(UserMessage(content=blocks_of("two")), sync=True))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await session.close()
        again = await Session.open(store, "s1", lambda: 1.0)
        assert [m.text for m in again.messages] in (["one"], ["one", "two"])
        await again.append_message(UserMessage(content=blocks_of("three")))
        await again.close()
        assert (await reading(store)).path()[-1].data["message"]["content"][0]["text"] == "three"

    go(work())


# --- who answers ----------------------------------------------------------------------------------------------------


SWITCH = """
import asyncio
from pathlib import Path
from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition, ModelSettings
from skillkit_core import Session
from skillkit_core.descriptors import load_object
from skillkit_core.testing import ScriptedModel


async def main():
    session = await Session.open(load_object({store!r})(Path({place!r})), "s1", lambda: 3000.0)
    config = AgentConfig(model=ModelDefinition("new", "scripted", "scripted"), settings=ModelSettings(thinking="high"))
    async with AgentRunner(config, host=Host(discover=False), session=session) as agent:
        agent.set_adapter(ScriptedModel(["two", "three"]))
        await agent.chat("b")
        await agent.chat("c")


asyncio.run(main())
"""


def test_a_switch_in_another_process_is_in_the_session_once_and_only_on_its_branch(
    place: tuple[str, Path], store: JsonlStore | SqliteStore
) -> None:
    asyncio.run(said(store, "a", "one"))
    script = SWITCH.format(store=place[0], place=str(place[1]))
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)

    async def look_back() -> None:
        branches = await reading(store)
        kinds = [e.type for e in branches.path()]
        assert kinds == ["message"] * 3 + ["model_change", "thinking_level_change"] + ["message"] * 3
        session = await Session.open(store, "s1", lambda: 4000.0)
        assert session.model is not None and session.model.model == "new" and session.thinking_level == "high"
        await session.move_to(branches.path()[1].id)
        assert session.model is not None and session.model.model == "model" and session.thinking_level == "off"
        await session.close()
        handle = await store.fork("s1", branches.path()[-1].id, new_id="copy")
        forked = Session(handle, lambda: 5000.0)
        assert forked.model is not None and forked.model.model == "new" and forked.thinking_level == "high"
        await forked.close()

    asyncio.run(look_back())


# --- the user interrupts --------------------------------------------------------------------------------------------


INTERRUPTED = """
import asyncio, os, signal, sys
from pathlib import Path
from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition, Tool
from skillkit_core import Session
from skillkit_core.descriptors import load_object
from skillkit_core.testing import Call, Reply, ScriptedModel


async def work(args, ctx):
    if args["n"] == 0:
        return "real"
    if args["n"] == 2:
        os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()


async def main():
    session = await Session.create(load_object({store!r})(Path({place!r})), lambda: 1000.0, session_id="s1")
    tool = Tool("work", "", work, {{"type": "object", "properties": {{}}, "additionalProperties": True}})
    agent = AgentRunner(AgentConfig(tools=(tool,)), host=Host(discover=False), session=session)
    agent.set_adapter(ScriptedModel([Reply("Wait.", calls=[Call("work", {{"n": n}}) for n in range(3)])]))
    await agent.chat("go")


if {how!r} == "run":
    asyncio.run(main())
else:
    asyncio.new_event_loop().run_until_complete(main())
"""


@pytest.mark.spec("I1", "9.9")
@pytest.mark.parametrize("how", ["run", "loop"])
def test_a_signal_of_the_user_ends_the_process_when_every_call_is_answered(
    place: tuple[str, Path], store: JsonlStore | SqliteStore, how: str
) -> None:
    script = INTERRUPTED.format(store=place[0], place=str(place[1]), how=how)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.returncode == -signal.SIGINT and "KeyboardInterrupt" in ended.stderr, ended.stderr

    async def look_back() -> None:
        messages = [e.data["message"] for e in (await reading(store)).path()]
        assert [m["role"] for m in messages] == ["user", "assistant", *["tool_result"] * 3]
        assert [m.get("outcome", "ok") for m in messages[2:]] == ["ok", "interrupted", "interrupted"]
        session = await Session.open(store, "s1", lambda: 2000.0)
        check_legal(session.messages)
        await session.close()

    asyncio.run(look_back())


def test_who_meets_the_lock_of_an_agent_learns_where_it_takes_clients(
    place: tuple[str, Path], go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = load_object(place[0])(place[1]), load_object(place[0])(place[1])
    host = Host(discover=False)
    monkeypatch.setattr(host, "session_store", lambda: store)

    async def endpoint_of(session_id: str) -> str | None:
        with pytest.raises(SessionLocked) as locked:
            await other.open(session_id)
        assert locked.value.owner is not None and locked.value.owner.pid == os.getpid()
        return locked.value.owner.endpoint

    async def main() -> None:
        async with AgentRunner(host=host, session="new", endpoint=lambda name: f"/run/{name}.sock") as agent:
            first = agent.session.id
            assert await endpoint_of(first) == f"/run/{first}.sock"
            await agent.fork()
            assert await endpoint_of(agent.session.id) == f"/run/{agent.session.id}.sock"
            await agent.switch(first)
            assert await endpoint_of(first) == f"/run/{first}.sock"
        await other.close()
        await host.aclose()

    go(main())
