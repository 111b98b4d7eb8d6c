"""What the recorder puts before an agent: a listener that hears what the agent is told, and its adapters watched."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from recorder_scripted import scripted
from skillkit_recorder import Recorder, replay
from skillkit_recorder.directives import watch_directives

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Host,
    ModelDefinition,
    NoActiveRun,
    Provider,
    RunAborted,
    Tool,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel


def test_listeners_are_told_everything_before_it_is_done() -> None:
    async def work() -> list[tuple[str, Any]]:
        async with scripted("one", "two", "three") as agent:
            told: list[tuple[str, Any]] = []
            stop = watch_directives(agent, lambda d: told.append((d.name, dict(d.arguments))))
            with pytest.raises(NoActiveRun):
                await agent.steer("too early")
            await agent.chat("hello")
            item = await agent.follow_up("and then")
            agent.cancel(item)
            async for _ in agent.chat_stream("again"):
                pass
            agent.set_model("other")
            agent.abort("nothing runs")
            with pytest.raises(UsageError):
                await agent.resume({})
            with pytest.raises(TypeError, match="message"):
                await agent.chat()
            stop()
            agent.next_run("unheard")
            return told

    told = asyncio.run(work())
    assert [name for name, _ in told] == ["steer", "chat", "follow_up", "cancel", "chat", "set_model", "resume"]
    assert told[1][1] == {"message": "hello", "images": (), "delivery": "prompt", "origin": None}
    assert told[3][1] == {"item_id": "q1"}
    assert told[4][1] == {"message": "again", "images": (), "origin": None}
    assert told[5][1] == {"model": "other", "provider": None}


@pytest.mark.parametrize("way", ["asked", "left", "thread", "above", "closed"])
def test_whatever_aborts_a_run_is_told_as_an_abort(way: str) -> None:
    async def work() -> list[Any]:
        started = asyncio.Event()
        agent = scripted(Hang("some text", started=started))
        told: list[Any] = []
        watch_directives(agent, lambda d: told.append((d.name, d.arguments.get("reason"))))

        async def ask(args: Any, ctx: Any) -> str:
            return (await agent.chat("go")).content

        above = scripted(Reply(calls=[Call("ask")]), tools=(Tool("ask", "Ask.", ask),))
        if way == "left":
            async for event in agent.chat_stream_events("go"):
                if event.type == "text_delta":
                    break
            await agent.wait_idle()
            return told
        asked = above if way == "above" else agent
        task = asyncio.create_task(asked.chat("go"))
        await started.wait()
        if way == "thread":
            thread = threading.Thread(target=agent.abort, args=("enough",))
            thread.start()
            await asyncio.to_thread(thread.join)
        elif way == "closed":
            await agent.aclose()
        else:
            asked.abort("enough")
        agent.abort("once more")
        with pytest.raises(RunAborted):
            await task
        return told

    reason = {"left": "the caller stopped listening", "closed": "the agent was closed"}.get(way, "enough")
    assert asyncio.run(work()) == [("chat", None), ("abort", reason)]


def test_a_listener_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> str:
        async with scripted("fine") as agent:
            watch_directives(agent, lambda d: 1 / 0)
            return str(await agent.chat("go"))

    assert asyncio.run(work()) == "fine"
    assert "a listener failed on 'chat': ZeroDivisionError" in caplog.text


def test_listeners_stand_before_one_another_and_leave_nothing() -> None:
    async def work() -> None:
        async with scripted("one", "two", "three") as agent:
            told: list[str] = []
            before = dict(vars(agent)), dict(vars(agent.scheduler))
            inner = watch_directives(agent, lambda d: told.append(f"inner {d.name}"))
            outer = watch_directives(agent, lambda d: told.append(f"outer {d.name}"))
            await agent.chat("go")
            outer()
            await agent.chat("go")
            inner()
            await agent.chat("go")
            assert told == ["outer chat", "inner chat", "inner chat"]
            assert vars(agent).keys() == before[0].keys() and vars(agent.scheduler).keys() == before[1].keys()

    asyncio.run(work())


def test_whoever_answers_is_recorded_also_where_adapter_or_model_change_in_a_run(tmp_path: Path) -> None:
    path, other = tmp_path / "session.jsonl", ScriptedModel([Reply(calls=[Call("change", {"to": "model"})])])

    class Says:
        @hookimpl
        def register_adapters(self, register: Any) -> None:
            register(Provider("says", {"scripted": lambda host, **options: ScriptedModel(["three", "four"])}))

    async def change(args: Any, ctx: Any) -> str:
        if args["to"] == "adapter":
            agent.set_adapter(other)
        else:
            agent.set_model(ModelDefinition("m", "says", "scripted"))
        return "changed"

    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    host = Host(discover=False, environ={}, plugins=[("says", Says())])
    agent = AgentRunner(AgentConfig(tools=(Tool("change", "Change.", change, schema),)), host=host)

    async def work() -> None:
        async with agent:
            agent.set_adapter(ScriptedModel([Reply("one", calls=[Call("change", {"to": "adapter"})])]))
            with Recorder(agent, path) as recorder:
                assert (await agent.chat("go")).content == "three"
            assert agent.target is not None and type(agent.target.adapter) is ScriptedModel
            assert (await agent.chat("unheard")).content == "four"
            asked = [(r.provider, r.model["id"]) for r in recorder.recording.requests]
            assert asked == [("scripted", "default"), ("scripted", "default"), ("says", "m")]

    asyncio.run(work())
    done = asyncio.run(replay(path))
    assert done.matches, done.report()
