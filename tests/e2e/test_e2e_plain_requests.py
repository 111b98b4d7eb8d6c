"""The main job without a key and without a network: plain requests over real files through the command line."""

from pathlib import Path

import pytest
from plain_requests import NOT_OFFLINE, REQUESTS


@pytest.mark.sample(4)
@pytest.mark.parametrize("plain", REQUESTS, ids=lambda p: p.text[:40])
def test_a_plain_request_is_answered_offline_by_the_right_action(workspace, skillkit_cli, plain):
    result = skillkit_cli("run", "--json", plain.text).ok().json
    assert result["provider"] == "offline"
    assert (result["skill"], result["action"]) == (plain.skill, plain.action)
    for word in plain.answer:
        assert word in result["answer"]
    assert result["session_path"] and Path(result["session_path"]).exists()


@pytest.mark.sample(2)
@pytest.mark.parametrize("text", NOT_OFFLINE)
def test_a_request_that_no_skill_fits_runs_nothing_and_lists_candidates(workspace, skillkit_cli, text):
    result = skillkit_cli("run", "--json", text)
    assert result.exit_code == 1
    assert result.json["tool_calls"] == []
    assert not result.json["ok"]
    plain = skillkit_cli("run", text)
    assert plain.exit_code == 1
    assert plain.stdout == ""
    assert "No skill fits" in plain.stderr and "\n- " in plain.stderr


@pytest.mark.smoke
def test_the_answer_alone_goes_to_stdout_when_piped(workspace, skillkit_cli):
    result = skillkit_cli("run", "what is 15% of 80").ok()
    assert result.stdout == "15% of 80 = 12\n"
    assert "\x1b" not in result.stdout + result.stderr


def test_one_action_runs_without_a_model_with_checked_arguments(workspace, skillkit_cli):
    result = skillkit_cli("run", "--skill", "csv-stats", "summary", "sales.csv", "--column", "price", "--json").ok()
    assert result.json["data"]["columns"][0]["median"] == 20
    assert result.json["model"] == "direct" or result.json["provider"] == "direct"


def test_events_are_json_lines_and_the_last_is_the_result(workspace, skillkit_cli):
    lines = skillkit_cli("run", "--json", "--events", "what is 15% of 80").ok().json_lines
    types = [line["type"] for line in lines]
    assert types[-1] == "result" and types.count("result") == 1
    assert types.index("agent_start") < types.index("before_tool_call") < types.index("tool_execution_end")
    assert types.index("agent_end") < types.index("session_shutdown")


@pytest.mark.smoke
def test_a_session_goes_on_where_it_was(workspace, skillkit_cli):
    first = skillkit_cli("run", "--json", "what is 15% of 80").ok().json
    again = skillkit_cli("run", "--json", "--continue", "2+2").ok().json
    assert again["session"] == first["session"]
    shown = skillkit_cli("sessions", "show", first["session"], "--json").ok()
    assert "15% of 80" in shown.stdout and "2+2" in shown.stdout


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["run"], 2, ["no request"]),
        (["run", "--skill", "calculat", "evaluate"], 2, ["unknown skill", "calculate"]),
        (
            ["run", "--skill", "csv-stats", "sumary", "sales.csv"],
            2,
            ["skill 'csv-stats' has no action 'sumary'; did you mean 'summary'?"],
        ),
        (["run", "--skill", "csv-stats", "summary"], 2, ["'file' is missing"]),
        (["run", "--skill", "csv-stats", "rows", "sales.csv", "--limit", "many"], 2, ["limit", "whole number"]),
        (["run", "--skill", "csv-stats", "summary", "sales.csv", "--colum", "x"], 2, ["--column"]),
        (
            ["run", "--skill", "csv-stats", "rows", "sales.csv", "--limit", "0"],
            2,
            ["'limit' must be at least 1, not 0"],
        ),
        (["run", "--provider", "openai", "--api", "opnai-chat", "hi"], 2, ["did you mean 'openai-chat'?"]),
        (["resum", "x"], 2, ["unknown command 'resum'; did you mean", "'run'?"]),
        (["run", "--skill", "csv-stats", "summary", "nope.csv"], 1, ["nope.csv"]),
        (["run", "--skill", "csv-stats", "summary", "/etc/passwd"], 1, ["/etc/passwd"]),
        (["run", "--provider", "anthropi", "hi"], 2, ["unknown provider", "anthropic"]),
        (["run", "--provider", "openai", "hi"], 2, ["OPENAI_API_KEY"]),
        (["run", "--model", "gpt-none-such", "hi"], 2, ["unknown model"]),
        (["run", "--session", "none", "hi"], 2, ["unknown session"]),
        (
            ["run", "--provider", "openai", "--base-url", "http://127.0.0.1:9/v1", "--model", "x", "hi"],
            1,
            ["127.0.0.1:9"],
        ),
    ],
)
def test_bad_input_gets_one_clear_line_and_the_right_exit_code(workspace, skillkit_cli, argv, code, words):
    result = skillkit_cli(*argv, env={"SKILLKIT_RETRY__BASE_DELAY": "0"})
    assert result.exit_code == code, str(result)
    assert "Traceback" not in result.stderr
    errors = [line for line in result.stderr.splitlines() if "trying again" not in line]
    assert len(errors) == 1, result.stderr
    for word in words:
        assert word in result.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\xff" * 100, b"a,b\n1\n2,3,4\n"])
def test_a_csv_that_is_empty_binary_or_ragged_is_no_crash(workspace, skillkit_cli, content):
    (workspace / "odd.csv").write_bytes(content)
    result = skillkit_cli("run", "average b in odd.csv")
    assert "Traceback" not in result.stdout + result.stderr
    assert len(result.stdout + result.stderr) > 10


def test_a_file_name_that_looks_like_a_command_is_only_a_name(workspace, skillkit_cli):
    name = "; touch pwned; .csv"
    (workspace / name).write_text("price\n1\n3\n")
    result = skillkit_cli("run", "--skill", "csv-stats", "summary", name, "--json").ok()
    assert result.json["data"]["rows"] == 2
    assert not (workspace / "pwned").exists()


def test_a_data_directory_that_cannot_be_written_is_said_in_one_line(workspace, skillkit_cli, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    result = skillkit_cli("run", "what is 15% of 80", env={"SKILLKIT_HOME": str(blocked)})
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert str(blocked) in result.stderr


def test_a_broken_session_file_is_named_with_its_line(workspace, skillkit_cli):
    first = skillkit_cli("run", "--json", "2+2").ok().json
    path = Path(first["session_path"])
    lines = path.read_text().splitlines(keepends=True)
    lines[2] = "{broken\n"
    path.write_text("".join(lines))
    result = skillkit_cli("run", "--session", first["session"], "2+2")
    assert result.exit_code == 1
    assert f"{path}:3" in result.stderr
