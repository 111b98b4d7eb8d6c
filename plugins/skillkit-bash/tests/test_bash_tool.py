"""The tool: what the model may ask for, what it reads, and how the plugin offers it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from skillkit_bash import BashConfig, BashRuntime, plugin
from skillkit_bash.tool import describe

from skillkit_core import ConfigError, Host
from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.runtime import ExecutionResult
from skillkit_core.descriptors import load_object
from skillkit_core.errors import ToolError


@dataclass
class Context:
    """A tool context without a run around it."""

    cwd: Path
    signal: AbortSignal = field(default_factory=AbortSignal)
    tool_name: str = "bash"
    tool_call_id: str = "call_1"
    session_id: str | None = None
    agent_path: tuple[str, ...] = ("main",)
    ui: None = None
    heard: list[tuple[str, str]] = field(default_factory=list)

    def on_output(self, output: str, stream: str = "stdout") -> None:
        self.heard.append((stream, output))


def make_host(tmp_path: Path, config: BashConfig | None = None, resolved=None) -> SimpleNamespace:
    host = SimpleNamespace(
        config=SimpleNamespace(section=lambda name, default=None: config), cache_dir=tmp_path / "cache"
    )
    host.secrets, host.kinds = SimpleNamespace(known={}), ()
    runtime = BashRuntime(host)
    host.runtimes = SimpleNamespace(get={"bash": runtime}.__getitem__)

    async def find_runtime():
        return resolved or runtime

    host.find_runtime = find_runtime
    return host


@pytest.fixture
def call(tmp_path, go):
    def call(args, config=None, ctx=None):
        tools = []
        plugin.register_tools(tools.append, make_host(tmp_path, config))
        return go(tools[0].execute(args, ctx or Context(tmp_path)))

    return call


def test_the_model_gets_the_tool_only_when_it_was_allowed(tmp_path):
    tools = []
    plugin.register_tools(tools.append, make_host(tmp_path))
    assert [t.name for t in tools] == ["bash"]
    assert tools[0].opt_in and tools[0].sequential and tools[0].replay == "never"
    assert tools[0].parameters["required"] == ["command"]


def test_output_and_success_are_plain(call):
    output = call({"command": "echo hello"})
    assert output.content == "hello" and not output.is_error
    assert output.details["exit_code"] == 0 and output.details["stdout_bytes"] == 6


def test_stderr_and_the_exit_code_are_told(call):
    output = call({"command": "echo out; echo err >&2; exit 2"})
    assert output.content == "out\n[stderr]\nerr\n[exit code 2]" and output.is_error


def test_silence_is_told(call):
    assert call({"command": "true"}).content == "[exit code 0, no output; stdin was empty]"
    assert call({"command": "read answer"}).content == "[exit code 1, no output; stdin was empty]"


def test_output_is_shown_while_it_runs(call, tmp_path):
    ctx = Context(tmp_path)
    call({"command": "echo out; echo err >&2"}, ctx=ctx)
    assert sorted(ctx.heard) == [("stderr", "err\n"), ("stdout", "out\n")]


def test_it_runs_in_the_workspace_or_below(call, tmp_path):
    (tmp_path / "sub").mkdir()
    assert call({"command": "pwd -P"}).content == str(tmp_path.resolve())
    assert call({"command": "pwd -P", "cwd": "sub"}).content == str((tmp_path / "sub").resolve())


@pytest.mark.parametrize("cwd", ["..", "/", "link", "sub/../.."])
def test_it_does_not_leave_the_workspace(call, tmp_path, cwd):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("/tmp")
    with pytest.raises(ToolError, match="outside the workspace"):
        call({"command": "pwd", "cwd": cwd})


def test_a_missing_directory_is_named(call):
    with pytest.raises(ToolError, match="nowhere' does not exist"):
        call({"command": "pwd", "cwd": "nowhere"})


def test_a_timeout_is_told(call):
    output = call({"command": "echo begun; sleep 1000", "timeout": 0.2})
    assert output.content == "begun\n[timed out after 0.2 s: the command and everything it started was ended]"
    assert output.is_error and output.details["timed_out"] and output.details["exit_code"] is None


def test_the_configured_timeout_holds_when_none_is_asked_for(call):
    assert call({"command": "sleep 1000"}, BashConfig(timeout=0.2)).details["timed_out"]


def test_no_call_gets_more_than_the_longest_timeout(call):
    output = call({"command": "sleep 1000", "timeout": 3000}, BashConfig(max_timeout=0.2))
    assert "timed out after 0.2 s" in output.content


def test_an_abort_is_told(call, tmp_path):
    ctx = Context(tmp_path)
    ctx.signal.abort()
    assert "aborted" in call({"command": "true"}, ctx=ctx).content


def test_long_output_is_cut_and_the_file_is_named(call):
    output = call({"command": "seq 1 100000"}, BashConfig(max_output=1000))
    path = output.details["stdout_path"]
    assert f"[the whole stdout (588,895 bytes) is in {path}]" in output.content
    assert "the middle of 588,895 bytes is left out" in output.content
    assert len(output.content) < 1500
    assert Path(path).read_text().endswith("\n100000\n")


def test_a_file_with_a_part_is_called_a_part(tmp_path):
    path = tmp_path / "part"
    path.write_text("x" * 10)
    result = ExecutionResult(stdout="x", truncated=True, stdout_path=path, stdout_bytes=5000)
    assert f"[the first 10 bytes of stdout (5,000 bytes) is in {path}]" in describe(result)


def test_output_that_could_not_be_kept_is_told():
    assert "could not be kept" in describe(ExecutionResult(stdout="x", truncated=True))


def test_a_signal_is_told():
    assert describe(ExecutionResult(exit_code=-11)) == "[ended by signal 11]"


def test_the_configuration_of_the_host_reaches_the_runtime(tmp_path, go, monkeypatch):
    monkeypatch.setenv("SEEN", "yes")
    host = make_host(tmp_path, BashConfig(env_allow=("SEEN",), path="/usr/bin:/bin", shell="/bin/sh"))
    assert go(host.runtimes.get("bash").execute("echo $SEEN $PATH $0")).stdout == "yes /usr/bin:/bin /bin/sh\n"


def test_the_runtime_that_the_host_finds_runs_the_command(tmp_path, go):
    tools = []
    sandbox = BashRuntime(path="/only/here:/usr/bin:/bin", spill_dir=tmp_path)
    plugin.register_tools(tools.append, make_host(tmp_path, resolved=sandbox))
    assert go(tools[0].execute({"command": "echo $PATH"}, Context(tmp_path))).content == "/only/here:/usr/bin:/bin"


def test_spilled_output_lies_in_the_cache_directory(tmp_path, go):
    result = go(make_host(tmp_path).runtimes.get("bash").execute("seq 1 1000", max_output=10))
    assert result.stdout_path.parent == tmp_path / "cache" / "output"


@pytest.mark.parametrize("values", [{"tiemout": 1}, {"timeout": 0}, {"max_output": 1}, {"env_allow": "PATH"}])
def test_a_wrong_configuration_is_refused(values):
    settings = {f"bash.{name}": value for name, value in values.items()}
    with pytest.raises(ConfigError, match="flag for bash"):
        Host(plugins=(plugin,), discover=False, settings=settings).check_config()


def test_every_registered_name_can_be_loaded():
    factories, sections = [], []
    plugin.register_runtimes(factories.append)
    plugin.register_config(sections.append)
    assert load_object(factories[0].create) is BashRuntime
    assert load_object(sections[0].model) is BashConfig


def test_importing_the_plugin_costs_next_to_nothing():
    code = (
        "import sys, skillkit_core.hookspecs.markers, skillkit_core.descriptors; before = set(sys.modules)\n"
        "import skillkit_bash.plugin; print(*sorted(set(sys.modules) - before))"
    )
    added = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert added == ["skillkit_bash", "skillkit_bash.plugin"]


def test_a_command_of_the_tool_can_be_cancelled(tmp_path, go, gone):
    async def scenario():
        tools = []
        plugin.register_tools(tools.append, make_host(tmp_path))
        begun = asyncio.Event()
        ctx = Context(tmp_path)
        ctx.on_output = lambda text, stream="stdout": (ctx.heard.append((stream, text)), begun.set())
        task = asyncio.create_task(tools[0].execute({"command": "echo $$; sleep 1000; true"}, ctx))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int(ctx.heard[0][1])

    assert gone(go(scenario()))
