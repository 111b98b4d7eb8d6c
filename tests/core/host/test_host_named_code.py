"""What plugins name in words and what they use that is deprecated: import strings that lead nowhere, and marks of old names."""

from __future__ import annotations

import types
from typing import Any

import pytest

from skillkit_core import Host, deprecated, hookimpl, hookspec
from skillkit_core.hookspecs.markers import DEPRECATED

ITEMS = """
from skillkit_core import Tool, TokenEstimator, ContextProvider

@hookimpl
def register_{kind}(register):
    register({item})
"""
NOWHERE = {
    "tools": ('Tool("shout", "Shouts.", "{target}")', True),
    "runtimes": ('Factory("polite", "{target}")', True),
    "session_stores": ('Factory("redis", "{target}")', True),
    "context_providers": ('ContextProvider("today", "{target}")', True),
    "token_estimators": ('TokenEstimator("acme", "{target}")', True),
    "commands": ('Command("hello", "{target}", "Say hello.")', False),
    "adapters": ('Provider("acme", {{"acme-lines": "{target}"}})', False),
    "executors": ('Factory("container", "{target}")', False),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", NOWHERE)
def test_an_import_string_that_leads_nowhere_is_found_by_the_doctors(site: Any, kind: str) -> None:
    """``plugins doctor`` looks at all of them, ``doctor`` at those that any run may use."""
    item, used = NOWHERE[kind]
    site.plugin("acme", ITEMS.format(kind=kind, item=item.format(target="acme_plugin:missing")), module="acme_plugin")
    done = site.run("plugins", "doctor", "--json")
    assert done.code == 1
    (problem,) = done.json["problems"]
    assert (problem["plugin"], problem["stage"]) == ("acme", f"register_{kind}")
    assert "names 'acme_plugin:missing'" in problem["message"]
    assert "has no attribute 'missing'" in problem["message"]
    doctor = {check["check"]: check["ok"] for check in site.run("doctor", "--json").json["checks"]}
    assert doctor["plugins"] is not used


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("acme_plugin", "'acme_plugin' is not an import string"),
        ("acme_nowhere:shout", "No module named 'acme_nowhere'"),
        ("acme_broken:shout", "ZeroDivisionError"),
        ("acme_ends:shout", "it tried to end the program"),
    ],
)
def test_what_is_wrong_with_an_import_string_is_said(site: Any, target: str, said: str) -> None:
    (site.path / "acme_broken.py").write_text("1 / 0\n")
    (site.path / "acme_ends.py").write_text("raise SystemExit(3)\n")
    site.plugin("acme", ITEMS.format(kind="tools", item=f'Tool("shout", "Shouts.", "{target}")'), module="acme_plugin")
    (problem,) = site.run("plugins", "doctor", "--json").json["problems"]
    assert problem["message"].startswith(f"'shout' names {target!r}: ")
    assert said in problem["message"]


def test_import_strings_that_lead_somewhere_are_no_problem(site: Any) -> None:
    items = ITEMS.format(kind="tools", item='Tool("a", "b", "acme_plugin:shout")')
    site.plugin("acme", f"{items}\nasync def shout(args, ctx): ...\n", module="acme_plugin")
    done = site.run("plugins", "doctor", "--json")
    assert (done.code, done.json["problems"]) == (0, [])


# --- deprecated -----------------------------------------------------------------------------------------------------


def test_a_mark_says_what_since_and_what_instead() -> None:
    @deprecated("0.3", "register_runtimes")
    @deprecated("0.2", "host.environ", argument="env")
    def register_shells(register: Any, env: Any) -> None: ...

    @deprecated("0.4", "Shell")
    class OldShell: ...

    class Child(OldShell): ...

    assert vars(register_shells)[DEPRECATED] == [
        ("env", "argument 'env' of register_shells, deprecated since 0.2: use host.environ"),
        (None, "register_shells, deprecated since 0.3: use register_runtimes"),
    ]
    assert vars(OldShell)[DEPRECATED] == [(None, "OldShell, deprecated since 0.4: use Shell")]
    assert DEPRECATED not in vars(Child)


def family() -> types.ModuleType:
    """A plugin that defines hooks, of which one, and an argument of another, are deprecated."""
    module = types.ModuleType("family")

    @hookspec
    @deprecated("0.3", "new_hook")
    def old_hook(text: str) -> None: ...

    @hookspec
    @deprecated("0.3", "text", argument="words")
    def new_hook(text: str, words: str) -> None: ...

    hooks = types.ModuleType("family.hooks")
    vars(hooks).update(old_hook=old_hook, new_hook=new_hook)

    @hookimpl
    def register_hookspecs(add: Any) -> None:
        add(hooks)

    module.register_hookspecs = register_hookspecs  # type: ignore[attr-defined]
    return module


def user(**hooks: Any) -> types.ModuleType:
    module = types.ModuleType("user")
    vars(module).update({name: hookimpl(function) for name, function in hooks.items()})
    return module


def test_a_plugin_that_implements_a_deprecated_hook_is_warned_of_once_by_name() -> None:
    host = Host(discover=False, plugins=[("family", family()), ("acme", user(old_hook=lambda text: None))])
    host.collect_all()
    host.collect_all()
    (problem,) = host.problems
    assert str(problem) == "plugin 'acme', old_hook: old_hook, deprecated since 0.3: use new_hook"
    assert (problem.severity, "acme" in host.plugins) == ("warning", True)
    host.close()


@pytest.mark.parametrize(("function", "told"), [(lambda text: None, 0), (lambda words: None, 1)])
def test_only_who_takes_a_deprecated_argument_is_warned_of(function: Any, told: int) -> None:
    host = Host(discover=False, plugins=[("family", family()), ("acme", user(new_hook=function))])
    host.load()
    assert [p.message for p in host.problems] == ["argument 'words' of new_hook, deprecated since 0.3: use text"][:told]
    host.close()


def test_a_module_that_uses_a_deprecated_name_is_found(site: Any) -> None:
    """Also one that is imported only when an item is used, and once for the whole plugin. The library itself may use it."""
    package = site.path / "acme"
    package.mkdir()
    (site.path / "library.py").write_text(
        "from skillkit_core import deprecated, hookimpl\n@deprecated('0.3', 'shout')\ndef yell(): ...\nkept = yell\n"
    )
    (package / "__init__.py").write_text("")
    (package / "plugin.py").write_text(
        "from skillkit_core import Tool, hookimpl\n"
        "@hookimpl\ndef register_tools(register):\n    register(Tool('shout', 'Shouts.', 'acme.tools:shout'))\n"
    )
    use = "from library import yell\nasync def shout(args, ctx): ...\n"
    (package / "tools.py").write_text(use)
    (package / "more.py").write_text(use)
    site.metadata("acme", "1.0", "[skillkit.plugins]\nacme = acme.plugin\nlibrary = library\n")
    done = site.run("plugins", "doctor", "--json")
    (problem,) = done.json["problems"]
    assert problem["message"] == "acme.tools uses yell, deprecated since 0.3: use shout"
    assert (problem["plugin"], problem["severity"], done.code) == ("acme", "warning", 0)
