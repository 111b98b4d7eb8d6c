"""The patterns of the README, which are configuration and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from collaboration_stage import A, Answers, C, P, R, chat, message, types

README = Path(__file__).parents[1] / "README.md"
BLOCKS = [one for one in re.findall(r"```yaml\n(.*?)```", README.read_text("utf-8"), re.DOTALL) if "patterns:" in one]
PATTERNS = {
    name: (block, found)
    for block in BLOCKS
    for name, found in yaml.safe_load(block)["collaboration"]["patterns"].items()
}
DONE = {"structured_data": {"no_further_changes": True}}
PLAYS: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "fact-checked": (
        {"research": [P, message("revision", "checked")], "fact-checker": [C, A]},
        ["research proposal", "fact-checker critique", "research revision", "fact-checker approval"],
        "checked",
    ),
    "reviewed-mail": (
        {"email": [P, message("revision", "Dear Ann,")], "tone-reviewer": [C, A]},
        ["email proposal", "tone-reviewer critique", "email revision", "tone-reviewer approval"],
        "Dear Ann,",
    ),
    "both-sides": (
        {
            "optimist": message("proposal", "Good.", **DONE), "pessimist": message("proposal", "Bad.", **DONE),
            "synthesis": "Good and bad.",
        },
        ["optimist proposal", "pessimist proposal"],
        "Good and bad.",
    ),
    "proofread-chapter": (
        {"fiction-editing": [P, R, message("revision", "Chapter 1")], "proofreading": [C, C, A]},
        [
            "fiction-editing proposal", "proofreading critique", "fiction-editing revision", "proofreading critique",
            "fiction-editing revision", "proofreading approval",
        ],
        "Chapter 1",
    ),
    "organized-findings": (
        {"research": [P, C, A], "document-creator": [P, message("revision", "# All")]},
        [
            "research proposal", "document-creator proposal", "research critique", "document-creator revision",
            "research approval",
        ],
        "# All",
    ),
}  # fmt: skip


def test_s10_10_there_are_five_patterns_of_10_to_20_lines():
    assert set(PATTERNS) == set(PLAYS) and len(BLOCKS) == 5
    assert all(10 <= len(block.splitlines()) <= 20 for block, _ in PATTERNS.values())


@pytest.mark.parametrize("name", PLAYS)
def test_s10_10_a_pattern_runs_as_it_is_written(engine_stage, engine_skill, name):
    _, pattern = PATTERNS[name]
    said, thread, result = PLAYS[name]
    for skill in pattern["participants"]:
        engine_skill(skill)
    agent, model = engine_stage(settings={"collaboration.patterns": {name: pattern}})
    model.turns[:], model.repeat = [Answers(said)], True
    response, record = chat(agent, f"/{name} Do it.")
    assert (types(record), record.status, response.content) == (thread, "converged", result)


def test_s10_10_a_pattern_is_a_skill_file_as_well(engine_stage, engine_skill):
    engine_skill("research")
    engine_skill("critic")
    pattern = {"participants": ["research", "critic"], "roles": {"critic": "critic"}}
    engine_skill("pair", engine="collaboration", collaboration=pattern)
    agent, model = engine_stage()
    model.turns[:], model.repeat = [Answers({"research": P, "critic": A})], True
    response, record = chat(agent)
    assert record.status == "converged" and response.content == json.loads(P)["content"]
