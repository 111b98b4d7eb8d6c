"""The stage of engines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from skillkit_testkit.engines import installed

from skillkit_core import hookimpl
from skillkit_core.descriptors import Factory

engines = pytest.importorskip("skillkit_engines", reason="the extra engines is not installed")


class Echo:
    """An engine without a model."""

    name = "echo"
    fields = frozenset(("tool_packs",))

    def problems(self, skill: Any, host: Any) -> Any:
        return ()

    def tools(self, task: Any) -> Any:
        return ()

    def prompt(self, task: Any) -> str:
        return ""

    async def run(self, task: Any, run: Any) -> Any:
        return engines.TaskResult("completed", text=f"{task.skill.name}: {task.query}")


class Brings:
    @hookimpl(optionalhook=True)
    def register_engines(self, register: Any) -> None:
        register(Factory("echo", lambda host: Echo()))


@pytest.fixture
def engine_plugins() -> Any:
    return [("brings", Brings())]


@pytest.fixture
def engine_name() -> str:
    return "echo"


def test_a_skill_of_the_stage_is_answered_by_the_engine_that_the_conftest_brings(engine_stage, engine_skill):
    file = engine_skill("parrot", "Says it again.", tool_packs=[])
    assert file.parent.parent == engine_stage.skills
    agent, model = engine_stage("never asked")

    async def main() -> str:
        async with agent:
            return (await agent.chat("/parrot Polly")).content

    assert asyncio.run(main()) == "parrot: Polly"
    assert model.requests == []


def test_a_skill_without_an_engine_is_the_agents_own_and_a_plugin_that_is_not_there_is_named(
    engine_stage, engine_skill
):
    engine_skill("plain", engine=None)
    assert [skill.engine for skill in engine_stage.host().skills.items()] == ["conversational"]
    with pytest.raises(LookupError, match="the plugin 'no-such-plugin' is not installed"):
        installed("no-such-plugin")
