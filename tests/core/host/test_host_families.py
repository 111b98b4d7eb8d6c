"""Kinds of items that a plugin defines: collected, checked, isolated and taken back like the core's own."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from skillkit_core import AmbiguousName, Factory, Host, UnknownName, hookimpl, hookspec


@dataclass(frozen=True)
class Engine:
    name: str
    power: int = 1


class Hooks:
    @hookspec
    def register_engines(self, register: Any, host: Any, config: Any) -> None:
        """Offer engines."""


class Family:
    """The plugin that defines the kind."""

    def __init__(self, kinds: Any = None, space: Any = Hooks) -> None:
        self.kinds = {"engines": Engine} if kinds is None else kinds
        self.space = space

    @hookimpl
    def register_hookspecs(self, add: Any) -> None:
        add(self.space, kinds=self.kinds)

    @hookimpl
    def register_engines(self, register: Any) -> None:
        register(Engine("built-in"))


class Maker:
    """A plugin of the family."""

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.given: list[Any] = []

    @hookimpl(optionalhook=True)
    def register_engines(self, register: Any, host: Any, config: Any) -> None:
        self.given.append((host, config))
        for item in self.items:
            if isinstance(item, Exception):
                raise item
            register(item)


@pytest.fixture
def make(tmp_path: Any) -> Any:
    def make(*plugins: Any) -> Host:
        return Host(discover=False, plugins=plugins, cwd=tmp_path, environ={"HOME": str(tmp_path)})

    return make


def listed(host: Host) -> list[tuple[str, str | None]]:
    return [(e.name, e.source) for e in host.registry("engines").entries()]


def test_items_carry_their_plugin_wherever_the_family_stands(make: Any) -> None:
    maker = Maker(Engine("steam"), Engine("sail"))
    host = make(("maker", maker), ("family", Family()))
    assert listed(host) == [("steam", "maker"), ("sail", "maker"), ("built-in", "family")]
    assert host.registry("engines").get("steam") == Engine("steam")
    assert maker.given == [(host, None)]
    assert host.kinds[-1] == "engines" and [
        e.name for e in host.registry("engines").entries() if e.source == "maker"
    ] == ["steam", "sail"]
    with pytest.raises(UnknownName, match=r"unknown engine 'steem'; did you mean 'steam'"):
        host.registry("engines").get("steem")


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (ValueError("no fuel"), "ValueError: no fuel"),
        ("a string", "register_engines takes Engine, not str"),
        (Engine(""), "a Engine without a name cannot be found again"),
    ],
)
def test_an_error_takes_back_what_the_plugin_registered_and_leaves_the_others(
    make: Any, broken: Any, words: str
) -> None:
    host = make(("family", Family()), ("bad", Maker(Engine("half"), broken)), ("good", Maker(Engine("whole"))))
    assert listed(host) == [("built-in", "family"), ("whole", "good")]
    (problem,) = host.problems
    assert (problem.plugin, problem.stage) == ("bad", "register_engines") and words in problem.message


def test_plugins_come_and_go_and_so_does_the_family(make: Any) -> None:
    host = make(("family", Family()), ("early", Maker(Engine("one"))))
    assert len(host.registry("engines")) == 2
    host.add_plugin(Maker(Engine("two")), name="late")
    assert listed(host)[-1] == ("two", "late")
    host.remove_plugin("early")
    assert listed(host) == [("built-in", "family"), ("two", "late")]
    host.remove_plugin("family")
    assert "engines" not in host.kinds
    with pytest.raises(UnknownName, match="unknown kind of registry 'engines'"):
        host.registry("engines")
    host.add_plugin(Family(), name="family")
    assert listed(host) == [("two", "late"), ("built-in", "family")]


def test_two_plugins_that_offer_one_name_are_told_apart_and_a_distribution_decides(site: Any, make_host: Any) -> None:
    hooks = """
        class Engine:
            def __init__(self, name): self.name = name
        class Hooks:
            @staticmethod
            def register_engines(register, host, config): ...
        from skillkit_core import hookspec
        hookspec(Hooks.register_engines)
        @hookimpl
        def register_hookspecs(add): add(Hooks, kinds={"engines": Engine})
    """
    maker = """
        @hookimpl(optionalhook=True)
        def register_engines(register):
            from acme_family_family import Engine
            register(Engine("shared"))
    """
    site.plugin("family", hooks)
    site.plugin("one", maker)
    site.plugin("two", maker)
    with pytest.raises(AmbiguousName, match="shared@one"):
        make_host().registry("engines").get("shared")
    site.distribution("house", "plugins: [family, one, two]\noverrides: {engines: {shared: two}}\n")
    host = make_host()
    assert host.registry("engines").entry("shared").source == "two" and not host.problems
    shown = site.run("plugins", "info", "two", "--json").json
    assert shown["items"] == {"engines": ["shared@two"]}
    assert "engines" in site.run("plugins", "info", "two").out


def test_a_choice_of_a_kind_that_nobody_defines_is_told(site: Any, make_host: Any) -> None:
    site.plugin("one", "")
    site.distribution("house", "plugins: [one]\noverrides: {engines: {shared: one}}\n")
    host = make_host()
    host.load()
    assert "overrides.engines" in host.problems[0].message and host.problems[0].severity == "warning"


def test_the_class_of_the_items_may_be_an_import_string(make: Any) -> None:
    class Late:
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(Hooks, kinds={"engines": "skillkit_core:Factory"})

    host = make(("family", Late()), ("acme", Maker(Factory("steam", lambda: "hot"), Engine("wrong"))))
    host.load()
    assert "engines" in host.kinds, "nothing was asked for, so nothing was imported"
    assert host.registry("engines").list() == [], "a plugin with a wrong item brings none"
    assert "register_engines takes Factory, not Engine" in str(host.problems)


def test_items_that_are_factories_are_made_when_they_are_needed(make: Any) -> None:
    host = make(("family", Family({"engines": Factory})), ("maker", Maker(Factory("diesel", lambda host: [host]))))
    registry = host.registry("engines")
    assert registry.get("diesel") == [host] and registry.get("diesel") is registry.get("diesel")


@pytest.mark.parametrize(
    ("kinds", "space", "words"),
    [
        ({"tools": Engine}, Hooks, "kind 'tools': there is such a kind already"),
        ({"boats": Engine}, Hooks, "kind 'boats': it needs a hookspec 'register_boats'"),
        ({"engines": "Engine"}, Hooks, "kind 'engines': its items need a type, not 'Engine'"),
        ({"engines": ()}, Hooks, "kind 'engines': its items need a type, not ()"),
    ],
)
def test_a_kind_that_cannot_be_is_the_failure_of_its_plugin(make: Any, kinds: Any, space: Any, words: str) -> None:
    class Wrong:
        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(space, kinds=kinds)

    host = make(("wrong", Wrong()), ("other", SimpleNamespace()))
    assert list(host.plugins) == ["other"]
    assert words in host.problems[0].message
    assert not hasattr(host.load().pm.hook, "register_engines"), "what it defined is taken back"


def test_one_kind_has_one_family(make: Any) -> None:
    host = make(("first", Family()), ("second", Family()))
    assert list(host.plugins) == ["first"]
    assert host.problems[0].plugin == "second"


def test_a_required_plugin_that_fails_in_a_family_keeps_runs_from_starting(make: Any) -> None:
    from skillkit_core.errors import ConfigError
    from skillkit_core.host.plugins import check_required

    host = make(("family", Family()), ("bad", Maker(ValueError("no fuel"))))
    host.configure({"plugins.required": ["bad"]})
    with pytest.raises(ConfigError, match="no fuel"):
        check_required(host)


def test_a_typo_in_the_kind_of_a_registry_is_told(make: Any) -> None:
    with pytest.raises(UnknownName, match=r"unknown kind of registry 'tool'; did you mean 'tools'"):
        make().registry("tool")


def test_a_second_spec_for_a_hook_is_told_and_the_first_one_counts(make: Any) -> None:
    class Again:
        @hookspec
        def register_engines(self, register: Any, fuel: Any) -> None: ...

    class Core:
        @hookspec
        def turn_start(self, event: Any, fuel: Any) -> None: ...

    class Second:
        def __init__(self, space: Any) -> None:
            self.space = space

        @hookimpl
        def register_hookspecs(self, add: Any) -> None:
            add(self.space)

    host = make(
        ("family", Family()), ("again", Second(Again)), ("core", Second(Core)), ("acme", Maker(Engine("steam")))
    )
    assert list(host.plugins) == ["family", "acme"]
    assert [p.plugin for p in host.problems] == ["again", "core"]
    assert "there is such a hook already" in host.problems[0].message and "turn_start" in str(host.problems[1])
    assert host.registry("engines").list() == ["built-in", "steam"]
