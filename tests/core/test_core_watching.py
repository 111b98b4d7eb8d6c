"""Seams for whoever keeps a record of an agent: what it is told, and what stands in front of its adapters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from skillkit_core import LLMAdapter, LLMRequest, NoActiveRun, RunAborted, StreamEvent, UsageError
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel


class Marked(LLMAdapter):
    """An adapter that marks what another one says."""

    api = "scripted"

    def __init__(self, inside: LLMAdapter, mark: str) -> None:
        self.inside, self.mark = inside, mark
        self.provider = inside.provider

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        async for event in self.inside.stream(request):
            yield StreamEvent("text_delta", self.mark + event.content, index=0) if event.type == "text_delta" else event


def test_listeners_are_told_everything_before_it_is_done(kit: Any, go: Any) -> None:
    async def work() -> list[tuple[str, Any]]:
        agent = kit.agent("one", "two", "three")
        told: list[tuple[str, Any]] = []
        stop = agent.directives.watch(lambda d: told.append((d.name, dict(d.arguments))))
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
        stop()
        agent.next_run("unheard")
        return told

    told = go(work)
    assert [name for name, _ in told] == ["steer", "chat", "follow_up", "cancel", "chat", "set_model", "resume"]
    assert told[1][1] == {"message": "hello", "images": (), "delivery": "prompt"}
    assert told[3][1] == {"item_id": "q1"}
    assert told[5][1] == {"model": "other", "provider": None}


@pytest.mark.parametrize("way", ["asked", "left", "thread"])
def test_whatever_aborts_a_run_is_told_as_an_abort(kit: Any, go: Any, way: str) -> None:
    async def work() -> list[Any]:
        started = asyncio.Event()
        agent = kit.agent(Hang("some text", started=started))
        told: list[Any] = []
        agent.directives.watch(lambda d: told.append((d.name, d.arguments.get("reason"))))
        if way == "left":
            async for event in agent.chat_stream_events("go"):
                if event.type == "text_delta":
                    break
            await agent.wait_idle()
            return told
        task = asyncio.create_task(agent.chat("go"))
        await started.wait()
        if way == "thread":
            thread = threading.Thread(target=agent.abort, args=("enough",))
            thread.start()
            await asyncio.to_thread(thread.join)
        else:
            agent.abort("enough")
        agent.abort("once more")
        with pytest.raises(RunAborted):
            await task
        return told

    reason = "the caller stopped listening" if way == "left" else "enough"
    assert go(work) == [("chat", None), ("abort", reason)]


def test_a_listener_that_fails_changes_nothing(kit: Any, go: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> str:
        agent = kit.agent("fine")
        agent.directives.watch(lambda d: 1 / 0)
        return str(await agent.chat("go"))

    assert go(work) == "fine"
    assert "a listener failed on 'chat': ZeroDivisionError" in caplog.text


def test_a_wrapper_stands_in_front_of_every_adapter(kit: Any, go: Any) -> None:
    async def work() -> list[str]:
        agent = kit.agent("a", "b", Reply("c", calls=[Call("swap")]), tools=[kit.tool("swap", lambda a, c: swap())])
        said: list[str] = []

        def swap() -> str:
            agent.set_adapter(ScriptedModel(["d", "e"]))
            return "swapped"

        said.append((await agent.chat("before")).content)
        inner = agent.target.adapter
        off = agent.selection.wrap(lambda adapter: Marked(adapter, "<"))
        said.append((await agent.chat("with")).content)
        outer = agent.selection.wrap(lambda adapter: Marked(adapter, ">"))
        said.append((await agent.chat("swapping")).content)
        assert [m.text for m in agent.messages if m.role == "assistant"][-2] == "><c"
        off()
        outer()
        said.append((await agent.chat("after")).content)
        assert inner is not agent.target.adapter and type(agent.target.adapter) is ScriptedModel
        return said

    assert go(work) == ["a", "<b", "><d", "e"]


def test_a_wrapper_that_is_there_before_the_first_run_counts(kit: Any, go: Any) -> None:
    async def work() -> str:
        agent = kit.agent("a")
        agent.selection.wrap(lambda adapter: Marked(adapter, "<"))
        return str(await agent.chat("go"))

    assert go(work) == "<a"
