"""The spans of a host, in the order in which a run makes them: the run, its model calls, its tool calls, steps of engines.

The span of a run is the current one in the task of the run, and in each task that begins there; a tool call, a step of an engine
and a model call make theirs the current one while they last. So whatever begins in them, an agent or a request over HTTP, stands
below them. No run fails of an error here: the bus reports a handler that raises, and goes on.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from skillkit_core.errors import ProviderError
from skillkit_core.messages import StopReason
from skillkit_core.models import TokenUsage

from . import __version__, names as n
from .content import Content
from .measuring import Measures
from .sending import Sender
from .switch import Settings

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.contracts.adapter import LLMRequest
    from skillkit_core.events.types import (
        AgentEndEvent,
        AgentStartEvent,
        BeforeAgentStartEvent,
        BeforeModelRequestEvent,
        CompactionEndEvent,
        Event,
        InputEvent,
        ToolCallEvent,
        ToolExecutionEndEvent,
        ToolExecutionStartEvent,
        UsageEvent,
    )

__all__ = ["Recorder"]

SCOPE = "skillkit_otel"
SUSPENDED = "otel.suspended"  # the note of a run that waits: where its trace is
DRIVEN = "skillkit"  # the provider of a run that code drives, which asks no model itself
_W3C = TraceContextTextMapPropagator()
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_FINISH = {StopReason.tool_calls: "tool_call", StopReason.refusal: "content_filter"}


@dataclass(slots=True)
class _Open:
    """A span that is open.

    Attributes:
        before: the context that was current before it, and is again after it.
        about: attributes of its metrics.
        began: a monotonic time.
    """

    span: Span
    before: Context
    about: dict[str, str]
    began: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Call(_Open):
    """A model call: one or more requests, which are the attempts of one answer.

    Attributes:
        asked: when the newest request was made.
        first_piece: seconds until the first piece of its answer.
        usage: tokens of all requests. cost: their dollars; ``None``: unknown.
        failed: the type of the last request's error; empty: it has not failed. why: its text. ended: when it failed, in
            nanoseconds and monotonic: the span ends there unless another attempt follows, which nobody knows yet.
    """

    asked: float = 0.0
    first_piece: float | None = None
    usage: TokenUsage = TokenUsage()
    cost: float | None = 0.0
    failed: str = ""
    why: str = ""
    ended: tuple[int, float] = (0, 0.0)


@dataclass(slots=True)
class _Run(_Open):
    """A run.

    Attributes:
        calls: model calls by the name of their first request. requests: those whose answer is awaited, by request.
        turn: the call of the newest turn.
        tools: open tool calls by id. tasks, steps: open ones of engines.
    """

    run_id: str = ""
    calls: dict[str, _Call] = field(default_factory=dict)
    requests: dict[str, _Call] = field(default_factory=dict)
    turn: _Call | None = None
    tools: dict[str, _Open] = field(default_factory=dict)
    tasks: dict[str, _Open] = field(default_factory=dict)
    steps: list[_Open] = field(default_factory=list)


class Recorder:
    """Makes the spans and metrics of one host."""

    def __init__(self, host: Host, settings: Settings, sender: Sender) -> None:
        self._names = n.LATEST if settings.latest else n.RELEASED
        self._sender = sender
        self._redact = host.redact
        self._environ = host.environ
        self._content = Content(host.redact) if settings.content else None
        self._tracer = sender.tracers.get_tracer(SCOPE, __version__, schema_url=self._names.schema)
        self._measures: Measures | None = None
        if sender.meters is not None:
            meter = sender.meters.get_meter(SCOPE, __version__, schema_url=self._names.schema)
            self._measures = Measures(meter, settings.latest)

    async def aclose(self) -> None:
        """Send what is left."""
        await asyncio.to_thread(self._sender.close)

    def close(self) -> None:
        """Send what is left, and wait for it."""
        self._sender.close()

    # --- runs -------------------------------------------------------------------------------------------------------

    def came(self, event: InputEvent, agent: AgentRunner) -> None:
        """Keep the trace that an input continues, as a server names it in the origin's ``meta`` (``traceparent``)."""
        meta = event.origin.meta if event.origin is not None and event.delivery == "prompt" else {}
        told = {key: str(meta[key]) for key in ("traceparent", "tracestate") if key in meta}
        agent.state("otel")["origin"] = told

    def run_prepared(self, event: BeforeAgentStartEvent, agent: AgentRunner) -> None:
        """Begin the span of a run."""
        self._begin_run(event, agent, resumed=event.resumed)

    def run_started(self, event: AgentStartEvent, agent: AgentRunner) -> None:
        """Name model and provider of a run; begin its span if nothing did."""
        run = self._run_of(event, agent) or self._begin_run(event, agent)
        run.about[n.PROVIDER] = event.provider or DRIVEN
        run.span.set_attribute(n.PROVIDER, event.provider or DRIVEN)
        if event.model is not None:
            run.about[n.MODEL] = event.model.id
            run.span.set_attribute(n.MODEL, event.model.id)

    def run_ended(self, event: AgentEndEvent, agent: AgentRunner) -> Awaitable[None] | None:
        """End the span of a run, and what is open in it. Of a run that waits, note where its trace is."""
        run = self._run_of(event, agent)
        if run is None:
            return None
        run.span.set_attribute("skillkit.outcome", event.outcome)
        if event.usage is not None and event.usage.total:
            run.span.set_attributes(_tokens(event.usage))
        failed = ""
        if event.outcome in ("failed", "aborted"):
            failed = "aborted" if event.outcome == "aborted" else _kind(event.error)
            self._fail(run, failed, str(event.error or event.reason))
        self._end_run(run, agent, event.outcome if event.outcome != "completed" else "interrupted")
        if event.outcome != "suspended":
            return None
        where: dict[str, str] = {}
        _W3C.inject(where, trace.set_span_in_context(run.span))
        return _note(agent, where)

    def settled(self, agent: AgentRunner) -> None:
        """End the span of a run that no ``agent_end`` has ended."""
        run: _Run | None = agent.state("otel").get("run")
        if run is not None:
            self._end_run(run, agent, "interrupted")

    def _run_of(self, event: Event, agent: AgentRunner) -> _Run | None:
        run: _Run | None = agent.state("otel").get("run")
        return run if run is not None and run.run_id == (event.run_id or "") else None

    def _begin_run(self, event: Event, agent: AgentRunner, resumed: bool = False) -> _Run:
        name, target = event.agent_path[-1].partition(":")[0], agent.target
        about = {n.OPERATION: "invoke_agent", n.PROVIDER: target.provider if target is not None else DRIVEN}
        if target is not None:
            about[n.MODEL] = target.model.id
        own = {n.AGENT: name, n.CONVERSATION: event.session_id or "", "skillkit.run.id": event.run_id or ""}
        before = otel.get_current()
        span = self._tracer.start_span(
            f"invoke_agent {name}",
            context=self._above(agent),
            attributes={**about, **own},
            links=_links(agent) if resumed else (),
        )
        run = _Run(span, before, about, run_id=event.run_id or "")
        agent.state("otel")["run"] = run
        otel.attach(trace.set_span_in_context(span))
        return run

    def _above(self, agent: AgentRunner) -> Context:
        """Return the context of a run: of its parent, else of who asks, of the origin of its input, or of ``TRACEPARENT``."""
        current = otel.get_current()
        parent = agent.parent
        above: _Run | None = parent.state("otel").get("run") if parent is not None else None
        if above is not None:
            return self._within(above)
        if trace.get_current_span(current).get_span_context().is_valid:
            return current
        given = {key: self._environ.get(key.upper(), "") for key in ("traceparent", "tracestate")}
        told = agent.state("otel").pop("origin", None) or {key: value for key, value in given.items() if value}
        return _W3C.extract(told, current)

    def _end_run(self, run: _Run, agent: AgentRunner, how: str) -> None:
        """End a run with what is open in it: model calls that failed for good, and what the end of the run cut off."""
        for call in run.calls.values():
            if call.failed:
                self._end_call(call)
        # a call without an answer that has not failed was never made: a guard forbade the request
        for left in (*run.tools.values(), *reversed(run.steps), *reversed(run.tasks.values())):
            self._cut_off(left, how)
        run.span.end()
        self._took(run)
        otel.attach(run.before)
        agent.state("otel").pop("run", None)

    def _cut_off(self, left: _Open, how: str) -> None:
        if how != "suspended":
            self._fail(left, how)
        left.span.set_attribute("skillkit.outcome", how)
        left.span.end()

    def compacted(self, event: CompactionEndEvent, agent: AgentRunner) -> None:
        """Note a compaction in the span of its run."""
        if (run := self._run_of(event, agent)) is not None:
            told: dict[str, str | int] = {
                "skillkit.reason": event.reason,
                "skillkit.outcome": event.outcome,
                "skillkit.tokens.before": event.before_tokens,
                "skillkit.tokens.after": event.after_tokens,
            }
            run.span.add_event("skillkit.compaction", told)

    # --- model calls ------------------------------------------------------------------------------------------------

    def requested(self, event: BeforeModelRequestEvent, agent: AgentRunner) -> None:
        """Begin a model call, or note in it that it is tried again. A fallback is another call, to another model."""
        run = self._run_of(event, agent) or self._begin_run(event, agent)
        name = event.first or event.request
        call = run.calls.get(name)
        if call is not None and (call.about[n.PROVIDER], call.about[n.MODEL]) != (event.provider, event.model.id):
            self._end_call(call)
            call = None
        if call is None:
            call = run.calls[name] = self._begin_call(event, run)
        else:
            told: dict[str, str | int] = {"skillkit.attempt": event.attempt, n.ERROR: call.failed or "repeated"}
            call.span.add_event("skillkit.retry", told)
        call.asked, call.first_piece, call.failed = time.monotonic(), None, ""
        run.requests[event.request] = call
        if event.purpose == "turn":
            run.turn = call
        otel.attach(trace.set_span_in_context(call.span))

    def _begin_call(self, event: BeforeModelRequestEvent, run: _Run) -> _Call:
        about = {n.OPERATION: "chat", n.PROVIDER: event.provider, n.MODEL: event.model.id}
        own: dict[str, Any] = {n.CONVERSATION: event.session_id or "", "skillkit.purpose": event.purpose}
        sent: LLMRequest | None = event.sent
        if sent is not None:
            own |= self._asked(sent)
        within = self._within(run)
        span = self._tracer.start_span(
            f"chat {event.model.id}", context=within, kind=SpanKind.CLIENT, attributes={**about, **own}
        )
        return _Call(span, within, about)

    def _asked(self, sent: LLMRequest) -> dict[str, Any]:
        """Return the attributes of what a model is asked."""
        settings = sent.settings
        own: dict[str, Any] = {
            "gen_ai.request.stream": sent.stream,
            "gen_ai.request.max_tokens": settings.max_tokens,
            "gen_ai.request.temperature": settings.temperature,
            "gen_ai.request.top_p": settings.top_p,
            "gen_ai.output.type": "json" if settings.response_schema is not None else None,
        }
        if self._content is not None:
            own[n.INPUT_MESSAGES] = self._content.messages(sent.messages)
            own[n.SYSTEM] = self._content.system(sent.system) if sent.system else None
            own[n.TOOL_DEFINITIONS] = self._content.tools(sent.tools) if sent.tools else None
        return {key: value for key, value in own.items() if value is not None}

    def answer_began(self, agent: AgentRunner) -> None:
        """Take the time of the first piece of the answer of a turn."""
        run: _Run | None = agent.state("otel").get("run")
        if run is not None and (call := run.turn) is not None and call.first_piece is None:
            call.first_piece = time.monotonic() - call.asked

    def answered(self, event: UsageEvent, agent: AgentRunner) -> None:
        """End a model call that has its answer. One that failed stays open: another attempt may follow."""
        run = self._run_of(event, agent)
        call = run.requests.pop(event.request, None) if run is not None else None
        if call is None:
            return
        call.usage = call.usage + event.usage
        call.cost = None if call.cost is None or event.cost is None else call.cost + event.cost
        if event.role:
            call.span.set_attribute("skillkit.role", event.role)
        if event.estimated:
            call.span.set_attribute("skillkit.usage.estimated", True)
        elif self._measures is not None and event.usage.total:
            self._measures.used(event.usage, call.about)
        if event.error:
            call.failed, call.ended = event.error, (time.time_ns(), time.monotonic())
            call.why = (event.received.error if event.received is not None else None) or event.error
            if call.failed in ("aborted", "cancelled"):
                self._end_call(call)
        elif (message := event.received) is not None:
            finish = _FINISH.get(message.stop_reason, str(message.stop_reason))
            call.span.set_attribute(n.FINISH, [finish])
            if message.response_id:
                call.span.set_attribute(n.RESPONSE_ID, message.response_id)
            if call.first_piece is not None:
                call.span.set_attribute(n.FIRST_CHUNK, call.first_piece)
            if self._content is not None:
                call.span.set_attribute(n.OUTPUT_MESSAGES, self._content.answer(message, finish))
            self._end_call(call)
        if trace.get_current_span() is call.span:
            otel.attach(call.before)

    def _end_call(self, call: _Call) -> None:
        if not call.span.is_recording():
            return
        call.span.set_attributes(_tokens(call.usage, self._names.cache_write))
        if call.cost is not None:
            call.span.set_attribute("skillkit.cost", call.cost)
        if not call.failed:
            call.span.end()
            self._took(call)
            return
        self._fail(call, call.failed, call.why)
        call.span.end(call.ended[0])
        self._took(call, call.ended[1])

    # --- tool calls -------------------------------------------------------------------------------------------------

    def tool_started(self, event: ToolExecutionStartEvent, agent: AgentRunner) -> None:
        """Begin the span of a tool call."""
        run = self._run_of(event, agent)
        if run is None:  # a call that waited for a decision, and is denied because another input came
            return
        name = event.tool_name if _NAME.fullmatch(event.tool_name) else "unknown"  # a model may say anything
        about = {n.OPERATION: "execute_tool", n.TOOL: self._redact(name)}
        own = {n.TOOL_CALL: self._redact(event.tool_call_id), n.TOOL_TYPE: "function"}
        tool = agent.offered(event.tool_name)
        if tool is not None:
            own[n.TOOL_DESCRIPTION] = tool.description
            if skill := tool.annotations.get("skill"):
                own[n.SKILL] = str(skill)
        if self._content is not None:
            own[n.TOOL_ARGUMENTS] = self._content.json(event.args)
        span = self._tracer.start_span(
            f"execute_tool {about[n.TOOL]}", context=self._within(run, tool=True), attributes={**about, **own}
        )
        run.tools[event.tool_call_id] = _Open(span, otel.get_current(), about)

    @contextmanager
    def in_tool(self, call: ToolCallEvent, agent: AgentRunner) -> Iterator[None]:
        """Make the span of a tool call the current one."""
        run = self._run_of(call, agent)
        found = run.tools.get(call.tool_call_id) if run is not None else None
        if found is None:
            yield
            return
        with trace.use_span(found.span, record_exception=False, set_status_on_exception=False):
            yield

    def tool_ended(self, event: ToolExecutionEndEvent, agent: AgentRunner) -> None:
        """End the span of a tool call."""
        run = self._run_of(event, agent)
        found = run.tools.pop(event.tool_call_id, None) if run is not None else None
        if found is None:
            return
        outcome = str(event.outcome)
        if outcome != "ok":
            found.span.set_attribute("skillkit.outcome", outcome)
            if outcome != "suspended":
                self._fail(found, outcome)
        for plugin, said in event.guards.items():
            found.span.add_event("skillkit.guard", {"skillkit.plugin": plugin, "skillkit.answer": said})
        if self._content is not None:
            found.span.set_attribute(n.TOOL_RESULT, self._content.blocks(event.content))
        found.span.end()
        self._took(found)

    # --- engines ----------------------------------------------------------------------------------------------------

    def task_started(self, event: Any, agent: AgentRunner) -> None:
        """Begin the span of a task."""
        run = self._run_of(event, agent)
        if run is None:
            return
        about = {n.OPERATION: "invoke_workflow"}
        own = {self._names.workflow: event.skill, n.SKILL: event.skill, "skillkit.engine": event.engine}
        run.tasks[event.task] = self._begin(f"invoke_workflow {event.skill}", run, about, own)

    def task_ended(self, event: Any, agent: AgentRunner) -> None:
        """End the span of a task."""
        run = self._run_of(event, agent)
        found = run.tasks.pop(event.task, None) if run is not None else None
        if found is None:
            return
        found.span.set_attribute("skillkit.outcome", event.status)
        if event.status == "failed":
            self._fail(found, "failed", event.reason)
        found.span.end()
        otel.attach(found.before)

    def step(self, event: Any, agent: AgentRunner) -> None:
        """Begin the span of a step of a task, or end it: that of this step which began in the same task of asyncio."""
        run = self._run_of(event, agent)
        if run is None:
            return
        if event.state == "begin":
            own = {"skillkit.step": event.node, n.SKILL: event.skill}
            run.steps.append(self._begin(f"step {event.node}", run, {"skillkit.step": event.node}, own))
            return
        same = [one for one in run.steps if one.about["skillkit.step"] == event.node]
        current = trace.get_current_span()
        found = next((one for one in same if one.span is current), same[-1] if same else None)
        if found is not None:
            run.steps.remove(found)
            found.span.end()
            otel.attach(found.before)

    def _begin(self, name: str, run: _Run, about: dict[str, str], own: Mapping[str, str]) -> _Open:
        """Begin a span that is the current one from here on."""
        before = otel.get_current()
        span = self._tracer.start_span(name, context=self._within(run), attributes={**about, **own})
        otel.attach(trace.set_span_in_context(span))
        return _Open(span, before, about)

    # --- all of them ------------------------------------------------------------------------------------------------

    def _within(self, run: _Run, *, tool: bool = False) -> Context:
        """Return the context of something in a run: the current one, if it belongs to the run, else that of the run.

        A run that an engine drives makes its tool calls in the task of the run, not in that of the engine: the call belongs to
        the one step that is open, to the task if there are more.
        """
        current = otel.get_current()
        now = trace.get_current_span(current)
        for call in run.calls.values():
            if call.span is now:  # a guard forbade the request, so that nothing has ended the call
                now, current = trace.get_current_span(call.before), call.before
        if now.get_span_context().trace_id != _trace(run):
            now, current = run.span, trace.set_span_in_context(run.span, current)
        if tool and now is run.span and run.tasks:
            inner = run.steps if len(run.steps) == 1 else list(run.tasks.values())
            return trace.set_span_in_context(inner[-1].span, current)
        return current

    def _fail(self, opened: _Open, kind: str, text: str = "") -> None:
        """Mark a span as failed. The text of an error may quote what was said, so it is content, too."""
        opened.about[n.ERROR] = kind
        opened.span.set_attribute(n.ERROR, kind)
        said = self._redact(text)[:500] if self._content is not None and text else None
        opened.span.set_status(Status(StatusCode.ERROR, said))

    def _took(self, ended: _Open, now: float | None = None) -> None:
        if self._measures is not None:
            self._measures.took((time.monotonic() if now is None else now) - ended.began, ended.about)


def _trace(run: _Run) -> int:
    return run.span.get_span_context().trace_id


def _kind(error: Exception | None) -> str:
    """Return the type of an error: of a provider's the kind, else the class."""
    seen = error
    while seen is not None and not isinstance(seen, ProviderError):
        seen = seen.__cause__ if isinstance(seen.__cause__, Exception) else None
    return str(seen.kind) if seen is not None else type(error).__name__ if error is not None else "failed"


def _tokens(usage: TokenUsage, cache_write: str = "") -> dict[str, int]:
    """Return usage as the conventions count it: cached tokens are input, tokens of thinking are output."""
    found = {n.INPUT: usage.prompt, n.OUTPUT: usage.output + usage.reasoning}
    parts = {
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    if cache_write:
        parts[cache_write] = usage.cache_write
    return {**found, **{name: count for name, count in parts.items() if count}}


async def _note(agent: AgentRunner, where: Mapping[str, str]) -> None:
    await agent.session.note(SUSPENDED, where)


def _links(agent: AgentRunner) -> tuple[Link, ...]:
    """Return a link to the run that waited, which this one goes on with."""
    session = agent.open_session
    notes = session.notes(SUSPENDED) if session is not None else []
    if not notes:
        return ()
    found = trace.get_current_span(_W3C.extract(dict(notes[-1].data), Context())).get_span_context()
    return (Link(found),) if found.is_valid else ()
