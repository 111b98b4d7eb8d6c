"""One agent, one tool and one call of it, for tests of what handlers make of a call."""

from __future__ import annotations

from typing import Any

from skillkit_core.testing import Call, Reply


class Bench:
    """One agent with one tool ``act`` that the model calls once, with everything that happened kept."""

    def __init__(self, kit: Any, args: dict[str, Any] | None = None, **options: Any) -> None:
        self.ran: list[Any] = []
        tool = kit.tool("act", lambda a, ctx: self.ran.append(a) or "done", **options.pop("tool", {}))
        reply = Reply(calls=[Call("act", args if args is not None else {"x": 1})])
        self.agent = kit.agent(reply, "end", tools=[tool], **options)
        self.seen = self.agent.seen
        self.on = self.agent.events.on

    async def result(self) -> Any:
        async with self.agent:
            await self.agent.chat("go")
            return next(m for m in self.agent.messages if m.role == "tool_result")
