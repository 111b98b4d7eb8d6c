"""What waits to be said: follow-ups, messages for the next run; consumed once, given back, or still there (I14)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from skillkit_core import (
    AgentError,
    BeforeAgentEndResult,
    Handled,
    ImageBlock,
    Session,
    TextBlock,
    Transform,
    UsageError,
)
from skillkit_core.agent.input import Queues
from skillkit_core.testing import Call, Hang, Reply


@pytest.mark.spec("9.15")
def test_follow_ups_wait_for_stop_hooks(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("a", "b", "c")
        agent.events.on("turn_start", lambda e, ctx: ctx.follow_up("follow") if e.turn_index == 0 else None)
        agent.events.on(
            "before_agent_end",
            lambda e: BeforeAgentEndResult("hook") if e.n_continues == 0 and len(e.messages) == 2 else None,
        )
        await agent.chat("go")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", "hook", "follow"]

    go(main)


@pytest.mark.parametrize("text", ["/etc/hosts looks wrong", "/etc/hosts", "/ is full", "/2 of them", "//", " /compact"])
def test_text_that_only_begins_like_a_command_can_be_queued(kit: Any, go: Any, text: str) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer(text)
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", act)])
        await agent.chat("go")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", text]

    go(main)


@pytest.mark.spec("9.17")
def test_commands_and_empty_messages_cannot_be_queued_and_input_is_asked_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        problems: list[str] = []

        async def act(args: Any, ctx: Any) -> str:
            for text in ("/compact", "/skill:add 1\n2", ""):
                try:
                    await ctx.agent.steer(text)
                except UsageError as error:
                    problems.append(str(error))
            await ctx.agent.steer("shout")
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", tools=[kit.tool("a", act)])
        inputs: list[Any] = []

        def shout(event: Any) -> Any:
            inputs.append((event.text, event.delivery))
            return Transform(text=event.text + "!") if event.text else None

        agent.events.on("input", shout)
        await agent.chat("go")
        assert len(problems) == 3 and problems[0] == "a command cannot be queued into a run; wait for its end"
        assert inputs == [("go", "prompt"), ("", "steer"), ("shout", "steer")]
        assert [m.text for m in agent.messages if m.role == "user"] == ["go!", "shout!"]

    go(main)


def test_chat_with_delivery_queues_into_the_run_and_waits_for_its_end(kit: Any, go: Any) -> None:
    async def main() -> None:
        gate = asyncio.Event()
        agent = kit.agent(Reply("one", before=gate.wait), "two")
        first = asyncio.create_task(agent.chat("go"))
        while not agent.scripted.requests:
            await asyncio.sleep(0)
        second = asyncio.create_task(agent.chat("and then", delivery="follow_up"))
        await asyncio.sleep(0)
        gate.set()
        assert (await first).content == (await second).content == "two"

    go(main)


@pytest.mark.spec("9.14", "I14")
def test_queued_items_are_cancelled_by_id(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        first, second = agent.next_run("same text"), agent.next_run("same text")
        assert agent.cancel(second) == "cancelled" and agent.cancel(second) == "already_cleared"
        assert agent.queues.waiting("next_run") == (first,)
        await agent.chat("go")
        assert kit.texts(agent) == ["user:same text", "user:go", "assistant:end"]
        assert agent.cancel(first) == "already_consumed"
        updates = [e.next_run for e in agent.seen.of("queue_update")]
        assert updates == [(first,), (first, second), (first,), ()]

    go(main)


@pytest.mark.spec("I14")
def test_what_waits_for_the_next_run_survives_one_that_cannot_start(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("end")
        waiting = agent.next_run("do not lose me")
        agent.config = replace(agent.config, model="unknown-model")
        with pytest.raises(AgentError, match="unknown-model"):
            await agent.chat("go")
        assert agent.queues.waiting("next_run") == (waiting,)

    go(main)


@pytest.mark.spec("I14")
def test_an_item_that_cannot_be_kept_goes_back_to_its_queue(kit: Any, go: Any) -> None:
    async def main() -> None:
        store = kit.RecordingStore()
        session = await Session.create(store, lambda: 1.0)
        agent = kit.agent(
            Reply(calls=[Call("a")]),
            "end",
            tools=[kit.tool("a", lambda a, c: c.agent.steer("precious"))],
            session=session,
        )

        def refuse(entry: Any) -> None:
            if "precious" in str(entry.data):
                raise OSError("disk full")

        store.before = refuse
        with pytest.raises(AgentError, match="disk full"):
            await agent.chat("go")
        assert len(agent.queues.waiting("steer")) == 1
        store.before = None
        await agent.chat("once more")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", "once more", "precious"]

    go(main)


@pytest.mark.spec("9.14", "13.6")
def test_queues_know_items_by_id_and_keep_them_in_order() -> None:
    queues = Queues()
    ids = [queues.put("steer", "same") for _ in range(3)]
    assert queues.cancel(ids[1]) == "cancelled"
    (first,) = queues.take("steer")
    queues.put_back(first)
    assert queues.waiting("steer") == (ids[0], ids[2])
    assert [i.id for i in queues.take("steer", "all")] == [ids[0], ids[2]]
    assert not queues and queues.take("steer") == [] and queues.cancel("q99") == "already_cleared"


def test_a_secret_that_somebody_types_is_cut_out_before_it_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("fine")
        agent.host.remember_secret("sk-very-secret-1")
        await agent.chat("my key is sk-very-secret-1, keep it")
        assert agent.messages[0].text == "my key is ***, keep it"
        assert "very-secret" not in str(agent.scripted.requests[0].messages)

    go(main)


@pytest.mark.spec("I14")
@pytest.mark.parametrize("way", ["chat", "stream"])
def test_what_was_queued_into_a_run_whose_caller_left_waits_for_the_next(kit: Any, go: Any, way: str) -> None:
    """``abort()`` gives back what was queued; here is nobody who would get it."""

    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang("some text", started), "fine", "turned", "done")

        async def listens() -> None:
            async for _ in agent.chat_stream_events("go"):
                pass

        task = asyncio.create_task(agent.chat("go") if way == "chat" else listens())
        await started.wait()
        steer, later = await agent.steer("turn left"), await agent.follow_up("and then?")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert agent.queues.waiting("steer") == (steer,) and agent.queues.waiting("follow_up") == (later,)
        await agent.chat("again")
        assert [m.text for m in agent.messages if m.role == "user"] == ["go", "again", "turn left", "and then?"]
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.14", "13.6")
def test_messages_of_images_alone_are_told_apart_by_their_id(kit: Any, go: Any) -> None:
    async def main() -> None:
        image = ImageBlock("aGk=")
        agent = kit.agent("end")
        first, second = (agent.next_run("", images=[image]) for _ in range(2))
        assert agent.cancel(first) == "cancelled" and agent.queues.waiting("next_run") == (second,)
        await agent.chat("go")
        assert [m.content for m in agent.messages if m.role == "user"] == [(image,), (TextBlock("go"),)]
        assert agent.cancel(second) == "already_consumed" and agent.queues.waiting("next_run") == ()

    go(main)


def test_a_follow_up_without_a_run_is_shown_to_the_handlers_of_input_once(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        seen: list[tuple[str, str]] = []

        def listen(event: Any) -> Any:
            seen.append((event.delivery, event.text))
            return Handled() if event.text == "drop" else Transform(text=event.text.upper())

        agent.events.on("input", listen)
        assert await agent.follow_up("drop") == ""
        assert await agent.follow_up("besides") == "q1"
        await agent.chat("go")

        assert seen == [("follow_up", "drop"), ("follow_up", "besides"), ("prompt", "go")]
        assert kit.texts(agent) == ["user:BESIDES", "user:GO", "assistant:hello"]

    go(main())
