"""Events that plugins bring, the hook that observes every event, and the handlers that plugins add: each goes with its plugin."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from skillkit_core import (
    AgentConfig,
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
from skillkit_core.testing import ScriptedModel


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


@pytest.fixture
def hosted(tmp_path: Any) -> Iterator[Callable[..., Host]]:
    """Makes hosts, and closes them."""
    made: list[Host] = []

    def make(*plugins: Any) -> Host:
        made.append(Host(discover=False, plugins=plugins, cwd=tmp_path, environ={"HOME": str(tmp_path)}))
        return made[-1]

    yield make
    for host in made:
        host.close()


def test_plugins_handlers_and_observers_take_part_in_the_event_of_a_plugin(hosted: Any) -> None:
    async def main() -> None:
        guest = Guest()
        host = hosted(("kitchen", Kitchen()), ("guest", guest))
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

    asyncio.run(main())


def test_the_events_of_two_hosts_are_apart(hosted: Any) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class OtherLunch(Event):
        type: ClassVar[str] = "before_lunch"

    class Canteen:
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(SimpleNamespace(OtherLunch=OtherLunch, before_lunch=before_lunch))

    async def main() -> None:
        one, two, none = hosted(("kitchen", Kitchen())), hosted(("canteen", Canteen())), hosted()
        assert list(one.plugins) == ["kitchen"] and list(two.plugins) == ["canteen"]
        assert one.load().events["before_lunch"] is BeforeLunchEvent and two.load().events["before_lunch"] is OtherLunch
        assert none.load().events == EVENTS and "before_lunch" not in EVENTS
        seen: list[type] = []
        for host in (one, two):
            agent = AgentRunner(host=host)
            agent.events.on("before_lunch", lambda e: seen.append(type(e)))
            await agent.events.emit("before_lunch")
        assert seen == [BeforeLunchEvent, OtherLunch]
        for listen in (lambda bus: bus.on("before_lunch", print), lambda bus: bus.observe(print, ["before_lunch"])):
            with pytest.raises(UnknownName, match="before_lunch"):
                listen(AgentRunner(host=none).events)

    asyncio.run(main())


def test_an_event_goes_with_its_plugin(hosted: Any) -> None:
    host = hosted(("kitchen", Kitchen()))
    agent = AgentRunner(host=host)
    agent.events.on("before_lunch", print)
    host.remove_plugin("kitchen")
    with pytest.raises(UnknownName, match="before_lunch"):
        agent.events.on("before_lunch", print)
    host.add_plugin(Kitchen(), name="kitchen")
    assert host.load().events["before_lunch"] is BeforeLunchEvent


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("input", "there is an event 'input' already (skillkit_core.events.types.InputEvent)"),
        ("tool_call", "there is an event 'tool_call' already (skillkit_core.events.types.ToolCallEvent)"),
        ("", "an event needs a type: the name of its hook"),
        ("two words", "an event needs a type: the name of its hook"),
    ],
)
def test_a_name_that_cannot_be_is_the_failure_of_the_plugin(hosted: Any, name: str, words: str) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Clash(Event):
        type: ClassVar[str] = name

    class Plugin:
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(SPACE)
            add(SimpleNamespace(Clash=Clash, before_tea=before_tea))

    host = hosted(("clashing", Plugin()), ("guest", Guest()))
    host.load()
    assert list(host.plugins) == ["guest"]
    problem = next(p for p in host.problems if p.plugin == "clashing")
    assert words in problem.message
    assert "before_lunch" not in EVENTS and EVENTS["input"] is InputEvent  # what it had added is taken back


def test_an_event_of_a_plugin_cannot_be_wrapped_either(hosted: Any) -> None:
    class Wrapping:
        @hookimpl(optionalhook=True, wrapper=True)
        def before_lunch(self, event: Any) -> Any:
            return (yield)

    host = hosted(("kitchen", Kitchen()), ("wrapping", Wrapping()))
    host.load()
    assert "cannot be wrapped" in next(p for p in host.problems if p.plugin == "wrapping").message


class Witness:
    """Sees every event."""

    def __init__(self) -> None:
        self.saw: list[str] = []

    @hookimpl
    def event(self, event: Any) -> None:
        self.saw.append(event.type)


def test_the_hook_event_sees_every_event_last_and_costs_nothing_where_nobody_has_it(hosted: Any) -> None:
    async def main() -> None:
        witness, answered = Witness(), []
        host = hosted(("kitchen", Kitchen()), ("witness", witness))
        async with AgentRunner(AgentConfig(), host=host) as agent:
            agent.set_adapter(ScriptedModel(["hello"]))
            observed: list[str] = []
            agent.events.observe(lambda e: observed.append(e.type))

            @agent.events.on("turn_start", phase="guard")
            def last(event: Any) -> None:
                answered.append("turn_start" in witness.saw)

            assert not agent.events.has_say("agent_start") and agent.events.has("agent_start")
            await agent.chat("hi")
            await agent.events.emit("before_lunch")
        assert answered == [False], "it comes after everybody else"
        assert witness.saw[0] == "session_start" and witness.saw[1:] == observed
        assert {"before_lunch", "agent_end", "message_update", "session_shutdown"} <= set(observed)
        assert not AgentRunner(host=hosted(("kitchen", Kitchen()))).events.table
        host.remove_plugin("witness")
        assert not AgentRunner(host=host).events.table

    asyncio.run(main())


def test_a_failing_witness_changes_nothing_and_is_reported(hosted: Any) -> None:
    class Broken:
        @hookimpl
        async def event(self, event: Any, ctx: Any) -> Any:
            if event.type == "agent_end":
                raise ValueError("full")
            return "an answer that does not matter"

    async def main() -> None:
        async with AgentRunner(host=hosted(("broken", Broken()))) as agent:
            agent.set_adapter(ScriptedModel(["hello"]))
            problems: list[Any] = []
            agent.events.on("handler_error", problems.append)
            assert (await agent.chat("hi")).content == "hello"
        assert [(p.plugin, p.event, p.error) for p in problems] == [("broken", "agent_end", "ValueError: full")]

    asyncio.run(main())


@pytest.mark.parametrize("options", [{"phase": "guard"}, {"tools": ("a",)}])
def test_the_hook_event_takes_neither_phase_nor_tools(hosted: Any, options: Any) -> None:
    class Eager:
        @hookimpl(**options)
        def event(self, event: Any) -> None: ...

    host = hosted(("eager", Eager()))
    host.load()
    assert "observes every event" in host.problems[0].message and "eager" not in host.plugins


class Adder:
    """Adds handlers in every way that a plugin has."""

    def __init__(self, host: Any = None) -> None:
        self.saw: list[str] = []

    @hookimpl
    def session_start(self, ctx: Any) -> None:
        events = ctx.agent.events
        events.observe(self.saw.append)  # no code of the plugin's
        events.on("turn_start", lambda event: self.saw.append("lambda"))

        @events.on("agent_start")
        async def started(event: Any) -> None:
            await asyncio.sleep(0)
            events.on("agent_end", self.saw.append)
            await asyncio.create_task(self.later(events))

    async def later(self, events: Any) -> None:
        await asyncio.sleep(0)
        events.on("agent_settled", self.saw.append)
        events.on("message_end", self.saw.append)()  # taken back already

    @hookimpl
    async def wrap_model_call(self, call_next: Any, ctx: Any) -> Any:
        ctx.agent.add_context_transformer(self.transform)
        return await call_next()

    async def transform(self, messages: Any) -> Any:
        self.saw.append("transformed")
        return messages


@pytest.mark.spec("I19")
def test_every_handler_that_a_plugin_added_leaves_with_it_and_no_other(hosted: Any) -> None:
    async def main() -> None:
        adder, twin = Adder(), Adder()
        host = hosted(("adder", adder), ("twin", twin))
        mine: list[str] = []
        async with AgentRunner(host=host) as agent:
            agent.set_adapter(ScriptedModel(["one", "two", "three"]))
            agent.events.observe(lambda e: mine.append(e.type))
            agent.events.on("agent_end", lambda e: mine.append("mine"))
            await agent.chat("hi")
            before, mine[:] = len(mine), []
            assert len(adder.saw) == len(twin.saw) > 10
            host.remove_plugin("adder")
            adder.saw.clear()
            twins = len(twin.saw)
            await agent.chat("again")
            assert adder.saw == []
            assert len(twin.saw) > twins and "mine" in mine and len(mine) <= before
            host.remove_plugin("twin")
            table = {r.plugin for records in agent.events.table.values() for r in records}
            assert table == {None}

    asyncio.run(main())


def test_a_handler_of_an_installed_plugin_is_known_by_its_modules(site: Any, make_host: Any) -> None:
    package = site.path / "acme_watching"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(
        "from skillkit_core import hookimpl\n\n@hookimpl\ndef session_start(ctx):\n"
        "    from . import watcher\n    watcher.watch(ctx.agent.events)\n"
    )
    (package / "watcher.py").write_text("def watch(events):\n    events.observe(print, ['agent_end'])\n")
    site.metadata("acme-watching", "1.0", "[skillkit.plugins]\nwatching = acme_watching.plugin\n")

    async def main() -> None:
        host = make_host()
        async with AgentRunner(host=host) as agent:
            from acme_watching import watcher

            watcher.watch(agent.events)  # the application calls it, and it is the plugin's all the same
            agent.events.on("agent_end", print)
            assert [r.plugin for r in agent.events.table["agent_end"]] == [None, "watching", "watching"]
            host.remove_plugin("watching")
            assert [r.plugin for r in agent.events.table["agent_end"]] == [None]

    asyncio.run(main())


def test_a_module_of_events_that_a_plugin_names_is_imported_and_one_that_fails_is_reported(
    hosted: Any, tmp_path: Any, monkeypatch: Any
) -> None:
    text = (
        "from dataclasses import dataclass\nfrom typing import ClassVar\nfrom skillkit_core import Event\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\nclass BeforeTeaEvent(Event):\n"
        "    type: ClassVar[str] = 'before_tea'\n    cups: int = 1\n"
    )
    (tmp_path / "tea_events.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    class Tea:
        def __init__(self, module: str) -> None:
            self.module = module

        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(SimpleNamespace(before_tea=before_tea), events=self.module)

    cups: list[int] = []

    class Drinks:
        @hookimpl(optionalhook=True)
        def before_tea(self, event: Any) -> None:
            cups.append(event.cups)

    host = hosted(("tea", Tea("tea_events")), ("drinks", Drinks()))

    async def main() -> None:
        async with AgentRunner(host=host) as agent:
            event = sys.modules["tea_events"].BeforeTeaEvent
            await agent.events.emit(agent.events.make(event, cups=3))

    asyncio.run(main())
    assert cups == [3]
    broken = hosted(("tea", Tea("no_such_events")))
    AgentRunner(host=broken)
    assert "no_such_events" in str(broken.problems)
