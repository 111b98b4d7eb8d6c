"""What a command has shown is kept: a killed run goes on, a run whose sessions are removed says where everything is."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit import Call, Gate, Reply, until_changed


@pytest.fixture
def asked(skillkit_cli: Any, llm_server: Any) -> tuple[str, ...]:
    """The options that ask the server."""
    return (
        "--provider",
        "openai",
        "--api",
        "openai-chat",
        "--base-url",
        llm_server.openai_url,
        "--model",
        "gpt-6-luna",
    )


def test_a_run_that_was_killed_in_its_answer_goes_on_where_it_was_cut_off(
    skillkit_cli: Any, llm_server: Any, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all")
    monkeypatch.setenv("SKILLKIT_SESSIONS__FLUSH_INTERVAL", "0.1")
    llm_server.script(Reply(text=["Once upon a time", " there was"], gate=Gate()), Reply(text="there was a fox."))
    sessions = skillkit_cli.home.data_dir / "sessions"
    sessions.mkdir(parents=True)
    with skillkit_cli.start("run", *asked, "Tell me a tale.") as process:
        until_changed(lambda: any('"Once upon a time"' in p.read_text() for p in sessions.glob("*.jsonl")), sessions)
        process.send_signal(signal.SIGKILL)
        process.communicate()  # until its pipes are closed
    [file] = sessions.glob("*.jsonl")
    shown = skillkit_cli("sessions", "show", file.stem, "--json").ok().json
    assert (shown["state"], [e["type"] for e in shown["entries"]]) == ("waiting", ["custom_message", "message"])
    assert skillkit_cli("sessions", "resume", file.stem, *asked).ok().stdout == "there was a fox.\n"
    sent = json.dumps(llm_server.last.body)
    assert "Once upon a time" in sent and "[The program ended in the middle of this answer.]" in sent
    assert "Once upon a time" in skillkit_cli("sessions", "export", file.stem, "--format", "markdown").ok().stdout


def test_a_run_whose_sessions_are_removed_says_where_everything_is_and_goes_on_there(
    skillkit_cli: Any, llm_server: Any, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all")
    sessions = skillkit_cli.home.data_dir / "sessions"
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": f"rm -r {sessions}"})]), Reply(text="All is clean."))
    result = skillkit_cli("run", "--permit", "Bash", "--permission-mode", "bypass", *asked, "Clean up.")
    assert result.exit_code == 1 and len(result.stderr.splitlines()) == 1, result
    found = re.search(rf"({sessions}/\S+\.jsonl): the file of the session was removed while it was open", result.stderr)
    assert found is not None and f"this is session '{Path(found[1]).stem}' now" in result.stderr, result
    name = Path(found[1]).stem
    assert skillkit_cli("run", *asked, "--session", name, "And now?").ok().stdout == "All is clean.\n"
    assert [m["role"] for m in llm_server.last.body["messages"]][-4:] == ["user", "assistant", "tool", "user"]
