"""Inputs that a handler deals with, and what the model sees of them later (spec, section 5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import ApprovalDecision, Approver, Handled, ToolCallEventResult, hookimpl
from skillkit_core.messages import ImageBlock
from skillkit_core.testing import Call, Hang, Reply


class Answers:
    """A plugin that answers ``time`` by itself."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    @hookimpl
    def input(self, event: Any) -> Any:
        return Handled("It is noon.", **self.options) if event.text.startswith("time") else None


def sent(agent: Any, n: int) -> list[str]:
    return [f"{m.role}:{m.text}" for m in agent.scripted.requests[n].messages]


@pytest.mark.parametrize("keep", [False, True])
def test_an_exchange_is_in_the_session_only_when_the_handler_keeps_it(kit: Any, go: Any, keep: bool) -> None:
    async def main() -> None:
        agent = kit.agent("one", "two", plugins=[("answers", Answers(keep=keep))])
        await agent.chat("a")
        response = await agent.chat("time?")
        kept = ["user:time?", "assistant:It is noon."] if keep else []
        assert (response.content, response.outcome, len(response.messages)) == ("It is noon.", "completed", len(kept))
        await agent.chat("b")
        assert sent(agent, 1) == ["user:a", "assistant:one", *kept, "user:b"]
        assert len(agent.seen.of("agent_start")) == 2
        assert agent.session.model is not None and agent.session.model.model == "model"
        assert not agent.seen.of("model_select")
        kit.check(agent)

    go(main)


def test_a_stream_ends_when_the_exchange_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(plugins=[("answers", Answers(keep=True))])
        seen: list[tuple[str, int]] = []
        async for event in agent.chat_stream_events("time?"):
            seen.append((event.type, len(agent.messages)))
        assert seen == [("text_delta", 2), ("done", 2)]

    go(main)


def test_what_is_kept_may_be_an_image_and_may_have_no_reply(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("seen")
        agent.events.on("input", lambda e: Handled(keep=True) if e.images else None)
        await agent.chat("", images=[ImageBlock("image/png", "aGk=")])
        await agent.chat("what was that?")
        assert [m.role for m in agent.messages] == ["user", "user", "assistant"]
        kit.check(agent)

    go(main)


@pytest.mark.parametrize("delivery", ["steer", "follow_up"])
def test_what_is_handled_during_a_run_is_said_with_the_next_prompt(kit: Any, go: Any, delivery: str) -> None:
    async def main() -> None:
        started = asyncio.Event()
        agent = kit.agent(Hang("so", started=started), "two", plugins=[("answers", Answers(keep=True))])
        task = asyncio.create_task(agent.chat("a"))
        await started.wait()
        assert await getattr(agent, delivery)("time?") == ""
        agent.abort()
        await asyncio.wait([task])
        assert "time?" not in [m.text for m in agent.messages]
        await agent.chat("b")
        texts = [f"{m.role}:{m.text}" for m in agent.messages]
        assert texts[2:] == ["user:time?", "assistant:It is noon.", "user:b", "assistant:two"]
        kit.check(agent)

    go(main)


def test_a_follow_up_that_is_handled_while_nothing_runs_is_said_with_the_next_prompt(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("one", plugins=[("answers", Answers(keep=True))])
        receipt = await agent.follow_up("time to go?", trigger=True)
        assert (await receipt.response()).content == "It is noon."
        await agent.follow_up("time?")
        await agent.chat("a")
        noon = "assistant:It is noon."
        assert sent(agent, 0) == ["user:time to go?", noon, "user:time?", noon, "user:a"]

    go(main)


class Later(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


def test_what_waits_for_a_decision_is_denied_before_an_exchange_is_kept(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply(calls=[Call("a")]),
            tools=[kit.tool("a", "ran")],
            approver=Later(),
            plugins=[("answers", Answers(keep=True))],
        )
        agent.events.on("before_tool_call", lambda e: ToolCallEventResult(ask="Sure?"))
        assert (await agent.chat("go")).outcome == "suspended"
        await agent.chat("time?")
        assert agent.suspension is None
        assert kit.roles(agent) == ["user", "assistant", "tool_result", "user", "assistant"]
        assert [m.outcome.value for m in kit.results(agent)] == ["denied"]
        kit.check_legal(agent.messages)

    go(main)


@pytest.mark.parametrize("answer", [Handled(5), Handled("x", keep="yes")])  # type: ignore[arg-type]
def test_a_handled_of_wrong_types_does_not_count(kit: Any, go: Any, answer: Handled) -> None:
    async def main() -> None:
        agent = kit.agent("asked")
        agent.events.on("input", lambda e: answer)
        assert (await agent.chat("a")).content == "asked"
        assert "must be" in agent.seen.one("handler_error").error

    go(main)
