"""``skillkit record`` and ``skillkit replay`` as processes of their own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from skillkit_testkit import Recorder

from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

ASKS = all(find_spec(name) for name in ("skillkit_chat", "skillkit_offline", "skillkit_openai"))
NEEDS_CHAT = pytest.mark.skipif(not ASKS, reason="the plugins chat, offline and openai are not installed")


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


def test_a_recording_that_matches_ends_with_0(recorded: Path, skillkit_cli: Any) -> None:
    done = skillkit_cli("--plugins", "testkit", "replay", recorded).ok()
    assert done.stdout.startswith("the replay matches: 2 requests, 1 tool execution, ")
    told = skillkit_cli("--plugins", "testkit", "replay", recorded, "--json").ok().json
    assert told["matches"] is True and told["differences"] == []
    assert [response["content"] for response in told["responses"]] == ["Done."]


def test_a_recording_that_differs_ends_with_1_and_says_where(recorded: Path, skillkit_cli: Any) -> None:
    recorded.write_text(recorded.read_text().replace("HELLO", "HULLO", 1))  # what the tool gave; not what was seen then
    done = skillkit_cli("--plugins", "testkit", "replay", recorded)
    assert done.exit_code == 1
    assert 'after_tool_result of shout (call_1): content[0].text: expected "HELLO", got "HULLO"' in done.stdout
    told = skillkit_cli("--plugins", "testkit", "replay", recorded, "--json", "--event", "tool_execution_end")
    assert told.exit_code == 1
    assert [(d["path"], d["expected"], d["got"]) for d in told.json["differences"]] == [
        ("content[0].text", "HELLO", "HULLO")
    ]


def test_what_cannot_be_used_ends_with_2(recorded: Path, skillkit_cli: Any, tmp_path: Path) -> None:
    lines = recorded.read_text().splitlines()
    recorded.write_text("\n".join([*lines[:4], lines[4][:20], *lines[5:]]))
    done = skillkit_cli("replay", recorded)
    assert done.exit_code == 2 and f"{recorded}:5: the line is damaged" in done.stderr
    assert skillkit_cli("replay", tmp_path / "nowhere.jsonl").exit_code == 2
    recorded.write_text("\n".join(lines))
    assert skillkit_cli("replay", recorded, "--event", "no_such_event").exit_code == 2
    assert skillkit_cli("record", tmp_path / "a.jsonl", "no-such-command").exit_code == 2
    assert skillkit_cli("record", tmp_path / "no" / "a.jsonl", "plugins", "list").exit_code == 2


def test_a_command_without_an_agent_leaves_nothing_to_record(skillkit_cli: Any, tmp_path: Path) -> None:
    done = skillkit_cli("record", tmp_path / "a.jsonl", "plugins", "list", "--json")
    assert done.exit_code == 1 and "nothing was recorded: 'plugins' opened no session" in done.stderr
    assert not (tmp_path / "a.jsonl").exists()


@NEEDS_CHAT
def test_a_run_is_recorded_and_replayed_without_its_provider(
    skillkit_cli: Any, llm_server: Any, tmp_path: Path
) -> None:
    from skillkit_testkit import Reply as Answer

    llm_server.script(Answer(text=["It is ", "42."]))
    key = {"OPENAI_API_KEY": "sk-very-secret-123456"}
    asked = ("--provider", "openai", "--model", "any", "--base-url", llm_server.openai_url, "what is it?")
    done = skillkit_cli("record", tmp_path / "run.jsonl", "run", *asked, env=key).ok()
    assert done.stdout.strip() == "It is 42."
    assert "recorded in" in done.stderr
    assert "sk-very-secret" not in (tmp_path / "run.jsonl").read_text()
    again = skillkit_cli("replay", tmp_path / "run.jsonl")
    assert again.exit_code == 0, again
    assert len(llm_server.requests) == 1
