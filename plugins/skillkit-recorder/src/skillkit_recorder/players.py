"""What plays the world in a replay: an adapter, tools, an approver and a clock that give what was recorded, in its order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

from skillkit_core import (
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    ErrorKind,
    LLMAdapter,
    LLMRequest,
    ProviderError,
    StreamEvent,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolOutput,
    current_parent,
)
from skillkit_core.testing import VirtualClock

from .entrances import Key
from .order import Order
from .records import Answered, Sent, ToolEnd
from .script import Asked, Called, Script
from .values import (
    cancelled_inside,
    decision_from_json,
    error_from_json,
    output_from_json,
    plain,
    stream_from_json,
    usage_from_json,
)

__all__ = ["PlayedAdapter", "PlayedApprover", "PlayedClock", "PlayedExecutor", "Stage"]

OVER = "the recording ends here"


class Stage(Protocol):
    """What the players need of the replay."""

    script: Script
    order: Order
    served: int

    async def comes(self, key: Key) -> None:
        """Something is about to happen; the user comes in before it if that is where it was."""

    async def happened(self, key: Key) -> None:
        """Something happened; the user comes in here if that is where it was."""

    def request_made(self, asked: Asked, request: LLMRequest, adapter: LLMAdapter) -> None:
        """Compare a request."""

    def tool_called(self, called: Called, name: str, args: Mapping[str, Any]) -> None:
        """Compare the call of a tool."""

    def surprise(self, where: str, what: str) -> None:
        """Something was done that was not recorded, or the other way round."""

    def over(self) -> None:
        """The recording ends in the middle of a run."""


class PlayedAdapter(LLMAdapter):
    """Answers as it was recorded."""

    def __init__(self, stage: Stage, provider: str, api: str, progressive: bool) -> None:
        self._stage = stage
        self.provider = provider
        self._api, self._progressive = api, progressive

    @property
    def api(self) -> str:  # type: ignore[override]
        """The recorded one."""
        return self._api

    @property
    def progressive(self) -> bool:  # type: ignore[override]
        """As it was recorded."""
        return self._progressive

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """The recorded events of the next request."""
        stage = self._stage
        stage.served += 1
        n = stage.served
        if n > len(stage.script.requests):
            _unknown(stage, f"request {n}", "made, but not recorded")
            yield _failed(f"the recording has no request {n}")
            return
        asked = stage.script.requests[n - 1]
        stage.request_made(asked, request, self)
        await stage.happened(("request", n))
        try:
            for key, item in asked.items:
                await stage.order.turn(key)
                await stage.happened(key)
                if isinstance(item, (Sent, Answered)):
                    failure = await self._over_the_wire(request, item)
                    if failure is not None:
                        yield failure
                        return
                else:
                    yield stream_from_json(item.event)
            async for event in self._end(asked, n):
                yield event
        finally:
            stage.order.pass_over([key for key, _ in asked.items])
            await stage.happened(("stream_end", n))

    @staticmethod
    async def _over_the_wire(request: LLMRequest, item: Sent | Answered) -> StreamEvent | None:
        """Ask the handlers of the wire; gives the error event of a request that they refuse."""
        try:
            if isinstance(item, Answered):
                if request.on_response is not None:
                    await request.on_response(item.status, item.headers)
            elif request.on_request is not None:
                await request.on_request(item.payload, item.headers)
        except Exception as error:  # noqa: BLE001 - as an adapter does: a stream does not raise
            return _failed(str(error))
        return None

    async def _end(self, asked: Asked, n: int) -> AsyncIterator[StreamEvent]:
        """What follows the recorded events: nothing, an exception, or an abort that is waited for."""
        end = asked.end
        if end is None and asked.whole:
            return
        if end is not None and end.how != "cut":
            await self._stage.order.turn(("stream_end", n))
            if end.how == "raised" and end.error is not None:
                raise error_from_json(end.error)
            return
        await _held(self._stage, f"request {n}")
        yield _failed(OVER)


async def _held(stage: Stage, where: str) -> None:
    """Wait for the abort that ended this; returns when it does not come."""
    await stage.order.hold()
    if stage.script.complete:
        stage.surprise(where, "it was ended by an abort, which did not come")
    else:
        stage.over()


def _unknown(stage: Stage, where: str, what: str) -> None:
    """Something was done that was not recorded, unless the recording ends before it."""
    if stage.order.over and not stage.script.complete:
        stage.over()
    else:
        stage.surprise(where, what)


def _failed(message: str) -> StreamEvent:
    """The end of a stream after which nobody tries again."""
    return StreamEvent("error", error=ProviderError(message, kind=ErrorKind.invalid_request))


class PlayedExecutor(ToolExecutor):
    """Runs no tool: gives what the tool gave."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count: Counter[str] = Counter()

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """The recorded outputs and result of the call."""
        stage, call = self._stage, ctx.tool_call_id
        self._count[call] += 1
        which = (call, self._count[call])
        called = stage.script.calls.get(which)
        if called is None:
            _unknown(stage, f"tool call {call} ({tool.name})", "made, but not recorded")
            return ToolOutput("the recording has no result of this call", is_error=True)
        stage.tool_called(called, tool.name, plain(args))
        end = called.end
        try:
            cancelled = await self._begin(("tool", *which), called)
            await stage.comes(("tool", *which))
            await stage.happened(("tool", *which))
            for key, shown in called.outputs:
                cancelled = await self._turn(key, called) or cancelled
                ctx.on_output(shown.output, shown.stream)
                await stage.happened(key)
            if end is None or end.cancelled:
                if cancelled:
                    raise asyncio.CancelledError
                await _held(stage, f"tool call {call} ({tool.name})")
                return ToolOutput(OVER, is_error=True)
            await self._turn(("tool_end", *which), called)
            await stage.happened(("tool_end", *which))
        except asyncio.CancelledError:
            await stage.happened(("tool_end", *which))
            raise
        return self._result(end)

    async def _begin(self, key: Key, called: Called) -> bool:
        """Wait for what came before the tool began; as :meth:`_turn`."""
        order, before = self._stage.order, self._stage.script.awaits.get(key)
        if before is None or order.has_happened(before):
            return False
        return await self._unless_cancelled(lambda: order.until(before), called)

    async def _turn(self, key: Key, called: Called) -> bool:
        """Wait for a turn; whether it was cancelled meanwhile, which the recorded tool heeded later or not at all."""
        return await self._unless_cancelled(lambda: self._stage.order.turn(key), called)

    @staticmethod
    async def _unless_cancelled(wait: Callable[[], Awaitable[None]], called: Called) -> bool:
        cancelled = False
        while True:
            try:
                await wait()
                return cancelled
            except asyncio.CancelledError:
                if not called.spared:
                    raise
                cancelled = True

    @staticmethod
    def _result(end: ToolEnd) -> ToolOutput:
        parent = current_parent()
        for usage, cost in end.nested if parent is not None else ():
            used = usage_from_json(usage)
            parent.run.ledger.add(used, cost)  # type: ignore[union-attr]
            if parent is not None and parent.call is not None:
                parent.call.add_nested(used)
        if end.timeout:
            raise TimeoutError
        if end.error is not None:
            inside = cancelled_inside(end.error)
            raise inside if inside is not None else error_from_json(end.error)
        return output_from_json(end.output)


class PlayedApprover(Approver):
    """Decides as it was decided."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._count: Counter[str] = Counter()

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """The recorded answer to the question."""
        stage, call = self._stage, request.tool_call_id
        self._count[call] += 1
        which = (call, self._count[call])
        waited = stage.script.questions.get(which)
        if waited is None:
            _unknown(stage, f"question about {call} ({request.tool_name})", "asked, but not recorded")
            return ApprovalDecision("deny", "the recording has no answer to this question")
        await stage.happened(("question", *which))
        if waited.end is None:
            await _held(stage, f"question about {call} ({request.tool_name})")
            return ApprovalDecision("deny", OVER)
        await stage.order.turn(("decision", *which))
        await stage.happened(("decision", *which))
        end = waited.end
        error = getattr(end, "error", None)
        if error is not None:
            raise error_from_json(error)
        return decision_from_json(getattr(end, "decision", None))


class PlayedClock(VirtualClock):
    """Waits take no time, but end in their turn."""

    def __init__(self, stage: Callable[[], Stage]) -> None:
        super().__init__()
        self._find = stage
        self._waits = 0

    async def sleep(self, seconds: float) -> None:
        """Wait until the recorded wait was over."""
        stage = self._find()
        self._waits += 1
        n = self._waits
        if n <= len(stage.script.sleeps):
            await stage.happened(("sleep", n))
            if stage.script.sleeps[n - 1].end is None:
                await _held(stage, "the wait for another attempt")
            else:
                await stage.order.turn(("woke", n))
                await stage.happened(("woke", n))
        await super().sleep(seconds)
