"""``skillkit record`` and ``skillkit replay`` as processes of their own."""

from __future__ import annotations

import asyncio
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from skillkit_recorder import Recorder
from skillkit_testkit import Fail, Gate, Reply as Answer

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

ASKS = all(find_spec(name) for name in ("skillkit_chat", "skillkit_offline", "skillkit_openai"))
NEEDS_CHAT = pytest.mark.skipif(not ASKS, reason="the plugins chat, offline and openai are not installed")


@pytest.fixture(autouse=True)
def _without_facts(skillkit_home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin context tells models the folder and the day, which are others when a recording is replayed."""
    monkeypatch.setenv("SKILLKIT_PLUGINS__DISABLED", "context")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A session with a tool that nobody has but its recording."""
    path = tmp_path / "session.jsonl"

    async def shout(args: Any, ctx: Any) -> str:
        return "HELLO"

    async def main() -> None:
        config = AgentConfig(tools=(Tool("shout", "Say it loudly.", shout),))
        async with AgentRunner(config, host=Host(discover=False, environ={})) as agent:
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("shout")]), "Done."]))
            with Recorder(agent, path):
                await agent.chat("Shout hello.")

    asyncio.run(main())
    return path


@pytest.mark.smoke
def test_a_recording_that_matches_ends_with_0(recorded: Path, skillkit_cli: Any) -> None:
    done = skillkit_cli("--plugins", "recorder", "replay", recorded).ok()
    assert done.stdout.startswith("the replay matches: 2 requests, 1 tool execution, ")
    told = skillkit_cli("--plugins", "recorder", "replay", recorded, "--json").ok().json
    assert told["matches"] is True and told["differences"] == []
    assert [response["content"] for response in told["responses"]] == ["Done."]


def test_a_recording_that_differs_ends_with_1_and_says_where(recorded: Path, skillkit_cli: Any) -> None:
    recorded.write_text(recorded.read_text().replace("HELLO", "HULLO", 1))  # what the tool gave; not what was seen then
    done = skillkit_cli("--plugins", "recorder", "replay", recorded)
    assert done.exit_code == 1
    assert 'after_tool_result of shout (call_1): content[0].text: expected "HELLO", got "HULLO"' in done.stdout
    told = skillkit_cli("--plugins", "recorder", "replay", recorded, "--json", "--event", "tool_execution_end")
    assert told.exit_code == 1
    assert [(d["path"], d["expected"], d["got"]) for d in told.json["differences"]] == [
        ("content[0].text", "HELLO", "HULLO")
    ]


def test_one_type_of_event_is_compared_and_counted(recorded: Path, skillkit_cli: Any) -> None:
    done = skillkit_cli("--plugins", "recorder", "replay", recorded, "--event", "tool_call").ok()
    assert done.stdout == "the replay matches: 1 event of type before_tool_call\n"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: ["hello\n"], "{file}:1: it is no recording: the first line must be its head"),
        (lambda lines: [], "{file}:1: it is no recording: it is empty"),
        (
            lambda lines: [*lines[:4], lines[4][:20]],
            "{file}:5: the line is damaged: the file ends in the middle of it; keep what is whole: head -n 4",
        ),
        (lambda lines: [*lines[:4], lines[4][:20] + "\n", *lines[5:]], "{file}:5: the line is damaged: "),
        (lambda lines: [*lines[:4], "7\n"], "{file}:5: the line is damaged: no JSON object"),
        (
            lambda lines: [lines[0].replace('"version": 1', '"version": 9')],
            "{file}:1: it was written by a newer version (format 9, this one reads 1); pip install --upgrade skillkit-recorder",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    recorded: Path, skillkit_cli: Any, spoil: Any, words: str
) -> None:
    recorded.write_text("".join(spoil(recorded.read_text().splitlines(keepends=True))))
    done = skillkit_cli("replay", recorded, "--json")
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith(f"Error: {words.format(file=recorded)}") and done.stderr.count("\n") == 1


def test_what_cannot_be_replayed_or_recorded_is_refused_before_anything_runs(
    recorded: Path, skillkit_cli: Any, tmp_path: Path
) -> None:
    mine = tmp_path / "sales.csv"
    mine.write_text("a,b\n")
    for words, said in (
        (("replay", tmp_path / "nowhere.jsonl"), "does not exist"),
        (("replay", recorded, "--event", "no_such_event"), "unknown event 'no_such_event'"),
        (("record", tmp_path / "a.jsonl", "no-such-command"), "'no-such-command' is no command that can be recorded"),
        (("record", tmp_path / "a.jsonl", "replay", recorded), "'replay' is no command that can be recorded"),
        (("record", tmp_path / "no" / "a.jsonl", "plugins", "list"), "there is no such folder"),
        (("record", mine, "plugins", "list"), "is no recording, and would be replaced"),
        (("record", recorded, "plugins", "list", "--nonsense"), "(see 'skillkit plugins list --help')"),
    ):
        done = skillkit_cli(*words)
        assert done.exit_code == 2 and done.stdout == "", words
        assert said in done.stderr and done.stderr.count("\n") == 1, words
    assert mine.read_text() == "a,b\n"
    assert "Usage: skillkit record" in skillkit_cli("record", recorded, "--help").ok().stdout


def test_a_command_without_an_agent_leaves_nothing_to_record(skillkit_cli: Any, tmp_path: Path) -> None:
    done = skillkit_cli("record", tmp_path / "a.jsonl", "plugins", "list", "--json")
    assert done.exit_code == 1 and "nothing was recorded: 'plugins' opened no session" in done.stderr
    assert not (tmp_path / "a.jsonl").exists()


@NEEDS_CHAT
def test_a_recording_that_cannot_begin_is_told_also_where_the_command_ends_well(
    skillkit_cli: Any, llm_server: Any, install_plugin: Any, tmp_path: Path
) -> None:
    llm_server.script(Answer(text=["Fine."]))
    odd = tmp_path / "odd_plugin.py"
    odd.write_text(
        "from skillkit_core import hookimpl\n\n@hookimpl\ndef session_start(event, ctx):\n"
        "    ctx.agent.steer = None  # what a recorder listens to\n"
    )
    install_plugin("odd", odd)
    wire = ("--provider", "openai", "--base-url", f"{llm_server.url}/v1", "--model", "m")
    done = skillkit_cli(
        "-P", "odd", "record", tmp_path / "a.jsonl", "run", *wire, "Hello", env={"OPENAI_API_KEY": "sk-test"}
    )
    assert done.exit_code == 1 and "nothing was recorded: TypeError" in done.stderr, done.stderr
    assert "Fine." in done.stdout


@NEEDS_CHAT
def test_a_run_is_recorded_and_replayed_without_its_provider(
    skillkit_cli: Any, llm_server: Any, tmp_path: Path
) -> None:
    llm_server.script(Answer(text=["It is ", "42."]))
    key = {"OPENAI_API_KEY": "sk-very-secret-123456"}
    asked = ("--provider", "openai", "--model", "any", "--base-url", llm_server.openai_url, "what is it?")
    done = skillkit_cli("record", tmp_path / "run.jsonl", "run", *asked, env=key).ok()
    assert done.stdout.strip() == "It is 42."
    last = done.stderr.splitlines()[-1]  # after what is not known of the model
    assert last.startswith(f"recorded in {tmp_path / 'run.jsonl'}: 1 request, 0 tool executions, ")
    assert "sk-very-secret" not in (tmp_path / "run.jsonl").read_text()
    again = skillkit_cli("replay", tmp_path / "run.jsonl")
    assert again.exit_code == 0, again
    assert len(llm_server.requests) == 1
    assert skillkit_cli("replay", tmp_path / "run.jsonl", "--json").ok().json["notes"] == []


@NEEDS_CHAT
def test_a_command_that_fails_is_recorded_and_ends_as_without_a_recorder(
    skillkit_cli: Any, llm_server: Any, tmp_path: Path
) -> None:
    llm_server.script(Fail(401))
    asked = ("--provider", "openai", "--model", "any", "--base-url", llm_server.openai_url, "what is it?")
    done = skillkit_cli(
        "record", tmp_path / "run.jsonl", "run", *asked, env={"OPENAI_API_KEY": "sk-very-secret-123456"}
    )
    assert done.exit_code == 1 and done.stderr.startswith("Error: openai")
    again = skillkit_cli("replay", tmp_path / "run.jsonl", "--json").ok().json
    assert again["matches"] is True and again["responses"][0]["type"] == "AgentError"


@NEEDS_CHAT
def test_an_interrupted_run_is_recorded(skillkit_cli: Any, llm_server: Any, tmp_path: Path) -> None:
    gate = Gate(after_deltas=1)
    llm_server.script(Answer(text=["Half an ", "answer."], gate=gate))
    asked = ("--provider", "openai", "--model", "any", "--base-url", llm_server.openai_url, "what is it?")
    key = {"OPENAI_API_KEY": "sk-very-secret-123456"}
    running = skillkit_cli.start("record", tmp_path / "run.jsonl", "run", *asked, env=key)
    assert gate.reached.wait(30)
    running.send_signal(signal.SIGINT)
    assert "recorded in" in running.communicate(timeout=60)[1]
    assert running.returncode == 130
    assert skillkit_cli("replay", tmp_path / "run.jsonl").exit_code == 0
