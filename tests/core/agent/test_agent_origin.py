"""Who spoke and who decided: origins in events, in messages and in the session, also after a reload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skillkit_core import (
    AgentRunner,
    ApprovalDecision,
    Approver,
    Handled,
    Origin,
    Session,
    ToolCallEventResult,
    message_from_dict,
    message_to_dict,
)
from skillkit_core.testing import Call, Reply

WEB = Origin("web", "ana", "tab-3", {"address": "127.0.0.1"})
PHONE = Origin("phone")


class Decides(Approver):
    def __init__(self, decision: ApprovalDecision) -> None:
        self._decision = decision

    async def approve(self, request: Any) -> ApprovalDecision:
        return self._decision


def asking(kit: Any, decision: ApprovalDecision) -> AgentRunner:
    agent = kit.agent(Reply(calls=[Call("act", {}, "A")]), "done", tools=[kit.tool("act")], approver=Decides(decision))
    agent.events.on("before_tool_call", lambda event: ToolCallEventResult(ask="really?"), phase="guard")
    return agent


async def streamed(agent: AgentRunner) -> None:
    assert [piece async for piece in agent.chat_stream("hi", origin=WEB)] == ["hello"]


async def streamed_events(agent: AgentRunner) -> None:
    assert [event async for event in agent.chat_stream_events("hi", origin=WEB)][-1].type == "done"


async def prompted(agent: AgentRunner) -> None:
    await agent.chat("hi", origin=WEB)


async def triggered(agent: AgentRunner) -> None:
    await (await agent.steer("hi", trigger=True, origin=WEB)).response()


async def followed_up(agent: AgentRunner) -> None:
    await (await agent.follow_up("hi", trigger=True, origin=WEB)).response()


async def queued(agent: AgentRunner) -> None:
    await agent.follow_up("hi", origin=WEB)
    await agent.chat("and now", origin=PHONE)


@pytest.mark.parametrize("say", [prompted, streamed, streamed_events, triggered, followed_up, queued])
def test_a_message_keeps_who_sent_it(kit: Any, go: Any, say: Callable[[AgentRunner], Any]) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        await agent.open()
        await say(agent)
        assert agent.seen.of("input")[0].origin == WEB
        assert agent.messages[0].origin == WEB
        again = Session(agent.session.handle, lambda: 0.0)
        assert again.messages[0].origin == WEB
        assert message_from_dict(message_to_dict(again.messages[0])).origin == WEB

    go(main)


def test_a_message_into_a_run_keeps_who_sent_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        async def act(args: Any, ctx: Any) -> str:
            await ctx.agent.steer("stop", origin=PHONE)
            await ctx.agent.follow_up("and then", origin=WEB)
            return "did"

        agent = kit.agent(Reply(calls=[Call("act")]), "stopped", "ok", tools=[kit.tool("act", act)])
        await agent.chat("go", origin=WEB)
        assert [m.origin for m in agent.messages if m.role == "user"] == [WEB, PHONE, WEB]

    go(main)


def test_a_message_that_a_handler_answers_keeps_who_sent_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent()
        agent.events.on("input", lambda event: Handled(f"hi {event.origin.principal}", keep=True))
        assert (await agent.chat("hi", origin=WEB)).content == "hi ana"
        assert agent.messages[0].origin == WEB

    go(main)


def test_a_message_of_nobody_in_particular_has_no_origin(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("hello")
        await agent.chat("hi")
        assert agent.seen.one("input").origin is None and agent.messages[0].origin is None
        assert "origin" not in message_to_dict(agent.messages[0])

    go(main)


def test_the_decision_of_an_approver_names_who_decided(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = asking(kit, ApprovalDecision("allow", origin=PHONE))
        await agent.chat("go")
        assert agent.seen.one("approval_resolved").origin == PHONE

    go(main)


def test_the_decision_about_a_call_that_waited_names_who_decided(kit: Any, go: Any) -> None:
    async def main() -> None:
        for given, wanted in (
            ("allow", WEB),
            (ApprovalDecision("deny"), WEB),
            (ApprovalDecision("allow", origin=PHONE), PHONE),
        ):
            agent = asking(kit, ApprovalDecision("defer"))
            await agent.chat("go")
            await agent.resume({"A": given}, origin=WEB)
            assert agent.seen.of("approval_resolved")[-1].origin == wanted
            decided = [e for e in agent.session.entries if e.data.get("custom_type") == "suspension_decisions"]
            assert decided[0].data["decisions"]["A"]["origin"] == wanted.to_dict()

    go(main)
