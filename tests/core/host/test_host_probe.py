"""The seam for tracers, ``Host.watch``: a probe stands in front of the hooks of every family and changes nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    AsyncHandlerError,
    EventBus,
    Host,
    ModelDefinition,
    Tool,
    ToolError,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

MODEL = ModelDefinition("m", "scripted", "scripted")


class Probe:
    """Keeps what it sees: the hook, or the event, and the plugin."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None]] = []
        self.answers: list[Any] = []
        self.buses: list[Any] = []

    def hook(self, hook: str, impl: Any, call: Any) -> Any:
        self.seen.append((hook, impl.plugin_name))
        answer = call()
        self.answers.append(answer)
        return answer

    def around(self, hook: str, impl: Any, call: Any, call_next: Any) -> Any:
        self.seen.append((hook, impl.plugin_name))

        async def counted() -> Any:
            self.seen.append(("call_next", impl.plugin_name))
            return await call_next()

        return call(counted)

    def bus(self, bus: Any) -> None:
        self.buses.append(bus)
        bus.probe = self.handler

    def handler(self, record: Any, event: Any, call: Any) -> Any:
        self.seen.append((event.type, record.plugin))
        return call()


class Plugin:
    """A plugin of its own, also with the hooks of another one."""


def plugin(**hooks: Any) -> Any:
    made = Plugin()
    for name, function in hooks.items():
        setattr(made, name, hookimpl(function))
    return made


def host_of(**plugins: Any) -> Host:
    return Host(discover=False, plugins=list(plugins.items()), environ={})


def agent_on(host: Host, *turns: Any, tool: Any = lambda args, ctx: "ok") -> AgentRunner:
    agent = AgentRunner(AgentConfig(model=MODEL, tools=(Tool("act", "", tool),)), host=host)
    agent.set_adapter(ScriptedModel(turns))
    return agent


def test_a_probe_sees_host_and_registration_hooks_from_the_first_to_the_last() -> None:
    tool = Tool("one", "", "x:y")

    host = host_of(
        a=plugin(host_started=lambda: None, plugin_problem=lambda problem: None, plugin_registered=lambda plugin: None),
        b=plugin(
            register_hookspecs=lambda add: None,
            host_configure=lambda: None,
            register_tools=lambda register: register(tool),
            host_shutdown=lambda: None,
        ),
    )
    probe = Probe()
    host.watch(probe)
    assert host.tools.list() == ["one"]
    host.note("b", "a remark")
    host.close()
    assert probe.seen == [
        ("register_hookspecs", "b"), ("plugin_registered", "a"), ("host_configure", "b"), ("host_started", "a"),
        ("register_tools", "b"), ("plugin_problem", "a"), ("host_shutdown", "b"),
    ]  # fmt: skip
    assert [tool] in probe.answers, "the answer of a registration hook is what the plugin registered"


def test_a_probe_sees_resolution_until_a_plugin_answers() -> None:
    async def main() -> None:
        async def nothing(name: str) -> None:
            return None

        host = host_of(
            a=plugin(resolve_model=nothing, resolve_secret=lambda name: "s"),
            b=plugin(resolve_model=lambda name: MODEL),
            c=plugin(resolve_model=nothing),
        )
        probe = Probe()
        host.watch(probe)
        assert await host.resolve("resolve_model", name="mine", provider=None) is MODEL
        assert host.secret("KEY") == "s"
        assert probe.seen == [("resolve_model", "a"), ("resolve_model", "b"), ("resolve_secret", "a")]

    asyncio.run(main())


def test_a_probe_sees_around_hooks_and_lets_pass_what_they_raise() -> None:
    async def passes(call_next: Any) -> Any:
        return await call_next()

    def act(args: Any, ctx: Any) -> str:
        raise ToolError("there is no such file")

    async def main() -> None:
        host = host_of(a=plugin(wrap_model_call=passes), b=plugin(wrap_tool_call=passes))
        probe = Probe()
        host.watch(probe)
        agent = agent_on(host, Reply(calls=[Call("act")]), "done", tool=act)
        assert (await agent.chat("go")).content == "done"
        model = [("wrap_model_call", "a"), ("call_next", "a")]
        assert probe.seen == [*model, ("wrap_tool_call", "b"), ("call_next", "b"), *model]
        assert "there is no such file" in agent.messages[2].text

    asyncio.run(main())


def test_a_probe_gets_every_bus_also_those_to_come_and_none_once_it_is_stopped() -> None:
    async def main() -> None:
        host = host_of(a=plugin(input=lambda event: None))
        before, probe = agent_on(host, "one"), Probe()
        stop = host.watch(probe)
        after = agent_on(host, "two")
        for agent in (before, after):
            await agent.chat("go")
        assert probe.seen == [("input", "a")] * 2 and probe.buses == [before.events, after.events]
        stop()
        await agent_on(host, "three").chat("go")
        assert len(probe.buses) == 2 and host.probe is None

    asyncio.run(main())


def test_a_probe_sees_the_runs_that_tools_start() -> None:
    async def main() -> None:
        host = host_of(a=plugin(input=lambda event: None))
        probe = Probe()
        host.watch(probe)

        async def ask(args: Any, ctx: Any) -> str:
            async with agent_on(host, "from the inside") as inner:
                return (await inner.chat("and you?")).content

        assert (await agent_on(host, Reply(calls=[Call("act")]), "done", tool=ask).chat("go")).content == "done"
        assert probe.seen == [("input", "a")] * 2

    asyncio.run(main())


def test_a_host_takes_one_probe_at_a_time() -> None:
    host = host_of()
    stop = host.watch(Probe())
    with pytest.raises(UsageError, match="watched already"):
        host.watch(Probe())
    stop()
    host.watch(Probe())


def test_a_probe_sees_every_handler_and_emit_sync_still_refuses_what_must_be_awaited() -> None:
    bus, seen = EventBus(), []
    bus.probe = lambda record, event, call: seen.append(record.label) or call()

    async def main() -> None:
        bus.on("turn_end", lambda e: None)
        bus.observe(lambda e: None, ["turn_end"])
        bus.emit_sync("turn_end", {})
        assert len(seen) == 2
        bus.probe = lambda record, event, call: asyncio.sleep(0)
        with pytest.raises(AsyncHandlerError):
            bus.emit_sync("turn_end", {})

    asyncio.run(main())
