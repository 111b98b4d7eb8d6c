"""What a tool call passes before it may run: its tool and arguments are checked, guards and approvers asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..contracts.approver import ApprovalDecision, Question
from ..events.tool_call import ToolCallDecision
from ..events.types import ToolCallEvent
from ..messages import Outcome
from ..schema import validate
from .call import Prepared
from .consent import agreement
from .settlement import Settlement

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Preparation"]


class Preparation:
    """Prepares the calls of one assistant message, ``batch_size`` of them."""

    def __init__(self, run: Run, settlement: Settlement, batch_size: int) -> None:
        self.run = run
        self.bus = run.agent.events
        self._settlement = settlement
        self._batch_size = batch_size

    async def prepare(self, item: Prepared) -> None:
        """Check one call and ask the handlers; a call that must not run gets its result here."""
        call, name = item.call, item.call.name
        tool = self.run.agent.toolbox.get(name)
        if tool is None:
            await self._settlement.refuse(item, Outcome.error, self._unknown(name))
            return
        if call.args is None:
            await self._settlement.refuse(
                item, Outcome.error, f"The arguments of {name!r} are not a JSON object: {call.raw_args[:200]!r}"
            )
            return
        problem = validate(tool.parameters, call.args if item.stored is None else item.stored.args)
        if problem is not None:
            await self._settlement.refuse(item, Outcome.error, f"The arguments of {name!r} do not fit: {problem}")
            return
        item.tool, item.args = tool, item.stored.args if item.stored is not None else call.args
        item.event = self.bus.make(
            ToolCallEvent,
            tool_name=name,
            tool_call_id=call.id,
            args=item.args,
            raw_args=call.args,
            index=item.index,
            batch_size=self._batch_size,
            annotations=tool.annotations,
        )
        questions = await self._guarded(item) if self.bus.has("before_tool_call") else ()
        if questions is None or not await self._allowed(item, questions):
            return
        await self.run.checkpoint()
        await self._settlement.start(item)

    def _unknown(self, name: str) -> str:
        from ..errors import close_matches

        names = [tool.name for tool in self.run.agent.toolbox.tools()]
        close = close_matches(name, names)
        return f"There is no tool {name!r}." + (f" Did you mean {', '.join(close)}?" if close else "")

    async def _guarded(self, item: Prepared) -> Sequence[Question] | None:
        """Ask the handlers of ``before_tool_call``: what must be asked before the call may go on; ``None``: it may not."""
        assert item.event is not None and item.tool is not None
        decision = await self.bus.emit(item.event)
        if not isinstance(decision, ToolCallDecision):
            return ()
        if decision.args is not None:
            item.args = decision.args
        item.terminate = decision.terminate
        if decision.block:
            await self._settlement.refuse(item, Outcome.blocked, f"Blocked: {decision.reason}")
            return None
        if decision.changed_by is not None:
            problem = validate(item.tool.parameters, item.args)
            if problem is not None:
                who = f"plugin {decision.plugin!r}" if decision.plugin else decision.changed_by
                await self._settlement.refuse(
                    item, Outcome.error, f"{who} changed the arguments so that they do not fit: {problem}"
                )
                return None
        if item.args is not item.event.args:
            item.event = replace(item.event, args=item.args)
        item.substitute = decision.result
        return decision.questions

    async def _allowed(self, item: Prepared, questions: Sequence[Question]) -> bool:
        """Whether everybody who must be asked agrees; else the call is denied or waits."""
        if not questions and item.stored is None:
            return True
        answer = await agreement(self.run, item, questions)
        if answer.decision == "deny":
            await self.deny(item, answer)
        return answer.decision == "allow"

    async def deny(self, item: Prepared, answer: ApprovalDecision) -> None:
        """Give a call that somebody decided against its result."""
        await self._settlement.refuse(item, Outcome.denied, f"Denied: {answer.reason or 'no reason given'}")
