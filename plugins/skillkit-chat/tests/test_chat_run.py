"""The command `run` as people, pipes and programs meet it: real processes, real skills, a real terminal."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest
from skillkit_testkit import Call, Reply

from skillkit_core import AgentRunner, TokenUsage

ALONE = "chat,skills,bash,offline,sessions"


def run_action(skillkit_cli, *words, **options):
    return skillkit_cli("run", "--skill", "echoes", *words, **options)


@pytest.mark.smoke
def test_a_plain_request_is_answered_offline(echoes, skillkit_cli):
    result = skillkit_cli("run", "repeat the words 'good morning'").ok()
    assert result.stdout == "good morning\n"


def test_the_limits_of_the_configuration_hold_and_the_flag_is_above_them(echoes, skillkit_cli):
    request, one = ("run", "repeat the words 'good morning'"), {"SKILLKIT_LIMITS__TURNS": "1"}
    limited = skillkit_cli(*request, env=one)
    assert limited.exit_code == 1 and "the limit of 1 turns is reached" in limited.stderr
    assert skillkit_cli(*request, "--max-turns", "1").exit_code == 1
    assert skillkit_cli(*request, "--max-turns", "5", env=one).ok().stdout == "good morning\n"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("times", "0", "must be at least 1, not 0"),
        ("ratio", "10", "must be at most 9.5, not 10.0"),
        ("mood", "cheerfull", "must be one of 'calm', 'cheerful', not 'cheerfull'; did you mean 'cheerful'?"),
    ],
)
def test_an_argument_outside_of_its_bounds_is_refused_before_anything_runs(
    echoes, skillkit_cli, option, value, problem
):
    result = run_action(skillkit_cli, "say", "hi", f"--{option}", value, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: action echoes say: argument {option!r} {problem}\n"
    assert skillkit_cli("sessions", "list", "--json").json == []


def test_an_argument_that_its_pattern_does_not_match_is_refused_by_the_action(echoes, skillkit_cli):
    """The plugin of skills matches it, in linear time; no front end does."""
    result = run_action(skillkit_cli, "say", "hi", "--to", "ann")
    assert result.exit_code == 1 and result.stdout == ""
    assert "argument 'to': 'ann' does not match ^[A-Z]" in result.stderr


@pytest.mark.smoke
def test_an_action_gets_its_arguments_by_position_and_by_name(echoes, skillkit_cli):
    result = run_action(
        skillkit_cli, "say", "hi", "--times", "3", "--loud", "--tags", "a", "--tags", "b c", "--json"
    ).ok()
    assert result.json["answer"] == "HI HI HI"
    assert result.json["data"]["got"]["tags"]
    assert (result.json["skill"], result.json["action"]) == ("echoes", "say")
    assert result.json["tool_calls"][0]["outcome"] == "ok"


def test_only_the_answer_of_an_action_is_printed(echoes, skillkit_cli):
    assert run_action(skillkit_cli, "say", "just this").ok().stdout == "just this\n"


def test_an_action_that_fails_says_so_in_its_own_words(echoes, skillkit_cli):
    result = run_action(skillkit_cli, "fail")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "this cannot be done, ask for something else\n"
    as_json = run_action(skillkit_cli, "fail", "--json")
    assert as_json.exit_code == 1
    assert as_json.json["ok"] is False
    assert "cannot be done" in as_json.json["error"]["message"]


def test_typing_an_action_is_the_answer_to_its_question(echoes, skillkit_cli):
    assert run_action(skillkit_cli, "sure").ok().stdout == "it was asked for\n"
    refused = skillkit_cli("run", "--json", "make sure that it was asked for")
    assert all(call["outcome"] != "ok" for call in refused.json["tool_calls"] if call["action"] == "sure")


def test_the_request_can_come_from_standard_input(echoes, skillkit_cli):
    assert skillkit_cli("run", "-", input="repeat the words 'from a pipe'").ok().stdout == "from a pipe\n"


def test_standard_input_is_read_up_to_a_stated_size(skillkit_cli):
    with Path("/dev/zero").open() as endless:
        done = subprocess.run(
            [*skillkit_cli.program, "run", "-"], stdin=endless, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "Error: the request on stdin is longer than 1,000,000 characters; "
        "put it into a file, and name the file in the request\n"
    )
    assert "at most 1,000,000 characters" in skillkit_cli("run", "--help").ok().stdout


def test_verbose_shows_tools_on_stderr_and_keeps_stdout_clean(echoes, skillkit_cli):
    result = run_action(skillkit_cli, "-v", "say", "hi").ok()
    assert result.stdout == "hi\n"
    assert "echoes__say" in result.stderr and "ok" in result.stderr


def test_events_are_lines_of_json_and_the_result_is_the_last(echoes, skillkit_cli):
    lines = run_action(skillkit_cli, "say", "hi", "--json", "--events").ok().json_lines
    assert lines[-1]["type"] == "result" and lines[-1]["answer"] == "hi"
    seqs = [line["seq"] for line in lines[:-1]]
    assert seqs == sorted(seqs) and len(set(seqs)) == len(seqs)


def test_events_without_json_is_wrong_usage(echoes, skillkit_cli):
    result = skillkit_cli("run", "--events", "hello")
    assert result.exit_code == 2
    assert "--json" in result.stderr


def test_a_run_keeps_a_session_unless_it_is_told_not_to(echoes, skillkit_cli, skillkit_home):
    kept = run_action(skillkit_cli, "say", "kept", "--json").ok().json
    assert Path(kept["session_path"]).read_text().count("kept") >= 2
    before = sorted(skillkit_home.data_dir.rglob("*.jsonl"))
    run_action(skillkit_cli, "--no-session", "say", "gone").ok()
    assert sorted(skillkit_home.data_dir.rglob("*.jsonl")) == before


def test_continue_takes_up_the_latest_session_and_session_a_certain_one(echoes, skillkit_cli):
    first = run_action(skillkit_cli, "say", "one", "--json").ok().json
    second = run_action(skillkit_cli, "say", "two", "--json").ok().json
    assert second["session"] != first["session"]
    assert run_action(skillkit_cli, "--continue", "say", "three", "--json").ok().json["session"] == second["session"]
    again = run_action(skillkit_cli, "--session", first["session"], "say", "four", "--json").ok().json
    assert again["session"] == first["session"]


def test_a_broken_latest_session_is_named_where_an_older_one_is_taken(echoes, skillkit_cli):
    first = run_action(skillkit_cli, "say", "one", "--json").ok().json
    broken = Path(first["session_path"]).with_name("broken.jsonl")
    broken.write_text("no session\n")
    later = Path(first["session_path"]).stat().st_mtime + 10
    os.utime(broken, (later, later))
    told = f"Warning: session broken is not taken for the latest: {broken}:1: not JSON"
    again = run_action(skillkit_cli, "--continue", "say", "two", "--json").ok()
    assert again.json["session"] == first["session"] and again.stderr.startswith(told) and again.stderr.count("\n") == 1
    shown = skillkit_cli("sessions", "show").ok()
    assert shown.stderr.startswith(told) and first["session"] in shown.stdout
    Path(first["session_path"]).unlink()
    none = skillkit_cli("run", "--continue", "hello")
    assert none.exit_code == 2 and none.stderr.startswith(told) and "there is no session to continue" in none.stderr


def test_a_session_is_called_by_its_first_request(echoes, skillkit_cli):
    skillkit_cli("run", "repeat the words 'good morning'").ok()
    rows = skillkit_cli("sessions", "list", "--json").ok().json
    titles = [row["title"] for row in (rows["sessions"] if isinstance(rows, dict) else rows)]
    assert titles == ["repeat the words 'good morning'"]


def test_a_session_that_goes_on_without_its_folder_of_skills_says_what_to_add(echoes, skillkit_cli, skillkit_home):
    folder = skillkit_home.cwd / "my skills"
    folder.mkdir()
    echoes.rename(folder / "echoes")
    given = ("run", "--skills-dir", "my skills", "--approvals", "defer", "--json", "make sure that it was asked for")
    session = skillkit_cli(*given).json["session"]
    add = f"add --skills-dir '{folder.resolve()}'"
    for going_on in (["sessions", "resume", session, "--allow", "all"], ["run", "--continue", "2+2"]):
        without = skillkit_cli(*going_on)
        assert [line for line in without.stderr.splitlines() if "which are not used now" in line and line.endswith(add)]
        assert "not used now" not in skillkit_cli(*going_on, "--skills-dir", folder).stderr
    skillkit_home.write_config(f"skills:\n  dirs: ['{folder}']\n")
    assert "not used now" not in skillkit_cli("run", "--continue", "2+2").stderr
    skillkit_home.write_config("")
    (folder / "echoes").rename(folder.with_name("echoes"))
    folder.rmdir()
    assert "the folder is gone" in skillkit_cli("run", "--continue", "2+2").stderr


def test_continue_without_a_session_says_so(echoes, skillkit_cli):
    result = skillkit_cli("run", "--continue", "hello")
    assert result.exit_code == 2
    assert "no session" in result.stderr


@pytest.mark.sample(1)
@pytest.mark.spec("9.51")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_action_and_its_process_and_is_exit_code_130(echoes, skillkit_cli, number):
    with skillkit_cli.start("run", "--json", "--events", "--skill", "echoes", "wait") as process:
        for line in process.stdout:
            if '"tool_execution_update"' in line and "started" in line:
                break
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert '"outcome": "aborted"' in out.splitlines()[-1] or '"outcome":"aborted"' in out.splitlines()[-1]
    assert "Traceback" not in err
    assert not _processes_with(str(echoes / "scripts" / "wait.py"))


def _processes_with(text):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text in entry.read_bytes().decode("utf-8", "replace"):
                found.append(entry)
        except OSError:
            continue
    return found


def test_on_a_terminal_the_answer_is_live_and_tool_output_is_seen(echoes, skillkit_cli):
    with skillkit_cli.terminal("run", "--skill", "echoes", "say", "shown live", columns=80) as terminal:
        assert terminal.wait() == 0
        assert "shown live" in terminal.text


def test_a_person_at_a_terminal_is_asked_and_a_no_is_a_no(echoes, skillkit_cli):
    """The action `sure` asks; a request to the offline model is a call that somebody has to agree to."""
    for answer, code, words in ((b"y\n", 0, b"it was asked for"), (b"n\n", 1, b"a person said no")):
        seen, status = _at_a_terminal(skillkit_cli, ["run", "make sure that it was asked for"], b"Run it?", answer)
        assert b"echoes__sure" in seen
        assert words in seen, seen
        assert status == code


TOKENS = """\
---
name: tokens
description: Uses a token.
metadata:
  skillkit:
    actions:
      - name: use
        description: Use it
        run: sh -c 'echo "it has ${#API_TOKEN} characters"'
        args: {api_token: {type: string, secret: true, required: true}}
---
"""


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [("hidden-secret-7", 0, "it has 15 characters"), ("", 1, "needs API_TOKEN: set the variable")],
)
def test_a_person_at_a_terminal_is_asked_for_a_required_secret_which_nobody_sees(
    skillkit_cli, skillkit_home, typed, code, said
):
    file = skillkit_home.config_dir / "skills" / "tokens" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(TOKENS)
    argv = ["run", "--skill", "tokens", "use"]
    seen, status = _at_a_terminal(skillkit_cli, argv, "API_TOKEN, for this call only: ", f"{typed}\n".encode())
    assert status == code and said in seen.decode()
    assert not typed or typed not in seen.decode()
    assert "needs API_TOKEN" in skillkit_cli(*argv).stderr  # nobody can be asked


async def test_nothing_moves_on_the_terminal_while_a_person_is_asked(make_host, monkeypatch, capsys):
    from skillkit_chat import display
    from skillkit_frontend import terminal

    monkeypatch.setattr(display, "PATIENCE", 0)
    monkeypatch.setattr(display, "TICK", 0)
    monkeypatch.setattr(terminal, "_questions", 1)
    shown = display.Display(AgentRunner(host=make_host()), verbose=False)
    shown.progress = True
    shown.start()
    for _ in range(20):
        await asyncio.sleep(0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(terminal, "_questions", 0)
    for _ in range(20):
        await asyncio.sleep(0)
    assert "thinking" in capsys.readouterr().err
    await shown.stop()


def _at_a_terminal(skillkit_cli, argv, until, answer):
    with skillkit_cli.terminal(*argv) as terminal:
        terminal.wait_for(until)
        terminal.send(answer)
        code = terminal.wait()
        return terminal.seen, code


BUSY = """\
import sys
import time
from skillkit_core import hookimpl

@hookimpl
def before_tool_call(event):
    print("busy", file=sys.stderr, flush=True)
    while True:
        time.sleep(0.05)
"""


def test_a_second_signal_ends_a_run_whose_loop_is_held_up(echoes, skillkit_cli, tmp_path):
    """A handler that never returns to the loop must not be able to keep the process alive."""
    site = tmp_path / "site"
    info = site / "busy_guard-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "busy_guard.py").write_text(BUSY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: busy-guard\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.plugins]\nbusy = busy_guard\n")
    env = {"PYTHONPATH": str(site), "SKILLKIT_PLUGINS": "chat,skills,bash,offline,sessions,busy"}
    with skillkit_cli.start("run", "--skill", "echoes", "say", "hi", env=env) as process:
        for line in process.stderr:
            if "busy" in line:
                break
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130


LOOPS = """
import sys, threading
from skillkit_core import hookimpl

def forever():
    print("busy", file=sys.stderr, flush=True)
    while True:
        pass

@hookimpl
def turn_start(event):
    {body}
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("body", ["forever()", "threading.Thread(target=forever).start()"], ids=["hook", "thread"])
def test_one_signal_of_a_supervisor_ends_a_run_whose_plugin_loops(echoes, skillkit_cli, tmp_path, body, number):
    """The loop of asyncio never gets a turn, or the thread never ends: nothing but the signal itself can end the process."""
    site = tmp_path / "site"
    info = site / "loops-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "loops.py").write_text(LOOPS.format(body=body))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loops\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.plugins]\nloops = loops\n")
    env = {"PYTHONPATH": str(site), "SKILLKIT_PLUGINS": "chat,skills,bash,offline,sessions,loops"}
    with skillkit_cli.start("run", "what is 2+2", env=env) as process:
        for line in process.stderr:
            if "busy" in line:
                break
        os.kill(process.pid, number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said


def test_an_empty_session_is_wrong_usage(echoes, skillkit_cli):
    result = skillkit_cli("run", "--session", "", "hello")
    assert result.exit_code == 2
    assert "--session is empty" in result.stderr


def test_nothing_runs_without_a_required_plugin(echoes, skillkit_cli, skillkit_home, tmp_path):
    site = tmp_path / "site"
    info = site / "my_guard-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "my_guard.py").write_text("raise RuntimeError('half installed')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-guard\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.plugins]\nguard = my_guard\n")
    env = {"PYTHONPATH": str(site)}
    warned = skillkit_cli("run", "--json", "repeat the words 'on'", env=env).ok()
    assert [p["plugin"] for p in warned.json["plugin_problems"]] == ["guard"]
    skillkit_home.write_config("plugins:\n  required: [guard]\n")
    refused = skillkit_cli("run", "repeat the words 'on'", env=env)
    assert refused.exit_code == 2
    assert "half installed" in refused.stderr and "config.yaml:2" in refused.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "it is not installed"),
        (("-P", "no:guard"), "disabled by -P no:guard"),
        (("--plugins", ALONE), "not named by"),
    ],
)
def test_a_required_plugin_that_does_not_run_at_all_keeps_everything_from_running(
    echoes, skillkit_cli, skillkit_home, tmp_path, options, why
):
    skillkit_home.write_config("plugins:\n  required: [guard]\n")
    env = {"PYTHONPATH": str(tmp_path)}
    if options:
        (tmp_path / "my_guard-1.0.dist-info").mkdir()
        (tmp_path / "my_guard.py").write_text("")
        (tmp_path / "my_guard-1.0.dist-info" / "METADATA").write_text("Name: my-guard\nVersion: 1.0\n")
        (tmp_path / "my_guard-1.0.dist-info" / "entry_points.txt").write_text("[skillkit.plugins]\nguard = my_guard\n")
        assert skillkit_cli("run", "repeat the words 'on'", env=env).ok().stdout == "on\n"
    refused = skillkit_cli(*options, "run", "repeat the words 'on'", env=env)
    assert refused.exit_code == 2 and refused.stdout == ""
    assert f"config.yaml:2: plugins.required: required plugin 'guard' does not run: {why}" in refused.stderr


@pytest.mark.parametrize("flag", [("--continue",), ("--session", "x")])
def test_a_session_that_is_named_and_not_kept_is_wrong_usage(echoes, skillkit_cli, flag):
    refused = skillkit_cli("run", "--no-session", *flag, "repeat the words 'on'")
    assert refused.exit_code == 2 and f"--no-session and {flag[0]} exclude each other" in refused.stderr


@pytest.mark.parametrize(
    ("key", "text"), [("session.store", "session:\n  store: nope"), ("runtime", "\nruntime: nope")]
)
def test_a_setting_that_names_nothing_is_told_with_its_place(echoes, skillkit_cli, skillkit_home, key, text):
    skillkit_home.write_config(f"{text}\n")
    said = skillkit_cli("run", "repeat the words 'on'").stderr
    assert f"config.yaml:2: {key}: unknown {key.replace('.', ' ')} 'nope'; known: " in said


def test_a_skill_that_is_nested_too_deeply_is_a_problem_and_no_crash(echoes, skillkit_cli, skillkit_home):
    deep = skillkit_home.config_dir / "skills" / "deep"
    deep.mkdir()
    for value in ("[" * 100_000, "{a: " * 50_000, "\n" + "- " * 50_000 + "x", "? " * 50_000):
        (deep / "SKILL.md").write_text(f"---\nname: deep\ndescription: {value}\n---\nbody\n")
        assert skillkit_cli("run", "repeat the words 'still here'").ok().stdout == "still here\n"
        skillkit_home.write_config(f"model: {value}\n")
        refused = skillkit_cli("run", "hi")
        assert refused.exit_code == 2
        assert "nested too deeply" in refused.stderr or "not valid YAML" in refused.stderr
        skillkit_home.write_config("")


def test_json_says_what_each_request_the_run_and_the_session_used_with_cached_tokens(skillkit_cli, llm_server):
    cached = TokenUsage(input=34, cache_read=800, output=67)
    llm_server.script(Reply(text="one"), Reply(tool_calls=[Call("nothing")], usage=cached), Reply(text="two"))
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    env = {"OPENAI_API_KEY": "key-of-the-tests"}
    skillkit_cli("run", *asked, "first", env=env).ok()
    told = skillkit_cli("run", "--continue", *asked, "second", "--json", env=env).ok().json
    first, second = told["requests"]
    assert {name: first[name] for name in ("input", "cache_read", "output", "total", "model", "purpose")} == {
        "input": 34, "cache_read": 800, "output": 67, "total": 901, "model": "any", "purpose": "turn",
    }  # fmt: skip
    assert (second["input"], second["cache_read"], second["output"]) == (10, 0, 5)
    assert told["usage"]["total"] == 901 + 15 and told["session_usage"]["total"] == 15 + 901 + 15
    assert told["session_usage"]["cache_read"] == 800 and told["session_cost"] is told["cost"] is None


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("first", "warned"),
    [
        (Call("nothing"), 1),
        (Call("echoes__fail"), 1),
        (Call("echoes__say", {"text": "hi"}), 0),
    ],
)
def test_a_completed_run_whose_calls_all_failed_says_so_and_keeps_its_exit_code(
    first, warned, echoes, skillkit_cli, llm_server
):
    llm_server.script(Reply(tool_calls=[first]), Reply(tool_calls=[Call("nothing")]), Reply(text="I could not."))
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    done = skillkit_cli("run", *asked, "go", env={"OPENAI_API_KEY": "key-of-the-tests"}).ok()
    assert done.stdout == "I could not.\n"
    assert done.stderr.count("Warning: all 2 tool calls of this run failed, and exit code 0 tells of the run alone; "
                             "last nothing: There is no tool 'nothing'.\n") == warned  # fmt: skip
    assert done.stderr.count("Warning: ") == warned


def test_a_completed_run_without_tool_calls_warns_of_none(skillkit_cli, llm_server):
    llm_server.script(Reply(text="Hello."))
    asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
    done = skillkit_cli("run", *asked, "go", env={"OPENAI_API_KEY": "key-of-the-tests"}).ok()
    assert (done.stdout, done.stderr.count("Warning")) == ("Hello.\n", 0)
