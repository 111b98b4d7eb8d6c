"""Exactly one result for each tool call (I1): what is made of its answer, and the events of its start and its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..events.bus import GuardFailed
from ..events.results import ToolResultEventResult
from ..events.types import ToolExecutionEndEvent, ToolExecutionStartEvent, ToolResultEvent
from ..frozen import EMPTY
from ..messages import Block, Outcome, TextBlock, ToolResultMessage, blocks_of
from ..models import TokenUsage
from ..tools import ToolOutput
from .call import Prepared, plain_details
from .nesting import beyond
from .text import clean, limit_text

if TYPE_CHECKING:
    from .run import Run

__all__ = ["Settlement"]

WITHHELD = "The result was withheld because a guard failed."


class Settlement:
    """Gives the calls of a run their results."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.bus = run.agent.events

    async def start(self, item: Prepared) -> None:
        """Say that a call begins."""
        item.started = True
        if self.bus.has("tool_execution_start"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionStartEvent, tool_name=item.call.name, tool_call_id=item.call.id, args=item.args
                )
            )

    async def refuse(self, item: Prepared, outcome: Outcome, text: str) -> None:
        """Give a call that does not run its result."""
        if not item.started:
            item.args = item.args or item.call.args or EMPTY
            await self.start(item)
        await self.settle(item, ToolOutput(text, is_error=True), outcome, 0.0)

    async def patched(
        self, item: Prepared, output: ToolOutput, outcome: Outcome, duration: float
    ) -> tuple[ToolOutput, Outcome]:
        """What the handlers of ``after_tool_result`` make of the answer."""
        if not self.bus.has("after_tool_result"):
            return output, outcome
        event = self.bus.make(
            ToolResultEvent,
            tool_name=item.call.name,
            tool_call_id=item.call.id,
            args=item.args,
            raw_args=item.call.args or EMPTY,
            content=self._content(item, output),
            details=output.details,
            is_error=output.is_error,
            terminate=output.terminate,
            usage=output.usage,
            outcome=outcome,
            duration=duration,
        )
        try:
            patch = await self.bus.emit(event)
        except GuardFailed:
            return ToolOutput(WITHHELD, is_error=True, usage=output.usage), Outcome.error
        if not isinstance(patch, ToolResultEventResult):
            return output, outcome
        values = dict(patch.set_fields())
        output = replace(output, **values)
        if "is_error" in values and outcome in (Outcome.ok, Outcome.error):
            outcome = Outcome.error if output.is_error else Outcome.ok
        return output, outcome

    def _content(self, item: Prepared, output: ToolOutput) -> tuple[Block, ...]:
        """The answer as blocks: clean text, secrets redacted, not longer than the tool allows."""
        room = item.tool.max_output if item.tool is not None else 100_000
        redact = self.run.agent.host.redact
        blocks: list[Block] = []
        for block in blocks_of(output.content):
            if isinstance(block, TextBlock):
                text = limit_text(redact(clean(block.text)), room)
                block = block if text == block.text else TextBlock(text)
                room = max(0, room - len(text))
            blocks.append(block)
        return tuple(blocks)

    async def settle(self, item: Prepared, output: ToolOutput, outcome: Outcome, duration: float) -> None:
        """Fix the one result of a call; whatever comes later is dropped."""
        if item.result is not None:
            return
        if item.ctx is not None:
            item.ctx.settled = True
        item.terminate = item.terminate or output.terminate
        content = self._content(item, output)
        item.result = ToolResultMessage(
            tool_call_id=item.call.id,
            tool_name=item.call.name,
            content=content,
            is_error=outcome is not Outcome.ok or output.is_error,
            outcome=outcome,
            details=plain_details(output.details),
            ts=self.run.agent.clock.time(),
        )
        if output.usage is not None:
            counted = item.ctx.nested if item.ctx is not None else TokenUsage()
            await self.run.account(beyond(output.usage, counted), purpose="tool")
        await self.end(item, output.details, duration)

    async def end(self, item: Prepared, details: Any, duration: float) -> None:
        """Say that a call has its result; ``details`` are the tool's own, ``duration`` is in seconds."""
        item.ended = True
        result = item.result
        if result is not None and self.bus.has("tool_execution_end"):
            await self.bus.emit(
                self.bus.make(
                    ToolExecutionEndEvent,
                    tool_name=item.call.name,
                    tool_call_id=item.call.id,
                    args=item.args,
                    content=result.content,
                    details=details,
                    is_error=result.is_error,
                    outcome=result.outcome,
                    duration=duration,
                )
            )
