"""The name of a call for services that take one: the same after a crash and a resume, another one in a fork."""

from __future__ import annotations

from typing import Any

from skillkit_core import ApprovalDecision, Approver, ToolCallEventResult
from skillkit_core.testing import Call, Reply


class Defers(Approver):
    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision("defer")


def test_the_key_of_a_call_names_session_entry_and_place_and_is_the_same_when_it_is_resumed(kit: Any, go: Any) -> None:
    async def main() -> None:
        keys: list[tuple[str, str, str]] = []

        async def act(args: Any, ctx: Any) -> str:
            keys.append((ctx.tool_call_id, ctx.idempotency_key, ctx.run_id))
            return "did"

        calls = Reply(calls=[Call("act", {"n": 1}, "A"), Call("act", {"n": 2, "ask": True}, "B")])
        agent = kit.agent(calls, "done", tools=[kit.tool("act", act)], approver=Defers())
        guard = lambda event: ToolCallEventResult(ask="really?") if event.args.get("ask") else None  # noqa: E731
        agent.events.on("before_tool_call", guard, phase="guard")
        await agent.chat("go")
        answer = next(e.id for e in agent.session.entries if "tool_call" in str(e.data.get("message")))
        await agent.resume({"B": "allow"})
        session = agent.session.id
        assert keys == [("A", f"{session}/{answer}/0", "r1"), ("B", f"{session}/{answer}/1", "r2")]

    go(main())
