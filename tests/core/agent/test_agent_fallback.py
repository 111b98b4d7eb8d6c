"""Fallbacks: another model answers the rest of a run when the one before is overloaded or gone."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentError, AgentRunner, ErrorKind, ModelDefinition, RetryPolicy
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

OVERLOADED = Fail(ErrorKind.overloaded, "overloaded", status=529)


def with_models(agent: Any, **turns: list[Any]) -> dict[str, ScriptedModel]:
    models = {name: ScriptedModel(script) for name, script in turns.items()}
    for name, model in models.items():
        agent.host.adapters.register(name, model, source="test")
    return models


def test_a_list_of_models_is_a_model_and_its_fallbacks() -> None:
    config = AgentConfig(model=["a", "b", "c"])  # type: ignore[arg-type]
    assert (config.model, config.fallbacks) == ("a", ("b", "c"))
    assert AgentConfig(model="a").fallbacks == ()


def test_an_overloaded_model_is_tried_again_and_then_the_next_one_answers_the_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            OVERLOADED, OVERLOADED, "the first again",
            tools=[kit.tool("look", "seen")], fallbacks=("second/big",), retry=RetryPolicy(attempts=2),
        )  # fmt: skip
        second = with_models(agent, second=[Reply(calls=[Call("look")]), "from the second"])["second"]
        response = await agent.chat("go")
        assert response.content == "from the second" and len(second.requests) == 2
        event = agent.seen.one("model_select")
        assert (event.provider, event.model.id) == ("second", "big")
        assert event.reason == "scripted/model: overloaded"
        assert [e["model"] for e in kit.ledger(agent)] == ["model", "model", "big", "big"]
        assert [e.success for e in agent.seen.of("retry_end")] == [False]
        kit.check(agent)
        assert (await agent.chat("on")).content == "the first again"  # the fallback holds for one run
        assert agent.seen.of("model_select")[-1].reason == ""

    go(main)


def test_a_model_that_is_gone_is_not_tried_again_and_an_unusable_fallback_is_passed_over(kit: Any, go: Any) -> None:
    async def main() -> None:
        gone = Fail(ErrorKind.not_found, "no such model", status=404)
        agent = kit.agent(gone, fallbacks=("nobody-knows-it", ModelDefinition("small", "third")))
        with_models(agent, third=["here"])
        assert (await agent.chat("go")).content == "here"
        assert agent.seen.one("handler_error").error.startswith("a fallback cannot be used: unknown model")
        assert not agent.seen.of("retry_scheduled")

    go(main)


@pytest.mark.parametrize("kind", [ErrorKind.auth, ErrorKind.invalid_request, ErrorKind.content_filter])
def test_a_mistake_leads_to_no_other_model(kit: Any, go: Any, kind: ErrorKind) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(kind, "no", status=400), fallbacks=("second/big",))
        second = with_models(agent, second=["never"])["second"]
        with pytest.raises(AgentError, match="no"):
            await agent.chat("go")
        assert not second.requests

    go(main)


def test_when_the_last_one_fails_too_the_run_fails_with_its_words(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(OVERLOADED, fallbacks=("second/big",), retry=RetryPolicy(attempts=1))
        with_models(agent, second=[Fail(ErrorKind.quota, "no credit", status=402)])
        with pytest.raises(AgentError, match="no credit"):
            await agent.chat("go")
        assert len(kit.ledger(agent)) == 2

    go(main)


def test_a_nested_agent_that_asks_the_parents_model_has_its_fallbacks(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def research(args: Any, ctx: Any) -> str:
            async with AgentRunner(AgentConfig(retry=RetryPolicy(attempts=1)), host=agent.host) as child:
                return (await child.chat("find")).content

        agent = kit.agent(
            Reply(calls=[Call("research")]), OVERLOADED, "done",
            tools=[kit.tool("research", research)], fallbacks=("second/big",), retry=RetryPolicy(attempts=1),
        )  # fmt: skip
        second = with_models(agent, second=["found"])["second"]
        response = await agent.chat("go")
        assert response.content == "done" and len(second.requests) == 1
        kept = kit.ledger(agent)
        assert [(e["model"], e["purpose"], e.get("via_tool")) for e in kept] == [
            ("model", "turn", None), ("model", "nested", "research"), ("big", "nested", "research"), ("model", "turn", None),
        ]  # fmt: skip

    go(main)
