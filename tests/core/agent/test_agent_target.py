"""Who answers one run, and within which bounds: handlers of ``before_agent_start``, and the parent of a nested run."""

from __future__ import annotations

from typing import Any

import pytest
from core_team import DELEGATE, Team

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    BeforeAgentStartResult,
    Limits,
    ModelDefinition,
    UsageError,
    hookimpl,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

CALL = Reply(calls=[Call("a")])
CHEAP = ModelDefinition("cheap", "other", "scripted", context_window=0)


class Other(ScriptedModel):
    """A provider besides the one of the kit."""

    def __init__(self, turns: Any, name: str = "other") -> None:
        super().__init__(turns, repeat=True)
        self.provider = name


class Route:
    """A plugin that says who answers a run whose prompt it knows."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    @hookimpl
    def before_agent_start(self, event: Any) -> Any:
        return BeforeAgentStartResult(**self.answer) if event.prompt == "route" else None


def models(agent: Any) -> list[str]:
    return [f"{m.provider}/{m.model}" for m in agent.messages if m.role == "assistant"]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"model": "cheap"}, "other/cheap"),
        ({"model": CHEAP}, "other/cheap"),
        ({"adapter": "other"}, "other/model"),
        ({"adapter": "other", "model": "cheap"}, "other/cheap"),
        ({"adapter": "other", "model": "unlisted"}, "other/unlisted"),
        ({"adapter": Other(["from an object"], "mine"), "model": "any"}, "mine/any"),
        ({"adapter": Other(["from an object"], "mine")}, "mine/model"),
    ],
)
def test_a_handler_chooses_who_answers_one_run(kit: Any, go: Any, answer: dict[str, Any], wanted: str) -> None:
    async def main() -> None:
        host = kit.host(("route", Route(**answer)))
        host.adapters.register("other", Other(["from the other"]))
        host.models.register(CHEAP)
        agent = kit.agent("one", "three", host=host)
        for prompt in ("before", "route", "after"):
            await agent.chat(prompt)
        assert models(agent) == ["scripted/model", wanted, "scripted/model"]
        assert [f"{e.provider}/{e.model.id}" for e in agent.seen.of("agent_start")] == models(agent)
        assert [f"{e.provider}/{e.model.id}" for e in agent.seen.of("model_select")] == [wanted, "scripted/model"]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("how", ["set_adapter", "set_model"])
def test_what_is_set_during_the_run_counts_more_from_the_next_request_on(kit: Any, go: Any, how: str) -> None:
    async def main() -> None:
        host = kit.host(("route", Route(model="cheap")))
        host.adapters.register("other", Other([CALL]))
        host.models.register(CHEAP)
        agent = kit.agent("mine", host=host, tools=[kit.tool("a", lambda args, ctx: change())])

        def change() -> str:
            assert agent.target.model.id == "cheap"
            agent.set_adapter("scripted") if how == "set_adapter" else agent.set_model("model", "scripted")
            return "ok"

        await agent.chat("route")
        assert models(agent) == ["other/cheap", "scripted/model"]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("answer", [{"model": "nobody/knows"}, {"adapter": "nobody"}])
def test_one_that_nobody_has_is_reported_and_the_run_keeps_its_own(kit: Any, go: Any, answer: dict[str, Any]) -> None:
    async def main() -> None:
        agent = kit.agent("mine", plugins=[("route", Route(**answer))])
        response = await agent.chat("route")
        assert response.outcome == "completed" and models(agent) == ["scripted/model"]
        error = agent.seen.one("handler_error")
        assert error.event == "before_agent_start" and "nobody" in error.error

    go(main)


@pytest.mark.parametrize("answer", [{"model": 5}, {"adapter": 5}, {"limits": {"turns": 1}}])
def test_an_answer_of_a_wrong_type_does_not_count(kit: Any, go: Any, answer: dict[str, Any]) -> None:
    async def main() -> None:
        agent = kit.agent("mine", plugins=[("route", Route(**answer))])
        assert (await agent.chat("route")).outcome == "completed"
        assert "must be" in agent.seen.one("handler_error").error

    go(main)


def test_limits_of_handlers_hold_for_one_run_where_they_are_lower(kit: Any, go: Any) -> None:
    async def main() -> None:
        tight = Limits(turns=2, tokens=1_000_000, requests=None)
        agent = kit.agent(
            CALL,
            repeat=True,
            tools=[kit.tool("a", "ok")],
            plugins=[("one", Route(limits=tight)), ("two", Route(limits=Limits(turns=5, tool_calls=7)))],
            limits=Limits(turns=3, tokens=900_000, requests=9),
        )
        routed, free = await agent.chat("route"), await agent.chat("free")
        assert routed.reason == "the limit of 2 turns is reached" and free.reason == "the limit of 3 turns is reached"
        first, second = agent.seen.of("agent_start")
        known = {"requests": 9, "tokens": 900_000, "cost": None, "unpriced": None, "depth": 4}
        assert first.limits == {**known, "turns": 2, "tool_calls": 7}
        assert second.limits == {**known, "turns": 3, "tool_calls": None}

    go(main)


def test_the_depth_that_a_handler_sets_holds_for_what_is_nested(kit: Any, go: Any) -> None:
    async def main() -> None:
        plugins = [("flat", Route(limits=Limits(depth=0)))]
        team = Team(kit, [DELEGATE, "done"], ["never"], plugins=plugins)
        await team.parent.chat("route")
        ((outcome, text),) = team.results()
        assert outcome == "error" and "more than 0 deep" in text

    go(main)


# --- nested -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("born", [True, False])
def test_a_nested_agent_without_a_model_answers_with_that_of_the_run_above(kit: Any, go: Any, born: bool) -> None:
    async def main() -> None:
        host = kit.host()
        host.adapters.register("other", Other([Reply(calls=[Call("ask")]), "below", "done"]))
        early = AgentRunner(host=host)

        async def ask(args: Any, ctx: Any) -> str:
            agent = AgentRunner() if born else early
            said = (await agent.chat("go")).content
            assert agent.target == parent.target
            return f"{said}: {' '.join(models(agent))}"

        parent = kit.agent(host=host, tools=[kit.tool("ask", ask)])
        parent.set_adapter("other")
        assert (await parent.chat("go")).content == "done"
        assert [m.text for m in kit.results(parent)] == ["below: other/model"]

    go(main)


def test_a_nested_agent_follows_the_run_above_and_has_a_model_of_its_own_when_it_says_so(kit: Any, go: Any) -> None:
    async def main() -> None:
        host = kit.host()
        host.adapters.register("other", Other(["other"]))
        host.models.register(CHEAP)
        configs = [AgentConfig(), AgentConfig(model="cheap"), AgentConfig(provider="other", model=CHEAP)]
        seen: list[str] = []

        async def ask(args: Any, ctx: Any) -> str:
            for config in configs:
                agent = AgentRunner(config)
                await agent.chat("go")
                seen.extend(models(agent))
            return "ok"

        ask_them = Reply(calls=[Call("ask")])
        parent = kit.agent(ask_them, "below", "done", host=host, tools=[kit.tool("ask", ask)])
        await parent.chat("go")
        assert seen == ["scripted/model", "other/cheap", "other/cheap"]

    go(main)


def test_agent_start_names_the_run_and_the_call_above(kit: Any, go: Any) -> None:
    async def main() -> None:
        team = Team(kit, [DELEGATE, "done"], ["below"])
        helper = kit.agent("helped")

        async def ask(event: Any) -> None:
            await helper.chat("go")

        team.parent.events.on("turn_end", ask)
        await team.parent.chat("go")
        above, below, *helped = team.parent.seen.of("agent_start")
        call = next(m for m in team.parent.messages if m.role == "tool_result").tool_call_id
        assert (above.parent_run_id, above.parent_tool_call_id) == (None, None)
        assert (below.parent_run_id, below.parent_tool_call_id) == (above.run_id, call)
        assert {(e.parent_run_id, e.parent_tool_call_id) for e in helped} == {(above.run_id, None)}

    go(main)


def test_the_name_of_an_agent_is_in_the_path_of_its_events(kit: Any, go: Any) -> None:
    async def main() -> None:
        helper = AgentRunner(AgentConfig(model=CHEAP, provider="other"), host=kit.host(), name="helper")
        helper.host.adapters.register("other", Other(["helped"]))
        paths: list[tuple[str, ...]] = []

        async def ask(args: Any, ctx: Any) -> str:
            for agent in (helper, AgentRunner(name="explore"), AgentRunner(name="explore"), AgentRunner()):
                await agent.chat("go")
                paths.append(agent.events.agent_path)
            return "ok"

        both = Reply(calls=[Call("ask")])
        parent = kit.agent(both, *["below"] * 3, "done", tools=[kit.tool("ask", ask)])
        helper.events.on("agent_start", lambda e: paths.append(e.agent_path))
        assert helper.events.agent_path == ("helper",) and parent.events.agent_path == ("main",)
        await parent.chat("go")
        kinds = [[part.partition(":")[0] for part in path] for path in paths]
        assert kinds == [["main", "helper"], ["helper"], ["main", "explore"], ["main", "explore"], ["main", "sub"]]
        assert len(set(paths)) == len(paths)

    go(main)


@pytest.mark.parametrize("name", ["", "a b", "sub:1", "x" * 65])
def test_a_name_that_no_path_can_hold_is_refused(kit: Any, name: str) -> None:
    with pytest.raises(UsageError, match="agent name"):
        AgentRunner(host=kit.host(), name=name)
