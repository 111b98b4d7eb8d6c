"""Many skills, by the ids of phase 9: domains first, a short list, and nothing that cannot be reached."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from skillkit_engines import RouteRequest, SkillCandidate, discover
from skillkit_routing.prompt import system_prompt
from skillkit_routing.stages import FIRST, domains_of, nearest, shortlist, widened
from skillkit_skills import read

from skillkit_core import AssistantMessage, Skill
from skillkit_core.messages import TextBlock

TOPICS = {
    "weather": "rain wind snow forecast temperature",
    "mail": "inbox letter reply send message",
    "kitchen": "recipe cook soup bread oven",
    "music": "album song concert melody band",
    "travel": "train flight ferry ticket station",
}
WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliet",
    "kilo",
    "lima",
    "mike",
]


def crowd(count: int) -> list[Skill]:
    """Return skills of five domains, each with words of its domain and a word of its own, and one of no domain."""
    names = list(TOPICS)
    found = []
    for n in range(count):
        domain = names[n % len(names)]
        words = TOPICS[domain].split()
        about = (
            f"Helps with {words[n % 5]} and {words[(n + 2) % 5]}, variant {WORDS[n % 13]}{n}. "
            + "It does it well. " * 8
        )
        found.append(Skill(name=f"{domain}-{n:04}", description=about, engine="automation", domains=(domain,)))
    return [*found, Skill(name="odd-one", description="Tunes zithers, the variant zulu.", engine="automation")]


def candidates(skills: list[Skill]) -> list[SkillCandidate]:
    return [SkillCandidate(skill) for skill in skills]


class Says:
    """A model that answers in order, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), []

    async def __call__(self, messages: Any, **options: Any) -> AssistantMessage:
        self.asked.append(options)
        return AssistantMessage(content=(TextBlock(self.texts.pop(0)),))


def short(host: Any, skills: list[Skill], query: str, ask: Any = None, **about: Any) -> Any:
    return asyncio.run(shortlist(RouteRequest(query, ask=ask, **about), candidates(skills), host))


def test_s9_1_clear_words_name_one_to_three_domains_without_a_call(hosts):
    host, ask = hosts(), Says()
    found = short(host, crowd(500), "Which recipe makes a good soup?", ask)
    assert found.domains[0] == "kitchen" and 1 <= len(found.domains) <= 3 and found.calls == 0 and ask.asked == []


def test_s9_1_words_that_say_nothing_cost_one_call_whose_answer_may_be_wrong(hosts):
    host = hosts()
    ask = Says("- Music\n- no such domain\n- travel")
    found = short(host, crowd(500), "Xyzzy qwertz", ask)
    assert found.domains == ("music", "travel") and found.calls == 1 and len(ask.asked) == 1
    assert ask.asked[0]["purpose"] == "routing.domains" and "kitchen" in ask.asked[0]["system"]
    assert len(short(host, crowd(500), "Xyzzy qwertz", Says("nothing of it")).domains) == 3


def test_s9_1_a_domain_or_intent_that_the_request_names_weighs_twice():
    near = [(Skill(name="a", domains=("x",)), 1.0), (Skill(name="b", domains=("y",), intents=("observe",)), 0.9)]
    assert domains_of(near, RouteRequest("some words"))[0] == "x"
    assert domains_of([near[1], (near[0][0], 1.5)], RouteRequest("please observe it"))[0] == "y"
    assert domains_of([(near[1][0], 0.7), (near[0][0], 1.5)], RouteRequest("something of x"))[0] == "x"


@pytest.mark.parametrize("per_domain", [3, 10])
def test_s9_2_of_each_domain_the_model_sees_its_nearest_skills_and_no_more(hosts, per_domain):
    host = hosts(settings={"routing.per_domain": per_domain})
    skills = crowd(500)
    found = short(host, skills, "Which recipe makes a good soup?")
    first = {id(skill) for skill, _ in nearest(host, "Which recipe makes a good soup?", skills)[:FIRST]}
    more = Counter(skill.domains[0] for skill in found.skills if id(skill) not in first)
    assert set(more) <= set(found.domains) and all(count <= per_domain for count in more.values())
    assert found.narrowed


def test_s9_3_with_2000_skills_the_question_stays_below_4000_tokens(hosts):
    skills = crowd(2_000)
    everything = len(system_prompt(skills)) / 4
    for query in ("Which recipe makes a good soup?", "Will the ferry run in this wind?", "mail the album"):
        found = short(hosts(), skills, query)
        assert len(system_prompt(found.skills, found.chars)) / 3.5 < 4_000 < everything / 10


def test_s9_3_among_public_skills_the_right_one_is_in_the_short_list(hosts, shared_data: Path):
    """Recall of the short list's nearest 20, by requests that authors wrote into their own files."""
    requests = [
        json.loads(line) for line in (shared_data / "discovery" / "requests.jsonl").read_text().splitlines() if line
    ]
    own: dict[str, set[str]] = {}
    for request in requests:
        for place in {request["from"], *request["relevant"]}:
            own.setdefault(place, set()).add(request["request"])
    skills = []
    with tarfile.open(shared_data / "skills" / "openclaw_skillmd.tar.xz") as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            place = member.name.partition("/skills/")[2].removesuffix("/SKILL.md")
            found = read(archive.extractfile(member).read(), place.rpartition("/")[2])
            body = found.body
            for text in own.get(place, ()):
                body = body.replace(text, " ")
            named = (found.fields.name, found.fields.description or "") if found.fields else ("", "")
            skills.append(Skill(name=named[0], description=named[1], body=body, path=Path("/c", place)))
    host, all_of_them = hosts(), candidates(skills)

    async def hits() -> tuple[int, int]:
        right, longest = 0, 0
        for request in requests:
            shown = await shortlist(RouteRequest(request["request"]), all_of_them, host)
            right += any(str(skill.path)[3:] in request["relevant"] for skill in shown.skills[:20])
            longest = max(longest, len(system_prompt(shown.skills, shown.chars)))
        return right, longest

    right, longest = asyncio.run(hits())
    assert len(skills) > 1_400 and right / len(requests) >= 0.72 and longest / 3.5 < 4_000


def test_s9_4_a_skill_without_a_domain_is_reachable_by_its_words_and_by_the_domain_other(hosts):
    host, skills = hosts(), crowd(500)
    assert "odd-one" in [skill.name for skill in short(host, skills, "tune my zither").skills]
    asked = short(host, skills, "Xyzzy qwertz", Says("other"))
    assert asked.domains == ("other",) and [skill.name for skill in asked.skills] == ["odd-one"]


def test_s9_4_the_active_skill_is_always_shown(hosts):
    found = short(hosts(), crowd(500), "Which recipe makes a good soup?", active="Music_0003")
    assert "music-0003" in [skill.name for skill in found.skills]


def test_s9_5_a_wrong_first_stage_is_widened_once_and_then_the_agent_answers(engine_stage, engine_skill):
    from skillkit_engines import choose, gated_now

    agent, _ = engine_stage()
    host = agent.host
    for one in crowd(500):
        host.skills.register(one.name, one, "crowd")
    unsure = json.dumps({"skill": "chat", "confidence": 0.1, "reason": "none fits"})
    for second, expected, why in (
        (json.dumps({"skill": "{}", "confidence": 0.9}), "", "selected"),
        (unsure, "chat", "low_confidence"),
    ):
        ask = Says(unsure, second)

        async def main(ask: Any = ask) -> Any:
            async with agent.__class__(agent.config, host=host) as one:
                await one.open()
                request = RouteRequest("Which recipe makes a good soup?", ask=ask)
                first = await shortlist(request, [SkillCandidate(s) for s in gated_now(one, request).eligible], host)
                wide = await widened(
                    request, [SkillCandidate(s) for s in gated_now(one, request).eligible], first, host
                )
                ask.texts[1:] = [ask.texts[1].replace("{}", wide.skills[0].name)]
                return wide.skills[0].name, await choose(host, request, gated_now(one, request), one)

        name, route = asyncio.run(main())
        assert (route.skill, route.why, route.calls, len(ask.asked)) == (expected or name, why, 2, 2)
        assert ask.asked[0]["system"] != ask.asked[1]["system"]


def test_s9_6_fewer_than_the_setting_skip_the_first_stage(hosts):
    host, skills = hosts(), crowd(28)
    found = short(host, skills, "Xyzzy qwertz", Says())
    assert list(found.skills) == skills and not found.narrowed and found.chars is None
    narrow = hosts(settings={"routing.hierarchical_from": 10, "routing.per_domain": 2})
    assert short(narrow, crowd(28), "soup recipe").narrowed


def test_s9_6_while_every_domain_fits_all_are_shown_without_a_second_question(hosts):
    skills = crowd(44)
    found = short(hosts(), skills, "Xyzzy qwertz", Says())
    assert len(found.skills) == len(skills) and not found.narrowed and found.calls == 0


def test_s9_7_a_changed_registry_is_searched_as_it_is_now(engine_skill, hosts):
    for n in range(3):
        engine_skill(f"first-{n}", f"Folds paper, kind {n}.")
    host = hosts()
    skills = [one.skill for one in discover(host, "x")]
    assert len(nearest(host, "fold paper", skills)) == 3
    engine_skill("second", "Folds paper cranes.")
    host.reload_skills()
    names = [one.name for one, _ in nearest(host, "paper cranes", [one.skill for one in discover(host, "x")])]
    assert names[0] == "second" and len(names) == 4


def test_s4_11_the_own_set_has_its_accuracy_and_confusion_printed(skillkit_cli, skillkit_home):
    """110 requests of ten skills and of chat, with the answers of a model as they were recorded."""
    file = Path(__file__).parent / "data" / "requests.jsonl"
    truths = {json.loads(line)["truth"] for line in file.read_text().splitlines()} - {"chat"}
    for name in truths:
        place = skillkit_home.config_dir / "skills" / name
        place.mkdir(parents=True)
        head = {"name": name, "description": f"Does {name}.", "metadata": {"skillkit": {"engine": "automation"}}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")
    found = skillkit_cli("routing", "eval", file, "--json").ok().json
    assert found["cases"] >= 100 and found["calls"] == found["cases"] and found["accuracy"] >= 0.8
    assert found["right"] + sum(row["count"] for row in found["confusion"]) == found["cases"]
    text = skillkit_cli("routing", "eval", file).ok().stdout
    assert f"right      {found['right']} of {found['cases']} ({found['accuracy']:.1%})" in text
    assert "should be" in text and "abstained" in text
