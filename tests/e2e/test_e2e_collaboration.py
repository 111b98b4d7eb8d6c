"""Skills that work together: at the command line, shown and exported, over a decision of a person, and in every front end."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

pytest.importorskip("skillkit_collaboration", reason="collaboration is not part of the standard distribution")

import skillkit_collaboration.plugin
import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_skills.plugin
from front_ends import FRONTS, open_front
from skillkit_testkit import Reply

QUERY = "why do glaciers move?"
PATTERN = """
collaboration:
  patterns:
    checked:
      participants: [research, fact-checker]
      roles: {research: generator, fact-checker: critic}
    broken:
      participants: [research, nobody]
"""
SAID = {
    "research": [("proposal", "Ice is heavy."), ("revision", "Ice flows under its own weight.")],
    "fact-checker": [("critique", "That is no reason."), ("approval", "That is right.")],
}


@pytest.fixture
def play(skillkit_cli, llm_server, monkeypatch, skillkit_home):
    """Asks the loopback model, which answers by who is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    _write(skillkit_home)

    def answer(request: Any) -> Reply:
        return Reply(text=_said(json.dumps(request.body)))

    llm_server.always(answer)
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    return lambda *argv: skillkit_cli(*argv, *(wire if argv[0] == "collaborate" and QUERY in argv else ()))


def _write(skillkit_home: Any) -> None:
    for name in SAID:
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        head = {"name": name, "description": f"Does {name}.", "metadata": {"skillkit": {"engine": "automation"}}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")
    (skillkit_home.config_dir / "config.yaml").write_text(PATTERN)


def _said(asked: str) -> str:
    """Return what is said by who is asked last."""
    name = re.findall(r"You are ([\w-]+), the ", asked)[-1]
    kind, text = SAID[name]["That is no reason." in asked]
    return json.dumps({"message_type": kind, "content": text})


def test_a_request_is_done_by_two_skills_and_shown_in_three_forms(play):
    done = play("collaborate", QUERY, "--pattern", "checked")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == "Ice flows under its own weight.\n"
    listed = json.loads(play("collaborations", "list", "--json").stdout)
    assert [(row["outcome"], row["total_turns"], row["query"]) for row in listed] == [("converged", 4, QUERY)]
    assert (
        "└─ 4 fact-checker (critic) → research · approval (accepted)" in play("collaborations", "show", "latest").stdout
    )
    trace = json.loads(play("collaborations", "show", "latest", "--format", "json").stdout)
    assert [one["message_type"] for one in trace["messages"]] == ["proposal", "critique", "revision", "approval"]
    assert len(json.loads(play("collaborations", "show", "latest", "--format", "spans").stdout)) == 5


def test_s11_7_the_thread_is_printed_behind_the_result_where_a_person_wants_it(play):
    done = play("collaborate", QUERY, "--pattern", "checked", "--show-collaboration")
    assert done.stdout.startswith("Ice flows under its own weight.\n\nc1 · converged · 4 turns · 4 model calls")
    assert "├─ 2 fact-checker (critic) → research · critique" in done.stdout


def test_s10_10_a_pattern_in_a_file_is_enough(play, skillkit_home):
    (skillkit_home.config_dir / "config.yaml").unlink()
    lines = PATTERN.strip().splitlines()
    whole, alone = skillkit_home.cwd / "any.yaml", skillkit_home.cwd / "checked.yaml"
    whole.write_text("\n".join(lines[:5]))
    alone.write_text("\n".join(lines[3:5]))
    for file in ("./any.yaml", "checked.yaml", str(alone)):
        done = play("collaborate", QUERY, "--pattern", file)
        assert done.exit_code == 0 and done.stdout == "Ice flows under its own weight.\n", str(done)
    for text, words in {
        "[": "it is no YAML", "": "it is no pattern", "participants: 3": "participants: ", "pattern: x": "it is no pattern",
        "\n".join(lines): "it has not one pattern", "participants: [research, nobody]": "there is no skill 'nobody'",
    }.items():  # fmt: skip
        alone.write_text(text)
        wrong = play("collaborate", QUERY, "--pattern", "checked.yaml")
        assert wrong.exit_code == 2 and words in wrong.stderr and len(wrong.stderr.splitlines()) == 1, str(wrong)
    assert "cannot be read" in play("collaborate", QUERY, "--pattern", "away.yaml").stderr


def test_what_cannot_be_is_one_line_that_says_what_to_do(play, skillkit_home):
    broken = play("collaborate", QUERY, "--pattern", "broken")
    assert broken.exit_code == 2 and "collaboration.patterns.broken" in broken.stderr
    assert "there is no skill 'nobody'" in broken.stderr and "Traceback" not in broken.stderr
    unknown = play("collaborate", QUERY, "--pattern", "chekced")
    assert unknown.exit_code == 2 and "checked" in unknown.stderr
    config = skillkit_home.config_dir / "config.yaml"
    config.write_text(PATTERN.replace("    checked:", "    Not A Name:"))
    assert "collaboration.patterns" in play("collaborate", "--patterns").stderr
    config.write_text(PATTERN.replace("    checked:", "    research:"))
    assert "a skill is called 'research', too" in play("collaborate", QUERY, "--pattern", "research").stderr
    config.write_text(PATTERN)
    assert "which pattern?" in play("collaborate", QUERY).stderr
    assert "there is no request" in play("collaborate", "--pattern", "checked").stderr
    rows = json.loads(play("collaborate", "--patterns", "--json").stdout)
    assert [(row["name"], bool(row["problems"])) for row in rows] == [("checked", False), ("broken", True)]
    assert "ready" in play("collaborate", "--patterns").stdout
    assert "No session has a collaboration yet." in play("collaborations", "list").stdout


FAMILY = [
    ("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin),
    ("engine-automation", skillkit_engine_automation.plugin), ("collaboration", skillkit_collaboration.plugin),
]  # fmt: skip


@pytest.mark.parametrize("front", FRONTS)
def test_a_session_is_one_block_with_its_thread_in_every_front_end_and_a_slash_command_draws_it(front, skillkit_home):
    _write(skillkit_home)

    def answer(request: Any) -> str:
        return _said("\n".join(message.text for message in request.messages))

    async def main() -> None:
        async with open_front(front, skillkit_home, [answer] * 4, plugins=FAMILY) as person:
            await person.say(f"/checked {QUERY}")
            await person.sees("lead_collaboration", "→ research · approval", "Ice flows under its own weight.")
            await person.idle()
            await person.say("/collaborations")
            await person.sees("c1 · converged · 4 turns", "└─ 4 fact-checker (critic) → research · approval")

    asyncio.run(main())
