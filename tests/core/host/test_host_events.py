"""Events that plugins bring: known while the plugin is there, dispatched like those of the core, refused when they clash."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from skillkit_core import (
    AgentRunner,
    Event,
    EventResult,
    Host,
    InputEvent,
    UnknownName,
    hookimpl,
    hookspec,
)
from skillkit_core.events.types import EVENTS


@dataclass(frozen=True, slots=True)
class Answer(EventResult):
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeLunchEvent(Event):
    type: ClassVar[str] = "before_lunch"
    answer: ClassVar[Any] = Answer
    guard: ClassVar[Any] = "phase"
    dish: str = ""


@hookspec
def before_lunch(event: Any, ctx: Any) -> Any:
    """Say something before lunch."""


@hookspec
def before_tea(event: Any) -> Any:
    """Say something before tea."""


SPACE = SimpleNamespace(BeforeLunchEvent=BeforeLunchEvent, before_lunch=before_lunch, InputEvent=InputEvent)


class Kitchen:
    @hookimpl
    def register_hookspecs(self, add: Any) -> None:
        add(SPACE)


class Guest:
    def __init__(self) -> None:
        self.saw: list[str] = []

    @hookimpl(optionalhook=True)
    def before_lunch(self, event: Any) -> None:
        self.saw.append(event.dish)


def hosted(tmp_path: Any, *plugins: Any) -> Host:
    return Host(discover=False, plugins=plugins, cwd=tmp_path, environ={"HOME": str(tmp_path)})


def test_plugins_handlers_and_observers_take_part_in_the_event_of_a_plugin(tmp_path: Any) -> None:
    async def main() -> None:
        guest = Guest()
        host = hosted(tmp_path, ("kitchen", Kitchen()), ("guest", guest))
        seen: list[str] = []
        async with AgentRunner(host=host) as agent:
            agent.events.observe(lambda e: seen.append(e.type), ["before_lunch"])
            agent.events.on("before_lunch", lambda e: Answer("yes"), phase="first")
            agent.events.on(BeforeLunchEvent, lambda e: Answer(f"{e.dish}!"), phase="last")
            assert agent.events.has("before_lunch")
            answer = await agent.events.emit("before_lunch", {"dish": "soup"})
            assert answer == Answer("yes") and guest.saw == ["soup"] and seen == ["before_lunch"]

            def strict(event: Any) -> Any:
                raise ValueError("no")

            agent.events.on("before_lunch", strict, phase="guard")
            with pytest.raises(Exception, match=r"guard .* failed on before_lunch"):
                await agent.events.emit(agent.events.make(BeforeLunchEvent, dish="pie"))
        await host.aclose()
        assert "before_lunch" not in EVENTS

    asyncio.run(main())


def test_the_event_goes_with_the_last_plugin_that_brings_it(tmp_path: Any) -> None:
    one, two = hosted(tmp_path, ("kitchen", Kitchen())), hosted(tmp_path, ("kitchen", Kitchen()))
    for host in (one, two):
        host.load()
    assert EVENTS["before_lunch"] is BeforeLunchEvent
    one.remove_plugin("kitchen")
    assert "before_lunch" in EVENTS
    two.remove_plugin("kitchen")
    assert "before_lunch" not in EVENTS
    agent = AgentRunner(host=one)
    with pytest.raises(UnknownName, match="before_lunch"):
        agent.events.on("before_lunch", print)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("input", "there is an event 'input' already (skillkit_core.events.types.InputEvent)"),
        ("tool_call", "there is an event 'tool_call' already (skillkit_core.events.types.ToolCallEvent)"),
        ("", "an event needs a type: the name of its hook"),
        ("two words", "an event needs a type: the name of its hook"),
    ],
)
def test_a_name_that_cannot_be_is_the_failure_of_the_plugin(tmp_path: Any, name: str, words: str) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Clash(Event):
        type: ClassVar[str] = name

    class Plugin:
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(SPACE)
            add(SimpleNamespace(Clash=Clash, before_tea=before_tea))

    host = hosted(tmp_path, ("clashing", Plugin()), ("guest", Guest()))
    host.load()
    assert list(host.plugins) == ["guest"]
    problem = next(p for p in host.problems if p.plugin == "clashing")
    assert words in problem.message
    assert "before_lunch" not in EVENTS and EVENTS["input"] is InputEvent  # what it had added is taken back


def test_an_event_of_a_plugin_cannot_be_wrapped_either(tmp_path: Any) -> None:
    class Wrapping:
        @hookimpl(optionalhook=True, wrapper=True)
        def before_lunch(self, event: Any) -> Any:
            return (yield)

    host = hosted(tmp_path, ("kitchen", Kitchen()), ("wrapping", Wrapping()))
    host.load()
    assert "cannot be wrapped" in next(p for p in host.problems if p.plugin == "wrapping").message
