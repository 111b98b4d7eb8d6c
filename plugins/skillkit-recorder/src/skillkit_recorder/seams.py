"""What stands between an agent and the world while it is recorded: adapter, tools, approver and clock, each passing things on."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core import (
    AgentRunner,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    LLMAdapter,
    LLMRequest,
    StreamEvent,
    Tool,
    ToolContext,
    ToolError,
    ToolExecutor,
    ToolOutput,
    current_parent,
    redact_headers,
)
from skillkit_core.tools import checked

from .forms import EventForms, MessageForms, RequestForms
from .values import decision_to_json, error_to_json, output_to_json, plain

if TYPE_CHECKING:
    from skillkit_core import Clock

__all__ = ["Journal", "WatchedAdapter", "WatchedApprover", "WatchedClock", "WatchedExecutor", "in_call"]

JSON = dict[str, Any]
in_call: ContextVar[list[Any] | None] = ContextVar(
    "skillkit_recorded_call", default=None
)  # what agents below a call use


class Journal:
    """The lines so far, and how values become lines."""

    def __init__(self, agent: AgentRunner) -> None:
        self.agent = agent
        self.entries: list[JSON] = []
        self.lines: list[JSON] = []
        self.open = True
        messages = MessageForms()
        self.events = EventForms(messages)
        self.requests = RequestForms(messages)
        self.asked = 0
        self.executions: Counter[str] = Counter()
        self.shown: dict[str, deque[JSON]] = {}  # what tools have shown, and nobody has seen yet

    def add(self, kind: str, **values: Any) -> JSON:
        """Write a line; the object may be completed later."""
        line = {"type": kind, **values}
        if self.open:
            self.lines.append(line)
        return line

    def seen(self, call: str) -> None:
        """What a tool showed is seen now: handlers that wait, and threads, may delay that."""
        shown = self.shown.get(call)
        if shown:
            self.add("tool_output", **shown.popleft())

    @property
    def mine(self) -> bool:
        """Whether what happens now is the agent's, and not that of an agent below it."""
        place = current_parent()
        return self.open and (place is None or place.run.agent is self.agent)


class WatchedAdapter(LLMAdapter):
    """An adapter whose requests and answers are written down."""

    def __init__(self, inside: LLMAdapter, journal: Journal) -> None:
        self._inside, self._journal = inside, journal
        self.provider = inside.provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_inside"], name)

    @property
    def api(self) -> str:  # type: ignore[override]
        """That of the adapter inside."""
        return self._inside.api

    @property
    def progressive(self) -> bool:  # type: ignore[override]
        """As of the adapter inside."""
        return self._inside.progressive

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """As the adapter's."""
        journal = self._journal
        if not journal.mine:
            async for event in self._inside.stream(request):
                yield event
            return
        journal.asked += 1
        number, terminal = journal.asked, False
        target = journal.agent.target
        provider = target.provider if target is not None else self.provider
        form = journal.requests.of(request, self._inside, provider, journal.agent.toolbox.source)
        journal.add("request", n=number, **form)
        try:
            stream = self._inside.stream(self._watched(request, number))
            async with contextlib.aclosing(stream) as events:  # type: ignore[type-var]
                async for event in events:
                    journal.add("stream", request=number, event=journal.events.stream(event))
                    terminal = terminal or event.terminal
                    yield event
        except (GeneratorExit, asyncio.CancelledError):
            if not terminal:
                journal.add("stream_end", request=number, how="cut")
            raise
        except Exception as error:
            journal.add("stream_end", request=number, how="raised", error=error_to_json(error))
            raise
        if not terminal:
            journal.add("stream_end", request=number, how="stopped")

    def _watched(self, request: LLMRequest, number: int) -> LLMRequest:
        """The request with what goes over the wire written down."""
        journal, send, receive = self._journal, request.on_request, request.on_response

        async def on_request(payload: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
            shown = {str(k): str(v) for k, v in redact_headers(headers).items()}
            journal.add("sent", request=number, payload=plain(payload), headers=shown)
            return await send(payload, headers) if send is not None else (payload, headers)

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            journal.add("answered", request=number, status=status, headers=redact_headers(headers))
            if receive is not None:
                await receive(status, headers)

        return replace(request, on_request=on_request, on_response=on_response)


class _Context:
    """The context of a call, with what it shows written down."""

    __slots__ = ("_about", "_ctx", "_journal")

    def __init__(self, ctx: ToolContext, journal: Journal, about: JSON) -> None:
        self._ctx, self._journal, self._about = ctx, journal, about

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        if output and not getattr(self._ctx, "settled", False):
            self._journal.shown[self._about["call"]].append({**self._about, "output": output, "stream": stream})
        self._ctx.on_output(output, stream)


class WatchedExecutor(ToolExecutor):
    """An executor whose calls and results are written down."""

    def __init__(self, inside: ToolExecutor, journal: Journal) -> None:
        self.inside, self._journal = inside, journal

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        """As the executor's."""
        journal = self._journal
        if not journal.mine:
            return await self.inside.execute(tool, args, ctx)
        journal.executions[ctx.tool_call_id] += 1
        about: JSON = {"call": ctx.tool_call_id, "again": journal.executions[ctx.tool_call_id]}
        journal.shown.setdefault(ctx.tool_call_id, deque())
        journal.add("tool", **about, name=tool.name, args=plain(args))
        below: list[Any] = []
        token = in_call.set(below)
        try:
            output = await self.inside.execute(tool, args, _Context(ctx, journal, about))
            end = self._ended(tool, output) | self._late()
        except asyncio.CancelledError as error:
            end = self._stopped(error, ctx)
            raise
        except Exception as error:
            end = {"error": error_to_json(error)} | self._late()
            raise
        finally:
            in_call.reset(token)
            while journal.shown[ctx.tool_call_id]:
                journal.seen(ctx.tool_call_id)
            journal.add("tool_end", **about, **end, **({"nested": below} if below else {}))
        return output

    @staticmethod
    def _ended(tool: Tool, output: Any) -> JSON:
        try:
            return {"output": output_to_json(checked(tool, output))}
        except ToolError as error:  # what it gave is no output: the core will say the same
            return {"error": error_to_json(error)}

    @staticmethod
    def _late() -> JSON:
        task = asyncio.current_task()
        return {"late": True} if task is not None and task.cancelling() else {}

    @staticmethod
    def _stopped(error: asyncio.CancelledError, ctx: ToolContext) -> JSON:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            return {"error": error_to_json(error)}
        return {"cancelled": True} if ctx.signal.aborted else {"timeout": True}


class WatchedApprover(Approver):
    """An approver whose answers are written down."""

    def __init__(self, inside: Approver, journal: Journal) -> None:
        self.inside, self._journal = inside, journal

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """As the approver's."""
        journal, call = self._journal, request.tool_call_id
        if not journal.mine:
            return await self.inside.approve(request)
        journal.add("question", call=call, name=request.tool_name, questions=[q.text for q in request.questions])
        try:
            answer = await self.inside.approve(request)
        except Exception as error:
            journal.add("decision", call=call, error=error_to_json(error))
            raise
        if isinstance(answer, ApprovalDecision) and answer.decision in ("allow", "deny", "defer"):
            journal.add("decision", call=call, decision=decision_to_json(answer))
        else:  # in the words of the core, which will refuse it
            text = f"it answered {answer!r} instead of an ApprovalDecision of allow, deny or defer"
            journal.add("decision", call=call, error=error_to_json(TypeError(text)))
        return answer


class WatchedClock:
    """A clock whose waits are written down."""

    def __init__(self, inside: Clock, journal: Journal) -> None:
        self.inside, self._journal = inside, journal

    def time(self) -> float:
        """As the clock's."""
        return self.inside.time()

    def monotonic(self) -> float:
        """As the clock's."""
        return self.inside.monotonic()

    async def sleep(self, seconds: float) -> None:
        """As the clock's."""
        self._journal.add("sleep")
        await self.inside.sleep(seconds)
        self._journal.add("woke")
