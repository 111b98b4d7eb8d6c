"""Plugins that run in processes of their own: who may say so, what loads them, and what happens where nothing does."""

from __future__ import annotations

import json
from typing import Any

import pytest

LOADER = """
class Stand:
    def __init__(self, entry, manifest, seconds):
        self.entry = entry
    @hookimpl
    def register_compactors(self, register):
        register(Factory(f"from-{self.entry.name}", "json:dumps", f"{self.entry.value}"))

def load_isolated(entry, manifest, host, seconds):
    assert seconds == 10.0
    return Stand(entry, manifest, seconds)
"""
TOUCH = "open({!r}, 'w')"


@pytest.fixture
def apart(site: Any) -> Any:
    """Three plugins, of which the last one loads others, and a file that an import of the first would make."""
    site.plugin("alpha", TOUCH.format(str(site.cwd / "imported")))
    site.plugin("beta", "@hookimpl\ndef register_compactors(register): register(Factory('own', 'json:dumps'))")
    site.plugin("zeta", LOADER)
    return site


def rows(site: Any, **env: str) -> dict[str, bool]:
    return {row["name"]: row["isolated"] for row in site.run("plugins", "list", "--json", **env).json["plugins"]}


@pytest.mark.parametrize("config", ["plugins:\n  isolate: [alpha]\n", "plugins:\n  alpha: {isolated: true}\n"])
def test_a_plugin_that_is_marked_is_loaded_by_the_one_that_isolates_and_never_imported(apart: Any, config: str) -> None:
    apart.config(config)
    assert rows(apart) == {"alpha": True, "beta": False, "zeta": False}
    info = apart.run("plugins", "info", "alpha")
    assert "process" in info.out and "its own (" in info.out and "config.yaml:" in info.out
    assert "from-alpha" in info.out and not (apart.cwd / "imported").exists()
    done = apart.run("plugins", "doctor", "--json")
    assert done.json["loaded"] == ["alpha", "beta", "zeta"]  # it keeps its place
    assert done.json["isolated"] == ["alpha"] and done.json["ok"] is True
    assert "3 loaded; isolated: alpha" in apart.run("doctor").out
    assert "3 plugins loaded (1 isolated), no errors" in apart.run("plugins", "doctor").out
    assert apart.run("config", "show", "--json").code == 0


def test_where_nothing_isolates_it_does_not_load_and_one_line_says_what_to_install(apart: Any) -> None:
    apart.config("plugins: {isolate: [alpha], disabled: [zeta], required: []}\n")
    done = apart.run("plugins", "doctor", "--json")
    (problem,) = done.json["problems"]
    assert done.code == 1 and done.json["loaded"] == ["beta"]
    assert (problem["plugin"], problem["stage"], problem["severity"]) == ("alpha", "import", "error")
    assert problem["message"] == "it may only run in a process of its own, and no plugin that runs starts one"
    assert problem["remedy"] == "skillkit plugins install skillkit-isolation"
    assert not (apart.cwd / "imported").exists()


def test_what_isolates_cannot_be_isolated(apart: Any) -> None:
    apart.config("plugins: {isolate: [zeta]}\n")
    done = apart.run("plugins", "doctor", "--json")
    assert done.json["loaded"] == ["alpha", "beta"] and [p["plugin"] for p in done.json["problems"]] == ["zeta"]


def test_a_project_neither_isolates_nor_brings_back_and_the_others_add_up(apart: Any) -> None:
    apart.distribution("house", "plugins: [alpha, beta, zeta]\ndefaults:\n  plugins:\n    isolate: [beta]\n")
    apart.config("plugins: {alpha: {isolated: true}}\n")
    folder = apart.cwd / ".skillkit"
    folder.mkdir()
    for text in ("isolate: []", "isolate: [zeta]", "beta: {isolated: false}", "zeta: {isolated: true}"):
        (folder / "config.yaml").write_text(f"plugins:\n  {text}\n")
        assert apart.run("config", "trust", "--yes").code == 0
        assert rows(apart) == {"alpha": True, "beta": True, "zeta": False}, text
    assert rows(apart, SKILLKIT_PLUGINS__ISOLATE="zeta")["zeta"] is True
    shown = apart.run("config", "show", "--json", SKILLKIT_PLUGINS__ISOLATE="zeta")
    assert '"beta"' in json.dumps(shown.json) and shown.code == 0


def test_a_mark_that_makes_no_sense_is_an_error_of_its_line(apart: Any) -> None:
    for text in ("alpha: {isolated: perhaps}", "alpha: {isolatd: true}", "alpha: {isolated: true, more: 1}"):
        apart.config(f"plugins:\n  {text}\n")
        done = apart.run("doctor")
        assert done.code == 1 and "config.yaml:2" in done.out and "unknown setting 'alpha'" in done.out, text
    apart.config("plugins: {isolate: alpha}\n")  # refused where settings are checked, and it isolates all the same
    assert rows(apart)["alpha"] is True and apart.run("doctor").code == 1
    apart.config("plugins: {isolate: [alhpa]}\n")
    done = apart.run("plugins", "doctor", "--json")
    (problem,) = [p for p in done.json["problems"] if p["plugin"] == "alhpa"]
    assert done.code == 1 and "unknown plugin 'alhpa'; did you mean 'alpha'?" in problem["message"]


def test_every_command_that_loads_plugins_says_that_an_isolated_name_is_misspelt(apart: Any) -> None:
    apart.config("plugins: {isolate: [alhpa]}\n")
    for command in (("plugins", "info", "beta"), ("config", "show"), ("doctor",)):
        done = apart.run(*command)
        (line,) = [line for line in done.err.splitlines() if "alhpa" in line]
        assert "config.yaml:1" in line and "unknown plugin 'alhpa'; did you mean 'alpha'?" in line, command
        assert line.endswith("nothing of this name is isolated")


@pytest.mark.parametrize("asked", ["host.config.section('zeta')", "host.tools"])
def test_what_asks_for_items_while_plugins_load_is_told_so_and_the_items_of_others_stay(apart: Any, asked: str) -> None:
    apart.plugin("omega", f"def load_isolated(entry, manifest, host, seconds): return {asked}")
    apart.config("plugins: {isolate: [alpha], disabled: [zeta]}\n")
    done = apart.run("plugins", "doctor", "--json")
    (problem,) = done.json["problems"]
    assert problem["plugin"] == "alpha" and " yet" in problem["message"]
    assert problem["remedy"] == "ask in host_configure, or when it is used"
    assert "own" in apart.run("plugins", "info", "beta").out
