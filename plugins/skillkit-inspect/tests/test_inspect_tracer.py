"""The tracer: which plugin was called, what it answered and how long it took, for hooks of every family."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from skillkit_inspect import Tracer, tracer

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Factory,
    Host,
    ModelDefinition,
    Tool,
    ToolError,
    ToolOutput,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

MODEL = ModelDefinition("m", "scripted", "scripted")


class Clock:
    """What the tracer takes for time; hooks move it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(tracer.time, "perf_counter", lambda: self.now)

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class Plugin:
    """One of its own, also with the hooks of another one."""


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


def rows(tracer: Tracer, hook: str) -> list[Any]:
    return [call for call in tracer.calls if call.hook == hook]


def test_an_around_hook_has_its_own_time_and_that_of_what_it_went_around(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    async def outer(call_next: Any) -> Any:
        clock.pass_(1)
        answer = await call_next()
        clock.pass_(2)
        return answer

    async def inner(call_next: Any) -> Any:
        clock.pass_(4)
        return await call_next()

    async def instead(request: Any, call_next: Any) -> Any:
        for _ in range(2):
            answer = await call_next()
            clock.pass_(0.5)
        return answer

    async def act(args: Any, ctx: Any) -> str:
        clock.pass_(10)
        return "ok"

    async def main() -> Tracer:
        host = host_of(a=plugin(wrap_tool_call=outer, wrap_model_call=instead), b=plugin(wrap_tool_call=inner))
        tracer = Tracer(host)
        agent = agent_on(host, Reply(calls=[Call("act")]), Reply(calls=[Call("act")]), "x", "done", tool=act)
        await agent.chat("go")
        return tracer

    tracer = asyncio.run(main())
    first, second = rows(tracer, "wrap_tool_call")[:2]
    assert (first.plugin, first.seconds, first.inner_seconds, first.next_calls) == ("a", 3, 14, 1)
    assert (second.plugin, second.seconds, second.inner_seconds, second.next_calls) == ("b", 4, 10, 1)
    assert [(row.next_calls, row.seconds) for row in rows(tracer, "wrap_model_call")] == [(2, 1.0), (2, 1.0)]
    assert {row.family for row in (first, second)} == {"around"}


def test_an_around_hook_that_answers_itself_or_fails_is_told() -> None:
    async def cached(call: Any) -> ToolOutput:
        return ToolOutput("from the cache")

    async def breaks(call_next: Any) -> Any:
        await call_next()
        raise RuntimeError("it broke")

    async def main() -> list[Any]:
        host = host_of(breaks=plugin(wrap_tool_call=breaks), cached=plugin(wrap_tool_call=cached))
        tracer = Tracer(host)
        await agent_on(host, Reply(calls=[Call("act")]), "done").chat("go")
        return rows(tracer, "wrap_tool_call")

    broken, cache = asyncio.run(main())
    assert (broken.next_calls, broken.error) == (1, "RuntimeError: it broke")
    assert (cache.next_calls, cache.error) == (0, None)


def test_what_an_around_hook_lets_pass_is_not_its_failure() -> None:
    async def around(call_next: Any) -> Any:
        return await call_next()

    def act(args: Any, ctx: Any) -> str:
        raise ToolError("there is no such file")

    async def main() -> list[Any]:
        host = host_of(a=plugin(wrap_tool_call=around))
        tracer = Tracer(host)
        await agent_on(host, Reply(calls=[Call("act")]), "done", tool=act).chat("go")
        return rows(tracer, "wrap_tool_call")

    (row,) = asyncio.run(main())
    assert (row.error, row.answer) == (None, {"lets pass": "ToolError: there is no such file"})


def test_resolution_tells_who_answered_and_who_was_not_asked() -> None:
    async def nothing(name: str) -> None:
        return None

    def known(name: str) -> Any:
        return MODEL if name == "mine" else None

    async def main() -> list[Any]:
        host = host_of(a=plugin(resolve_model=nothing), b=plugin(resolve_model=known), c=plugin(resolve_model=nothing))
        tracer = Tracer(host)
        assert await host.resolve("resolve_model", name="mine", provider=None) is MODEL
        await host.resolve("resolve_model", name="other", provider=None)
        return [(r.plugin, r.answer, r.bypassed_by) for r in rows(tracer, "resolve_model")]

    assert asyncio.run(main()) == [
        ("a", {}, None), ("b", {"gives": "ModelDefinition m"}, None), ("c", {}, "b"),
        ("a", {}, None), ("b", {}, None), ("c", {}, None),
    ]  # fmt: skip


def test_a_secret_is_found_and_not_shown() -> None:
    hooks = {"resolve_secret": lambda name: "hunter2-hunter2", "refresh_secret": lambda name: "hunter2-again"}
    host = host_of(a=plugin(resolve_secret=lambda name: ""), b=plugin(**hooks))
    tracer = Tracer(host)
    assert host.secret("KEY") == "hunter2-hunter2"
    assert asyncio.run(host.secrets.refresh("KEY", "hunter2-hunter2")) == "hunter2-again"
    assert [r.answer for r in rows(tracer, "refresh_secret")] == [{"gives": "a secret"}]
    tracer.calls[:] = [r for r in tracer.calls if r.hook == "resolve_secret"][:2]
    assert [(r.plugin, r.answer) for r in rows(tracer, "resolve_secret")] == [("a", {}), ("b", {"gives": "a secret"})]
    assert "hunter2" not in repr([call.to_dict() for call in tracer.calls])


def test_registration_tells_what_a_plugin_brought_and_what_failed() -> None:
    def tools(register: Any) -> None:
        register(Tool("one", "", "x:y"))
        register(Tool("two", "", "x:y"))

    def wrong(register: Any) -> None:
        register(Factory("f", "x:y"))

    host = host_of(a=plugin(register_tools=tools), b=plugin(register_tools=wrong))
    tracer = Tracer(host)
    assert host.tools.list() == ["one", "two"]
    good, bad = rows(tracer, "register_tools")
    assert (good.family, good.answer) == ("registration", {"tools": "2 (one, two)"})
    assert bad.error == "PluginError: register_tools takes Tool or ToolSet, not Factory"


def test_host_hooks_are_seen_from_the_first_to_the_last() -> None:
    def fails(host: Any) -> None:
        raise ValueError("no")

    host = host_of(
        a=plugin(host_started=fails, plugin_problem=lambda problem: None, plugin_registered=lambda plugin: None),
        b=plugin(register_hookspecs=lambda add: None, host_configure=lambda: None, host_shutdown=lambda: None),
    )
    tracer = Tracer(host)
    host.load()
    host.note("b", "a remark")
    host.close()
    seen = [(call.hook, call.plugin) for call in tracer.calls]
    assert seen == [
        ("register_hookspecs", "b"), ("plugin_registered", "a"), ("host_configure", "b"), ("host_started", "a"),
        ("plugin_problem", "a"), ("host_shutdown", "b"),
    ]  # fmt: skip
    assert rows(tracer, "host_started")[0].error == "ValueError: no"


def test_every_bus_of_the_host_is_traced_also_those_to_come_and_all_of_them_are_left_as_they_were() -> None:
    async def main() -> None:
        host = host_of(a=plugin(input=lambda event: None))
        before = agent_on(host, "one")
        tracer = Tracer(host)
        with pytest.raises(UsageError, match="watched already"):
            Tracer(host)
        after = agent_on(host, "two")
        for agent in (before, after):
            await agent.chat("go")
        assert [(r.plugin, r.family) for r in rows(tracer, "input")] == [("a", "lifecycle")] * 2
        tracer.stop()
        assert before.events.probe is after.events.probe is host.probe is None
        assert not before.events.has("handler_error")
        third = agent_on(host, "three")
        await third.chat("go")
        assert third.events.probe is None and len(rows(tracer, "input")) == 2
        Tracer(host).stop()

    asyncio.run(main())


def test_runs_inside_runs_are_traced_too() -> None:
    async def main() -> list[Any]:
        host = host_of(a=plugin(input=lambda event: None))
        tracer = Tracer(host)

        async def ask(args: Any, ctx: Any) -> str:
            inner = agent_on(host, "from the inside")
            try:
                return (await inner.chat("and you?")).content
            finally:
                await inner.aclose()

        assert (await agent_on(host, Reply(calls=[Call("act")]), "done", tool=ask).chat("go")).content == "done"
        return rows(tracer, "input")

    assert len(asyncio.run(main())) == 2
