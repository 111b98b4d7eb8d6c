"""More skills than a request has room for: what is said of them, what a request brings along, and how the others are found."""

from __future__ import annotations

import asyncio
import json

import pytest
import skillkit_bash.plugin
import skillkit_skills.plugin
from skillkit_skills.finding import NAMED

from skillkit_core import AgentConfig, AgentRunner, CustomMessage, ToolResultMessage
from skillkit_core.estimates import estimate_tokens
from skillkit_core.frozen import thaw
from skillkit_core.testing import Call, Reply, ScriptedModel

TOPICS = (
    "invoice",
    "weather",
    "photograph",
    "spreadsheet",
    "translation",
    "calendar",
    "podcast",
    "recipe",
    "garden",
    "taxes",
)


def put(host, count, text=""):
    for n in range(count):
        topic = TOPICS[n % len(TOPICS)]
        folder = host.config_dir / "skills" / f"{topic}-{n}"
        folder.mkdir(parents=True)
        about = f"Work with each {topic} of the batch {n}. {text}"
        (folder / "SKILL.md").write_text(
            f"---\nname: {topic}-{n}\ndescription: {about}\n---\nHow {topic} {n} is done.\n"
        )


@pytest.fixture
def real(make_host):
    return make_host(("skills", skillkit_skills.plugin), ("bash", skillkit_bash.plugin))


async def talk(host, *said, script=(), **config):
    """The model and what the session holds after a conversation."""
    turns = [Reply(calls=[Call(*turn)]) if isinstance(turn, tuple) else turn for turn in script] or ["Fine."] * len(
        said
    )
    model = ScriptedModel(turns)
    async with AgentRunner(AgentConfig(model="scripted", **config), host=host) as agent:
        agent.set_adapter(model)
        for text in said:
            await agent.chat(text)
        return model, list(agent.session.messages)


def named(messages):
    return [list(m.details["skills"]) for m in messages if isinstance(m, CustomMessage) and m.custom_type == NAMED]


def tokens(request, messages):
    """All that skills add to a first request, four characters to a token."""
    tools = sum(estimate_tokens(f"{t.name}{t.description}{json.dumps(thaw(t.parameters))}") for t in request.tools)
    return (
        estimate_tokens(request.system)
        + tools
        + sum(estimate_tokens(m.text) for m in messages if isinstance(m, CustomMessage))
    )


def test_a_few_skills_are_listed_whole_and_nothing_is_searched(real):
    put(real, 12)
    model, messages = asyncio.run(talk(real, "the weather please"))
    request = model.requests[0]
    assert request.system.count("<skill>") == 12 and "batch 11" in request.system and "<note>" not in request.system
    assert [t.name for t in request.tools] == ["activate_skill"] and named(messages) == []
    assert len(request.tools[0].parameters["properties"]["name"]["enum"]) == 12


@pytest.mark.parametrize("count", [100, 1_500])
def test_very_many_skills_cost_a_request_less_than_4000_tokens(real, count):
    put(real, count, text="It says many more words about what it does, when to use it, and when not to. " * 4)
    model, messages = asyncio.run(talk(real, "what about the weather?"))
    request = model.requests[0]
    assert f"{count} skills" in request.system and "<skill>" not in request.system
    assert sorted(t.name for t in request.tools) == ["activate_skill", "find_skills"]
    (names,) = named(messages)
    assert 5 <= len(names) <= 20 and all(name.startswith("weather") for name in names[:5])
    assert all(f"<name>{name}</name>" in request.messages[-1].text for name in names)
    assert "enum" not in request.tools[0].parameters["properties"]["name"]
    assert tokens(request, messages) < 4_000


def test_actions_count_too(real):
    put(real, 300)
    actions = [
        {
            "name": f"a{n}",
            "description": "Does a thing with many words. " * 20,
            "run": "echo {x}",
            "args": {"x": "string"},
        }
        for n in range(30)
    ]
    folder = real.config_dir / "skills" / "busy"
    folder.mkdir()
    block = json.dumps({"actions": actions})
    (folder / "SKILL.md").write_text(
        f"---\nname: busy\ndescription: Busy.\nmetadata: {{skillkit: {block}}}\n---\nDo it.\n"
    )
    script = (("activate_skill", {"name": "busy"}), "done")
    model, messages = asyncio.run(talk(real, "be busy with the weather", script=script))
    assert tokens(model.requests[0], messages) < 4_000
    assert not any(t.name.startswith("busy__") for t in model.requests[0].tools)
    assert sum(t.name.startswith("busy__") for t in model.requests[1].tools) == 30


def test_the_prefix_of_a_conversation_stays_the_same(real):
    put(real, 300)
    said = ("what about the weather?", "and my taxes?", "thanks", "once more the weather and a podcast")
    model, messages = asyncio.run(talk(real, *said))
    for before, after in zip(model.requests, model.requests[1:], strict=False):
        assert after.system == before.system and after.tools == before.tools
        assert list(after.messages[: len(before.messages)]) == list(before.messages)
    first, second, *rest = named(messages)
    assert len(first) == 20 and second and len(second) <= 5
    assert all(name.startswith("taxes") for name in second)
    assert not set(first) & {name for names in (second, *rest) for name in names}, "a skill is named once"


def test_find_skills_finds_what_the_request_did_not_say(real):
    put(real, 300)
    script = (
        ("find_skills", {"query": "translation", "limit": 3}),
        ("activate_skill", {"name": "translation-4"}),
        "done",
    )
    model, messages = asyncio.run(talk(real, "hello", script=script))
    found, active = [m for m in messages if isinstance(m, ToolResultMessage)]
    assert found.text.count("<skill>") == 3 and "The best 3 of 30" in found.text and found.details["found"] == 30
    assert "How translation 4 is done." in active.text
    assert model.requests[1].tools == model.requests[0].tools


def test_find_skills_says_when_nothing_is_found(real):
    put(real, 300)
    script = (("find_skills", {"query": "xylophone"}), ("find_skills", {"query": "xylophone", "limit": 0}), "done")
    _, messages = asyncio.run(talk(real, "hello", script=script))
    none, wrong = [m for m in messages if isinstance(m, ToolResultMessage)]
    assert none.text.startswith("None of the 300 skills") and wrong.is_error


def test_what_is_hidden_from_models_is_neither_found_nor_activated(real):
    put(real, 300)
    hidden = real.config_dir / "skills" / "hidden"
    hidden.mkdir()
    (hidden / "SKILL.md").write_text(
        "---\nname: hidden\ndescription: The secret xylophone.\ndisable-model-invocation: true\n---\nSecret.\n"
    )
    script = (("find_skills", {"query": "xylophone"}), ("activate_skill", {"name": "hidden"}), "done")
    _, messages = asyncio.run(talk(real, "play the xylophone", script=script))
    found, active = [m for m in messages if isinstance(m, ToolResultMessage)]
    assert "hidden" not in found.text and active.is_error and "Secret" not in active.text


def test_an_index_that_cannot_be_written_loses_no_skill_and_is_said(real):
    put(real, 300)
    real.cache_dir.mkdir(parents=True, exist_ok=True)
    (real.cache_dir / "skills").write_text("in the way")
    _, messages = asyncio.run(talk(real, "what about the weather?"))
    assert len(named(messages)[0]) == 20
    assert any("index.sqlite" in problem.message for problem in real.problems)


def test_the_size_of_the_list_can_be_set(make_host):
    host = make_host(("skills", skillkit_skills.plugin), settings={"skills.max_catalogue_chars": 500})
    put(host, 12)
    model, messages = asyncio.run(talk(host, "the weather please"))
    assert "12 skills" in model.requests[0].system
    assert named(messages) == [["weather-1", "weather-11"]]
