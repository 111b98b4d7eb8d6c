"""What is said is kept: an answer that was cut off by SIGKILL, a session whose file somebody took away (I7, spec section 12)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from skillkit_sessions import JsonlStore, SessionsConfig, SqliteStore
from skillkit_sessions.branches import Branches
from skillkit_testkit import until, until_changed

from skillkit_core import AgentConfig, AgentError, AgentRunner, Host, ModelDefinition, Tool
from skillkit_core.agent.repair import INTERRUPTED
from skillkit_core.agent.session import KILLED, Session
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.stream import StreamEvent
from skillkit_core.testing import Call, Reply, ScriptedModel

STORES = {"jsonl": JsonlStore, "sqlite": SqliteStore}
MODEL = ModelDefinition("model", "scripted", "scripted", context_window=0)
SECRET = "sk-0123456789abcdef"


@pytest.fixture(params=sorted(STORES))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def an_agent(session: Session, *turns: Any, tools: Any = (), **given: Any) -> tuple[AgentRunner, ScriptedModel]:
    model = ScriptedModel(turns)
    runner = AgentRunner(AgentConfig(model=MODEL, tools=tools, **given), host=Host(discover=False), session=session)
    runner.set_adapter(model)
    return runner, model


async def entries_of(store: Any, session_id: str = "s1") -> Branches:
    handle = await store.open(session_id, read_only=True)
    await handle.close()
    return Branches(handle.entries(), session_id)


def texts(messages: Any) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


# --- an answer that still arrives ---------------------------------------------------------------------------------

CUT = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    import skillkit_sessions
    from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition
    from skillkit_core import Session
    from skillkit_core.testing import Hang, ScriptedModel

    async def main():
        store = getattr(skillkit_sessions, sys.argv[1])(directory=Path(sys.argv[2]))
        session = await Session.create(store, lambda: 1000.0, session_id="s1")
        session.handle.flush_interval = 0.05
        host = Host(discover=False)
        agent = AgentRunner(
            AgentConfig(model=ModelDefinition("model", "scripted", "scripted", context_window=0), api_key=sys.argv[4]),
            host=host, session=session,
        )
        agent.set_adapter(ScriptedModel([Hang(sys.argv[3])]))
        await agent.chat("Tell me a tale.")

    asyncio.run(main())
    """
)


def written(folder: Path, text: str) -> bool:
    for path in folder.glob("*"):
        with contextlib.suppress(FileNotFoundError):  # a file that the store needs for a moment
            if path.is_file() and text.encode() in path.read_bytes():
                return True
    return False


def killed_while_it_said(kind: str, folder: Path, text: str, wait_for: str) -> None:
    """Kill a process with SIGKILL once ``wait_for`` is in the session, of an answer that never ends."""
    folder.mkdir(exist_ok=True)
    argv = [sys.executable, "-c", CUT, STORES[kind].__name__, str(folder), text, SECRET]
    with subprocess.Popen(argv) as process:
        try:
            until_changed(lambda: written(folder, wait_for), folder)
        finally:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.spec("I7")
def test_the_text_that_a_killed_process_had_shown_is_seen_by_the_model_that_goes_on(kind, folder):
    killed_while_it_said(kind, folder, "Once upon a time there was", "there was")
    store = STORES[kind](directory=folder)

    async def go_on() -> tuple[Any, Any]:
        session = await Session.open(store, "s1", lambda: 2000.0)
        agent, model = an_agent(session, " a fox.", "It ended well.")
        async with agent:
            await agent.resume()
            await agent.chat("And then?")
        return model.requests[0].messages, model.requests[1].messages

    first, second = asyncio.run(go_on())
    assert texts(first) == [
        ("user", "Tell me a tale."),
        ("assistant", f"Once upon a time there was{INTERRUPTED}"),
        ("user", KILLED),
    ]
    assert texts(second) == [*texts(first), ("assistant", " a fox."), ("user", "And then?")]
    assert list(second[: len(first)]) == list(first)
    branches = asyncio.run(entries_of(store))
    assert [entry.data["text"] for entry in branches.entries if entry.type == "partial"] == [
        "Once upon a time there was"
    ]
    assert "partial" not in {entry.type for entry in branches.path()}
    assert [row["messages"] for row in asyncio.run(store.list())] == [6]


def test_a_session_that_is_read_only_is_not_changed_by_looking_at_it(kind, folder):
    killed_while_it_said(kind, folder, "Once upon a time", "a time")
    store = STORES[kind](directory=folder)

    async def look() -> tuple[int, list[Any]]:
        session = await Session.open(store, "s1", lambda: 2000.0, read_only=True)
        await session.close()
        found = [hit async for hit in store.search("upon a time")]
        return len(session.entries), found

    count, found = asyncio.run(look())
    assert (count, found) == (2, [])
    assert asyncio.run(entries_of(store)).state()["state"] == "waiting"


@pytest.mark.parametrize("half", [4, 8, len(SECRET) - 1])
def test_the_first_half_of_a_secret_is_not_written_before_the_rest_shows_that_it_is_one(kind, folder, half):
    killed_while_it_said(kind, folder, f"The key {SECRET} begins with {SECRET[:half]}", "begins with")
    written = b"".join(path.read_bytes() for path in folder.glob("*") if path.is_file())
    assert b"The key *** begins with " in written and SECRET[:4].encode() not in written
    [piece] = [
        e.data["text"] for e in asyncio.run(entries_of(STORES[kind](directory=folder))).entries if e.type == "partial"
    ]
    assert piece == "The key *** begins with "


async def until_kept(session: Session) -> None:
    """Wait until a piece of the answer is in the session."""
    await until(lambda: any(entry.type == "partial" for entry in session.handle.entries()))


class Slow(ScriptedModel):
    """Says a word, and the others when that one is kept."""

    def __init__(self, session: Session, turns: Any = ()) -> None:
        super().__init__(turns)
        self.session = session

    async def stream(self, request: Any) -> Any:
        said = False
        async for event in super().stream(request):
            if said and self.session.handle.flush_interval:
                await until_kept(self.session)
            said = event.type == "text_delta"
            yield event


def test_a_whole_answer_counts_once_and_its_pieces_are_no_part_of_the_conversation(kind, folder):
    async def work() -> tuple[list[Any], Any]:
        store = STORES[kind](directory=folder)
        session = await Session.create(store, lambda: 1000.0, session_id="s1")
        session.handle.flush_interval = 0.01
        agent, _ = an_agent(session)
        agent.set_adapter(Slow(session, [Reply(["one ", "two ", "three"])]))
        async with agent:
            await agent.chat("Count.")
        again = await Session.open(store, "s1", lambda: 2000.0)
        await again.close()
        hits = [hit async for hit in store.search("one")]
        return texts(again.messages), (again.entries, hits)

    said, (entries, hits) = asyncio.run(work())
    assert said == [("user", "Count."), ("assistant", "one two three")]
    pieces = [entry.data["text"] for entry in entries if entry.type == "partial"]
    assert pieces and "one two three".startswith("".join(pieces))
    assert [hit["entry_id"] for hit in hits] == [entry.id for entry in entries if entry.type == "message"][1:]


def test_an_attempt_that_failed_leaves_nothing_to_go_on_with(kind, folder):
    """Spec, section 7: failed attempts never enter the context, also when the process dies before the next one."""
    broken = ProviderError("overloaded", kind=ErrorKind.overloaded, status=529)
    failing = [StreamEvent("text_start", index=0), StreamEvent("text_delta", "wrong", index=0)]

    async def work() -> list[Any]:
        store = STORES[kind](directory=folder)
        session = await Session.create(store, lambda: 1000.0, session_id="s1")
        session.handle.flush_interval = 0.01
        agent, _ = an_agent(session)

        class Twice(Slow):
            async def stream(self, request: Any) -> Any:
                self.requests.append(request)
                if len(self.requests) > 1:
                    await session.close()  # the process is gone
                    raise RuntimeError
                for event in failing:
                    yield event
                await until_kept(session)
                yield StreamEvent("error", error=broken)

        agent.set_adapter(Twice(session))
        with pytest.raises(AgentError):
            await agent.chat("Say something.")
        await agent.aclose()
        again = await Session.open(store, "s1", lambda: 2000.0)
        await again.close()
        assert [entry.data["text"] for entry in again.entries if entry.type == "partial"] == ["wrong", ""]
        return texts(again.messages)

    assert asyncio.run(work()) == [("user", "Say something.")]


def test_the_interval_is_a_setting_and_0_writes_whole_answers_only(kind, folder):
    assert SessionsConfig().flush_interval == 1.0

    async def work(interval: float) -> set[str]:
        host = Host(discover=False)

        class Configured:
            data_dir = folder

            class config:
                section = staticmethod(lambda name, default: SessionsConfig(flush_interval=interval))

        store = STORES[kind](Configured())
        session = await Session.create(store, lambda: 1000.0)
        agent, _ = an_agent(session)
        agent.set_adapter(Slow(session, [Reply(["one ", "two ", "three"])]))
        async with agent:
            await agent.chat("Count.")
        await store.close()
        await host.aclose()
        return {entry.type for entry in session.entries}

    assert "partial" in asyncio.run(work(0.01))
    assert "partial" not in asyncio.run(work(0))


# --- a session whose file somebody took away ----------------------------------------------------------------------


def remove(file: Path) -> None:
    file.unlink()


def remove_the_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    copy.write_bytes(file.read_bytes())
    copy.rename(file)


def cut_short(file: Path) -> None:
    os.truncate(file, 10)


def write_into(file: Path) -> None:
    with file.open("ab") as other:
        other.write(b'{"type":"custom"}\n')


def remove_the_log(file: Path) -> None:
    Path(f"{file}-wal").unlink()


HARM = [
    *(("jsonl", harm) for harm in (remove, remove_the_folder, replace, cut_short, write_into)),
    *(("sqlite", harm) for harm in (remove, remove_the_folder, replace, cut_short, remove_the_log)),
]


@pytest.mark.parametrize(("kind", "harm"), HARM)
@pytest.mark.parametrize("fsync", ["auto", "never"])
def test_a_session_that_was_taken_away_says_where_it_goes_on_and_loses_nothing(folder, kind, harm, fsync):
    async def harmful(args: Any, ctx: Any) -> str:
        harm(Path(str(session.location)))
        return "done"

    async def work() -> tuple[AgentError, list[Any]]:
        nonlocal session
        store = STORES[kind](directory=folder, fsync=fsync)
        session = await Session.create(store, lambda: 1000.0, session_id="s1")
        tool = Tool("harm", "", harmful, {"type": "object"}, annotations={"replay": "safe"})
        agent, _ = an_agent(session, "One.", Reply("I will.", [Call("harm", {})]), "Four.", tools=(tool,))
        async with agent:
            await agent.chat("first")
            with pytest.raises(AgentError) as caught:
                await agent.chat("second")
            await agent.chat("fourth")
        await store.close()
        return caught.value, texts(session.messages)

    session: Any = None
    error, said = asyncio.run(work())
    assert "while it was open; all of it was written to this file, and goes on here" in error.message
    found = Path(str(error.where))
    assert found.parent == folder and found.stat().st_mode & 0o777 == 0o600
    kept = asyncio.run(entries_of(JsonlStore(directory=folder), found.stem))
    words = [e.data["message"]["content"][0].get("text") for e in kept.path()]
    assert words == ["first", "One.", "second", "I will.", "done", "fourth", "Four."] == [text for _, text in said]
    assert (f"this is session {found.stem!r} now" if kind == "jsonl" else f"sessions import {found}") in error.hint


def test_where_the_folder_cannot_be_made_again_the_session_goes_to_the_folder_for_temporary_files(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    folder = tmp_path / "sessions"

    async def work() -> Any:
        session = await Session.create(JsonlStore(directory=folder), lambda: 1000.0, session_id="s1")
        shutil.rmtree(folder)
        folder.write_text("a file")
        agent, _ = an_agent(session, "One.")
        async with agent:
            with pytest.raises(AgentError) as caught:
                await agent.chat("first")
        return caught.value

    error = asyncio.run(work())
    found = Path(str(error.where))
    assert found.parent == tmp_path / "tmp" / f"skillkit-rescued-{os.geteuid()}"
    assert error.hint == f"take it in with: skillkit sessions import {found}"
    assert "first" in found.read_text()
