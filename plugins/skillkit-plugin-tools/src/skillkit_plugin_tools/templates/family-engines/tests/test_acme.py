"""The suite of engines judges what holds for all; below it stands what is this engine's own."""

import asyncio

import pytest
from skillkit_core import Skill
from skillkit_testkit.conformance import EngineConformance

import skillkit_acme


@pytest.fixture
def engine_plugins():
    return [("acme", skillkit_acme)]


@pytest.fixture
def engine_name():
    return "acme"


class TestEngine(EngineConformance):
    rejects = "REJECTED: it is not mine"


def test_an_answer_is_read_once_more_before_it_is_given(engine_stage, engine_skill):
    engine_skill("poems", "Writes poems.")
    agent, model = engine_stage("Roses are red.", "Roses are red, violets are blue.")

    async def main():
        async with agent:
            return await agent.chat("/poems about flowers")

    assert asyncio.run(main()).content == "Roses are red, violets are blue."
    assert "Roses are red." in model.requests[1].messages[-1].text


def test_any_skill_will_do(engine_stage):
    host = engine_stage.host()
    engine = host.registry("engines").get("acme")
    assert engine.problems(Skill(name="poems", engine="acme"), host) == ()
