"""Hooks that may be async and those that may not: async ones of the latter are told, ``host_closing`` is awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import Factory, Host, PluginError, hookimpl
from skillkit_core.contracts.tool_executor import ToolExecutor
from skillkit_core.tools import Tool


@pytest.fixture
def make(tmp_path: Any) -> Any:
    def make(*plugins: Any, **settings: Any) -> Host:
        environ = {"HOME": str(tmp_path)}
        return Host(discover=False, plugins=plugins, cwd=tmp_path, environ=environ, settings=settings)

    return make


def plugin(**hooks: Any) -> Any:
    return type("Plugin", (), {name: hookimpl(function) for name, function in hooks.items()})()


async def of_host(self: Any, host: Any) -> None: ...
async def of_config(self: Any, config: Any) -> None: ...
async def of_register(self: Any, register: Any) -> None: ...
async def of_problem(self: Any, problem: Any) -> None: ...
async def of_plugin(self: Any, plugin: Any) -> None: ...


async def of_generator(self: Any, register: Any) -> Any:
    yield


ASYNC = {
    "host_configure": of_config,
    "host_started": of_host,
    "host_shutdown": of_host,
    "plugin_registered": of_plugin,
    "plugin_problem": of_problem,
    "register_tools": of_register,
    "register_config": of_register,
    "register_executors": of_generator,
}


@pytest.mark.parametrize("hook", ASYNC)
def test_an_async_implementation_of_a_plain_hook_is_told_when_the_plugin_is_loaded(make: Any, hook: str) -> None:
    started = []
    host = make(
        ("slow", plugin(**{hook: ASYNC[hook]}, host_closing=of_host)),
        ("other", plugin(host_started=lambda self: started.append(1))),
    )
    assert list(host.plugins) == ["slow", "other"] and started == [1]
    (problem,) = host.problems
    assert (problem.plugin, problem.stage, problem.severity) == ("slow", hook, "error")
    assert f"hook '{hook}' must be a plain function, this one is async: it would never run" in problem.message
    assert "write 'def'" in problem.remedy
    assert host.plugins["slow"].hooks == ("host_closing",), "it is left out"
    host.collect_all()
    host.close()
    assert len(host.problems) == 1


def test_a_plain_function_that_gives_a_coroutine_is_told_when_it_is_called(make: Any) -> None:
    async def work() -> None: ...

    host = make(("slow", plugin(host_started=lambda self: work(), register_tools=lambda self, register: work())))
    host.collect_all()
    assert {(p.plugin, p.stage) for p in host.problems} == {("slow", "host_started"), ("slow", "register_tools")}
    assert all("must be a plain function" in p.message for p in host.problems)


def test_hookspecs_that_are_defined_in_an_async_function_are_never_defined(make: Any) -> None:
    async def define(self: Any, add: Any) -> None: ...

    host = make(("slow", plugin(register_hookspecs=define)))
    assert not host.plugins and "'register_hookspecs' must be a plain function" in host.problems[0].message


def test_an_async_registration_hook_of_a_family_is_told_as_well(make: Any) -> None:
    from skillkit_core import hookspec

    class Hooks:
        @hookspec
        def register_engines(self, register: Any) -> None: ...

    family = plugin(register_hookspecs=lambda self, add: add(Hooks, kinds={"engines": Factory}))

    class Slow:
        @hookimpl(optionalhook=True)
        async def register_engines(self, register: Any) -> None: ...

    host = make(("slow", Slow()), ("family", family))
    host.load()
    assert [(p.plugin, p.stage) for p in host.problems] == [("slow", "register_engines")]


# --- the end ---------------------------------------------------------------------------------------------------------


class Rooms(ToolExecutor):
    """Keeps something open."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def execute(self, tool: Any, args: Any, ctx: Any) -> Any:
        return await tool.execute(args, ctx)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.log.append("executor closed")


def test_host_closing_is_awaited_before_anything_is_closed_the_last_plugin_first(make: Any) -> None:
    log: list[str] = []

    def one(name: str) -> Any:
        async def closing(self: Any, host: Any) -> None:
            await asyncio.sleep(0)
            log.append(f"{name} closing")

        return plugin(
            host_closing=closing,
            host_shutdown=lambda self: log.append(f"{name} shutdown"),
            register_executors=lambda self, register: register(Factory(name, lambda host: Rooms(log))),
        )

    async def main() -> None:
        host = make(("a", one("a")), ("b", one("b")))
        host.executors.get("a")
        await asyncio.gather(host.aclose(), host.aclose())
        await host.aclose()

    asyncio.run(main())
    assert log == ["b closing", "a closing", "executor closed", "b shutdown", "a shutdown"]


def test_a_host_that_is_closed_without_waiting_leaves_host_closing_out(make: Any) -> None:
    log: list[str] = []
    host = make(
        ("a", plugin(host_closing=lambda self: log.append("closing"), host_shutdown=lambda self: log.append("down")))
    )
    host.load()
    host.close()
    assert log == ["down"]


@pytest.mark.spec("I20")
def test_plugins_that_hang_or_fail_while_closing_keep_neither_the_others_nor_the_host(make: Any) -> None:
    log: list[str] = []

    async def hang(self: Any) -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                log.append("would not go")

    async def fail(self: Any) -> None:
        raise OSError("gone")

    def exits(self: Any) -> None:
        raise SystemExit(3)

    async def main() -> None:
        host = make(
            ("fine", plugin(host_closing=lambda self: log.append("fine"))),
            ("hangs", plugin(host_closing=hang)),
            ("fails", plugin(host_closing=fail)),
            ("exits", plugin(host_closing=exits)),
            **{"plugins.hook_timeout": 0.05},
        )
        host.load()
        await host.aclose()
        told = {p.plugin: p.message for p in host.problems}
        assert {p.stage for p in host.problems} == {"host_closing"}
        assert "0.05 s" in told["hangs"] and "OSError: gone" in told["fails"] and "end the program" in told["exits"]

    asyncio.run(main())
    assert log == ["would not go", "fine"]


# --- where tools run, and who is asked -------------------------------------------------------------------------------


def test_the_executor_is_that_of_the_hook_else_the_named_one_else_the_configured_one_else_none(make: Any) -> None:
    rooms, chosen = Rooms([]), Rooms([])
    brings = plugin(register_executors=lambda self, register: register(Factory("rooms", lambda host: rooms)))

    async def resolve(self: Any, name: str | None) -> Any:
        return chosen if name is None else None

    async def main() -> None:
        host = make(("brings", brings))
        assert await host.find_executor() is None, "that one is installed moves no tool"
        assert await host.find_executor("rooms") is rooms
        assert await make(("brings", brings), **{"tools.executor": "rooms"}).find_executor() is rooms
        routed = make(("brings", brings), ("router", plugin(resolve_executor=resolve)), **{"tools.executor": "rooms"})
        assert await routed.find_executor() is chosen and await routed.find_executor("rooms") is rooms
        tool = Tool("t", "does it", lambda args, ctx: "done")
        assert tool.name == "t" and host.executors.list() == ["rooms"]
        with pytest.raises(LookupError, match=r"unknown executor 'romes'; did you mean 'rooms'"):
            await make(("brings", brings), **{"tools.executor": "romes"}).find_executor()

    asyncio.run(main())


def test_an_answer_that_is_no_executor_runs_nothing_and_one_that_is_no_approver_is_passed_over(make: Any) -> None:
    from skillkit_core import AgentConfig, Approver

    class Yes(Approver):
        async def approve(self, request: Any) -> Any: ...

    yes = Yes()
    asked: list[Any] = []

    def right(self: Any, config: Any, host: Any) -> Any:
        asked.append((config, host))
        return yes

    async def main() -> None:
        wrong = plugin(resolve_executor=lambda self: "rooms", resolve_approver=lambda self: True)
        host = make(("wrong", wrong), ("right", plugin(resolve_approver=right)))
        config = AgentConfig()
        with pytest.raises(
            PluginError, match=r"plugin 'wrong', resolve_executor: .*gives ToolExecutor or None, not str"
        ):
            await host.find_executor()
        assert await host.find_approver(config) is yes and asked == [(config, host)]
        assert [p.message for p in host.problems] == [
            "resolve_executor gives ToolExecutor or None, not str",
            "resolve_approver gives Approver or None, not bool",
        ]
        assert await make().find_approver(config) is None

    asyncio.run(main())
