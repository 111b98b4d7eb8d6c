"""The engine ``conversational``: talk with a skill's instructions, and a request that is handed on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from skillkit_engine_conversational.engine import handoff
from skillkit_engines import ROUTE, TASK, TaskResult, compose, messages_of

from skillkit_core import Tool, hookimpl
from skillkit_core.descriptors import Factory
from skillkit_core.testing import Call, Reply

LOOK = Tool("look", "Look.", lambda args, ctx: "seen", annotations={"mutates": "none"})
MORE = Tool("more", "More.", lambda args, ctx: "more", annotations={"mutates": "none"})


class Research:
    """An engine beside it: one model call."""

    name = "research"
    fields = frozenset(("system_prompt",))

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return ()

    def prompt(self, task: Any) -> str:
        return compose("Research.", task)

    async def run(self, task: Any, run: Any) -> TaskResult:
        answer = await run.ask(messages_of(task, run), system=self.prompt(task), purpose="research.answer")
        return TaskResult("completed", text=answer.text)


class Brings:
    @hookimpl(optionalhook=True)
    def register_engines(self, register):
        register(Factory("research", lambda host: Research()))


def chat(agent: Any, text: str) -> tuple[Any, list[Any], list[Any]]:
    async def main() -> tuple[Any, list[Any], list[Any]]:
        async with agent:
            response = await agent.chat(text)
            notes = agent.session.notes
            return response, [n.data for n in notes(ROUTE)], [n.data for n in notes(TASK)]

    return asyncio.run(main())


@pytest.fixture
def two(engine_skill):
    engine_skill("org", body="You know the files of notes.")
    engine_skill("deep-research", engine="research", body="Look deep.")


@pytest.mark.smoke
def test_a_conversational_skill_talks_with_the_prompt_and_tools_of_the_agent_and_its_own_instructions(
    engine_stage, two
):
    agent, model = engine_stage(
        Reply(calls=[Call("look")]),
        "I saw it.",
        tools=(LOOK, MORE),
        plugins=[("brings", Brings())],
        system_prompt="Be kind.",
    )
    nodes: list[str] = []
    agent.events.observe(lambda event: nodes.append(event.node) if event.state == "begin" else None, ["task_node"])
    response, _, tasks = chat(agent, "/org what is new?")
    request = model.requests[0]
    assert request.system.startswith("Be kind.") and "You know the files of notes." in request.system
    assert '{"handoff": "NAME"' in request.system and "- deep-research: Does deep-research." in request.system
    assert {"look", "more"} <= {tool.name for tool in request.tools}
    assert response.content == "I saw it." and tasks[-1]["status"] == "completed"
    assert nodes == ["prepare_context", "generate_response", "check_handoff"]


def test_a_skill_that_names_tools_gets_these_alone(engine_stage, engine_skill):
    engine_skill("org", tools=["look"])
    engine_skill("deep-research", engine="research")
    agent, model = engine_stage("Hm.", tools=(LOOK, MORE), plugins=[("brings", Brings())])
    chat(agent, "/org what is new?")
    assert [tool.name for tool in model.requests[0].tools] == ["look"]


def test_a_request_is_handed_on_to_the_skill_that_the_answer_names_and_the_notes_show_it(engine_stage, two):
    handed = json.dumps({"handoff": "deep-research", "reason": "it needs sources"})
    agent, model = engine_stage(handed, "Three sources say so.", plugins=[("brings", Brings())])
    response, routes, tasks = chat(agent, "/org what do the papers say?")
    assert response.content == "Three sources say so."
    assert [(r["skill"], r["why"], r["by"], list(r["replaced"])) for r in routes] == [
        ("org", "pinned", "person", []), ("deep-research", "handoff", "org", ["org"])
    ]  # fmt: skip
    assert routes[-1]["reason"] == "it needs sources" and tasks[1]["reason"] == "handoff: it needs sources"
    assert "Look deep." in model.requests[1].system


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"handoff": "a", "reason": "x"}', ("a", "x")),
        ('```json\n{"handoff": "a"}\n```', ("a", "it is its task")),
        ('{"handoff": "b"}', None),
        ('{"handoff": 3}', None),
        ("handoff: a", None),
        ("{broken", None),
        ("[]", None),
    ],
)
def test_only_an_object_that_names_a_skill_of_the_list_hands_on(text, found):
    assert handoff(text, ["a"]) == found


def test_where_every_skill_is_conversational_nothing_is_routed(engine_stage, engine_skill):
    """The agent activates such skills itself, as without the engines."""
    engine_skill("org", body="You know the files of notes.")
    agent, model = engine_stage("Hello.")
    _, routes, _ = chat(agent, "Who are you?")
    assert routes == [] and "activate_skill" in [tool.name for tool in model.requests[0].tools]
