"""Plugins that come and go while a host lives: nothing stays behind, nothing is asked twice, order is kept."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import create_model

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Factory,
    Host,
    ModelDefinition,
    PluginError,
    Provider,
    Tool,
    UnknownName,
    hookimpl,
    hookspec,
)
from skillkit_core.descriptors import KINDS, Command, ConfigSection, ContextProvider, TokenEstimator
from skillkit_core.testing import Call, Reply, ScriptedModel


class Spaces:
    """Hooks that a plugin defines."""

    @hookspec
    def colour_of(self, thing: str) -> str: ...


class Thing:
    """What a factory of a plugin makes."""

    def __init__(self, host: Any) -> None:
        self.host = host

    async def close(self) -> None: ...


class Full:
    """A plugin that brings something of most kinds."""

    def __init__(self, name: str = "full") -> None:
        self.name = name
        self.log: list[str] = []

    @hookimpl
    def register_hookspecs(self, add: Any) -> None:
        if self.name == "full":
            add(Spaces)

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        register(Provider("shared", {"x": f"{__name__}:Thing"}))

    @hookimpl
    def register_models(self, register: Any) -> None:
        register(ModelDefinition(f"{self.name}-1", self.name))

    @hookimpl
    def register_runtimes(self, register: Any) -> None:
        register(Factory(f"{self.name}-runtime", Thing))

    @hookimpl
    def register_tools(self, register: Any) -> None:
        async def execute(args: Any, ctx: Any) -> str:
            self.log.append("tool")
            return self.name

        register(Tool("shared_tool", "does it", execute))

    @hookimpl
    def register_commands(self, register: Any) -> None:
        register(Command(self.name, "os:path", "Do it."))

    @hookimpl
    def register_config(self, register: Any) -> None:
        register(ConfigSection(self.name, create_model("Section")))

    @hookimpl
    def register_context_providers(self, register: Any) -> None:
        register(ContextProvider(self.name, lambda agent: self.name))

    @hookimpl
    def register_token_estimators(self, register: Any) -> None:
        register(TokenEstimator(self.name, len))

    @hookimpl
    def host_configure(self, host: Any, config: Any) -> None:
        self.log.append(f"configured {config is not None}")

    @hookimpl
    def host_started(self, host: Any) -> None:
        self.log.append("started")

    @hookimpl
    def host_shutdown(self, host: Any) -> None:
        self.log.append("shutdown")

    @hookimpl
    def turn_start(self, event: Any) -> None:
        self.log.append("turn")


@pytest.fixture
def host(tmp_path: Any) -> Host:
    return Host(discover=False, cwd=tmp_path, environ={"HOME": str(tmp_path)})


def names_from(host: Host, kind: str, plugin: str) -> list[str]:
    registry = host.registry(kind)
    return [registry.name_of(entry) for entry in registry.entries() if entry.source == plugin]


def brought(host: Host, name: str) -> dict[str, list[str]]:
    return {kind: names for kind in KINDS if (names := names_from(host, kind, name))}


FULL = {
    "adapters": ["shared"], "models": ["full/full-1"], "runtimes": ["full-runtime"], "tools": ["shared_tool"],
    "commands": ["full"], "config": ["full"], "context_providers": ["full"], "token_estimators": ["full"],
}  # fmt: skip


@pytest.mark.parametrize("late", [False, True], ids=["before anything is asked", "after everything was asked"])
def test_a_plugin_brings_the_same_whenever_it_comes(host: Host, late: bool) -> None:
    if late:
        host.collect_all()
    plugin = Full()
    assert host.add_plugin(plugin) == "full"
    assert brought(host, "full") == FULL
    assert plugin.log == ["configured True", "started"]
    assert list(host.plugins) == ["full"]
    assert host.problems == []


def come_and_go(host: Host, agent: AgentRunner) -> dict[str, weakref.ref[Any]]:
    """Add a plugin, use it, remove it; gives what must be gone then."""

    class Hooks:
        @hookspec
        def shape_of(self, thing: str) -> str: ...

    class Passing(Full):
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(Hooks)

        @hookimpl
        def turn_end(self, event: Any) -> None: ...

    plugin = Passing("passing")
    host.add_plugin(plugin)
    made = host.runtimes.get("passing-runtime")
    assert host.adapters.has("shared@passing")
    assert agent.events.has("turn_end")
    host.remove_plugin("passing")
    assert plugin.log[-1] == "shutdown"
    gone = {"plugin": plugin, "made": made, "class": Passing, "handler": Passing.turn_end, "hooks": Hooks}
    return {name: weakref.ref(thing) for name, thing in gone.items()}


@pytest.mark.spec("I19", "9.52")
def test_unloading_leaves_nothing_behind(host: Host) -> None:
    host.add_plugin(Full("other"))
    host.collect_all()
    hooks_before = set(vars(host.load().pm.hook))
    agent = AgentRunner(AgentConfig(model=ModelDefinition("m", "scripted")), host=host)
    assert agent.events.has("turn_start")

    watched = come_and_go(host, agent)
    gc.collect()
    assert [name for name, w in watched.items() if w() is not None] == []
    assert brought(host, "passing") == {}
    assert "passing" not in host.plugins
    assert not agent.events.has("turn_end")
    assert set(vars(host.load().pm.hook)) == hooks_before
    assert brought(host, "other") != {}, "and nothing of the others"
    assert agent.events.has("turn_start")
    with pytest.raises(UnknownName, match="unknown plugin 'passing'; known: other"):
        host.remove_plugin("passing")


def test_a_name_can_be_used_again_after_it_was_unloaded(host: Host) -> None:
    for _ in range(3):
        host.add_plugin(Full())
        assert brought(host, "full") == FULL
        host.remove_plugin("full")
    assert host.problems == []


@pytest.mark.parametrize("late", [False, True])
def test_a_name_that_is_taken_is_refused_and_the_first_one_stays(host: Host, late: bool) -> None:
    host.add_plugin(Full())
    if late:
        host.collect_all()
    with pytest.raises(PluginError, match="there is a plugin named 'full' already"):
        host.add_plugin(Full())
    assert brought(host, "full") == FULL


def test_one_object_under_two_names_is_refused_and_keeps_its_hooks(host: Host) -> None:
    plugin = Full()
    host.add_plugin(plugin)
    host.load()
    with pytest.raises(PluginError, match="it is registered already, as 'full'"):
        host.add_plugin(plugin, name="again")
    assert brought(host, "full") == FULL
    assert list(host.plugins) == ["full"]


@pytest.mark.spec("I19")
def test_a_refused_plugin_leaves_nothing(host: Host) -> None:
    class Wrong(Full):
        @hookimpl
        def no_such_hook(self) -> None: ...

    class Later(Full):
        skillkit_api = 7

    class Again(Full):
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            class Mine:
                @hookspec
                def taste_of(self, thing: str) -> str: ...

                @hookspec
                def host_started(self, host: Any) -> None: ...

            add(Mine)

    host.collect_all()
    hooks = set(vars(host.load().pm.hook))
    for cls, message in ((Wrong, "unknown hook 'no_such_hook'"), (Later, "plugin API 7"), (Again, "host_started")):
        with pytest.raises(PluginError, match=message):
            host.add_plugin(cls("full"))
        assert dict(host.plugins) == {}
        assert set(vars(host.load().pm.hook)) == hooks
        assert brought(host, "full") == {}
    host.add_plugin(Full())
    assert brought(host, "full") == FULL


def test_lifecycle_hooks_cannot_be_wrapped_and_phases_are_the_known_ones(host: Host) -> None:
    class Wrapper:
        @hookimpl(wrapper=True)
        def turn_start(self) -> Any:
            return (yield)

    class Phase:
        @hookimpl(phase="late")  # type: ignore[call-overload]
        def turn_start(self, event: Any) -> None: ...

    class Timeout:
        @hookimpl(timeout="5")  # type: ignore[call-overload]
        def turn_start(self, event: Any) -> None: ...

    host.load()
    with pytest.raises(
        PluginError, match=r"'turn_start' cannot be wrapped; implement wrap_model_call or wrap_tool_call"
    ):
        host.add_plugin(Wrapper())
    with pytest.raises(PluginError, match="unknown phase 'late'"):
        host.add_plugin(Phase())
    with pytest.raises(PluginError, match="hook 'turn_start': timeout is '5'; it must be a number of seconds"):
        host.add_plugin(Timeout())
    assert host.impls("turn_start") == []


def test_hooks_of_plugins_need_optional_marks_and_go_with_their_plugin(host: Host) -> None:
    class Painter:
        name = "painter"

        @hookimpl(optionalhook=True)
        def colour_of(self, thing: str) -> str:
            return "red"

    host.add_plugin(Painter())
    host.load()
    host.add_plugin(Full())
    assert [i.plugin_name for i in host.impls("colour_of")] == ["painter"]
    assert host.load().pm.hook.colour_of.spec is not None
    host.remove_plugin("full")
    assert host.load().pm.hook.colour_of.spec is None
    assert [i.plugin_name for i in host.impls("colour_of")] == ["painter"]
    host.add_plugin(Full())
    assert host.load().pm.hook.colour_of.spec is not None


def test_a_hook_that_is_defined_already_cannot_be_defined_again_and_stays_with_the_first(host: Host) -> None:
    host.add_plugin(Full())
    host.load()

    class Thief:
        name = "thief"

        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(Spaces)

    with pytest.raises(PluginError, match="colour_of"):
        host.add_plugin(Thief())
    assert host.load().pm.hook.colour_of.spec is not None


def test_plugins_run_in_the_order_in_which_they_were_added(host: Host) -> None:
    for name in ("b", "a", "c"):
        host.add_plugin(Full(name))
    assert list(host.plugins) == ["b", "a", "c"]
    assert [i.plugin_name for i in host.impls("register_tools")] == ["b", "a", "c"]
    host.remove_plugin("b")
    host.add_plugin(Full("b"))
    assert [i.plugin_name for i in host.impls("register_tools")] == ["a", "c", "b"]
    assert [e.source for e in host.tools.entries()] == ["a", "c", "b"]


@pytest.mark.spec("9.47")
def test_the_first_of_two_tools_wins_with_a_diagnostic_and_the_other_has_an_address(host: Host) -> None:
    host.add_plugin(Full("one"))
    host.add_plugin(Full("two"))
    assert host.tools.entry("shared_tool").source == "one"
    assert host.tools.entry("shared_tool@two").source == "two"
    assert host.tools.list() == ["shared_tool", "shared_tool@two"]
    (problem,) = host.problems
    assert (problem.plugin, problem.stage, problem.severity) == ("two", "register_tools", "warning")
    assert problem.remedy == "call it 'shared_tool@two'"
    host.add_plugin(Full("three"))
    assert [p.plugin for p in host.problems] == ["two", "three"]
    host.remove_plugin("one")
    assert host.tools.entry("shared_tool").source == "two"


def test_any_other_name_that_two_plugins_offer_is_an_error_that_names_both_and_the_way_out(
    site: Any, make_host: Any
) -> None:
    source = "@hookimpl\ndef register_adapters(register): register(Provider('shared', {'x': 'os:path'}))"
    site.plugin("one", source, version="1.1")
    site.plugin("two", source, version="2.2")
    host = make_host()
    with pytest.raises(LookupError) as caught:
        host.adapters.get("shared")
    text = str(caught.value)
    assert "provider 'shared' is offered by one (acme-one 1.1) and two (acme-two 2.2)" in text
    assert "write 'shared@one' or 'shared@two'" in text
    assert "skillkit -P no:" in text
    assert host.adapters.entry("shared@two").source == "two"
    assert host.adapters.list() == ["shared@one", "shared@two"]
    host.remove_plugin("one")
    assert host.adapters.entry("shared").source == "two"


def test_a_command_that_two_plugins_offer_must_be_addressed(site: Any) -> None:
    for name in ("one", "two"):
        source = f"""
        import click
        go = click.Command("go", callback=lambda: click.echo("{name} goes"))
        @hookimpl
        def register_commands(register):
            register(Command("go", f"{{__name__}}:go", "Go with {name}."))
            register(Command("config", f"{{__name__}}:go", "Not the core's."))
        """
        site.plugin(name, source)
    done = site.run("go")
    assert done.code == 2
    assert (
        "command 'go' is offered by one (acme-one 1.0) and two (acme-two 1.0); write 'go@one' or 'go@two'" in done.err
    )
    assert site.run("go@two").out == "two goes\n"
    assert site.run("config@one").out == "one goes\n"
    helped = site.run("--help").out
    assert "go@one      Go with one." in helped
    assert "Show, create and trust configuration." in helped
    assert site.run("config", "path").code == 0, "a plugin cannot take the place of a command of the core"
    report = site.run("plugins", "doctor", "--json").json
    assert {(p["plugin"], p["message"]) for p in report["problems"]} == {
        ("one", "command 'config' is the core's"), ("two", "command 'config' is the core's"),
    }  # fmt: skip


def test_plugins_are_told_of_each_other_and_of_problems(host: Host) -> None:
    seen: list[str] = []

    class Watch:
        name = "watch"

        @hookimpl
        def plugin_registered(self, plugin: str) -> None:
            seen.append(f"+{plugin}")

        @hookimpl
        def plugin_problem(self, problem: Any, host: Any) -> None:
            seen.append(f"!{problem.plugin} {problem.stage}")
            raise RuntimeError("and so does the one who watches")

    class Bad:
        name = "bad"

        @hookimpl
        def register_tools(self, register: Any) -> None:
            raise RuntimeError("no")

    host.add_plugin(Watch())
    host.load()
    host.add_plugin(Bad())
    _ = host.tools
    assert seen == ["+bad", "!bad register_tools"]
    assert [(p.plugin, p.stage) for p in host.problems] == [("bad", "register_tools"), ("watch", "plugin_problem")]


@pytest.mark.parametrize(
    ("plugin", "name"),
    [(Full("own-name"), "own-name"), (type("Anonymous", (), {})(), "Anonymous"), (asyncio.events, "events")],
)
def test_the_name_of_an_embedded_plugin(host: Host, plugin: Any, name: str) -> None:
    assert host.add_plugin(plugin) == name
    assert host.add_plugin(Full(), name="given.name") == "given.name"


@pytest.mark.spec("I20")
def test_closing_calls_everybody_in_reverse_even_when_one_raises_or_leaves(host: Host) -> None:
    order: list[str] = []

    def plugin(name: str, error: BaseException | None) -> Any:
        class Plugin:
            @hookimpl
            def host_shutdown(self) -> None:
                order.append(name)
                if error is not None:
                    raise error

        return (name, Plugin())

    for name, error in (("a", None), ("b", SystemExit(3)), ("c", ValueError("no"))):
        host.add_plugin(plugin(name, error)[1], name=name)
    host.load()
    asyncio.run(host.aclose())
    host.close()
    assert order == ["c", "b", "a"]
    assert [(p.plugin, p.stage) for p in host.problems] == [("c", "host_shutdown"), ("b", "host_shutdown")]


@pytest.mark.spec("I20")
def test_closing_goes_on_when_something_a_plugin_made_cannot_be_closed(host: Host) -> None:
    closed: list[str] = []

    class Stubborn:
        def __init__(self, host: Any, name: str) -> None:
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)
            if self.name == "first":
                raise OSError("stuck")

    for name in ("first", "second"):
        host.session_stores.register(name, Factory(name, lambda host, name=name: Stubborn(host, name)))
        host.session_stores.get(name)
    asyncio.run(host.aclose())
    assert closed == ["first", "second"]
    assert [p.message for p in host.problems] == ["Stubborn could not be closed: OSError: stuck"]


@pytest.mark.spec("9.52")
def test_unloading_during_a_run_waits_for_its_end(host: Host) -> None:
    plugin = Full()
    host.add_plugin(plugin)

    async def main() -> None:
        model = ScriptedModel(
            [Reply(calls=[Call("shared_tool")]), Reply("done", before=lambda: host.remove_plugin("full"))]
        )
        host.adapters.register("scripted", model)
        agent = AgentRunner(AgentConfig(model=ModelDefinition("m", "scripted")), host=host)
        async with agent:
            answer = await agent.chat("go")
            assert answer.content == "done"
            await agent.wait_idle()
            assert "full" not in host.plugins
            assert not agent.events.has("turn_start")
            assert host.tools.list() == []
            model.turns.append(Reply("still here"))
            assert (await agent.chat("again")).content == "still here"

    asyncio.run(main())
    assert plugin.log == ["configured True", "started", "turn", "tool", "turn", "shutdown"]


@pytest.mark.spec("9.52", "I19")
def test_a_plugin_that_is_replaced_during_a_run_is_never_called_again_and_can_be_forgotten(host: Host) -> None:
    calls: list[str] = []

    def plugin(name: str) -> Any:
        class Plugin:
            @hookimpl
            def turn_start(self, event: Any) -> None:
                calls.append(name)

        return Plugin()

    async def main() -> list[weakref.ref[Any]]:
        old = plugin("old")
        watched = [weakref.ref(old), weakref.ref(type(old)), weakref.ref(type(old).turn_start)]
        host.add_plugin(old, name="changing")
        del old

        def replace() -> None:
            host.remove_plugin("changing")
            agent.scheduler.when_idle(lambda: host.add_plugin(plugin("new"), name="changing"))

        model = ScriptedModel([Reply(calls=[Call("none")], before=replace), "done", "again"])
        host.adapters.register("scripted", model)
        agent = AgentRunner(AgentConfig(model=ModelDefinition("m", "scripted")), host=host)
        await agent.chat("go")
        assert calls == ["old", "old"], "what began with a plugin ends with it"
        await agent.chat("go on")
        await agent.aclose()
        return watched

    watched = asyncio.run(main())
    assert calls == ["old", "old", "new"]
    gc.collect()
    assert [w() for w in watched] == [None, None, None]


def test_resolution_takes_the_first_answer_after_awaiting_and_survives_failures(host: Host) -> None:
    def answering(answer: Any, error: Exception | None = None, late: bool = False) -> Any:
        class Plugin:
            @hookimpl
            def resolve_model(self, name: Any) -> Any:
                async def wait() -> Any:
                    await asyncio.sleep(0)
                    if error is not None:
                        raise error
                    return answer

                if late:
                    return wait()
                if error is not None:
                    raise error
                return answer

        return Plugin()

    late_none, broken, late_broken = answering(None, late=True), answering(1, OSError()), answering(1, OSError(), True)
    for i, plugin in enumerate(
        [answering(None), late_none, broken, late_broken, answering(42, late=True), answering(7)]
    ):
        host.add_plugin(plugin, name=f"p{i}")
    assert asyncio.run(host.resolve("resolve_model", name="any", provider=None)) == 42
    assert [p.plugin for p in host.problems] == ["p2", "p3"]


def test_a_thread_that_asks_while_items_are_registered_waits_for_all_of_them(host: Host, kit: Any) -> None:
    asked, go = threading.Event(), threading.Event()

    class Slow:
        @hookimpl
        def register_tools(self, register: Any) -> None:
            asked.set()
            assert go.wait(20)
            register(kit.tool("late", "x"))

    host.add_plugin(Slow())
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: "late" in host.tools)
        assert asked.wait(20)
        second = pool.submit(lambda: "late" in host.tools)
        threading.Timer(0.05, go.set).start()
        assert second.result(20) and first.result(20)


def test_where_a_plugin_cannot_say_which_runtime_holds_a_command_none_runs(host: Host) -> None:
    class Holds:
        @hookimpl
        async def resolve_runtime(self, name: Any) -> Any:
            raise OSError("no container engine")

    class Runs:
        @hookimpl
        def resolve_runtime(self, name: Any) -> Any:
            return "a runtime that holds nothing"

    host.add_plugin(Holds(), name="holds")
    host.add_plugin(Runs(), name="runs")
    with pytest.raises(PluginError, match="plugin 'holds', resolve_runtime: OSError: no container engine"):
        asyncio.run(host.find_runtime())


def test_cancelling_a_resolution_is_no_failure_of_the_plugin(host: Host) -> None:
    class Slow:
        @hookimpl
        async def resolve_runtime(self, name: Any) -> Any:
            await asyncio.Event().wait()

    host.add_plugin(Slow())

    async def main() -> None:
        task = asyncio.create_task(host.resolve("resolve_runtime", name=None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert host.problems == []


def test_secrets_come_from_the_environment_then_hooks_then_sources_and_are_redacted(tmp_path: Any) -> None:
    class Vault:
        def __init__(self, host: Any) -> None: ...

        def get(self, name: str) -> str | None:
            return {"FROM_SOURCE": "source-secret", "BOTH": "never-seen"}.get(name)

    class Broken:
        def __init__(self, host: Any) -> None: ...

        def get(self, name: str) -> str | None:
            raise OSError("the keyring is locked")

    class Plugin:
        name = "keys"

        @hookimpl
        def register_credentials(self, register: Any) -> None:
            register(Factory("broken", Broken))
            register(Factory("vault", Vault))

        @hookimpl
        def resolve_secret(self, name: str) -> str | None:
            return {"FROM_HOOK": "hook-secret", "BOTH": "hook-wins"}.get(name)

    host = Host(
        discover=False, plugins=[Plugin()], cwd=tmp_path, environ={"FROM_ENV": "env-secret-long", "SHORT": "abc"}
    )
    assert host.secret("FROM_ENV") == "env-secret-long"
    assert host.secret("FROM_HOOK") == "hook-secret"
    assert host.secret("BOTH") == "hook-wins"
    assert host.problems == []
    assert host.secret("FROM_SOURCE") == "source-secret"
    assert host.secret("NOWHERE") is None
    assert {(p.plugin, p.stage) for p in host.problems} == {("keys", "resolve_secret")}
    assert host.secret("SHORT") == "abc"
    host.remember_secret("env-secret")
    assert host.redact("x env-secret-long hook-secret abc source-secret") == "x *** *** abc ***"


def test_a_factory_that_fails_names_kind_name_plugin_and_remedy(site: Any, make_host: Any) -> None:
    site.plugin(
        "far",
        """
        def broken(host): raise RuntimeError("no display")
        @hookimpl
        def register_runtimes(register):
            register(Factory("far", "far_away:Runtime"))
            register(Factory("near", broken))
            register(Factory("typo", "os:getcwdd"))
            register(Factory("bad", "no colon"))
        """,
    )
    host = make_host()
    with pytest.raises(PluginError) as far:
        host.runtimes.get("far")
    assert str(far.value) == (
        "plugin 'far': runtime 'far' needs a package that is not there: No module named 'far_away'; "
        "pip install --force-reinstall acme-far"
    )
    with pytest.raises(PluginError, match="plugin 'far': runtime 'near' could not be made: RuntimeError: no display"):
        host.runtimes.get("near")
    with pytest.raises(PluginError, match="plugin 'far': runtime 'typo': module 'os' has no attribute 'getcwdd'; did"):
        host.runtimes.get("typo")
    with pytest.raises(PluginError, match="plugin 'far': runtime 'bad': 'no colon' is not an import string"):
        host.runtimes.get("bad")
    with pytest.raises(UnknownName, match="unknown runtime 'nea'; did you mean 'near'"):
        host.runtimes.get("nea")
