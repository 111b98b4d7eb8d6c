"""Long conversations through the command line, with the standard distribution: ``/compact``, and an overflow on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from skillkit_testkit import Fail, Reply

LONG = "A parser reads tokens and builds a tree. " * 150
SUMMARY = "Parsers were explained. Next step: the last question."


@pytest.fixture
def asked(llm_server: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The options that ask the server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all")
    monkeypatch.setenv("NO_COLOR", "1")
    return ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")


def test_a_conversation_is_compacted_by_hand_and_goes_on(
    skillkit_cli: Any, llm_server: Any, asked: tuple[str, ...]
) -> None:
    llm_server.script(Reply(text=LONG), Reply(text=LONG), Reply(text=SUMMARY), Reply(text="It ends here."))
    skillkit_cli("--only-default-plugins", "run", *asked, "What does a parser do?").ok()
    skillkit_cli("--only-default-plugins", "run", *asked, "--continue", "And a lexer?").ok()
    with skillkit_cli.terminal("--only-default-plugins", "chat", *asked, "--continue", columns=120, rows=50) as chat:
        chat.wait_for("/help shows commands")
        chat.send("/compact\r")
        chat.wait_for("Shortened from about")
        chat.send("The last question.\r")
        chat.wait_for("It ends here.")
        chat.send("\x04")
        assert chat.wait() == 0, chat.text
    last = [m for m in llm_server.last.body["messages"] if m["role"] != "system"]
    assert SUMMARY in json.dumps(last[0]), "the summary stands for what was said"
    assert "What does a parser do?" not in json.dumps(last)
    assert "The last question." in json.dumps(last[-1])


def test_a_conversation_that_a_provider_finds_too_long_is_compacted_and_answered(
    skillkit_cli: Any, llm_server: Any, asked: tuple[str, ...]
) -> None:
    too_long = Fail(
        status=400, type="context_length_exceeded", message="This model's maximum context length is 4096 tokens."
    )
    llm_server.script(
        Reply(text=LONG),
        Reply(text=LONG),
        too_long,
        Reply(text="Half of it."),
        Reply(text=SUMMARY),
        Reply(text="It ends here."),
    )
    skillkit_cli("--only-default-plugins", "run", *asked, "What does a parser do?").ok()
    skillkit_cli("--only-default-plugins", "run", *asked, "--continue", "And a lexer?").ok()
    assert (
        skillkit_cli("--only-default-plugins", "run", *asked, "--continue", "The last question.").ok().stdout
        == "It ends here.\n"
    )
    assert SUMMARY in json.dumps(llm_server.last.body)
    parts = [json.dumps(request.body) for request in llm_server.requests[3:5]]
    assert LONG[:200] in parts[0] and "Half of it." in parts[1], (
        "where nobody knows the window, half at a time is shown"
    )
