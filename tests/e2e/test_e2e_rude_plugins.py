"""A plugin that prints, interrupts, cancels or loops in a hook: the answer is clean, and what happened is said in words."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "support" / "rude_plugin.py"
ASKED = ("run", "what is 15% of 80")


@pytest.fixture
def rude(skillkit_cli, install_plugin, monkeypatch):
    """``rude("print-all", *command)`` runs a command beside the plugin."""
    install_plugin("rude", PLUGIN)

    def run(what, *command, **options):
        monkeypatch.setenv("RUDE", what)
        return skillkit_cli("-P", "rude", *command, **options)

    return run


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("how", "command"),
    [
        ("print", (*ASKED, "--json")), ("print", (*ASKED, "--json", "--events")), ("print", ("skills", "list", "--json")),
        ("write", (*ASKED, "--json")), ("write", (*ASKED, "--json", "--events")),
    ],
)  # fmt: skip
def test_what_a_plugin_prints_is_in_no_json(rude, how, command):
    done = rude(f"{how}-all", *command)
    for line in done.ok().stdout.splitlines():
        json.loads(line)
    assert "printed in host_started" in done.stderr


def test_what_a_plugin_writes_past_stdout_while_it_registers_is_in_no_listing(rude):
    done = rude("write-all", "skills", "list", "--json").ok()
    assert json.loads(done.stdout)
    for hook in ("register_commands", "register_skill_sources"):
        assert f"written in {hook}" in done.stderr and f"printed in {hook}" in done.stderr


@pytest.mark.parametrize("how", ["print", "write"])
def test_what_a_plugin_prints_is_in_no_answer(rude, how):
    plain, done = rude("", *ASKED).ok(), rude(f"{how}-all", *ASKED).ok()
    assert done.stdout == plain.stdout
    for hook in ("host_started", "register_tools", "session_start", "turn_start", "agent_end"):
        assert f"printed in {hook}" in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize(("what", "hook"), [("print", "message_update"), ("warn", "turn_end"), ("begin", "agent_end")])
def test_a_notice_at_the_terminal_stands_on_a_line_of_its_own_and_the_answer_too(rude, skillkit_cli, what, hook):
    rude(f"{what}-{hook}", "doctor")
    with skillkit_cli.terminal("-P", "rude", *ASKED) as terminal:
        assert terminal.wait() == 0
    lines = [line.strip() for line in terminal.text.replace("\r", "\n").splitlines()]
    assert "15% of 80 = 12" in lines and any(line.endswith(f"in {hook}") and "80 =" not in line for line in lines)


@pytest.mark.parametrize("how", ["print", "write"])
def test_a_program_behind_rpc_reads_nothing_but_the_protocol(rude, how):
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "prompt", "params": {"text": "what is 15% of 80"}})
    done = rude(f"{how}-all", "rpc", input=asked + "\n")
    assert done.stdout.splitlines() and all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())
    assert "printed in session_start" in done.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("hook", ["session_start", "turn_start", "agent_end"])
@pytest.mark.parametrize(("what", "raised"), [("kbd", "KeyboardInterrupt"), ("leave", "SystemExit")])
def test_a_plugin_that_ends_the_command_is_named_by_its_line_and_nobody_interrupted(rude, what, raised, hook):
    done = rude(f"{what}-{hook}", *ASKED)
    assert done.exit_code == 1 and "Traceback" not in done.stderr
    assert "rude_plugin.py:" in done.stderr and f"a plugin ended the command: it raised {raised}" in done.stderr


@pytest.mark.parametrize("command", ["chat", "tui"])
def test_a_conversation_that_a_plugin_ends_with_keyboard_interrupt_names_its_line(rude, skillkit_cli, command):
    rude("kbd-turn_start", "doctor")
    with skillkit_cli.terminal("-P", "rude", command, "what is 15% of 80") as terminal:
        assert terminal.wait() == 1
    told = " ".join(terminal.text.split())
    assert "a plugin ended the conversation: it raised KeyboardInterrupt" in told and "rude_plugin.py:" in told


@pytest.mark.sample(1)
@pytest.mark.parametrize("hook", ["session_start", "turn_start", "agent_end"])
def test_what_a_plugin_cancels_is_said_in_words(rude, hook):
    done = rude(f"cancel-{hook}", *ASKED)
    assert done.exit_code in (0, 1) and "Traceback" not in done.stderr  # 0: the task of the run is kept, if no other is
    assert "a plugin cancelled the tasks of this command" in done.stderr or "plugin 'rude' failed" in done.stderr


def test_a_run_whose_plugin_loops_ends_by_one_signal_also_where_nobody_reads_what_it_says(
    skillkit_cli, install_plugin, tmp_path
):
    install_plugin("rude", PLUGIN)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*skillkit_cli.program, "-P", "rude", *ASKED], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=writer, cwd=skillkit_cli.home.cwd, env={**os.environ, "RUDE": "loop-turn_start"},
    )  # fmt: skip
    os.close(writer)
    while not (skillkit_cli.home.cwd / "looping").exists():
        assert process.poll() is None
    os.close(reader)
    process.send_signal(signal.SIGHUP)
    try:
        assert process.wait(30) == 130
    finally:
        process.kill()


@pytest.mark.sample(1, each="command")
@pytest.mark.parametrize(
    ("command", "hook"),
    [("chat", "session_start"), ("chat", "turn_start"), ("tui", "turn_start"), ("tui", "agent_end")],
)
def test_a_conversation_goes_on_after_a_plugin_that_cancels_all_tasks_and_names_it(rude, skillkit_cli, command, hook):
    rude(f"cancel-{hook}", "doctor")
    with skillkit_cli.terminal("-P", "rude", command) as terminal:
        for asked, answer in (("what is 15% of 80", "12"), ("what is 25% of 80", "20")):
            terminal.send(f"{asked}\r")
            terminal.wait_for(f"80 = {answer}")
        terminal.send({"chat": "\x04", "tui": "\x11"}[command])
        assert terminal.wait() == 0
    assert "plugin 'rude' failed: it cancelled tasks that are not its own" in " ".join(terminal.text.split())
