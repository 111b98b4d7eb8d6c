"""What the first request of a conversation costs and says, with the standard distribution and nothing that a person adds."""

import json
import os

import pytest
from skillkit_testkit import Reply

TOKENS = 2_500
"""Most of all tools, at four characters of JSON each."""


@pytest.fixture
def first(skillkit_cli, llm_server, skillkit_home):
    """Say hello at a terminal; return the body of the request."""

    def ask(config=""):
        skillkit_home.write_config(config)
        llm_server.script(Reply(text="Hello to you."))
        argv = ["--provider", "anthropic", "--base-url", llm_server.url, "-m", "claude-sonnet-4-5"]
        env = {**os.environ, "NO_COLOR": "1", "ANTHROPIC_API_KEY": "key-of-the-tests"}
        with skillkit_cli.terminal("--only-default-plugins", "chat", *argv, cwd=skillkit_home.cwd, env=env) as chat:
            chat.send("hello\r")
            chat.wait_for("Hello to you.")
            chat.send("\x04")
            assert chat.wait() == 0
        return llm_server.requests[0].body

    return ask


def test_the_tools_cost_little_and_there_is_a_prompt_for_work(first):
    body = first()
    names = {tool["name"] for tool in body["tools"]}
    assert {"read", "write", "edit", "grep", "bash", "tasks", "ask_user", "spawn_agent", "activate_skill"} <= names
    assert not {name for name in names if "__" in name}  # actions come with their skill
    assert len(json.dumps(body["tools"])) / 4 <= TOKENS
    said = body["system"][0]["text"]
    assert said.startswith("You help a person at their computer") and "read a file before you change it" in said


def test_a_person_replaces_the_prompt(first):
    said = first("system_prompt: Answer in rhymes.\n")["system"][0]["text"]
    assert said.startswith("Answer in rhymes.") and "You help a person" not in said


def test_a_person_leaves_it_out(first):
    assert "You help a person" not in first("context: {work: false}\n")["system"][0]["text"]
