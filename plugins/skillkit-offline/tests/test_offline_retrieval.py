"""How well the ranking finds a skill among 1,434 public ones, beside a plain index on the same data."""

import json
import re
import tarfile

import pytest
from skillkit_offline import rank

from skillkit_core.tools import Tool

PLAIN_INDEX = {"name and description": (0.291, 0.426), "with 4,000 characters of body": (0.422, 0.588)}


def _lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def discovery(shared):
    """Requests, and for each skill its name, description and body without the requests' own text."""
    requests = _lines(shared / "discovery" / "requests.jsonl")
    rows = _lines(shared / "skills" / "openclaw_expected.jsonl")
    said = {row["path"].removeprefix("skills/").removesuffix("/SKILL.md"): row["slp1"] for row in rows}
    own = {}
    for request in requests:
        for skill in {request["from"], *request["relevant"]}:
            own.setdefault(skill, set()).add(request["request"])
    skills = {}
    with tarfile.open(shared / "skills" / "openclaw_skillmd.tar.xz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            skill = member.name.partition("/skills/")[2].removesuffix("/SKILL.md")
            text = archive.extractfile(member).read().decode("utf-8", "replace")
            body = re.sub(r"\A---.*?\n---", "", text, flags=re.S)
            for request in own.get(skill, ()):
                body = body.replace(request, " ")
            skills[skill] = (said[skill]["name"] or "", said[skill]["description"] or "", body[:4_000])
    return requests, skills


@pytest.mark.parametrize(
    "indexed",
    ["name and description", pytest.param("with 4,000 characters of body", marks=pytest.mark.slow)],
)
def test_the_right_skill_is_found_about_as_often_as_by_a_plain_index(indexed, discovery):
    requests, skills = discovery
    with_body = "body" in indexed
    places = list(skills)
    tools = tuple(
        Tool(
            f"s{number}",
            skills[place][2] if with_body else "",
            "nowhere:nothing",
            annotations={"skill": skills[place][0] or "unnamed", "skill_description": skills[place][1]},
        )
        for number, place in enumerate(places)
    )
    hits = dict.fromkeys((1, 5, 10, 20, 50), 0)
    for request in requests:
        ranked = rank(request["request"], tools)[:50]
        found = [places[int(c.tool.name[1:])] in request["relevant"] for c in ranked]
        for depth in hits:
            hits[depth] += any(found[:depth])

    recall = {depth: count / len(requests) for depth, count in hits.items()}
    print(f"{indexed}: " + ", ".join(f"R@{depth} {value:.3f}" for depth, value in recall.items()))
    at_1, at_5 = PLAIN_INDEX[indexed]
    assert recall[1] >= at_1 - 0.01
    assert recall[5] >= at_5 - 0.01
