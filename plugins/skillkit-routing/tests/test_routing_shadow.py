"""A router in the shadow, by the ids of phase 6, and what the command line says of routes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from skillkit_engines import ROUTE, Route
from skillkit_routing.shadow import log_of

from skillkit_core import hookimpl


class Other:
    """Another router, which always chooses one skill; ``None``: it fails."""

    def __init__(self, skill: str | None) -> None:
        self.skill, self.asked = skill, 0

    @hookimpl(optionalhook=True)
    async def select_skill(self, request: Any) -> Any:
        self.asked += 1
        if self.skill is None:
            raise ValueError("no choice")
        return Route(self.skill, 0.7, why="selected")


def choice(name: str) -> str:
    return json.dumps({"skill": name, "confidence": 0.9, "reason": "it fits"})


def lines(host: Any) -> list[Any]:
    path = log_of(host)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def talk(agent: Any, *texts: str) -> list[Any]:
    async def main() -> list[Any]:
        async with agent:
            for text in texts:
                await agent.chat(text)
            return [note.data for note in agent.session.notes(ROUTE)]

    return asyncio.run(main())


@pytest.fixture
def two(engine_skill):
    engine_skill("weather", "Forecasts.")
    engine_skill("mail", "Mail.")


def test_s6_1_a_router_in_the_shadow_decides_nothing_and_each_request_is_a_record(engine_stage, two):
    other = Other("mail")
    agent, _ = engine_stage(
        choice("weather"),
        "Warm.",
        choice("mail"),
        "Sent.",
        plugins=[("other", other)],
        settings={"routing.shadow": "other"},
    )
    routes = talk(agent, "How warm is it?", "Send it")
    assert [route["skill"] for route in routes] == ["weather", "mail"] and other.asked == 2
    first, second = lines(agent.host)
    assert first["main"] == {"skill": "weather", "confidence": 0.9, "by": "routing"} and not first["agree"]
    assert (first["shadow"]["skill"], first["shadow"]["confidence"], second["agree"]) == ("mail", 0.7, True)
    assert len(first["query"]) == 16 and "warm" not in log_of(agent.host).read_text()


def test_s6_2_the_shadow_is_asked_after_the_answer_and_its_failure_is_the_doctors_alone(engine_stage, two):
    seen: list[str] = []
    other = Other(None)
    original = other.select_skill
    agent, _ = engine_stage(
        choice("weather"), "Warm.", plugins=[("other", other)], settings={"routing.shadow": "other"}
    )
    agent.events.observe(lambda event: seen.append(f"{event.type} {other.asked}"), ["agent_end"])
    (route,) = talk(agent, "How warm is it?")
    assert route["skill"] == "weather" and seen == ["agent_end 0"] and other.asked == 1 and original is not None
    assert "no choice" in str(agent.host.problems)
    assert lines(agent.host)[0]["shadow"]["skill"] == "chat"


def test_with_the_mode_shadow_the_agent_answers_everything_and_the_skills_are_in_the_shadow(engine_stage, two):
    agent, model = engine_stage("I answer.", choice("weather"), settings={"engines.mode": "shadow"})
    assert talk(agent, "How warm is it?") == []
    (line,) = lines(agent.host)

    assert line["main"] == {"skill": "chat", "confidence": 1.0, "by": "agent"}
    assert line["shadow"]["skill"] == "weather"
    assert line["calls"] == 1 and not line["agree"]
    assert "activate_skill" in [tool.name for tool in model.requests[0].tools] and model.requests[1].tools == ()


def test_s6_4_a_router_is_replaced_by_installing_one_and_comes_back_when_it_goes(engine_stage, two):
    agent, _ = engine_stage("Sent.", choice("weather"), "Warm.")
    host = agent.host
    host.add_plugin(Other("mail"), "other")

    async def main() -> list[Any]:
        async with agent:
            await agent.chat("How warm is it?")
            host.remove_plugin("other")
            await agent.chat("And tomorrow?")
            return [(note.data["skill"], note.data["by"]) for note in agent.session.notes(ROUTE)]

    assert asyncio.run(main()) == [("mail", "other"), ("weather", "routing")]


def test_s6_3_compare_prints_the_rate_and_the_disagreements(skillkit_cli, skillkit_home):
    assert "Nothing was compared yet" in skillkit_cli("routing", "compare").ok().stdout
    path = skillkit_home.data_dir / "routing" / "shadow.jsonl"
    path.parent.mkdir(parents=True)
    rows = [("weather", "weather"), ("weather", "mail"), ("weather", "mail"), ("chat", "mail")]
    written = [
        {"main": {"skill": a}, "shadow": {"skill": b}, "agree": a == b, "cost": 0.25, "calls": 1, "ts": 1}
        for a, b in rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in written) + '{"torn')
    found = skillkit_cli("routing", "compare", "--json").ok().json
    assert found == {
        "requests": 4, "agreement": 0.25, "cost": 1.0,
        "disagreements": [{"main": "weather", "shadow": "mail", "count": 2}, {"main": "chat", "shadow": "mail", "count": 1}],
    }  # fmt: skip
    text = skillkit_cli("routing", "compare").ok().stdout
    assert "agreement  25.0% of 4 requests" in text and "weather  mail" in text


@pytest.fixture
def written(skillkit_home):
    def write(name: str, **fields: Any) -> None:
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        head = {
            "name": name,
            "description": f"Does {name}.",
            "metadata": {"skillkit": {"engine": "automation", **fields}},
        }
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")

    return write


@pytest.mark.smoke
def test_why_tells_the_choice_the_candidates_and_why_others_are_none(skillkit_cli, written):
    written("weather")
    written("edits", requires_editor=True)
    found = skillkit_cli("routing", "why", "How warm is it?", "--no-model", "--json").ok().json
    assert found["skill"] == "chat" and found["why"] == "no_key" and found["dropped"]["edits"] == "requires_editor"
    assert "weather" in [row["name"] for row in found["candidates"]]
    opened = skillkit_cli("routing", "why", "x", "--no-model", "--editor", "note", "--json").ok().json
    assert "edits" not in opened["dropped"]
    text = skillkit_cli("routing", "why", "hi").ok().stdout
    assert "greeting, no model call" in text and "skill       chat: the agent itself answers" in text


def test_what_nobody_can_judge_is_said_with_the_line_that_helps(skillkit_cli, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"query": "x", "truth": "chat"}\n{"query": "y"}\n')
    failed = skillkit_cli("routing", "eval", bad)
    assert failed.exit_code == 2 and f"{bad}:2" in failed.stderr and '"truth": "weather"' in failed.stderr
    assert "name a file, or --session ID" in skillkit_cli("routing", "eval").stderr
    bad.write_text('{"query": "x", "truth": "chat"}\n')
    assert "no model that could be asked" in skillkit_cli("routing", "eval", bad).stderr
