"""Steering: heard between the calls of a batch or after it, by this run or refused (spec, 7; edge cases 10 to 16)."""

from __future__ import annotations

from typing import Any

import pytest

from skillkit_core import ErrorKind, ImageBlock, NoActiveRun
from skillkit_core.testing import Call, Fail, Reply


@pytest.mark.spec("9.10")
def test_steer_while_nothing_runs_is_refused(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("x")
        with pytest.raises(NoActiveRun):
            await agent.steer("hello?")
        assert (await agent.chat("hello", delivery="steer")).content == "x"
        with pytest.raises(NoActiveRun):
            await agent.steer("hello?")

    go(main)


@pytest.mark.spec("9.11", "I14")
@pytest.mark.parametrize("event", ["tool_execution_end", "turn_end", "before_agent_end", "agent_end", "agent_settled"])
def test_steer_at_the_finish_is_consumed_by_this_run_or_refused(kit: Any, go: Any, event: str) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("a")]), "one", "two", tools=[kit.tool("a", "ok")])
        outcome: list[str] = []

        async def steer(e: Any, ctx: Any) -> None:
            if outcome or (event == "turn_end" and e.turn_index == 0):
                return
            try:
                await ctx.steer("wait!")
                outcome.append("consumed")
            except NoActiveRun:
                outcome.append("refused")

        agent.events.on(event, steer)
        response = await agent.chat("go")
        assert agent.queues.waiting("steer") == ()
        if outcome == ["consumed"]:
            assert "user:wait!" in kit.texts(agent)
        else:
            assert outcome == ["refused"] and event in ("agent_end", "agent_settled")
            assert response.content == "one" and "user:wait!" not in kit.texts(agent)
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.12")
def test_steer_in_a_sequential_batch_skips_what_has_not_started(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("something else")
            return "real"

        agent = kit.agent(Reply(calls=[Call("a")] * 3), "end", tools=[kit.tool("a", act)], parallel_tools=False)
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok", "skipped", "skipped"]
        assert [m.role for m in agent.messages] == ["user", "assistant", *["tool_result"] * 3, "user", "assistant"]
        assert agent.messages[5].text == "something else"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.13")
def test_steer_while_all_parallel_calls_run_skips_none(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("later", images=[ImageBlock("aGk=")])
            return "real"

        agent = kit.agent(Reply(calls=[Call("a"), Call("a")]), "end", "end", tools=[kit.tool("a", act)])
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok", "ok"]
        assert [m.role for m in agent.messages][:5] == ["user", "assistant", "tool_result", "tool_result", "user"]
        assert agent.messages[4].content[1] == ImageBlock("aGk=")
        kit.check(agent)

    go(main)


def test_steer_during_the_preflight_of_a_parallel_batch_skips_all_of_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[Any] = []
        agent = kit.agent(
            Reply(calls=[Call("a"), Call("a")]), "end", tools=[kit.tool("a", lambda a, c: ran.append(1) or "x")]
        )

        async def steer(event: Any, ctx: Any) -> None:
            if event.index == 1:
                await ctx.steer("no, wait")

        agent.events.on("tool_call", steer)
        await agent.chat("go")
        assert ran == [] and [r.outcome for r in kit.results(agent)] == ["skipped", "skipped"]
        kit.check(agent)

    go(main)


def test_the_policy_after_batch_lets_the_whole_batch_run(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            if args["n"] == 0:
                await ctx.agent.steer("later")
            return "real"

        calls = [Call("a", {"n": n}) for n in range(3)]
        agent = kit.agent(
            Reply(calls=calls), "end", tools=[kit.tool("a", act)], parallel_tools=False, steer_policy="after_batch"
        )
        await agent.chat("go")
        assert [r.outcome for r in kit.results(agent)] == ["ok"] * 3 and agent.messages[5].text == "later"

    go(main)


@pytest.mark.spec("9.14", "13.6")
@pytest.mark.parametrize(("mode", "requests"), [("one_at_a_time", 3), ("all", 2)])
def test_two_steers_give_two_turns_or_one_and_keep_their_order(kit: Any, go: Any, mode: str, requests: int) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("one")
            await ctx.agent.steer("", images=[ImageBlock("aGk=")])
            return "x"

        agent = kit.agent(Reply(calls=[Call("a")]), "end", "end", tools=[kit.tool("a", act)], queue_mode=mode)
        await agent.chat("go")
        assert len(agent.scripted.requests) == requests
        users = [m for m in agent.messages if m.role == "user"]
        assert [m.text for m in users] == ["go", "one", ""] and users[2].content == (ImageBlock("aGk="),)
        assert users[1].source == "steer"
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.15")
def test_steering_comes_before_follow_ups_and_those_after_everything_else(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.follow_up("follow")
            await ctx.agent.steer("steer")
            return "x"

        agent = kit.agent(
            Reply(calls=[Call("a")]),
            Reply(calls=[Call("b")]),
            "end",
            "last",
            tools=[kit.tool("a", act), kit.tool("b", "y")],
        )
        response = await agent.chat("go")
        users = [m.text for m in agent.messages if m.role == "user"]
        assert users == ["go", "steer", "follow"] and response.content == "last"
        assert len(agent.seen.of("agent_start")) == 1 and {e.run_id for e in agent.seen.of("turn_start")} == {"r1"}
        kit.check(agent)

    go(main)


@pytest.mark.spec("9.16")
def test_a_steer_during_a_retry_wait_is_delivered_afterwards(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Fail(ErrorKind.server), "one", "two")
        agent.events.on("retry_scheduled", lambda e, ctx: ctx.steer("hurry"))
        await agent.chat("go")
        assert kit.texts(agent) == ["user:go", "assistant:one", "user:hurry", "assistant:two"]
        kit.check(agent)

    go(main)


def test_the_switch_of_an_adapter_holds_from_the_next_request(kit: Any, go: Any) -> None:
    from skillkit_core.testing import ScriptedModel

    async def main() -> None:
        other = ScriptedModel(["from the other"])
        agent = kit.agent(
            Reply(calls=[Call("a")]), tools=[kit.tool("a", lambda a, c: c.agent.set_adapter("other") or "switched")]
        )
        agent.host.adapters.register("other", other, source="test")
        response = await agent.chat("go")
        assert response.content == "from the other" and agent.seen.one("model_select").provider == "other"
        assert agent.messages[-1].provider == "other"
        kit.check(agent)

    go(main)
