"""The fixtures, used by a pytest of their own where they must skip or fail."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit.auto_rule import fill, pick
from skillkit_testkit.command_line import CommandLine, CommandResult
from skillkit_testkit.fork_server import ForkServer
from skillkit_testkit.home import Home
from skillkit_testkit.shared import find_shared
from skillkit_testkit.wires import OfferedTool

HAS_HOST = find_spec("skillkit_core.host") is not None
HAS_CLI = find_spec("skillkit_core.cli") is not None


def test_the_home_is_empty_and_holds_no_key(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ACME_API_KEY", "OPENAI_BASE_URL", "SKILLKIT_MODEL", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "from the machine")

    home: Home = request.getfixturevalue("skillkit_home")

    assert "from the machine" not in os.environ.values()
    assert Path.home() == home.path
    assert Path.cwd() == home.cwd
    assert list(home.cwd.iterdir()) == []
    for variable in ("HOME", "SKILLKIT_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        assert tmp_path in Path(os.environ[variable]).parents
    assert os.environ["PATH"]
    assert home.write_config("model: x").read_text() == "model: x"


def run_pytest(path: Path, body: str, **env: str) -> str:
    """Run one test file in a process of its own, and give what pytest says."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "test_inner.py").write_text(body)
    environ = {k: v for k, v in os.environ.items() if k not in ("CI", "SKILLKIT_SHARED")}
    argv = [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", "--rootdir", str(path), str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, env={**environ, **env}, cwd=path)
    return done.stdout


SHARED = "def test_it(shared_data):\n    assert (shared_data / 'README.md').read_text() == 'data'\n"


def test_shared_data_lies_beside_the_repository_or_where_the_variable_says(tmp_path: Path) -> None:
    (tmp_path / "repo" / "skillkit_core").mkdir(parents=True)
    tests = tmp_path / "repo" / "plugins" / "x" / "tests"
    for place in (tmp_path / "shared", tmp_path / "elsewhere"):
        place.mkdir()
        (place / "README.md").write_text("data")
    assert "1 passed" in run_pytest(tests, SHARED)
    (tmp_path / "shared" / "README.md").write_text("not this")
    assert "1 passed" in run_pytest(tests, SHARED, SKILLKIT_SHARED=str(tmp_path / "elsewhere"))
    assert find_shared(tests / "test_inner.py", str(tmp_path / "nowhere")) is None


def test_without_shared_data_a_test_is_skipped_and_fails_in_ci(tmp_path: Path) -> None:
    said = run_pytest(tmp_path / "tests", SHARED)
    assert "1 skipped" in said
    assert "set SKILLKIT_SHARED" in said
    assert "1 error" in run_pytest(tmp_path / "tests", SHARED, CI="true")


def test_an_unforeseen_request_fails_the_test_that_made_it(tmp_path: Path) -> None:
    body = """
import urllib.error, urllib.request, pytest
def test_it(llm_server):
    request = urllib.request.Request(llm_server.url + "/v1/responses", b'{"model": "m", "input": "x"}')
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    caught.value.close()
"""
    said = run_pytest(tmp_path, body)
    assert "1 passed, 1 error" in said
    assert "the script has no turn for request 1, /v1/responses" in said


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, json, pytest; before = set(sys.modules); import skillkit_testkit.pytest_plugin;"
    code += "print(json.dumps(sorted(set(sys.modules) - before)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [m for m in json.loads(out) if not m.startswith("skillkit_testkit")] == []


def test_a_suite_without_its_fixture_says_what_is_missing(tmp_path: Path) -> None:
    body = """
from skillkit_testkit.conformance import RuntimeConformance
class TestMine(RuntimeConformance): pass
"""
    assert "give the fixture runtime" in run_pytest(tmp_path, body)


def test_a_result_that_is_no_json_shows_what_was_said() -> None:
    result = CommandResult(("models",), 1, "oops", "why")
    with pytest.raises(AssertionError, match="skillkit models ended with 1"):
        _ = result.json
    with pytest.raises(AssertionError, match="why"):
        result.ok()
    assert CommandResult((), 0, '{"a": 1}\n', "").ok().json == {"a": 1}
    assert CommandResult((), 0, '{"a": 1}\n{"a": 2}\n', "").json_lines == [{"a": 1}, {"a": 2}]


@pytest.mark.skipif(not HAS_CLI, reason="this core has no command line")
def test_the_command_runs_in_the_empty_home(skillkit_cli: CommandLine) -> None:
    assert "Usage" in skillkit_cli("--help").ok().stdout
    assert skillkit_cli("no-such-command").exit_code == 2
    with skillkit_cli.start("--help") as process:
        assert "Usage" in process.communicate()[0]


@pytest.mark.skipif(not ForkServer.supported(), reason="this system does not fork safely")
def test_commands_are_forked_where_modules_are_named(tmp_path: Path) -> None:
    body = """
import pytest
@pytest.fixture(scope="session")
def skillkit_preload(): return ["colorsys"]
def test_it(skillkit_cli):
    assert skillkit_cli.server is not None
    assert "Usage" in skillkit_cli("--help").ok().stdout
"""
    assert "1 passed" in run_pytest(tmp_path, body)
    assert "1 passed" in run_pytest(tmp_path, "def test_it(skillkit_cli):\n    assert skillkit_cli.server is None\n")


@pytest.mark.skipif(not HAS_HOST, reason="this core has no host")
def test_hosts_know_only_what_they_are_given(make_host: Callable[..., Any], host: Any) -> None:
    class Plugin:
        name = "only"

    assert list(host.plugins) == []
    assert list(make_host(("only", Plugin())).plugins) == ["only"]


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_the_rule_picks_the_tool_that_shares_most_words() -> None:
    tools = [OfferedTool("read_file", "Read a file.", {}), OfferedTool("word-count", "Counts words of a file.", {})]
    assert pick("count the words", tools) is tools[1]
    assert pick("please read notes", tools) is tools[0]
    assert pick("sing", tools) is None


@pytest.mark.parametrize(
    ("properties", "text", "args"),
    [
        ({"path": {"type": "string"}}, "read src/app.py now", {"path": "src/app.py"}),
        (
            {"text": {"type": "string"}, "path": {"type": "string"}},
            "put 'a b' in x.txt",
            {"text": "a b", "path": "x.txt"},
        ),
        ({"count": {"type": "integer"}, "rate": {"type": "number"}}, "take 3 at 0.5", {"count": 3, "rate": 0.5}),
        ({"mode": {"enum": ["fast", "slow"]}}, "go slow", {"mode": "slow"}),
        ({"files": {"type": "array"}}, "join a.txt b.txt", {"files": ["a.txt", "b.txt"]}),
        ({"city": {"type": "string"}}, "city=Bern please", {"city": "Bern"}),
        ({"deep": {"type": "boolean"}}, "go deep", {"deep": True}),
        ({"query": {"type": "string"}}, "what is new", {"query": "what is new"}),
    ],
)
def test_the_rule_fills_arguments_from_the_text(properties: Any, text: str, args: Any) -> None:
    assert fill({"type": "object", "properties": properties, "required": list(properties)}, text) == args


class TestCoroutines:
    async def test_a_coroutine_is_a_test(self, tmp_path):
        """It would be skipped, or fail, if nothing ran it; fixtures reach it."""
        assert asyncio.get_running_loop().is_running() and tmp_path.is_dir()

    @pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
    async def test_what_it_raises_fails_it(self):
        await asyncio.sleep(0)
        raise ZeroDivisionError


def test_a_module_is_installed_as_a_plugin_for_processes(skillkit_cli, install_plugin, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}_plugin.py").write_text("")
        install_plugin(name, tmp_path / f"{name}_plugin.py")
    listed = {
        p["name"]: p["enabled"] for p in skillkit_cli("-P", "one", "plugins", "list", "--json").ok().json["plugins"]
    }
    assert listed["one"] and "two" in listed
