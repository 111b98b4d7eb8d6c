"""What a plugin declares before it is imported: the core that it is made for, and what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skillkit_core import PluginError, __version__, hookimpl

SERIES = __version__.rpartition(".")[0]
IMPORTED = "raise SystemExit('imported')\n"


def package(site: Any, source: str = "", declares: str = "", requires: str = "") -> Path:
    """Install the plugin ``a`` as a package with a ``plugin.yaml``."""
    site.metadata("acme-a", "1.0", "[skillkit.plugins]\na = acme_a.plugin\n")
    if requires:
        (site.path / "acme_a-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: acme-a\nVersion: 1.0\nRequires-Dist: {requires}\n\nRequires-Dist: skillkit-core>=99\n"
        )
    folder = site.path / "acme_a"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "plugin.py").write_text(f"from skillkit_core import hookimpl\n{source}")
    if declares:
        (folder / "plugin.yaml").write_text(declares)
    return folder / "plugin.yaml"


@pytest.mark.parametrize(
    ("requires", "newer"),
    [
        ("skillkit-core>=99", True),
        ("skillkit-core (>=99,<100)", True),
        ("SkillKit_Core[x] >= 99 , < 100 ; python_version > '3'", True),
        ("skillkit-core~=99.1", True),
        ("skillkit-core==99.*", True),
        ("skillkit-core<0.1", False),
        ("skillkit-core~=0.0.1", False),
        ("skillkit-core==0.0.*", False),
        (f"skillkit-core!={__version__}", False),
    ],
)
def test_a_plugin_for_another_core_is_not_imported_and_the_remedy_is_an_upgrade(
    site: Any, requires: str, newer: bool
) -> None:
    package(site, IMPORTED, requires=requires)

    (problem,) = site.run("plugins", "doctor", "--json").json["problems"]

    assert (problem["plugin"], problem["stage"]) == ("a", "api")
    assert problem["message"].startswith(f"it is made for {'a newer' if newer else 'an older'} core (skillkit-core ")
    assert problem["message"].endswith(f", this is {__version__})")
    assert problem["remedy"] == f"upgrade {'skillkit-core' if newer else 'acme-a'}"


@pytest.mark.parametrize(
    ("requires", "upgrade"),
    [
        ("acme-b>=99", "acme-b"),
        ("Acme_B[x] (<0.1)", "acme-a"),
        ("acme-b>=1,<99", None),
        ("acme-nowhere>=1", None),
    ],
)
def test_a_plugin_for_another_version_of_what_it_needs_is_not_imported(site: Any, requires: str, upgrade: str) -> None:
    package(site, IMPORTED if upgrade else "", requires=requires)
    site.metadata("acme-b", "2.0", "")

    problems = site.run("plugins", "doctor", "--json").json["problems"]

    assert [problem["remedy"] for problem in problems] == ([f"upgrade {upgrade}"] if upgrade else [])
    assert all(problem["message"].startswith("it is made for acme-b ") for problem in problems)


@pytest.mark.parametrize(
    "requires", ["", "skillkit-core", "skillkit-core>=0.2,<0.3", "skillkit-core>=99; extra == 'x'", "skillkit-core-x>=99",
                 "skillkit-core===99.foo", "skillkit-core~=0.1", f"skillkit-core=={SERIES}.*"],
)  # fmt: skip
def test_a_plugin_for_this_core_loads(site: Any, requires: str) -> None:
    package(site, requires=requires)
    assert site.run("plugins", "doctor", "--json").json["loaded"] == ["a"]


@pytest.mark.parametrize(
    ("declares", "stage", "message"),
    [
        ("skillkit_api: '2'", "api", "it is made for a newer core (plugin API 2, this is 1)"),
        ("skillkit_api: one", "api", "skillkit_api must be a number, not 'one'"),
        ("need: {}", "manifest", "{file}:1: need: is not what a plugin declares"),
        ("needs: {hook: []}", "manifest", "{file}:1: needs.hook: is not what a plugin declares"),
        ("needs: [hooks]", "manifest", "{file}:1: needs: is not what a plugin declares"),
        ("needs:\n  hooks: all", "manifest", "{file}:2: needs.hooks: must be a list of names"),
        ("needs: [", "manifest", "{file}:"),
    ],
)
def test_a_declaration_that_does_not_fit_keeps_the_plugin_from_its_import(
    site: Any, declares: str, stage: str, message: str
) -> None:
    file = package(site, IMPORTED, declares)
    site.plugin("b")

    done = site.run("plugins", "doctor", "--json").json

    (problem,) = done["problems"]
    assert problem["message"].startswith(message.format(file=file))
    assert (problem["stage"], done["loaded"]) == (stage, ["b"])


@pytest.mark.parametrize("api", ["'1'", "1", "'0'"])
def test_this_api_and_the_one_before_are_served(site: Any, api: str) -> None:
    package(site, declares=f"skillkit_api: {api}")
    assert site.run("plugins", "doctor", "--json").json["loaded"] == ["a"]


HOOKS = "@hookimpl\ndef register_tools(register): pass\n@hookimpl\ndef before_tool_call(event): pass\n"


@pytest.mark.parametrize(
    ("hooks", "beyond"),
    [
        ("[register_tools, before_tool_call]", None),
        ("[registration, lifecycle]", None),
        ("[registration]", "before_tool_call"),
        ("[before_tool_call, resolution]", "register_tools"),
        ("[]", "register_tools"),
    ],
)
def test_a_hook_beyond_what_is_declared_is_refused_and_named(site: Any, hooks: str, beyond: str | None) -> None:
    file = package(site, HOOKS, f"needs:\n  hooks: {hooks}\n")

    done = site.run("plugins", "doctor", "--json").json

    if beyond is None:
        assert done["loaded"] == ["a"]
    else:
        (problem,) = done["problems"]
        assert problem["message"] == f"{file}: hook {beyond!r} is beyond what it declares"
        assert (problem["stage"], problem["remedy"], done["loaded"]) == ("hooks", f"needs.hooks lacks {beyond}", [])


ASKS = """
import asyncio
KNOWN = {}

@hookimpl
def host_started(host):
    KNOWN["host"] = host

def ask(name):
    return KNOWN["host"].secret(name)

async def wait(name):
    return await KNOWN["host"].find_secret(name)

def find(name):
    return KNOWN["host"].secrets.find(name)

async def task(name):
    return await asyncio.create_task(KNOWN["host"].secrets.wait_for(name))

def add(plugin):
    return KNOWN["host"].add_plugin(plugin, name="added")
"""


async def test_a_secret_beyond_what_is_declared_is_refused_and_named(site: Any, make_host: Any) -> None:
    file = package(site, ASKS, "needs:\n  secrets: [ACME_KEY]\n")
    host = make_host(environ={"ACME_KEY": "acme-key-1", "OTHER_KEY": "other-key-1"})
    plugin = host.plugins["a"].plugin

    assert plugin.ask("ACME_KEY") == await plugin.wait("ACME_KEY") == "acme-key-1"
    assert plugin.find("ACME_KEY") == await plugin.task("ACME_KEY") == "acme-key-1"
    for way in (plugin.ask, plugin.wait, plugin.find, plugin.task):

        def call(way: Any = way) -> Any:
            return way("OTHER_KEY")

        with pytest.raises(PluginError) as refused:
            await call()
        assert str(refused.value) == (
            f"{file}: plugin 'a': the secret OTHER_KEY is beyond what it declares; needs.secrets lacks OTHER_KEY"
        )
    assert host.secret("OTHER_KEY") == "other-key-1", "the application may have it"


def test_what_a_plugin_adds_is_held_to_what_the_plugin_declares(site: Any, make_host: Any) -> None:
    file = package(site, ASKS, "needs:\n  hooks: [host_started]\n")
    host = make_host()
    assert "a" in host.plugins

    class Guard:
        @hookimpl
        def before_tool_call(self, event: Any) -> None: ...

    with pytest.raises(PluginError, match="hook 'before_tool_call' is beyond what it declares") as refused:
        host.plugins["a"].plugin.add(Guard())
    assert str(file) in str(refused.value)
    assert host.add_plugin(Guard(), name="added") == "added", "the application may add it, under the same name"


def test_a_provider_whose_key_is_not_declared_is_refused(site: Any) -> None:
    item = "Provider('p', {'x': 'os:path'}, api_key_env=('OTHER_KEY',))"
    source = f"\n@hookimpl\ndef register_adapters(register):\n    register({item})\n"
    file = package(site, f"from skillkit_core import Provider\n{source}", "needs:\n  secrets: [ACME_KEY]\n")

    (problem,) = site.run("plugins", "doctor", "--json").json["problems"]

    assert problem["message"] == f"{file}: the secret OTHER_KEY of 'p' is beyond what it declares"
    assert problem["stage"] == "register_adapters"


def test_info_shows_what_a_plugin_declares_without_importing_it(site: Any) -> None:
    needs = "{hooks: [registration], secrets: [], network: [acme.example], subprocess: [git]}"
    file = package(site, IMPORTED, f"skillkit_api: '1'\nneeds: {needs}\n")

    shown = site.run("-P", "no:a", "plugins", "info", "a")
    data = site.run("-P", "no:a", "plugins", "info", "a", "--json").json["manifest"]

    assert data == {
        "path": str(file),
        "api": "1",
        "needs": {
            "hooks": {"names": ["registration"], "enforced": True},
            "secrets": {"names": [], "enforced": True},
            "network": {"names": ["acme.example"], "enforced": False},
            "subprocess": {"names": ["git"], "enforced": False},
        },
    }
    assert "needs hooks       registration\n" in shown.out
    assert "needs secrets     none\n" in shown.out
    assert "needs network     acme.example (declared, not enforced)\n" in shown.out
