"""Lifecycle hooks: one per event of an agent's life; the hook's name is the event's name on ``agent.events``.

How all of them work: implementations may be sync or async and may leave parameters out. They run one after the other in the
order of their phase (``rewrite < first < normal < last < guard``), in a phase plugins before session handlers, plugins in
the order of the distribution (this is not pluggy's last-registered-first). They answer with the event's result type or
``None``; any other answer is an error, as is any answer to an event that is only observed. An exception or a timeout
discards the answer, is reported as ``handler_error`` and the others go on, except where "fails closed" is said. ``ctx`` is
the :class:`~skillkit_core.events.context.HandlerContext`. Dispatch is the host's, not pluggy's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .markers import Answer, Observed, hookspec

if TYPE_CHECKING:
    from ..events import results as r, types as e
    from ..events.context import HandlerContext


@hookspec
def session_start(event: e.SessionStartEvent, ctx: HandlerContext) -> Answer[r.SessionStartResult]:
    """A session was opened.

    When: once per session that an agent opens, before its first input.

    Returns: ``SessionStartResult`` or ``None``. ``context`` messages of all answers join the session's context, in
    order.

    Example::

        @hookimpl
        def session_start(event):
            return SessionStartResult(context=[CustomMessage(custom_type="note", content="Be brief.", in_context=True)])
    """


@hookspec
def session_before_switch(event: e.SessionBeforeSwitchEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeResult]:
    """The agent is about to leave its session for another one.

    When: ``AgentRunner.switch`` was called; nothing has changed yet. ``event.target`` is the id of the other session, ``None``
    for a new one.

    Returns: ``SessionBeforeResult`` or ``None``. The first ``cancel`` keeps the session, and nobody else is asked; the
    last ``reason`` given says why.

    Example::

        @hookimpl
        def session_before_switch(event):
            return SessionBeforeResult(cancel=True, reason="the draft is not saved") if draft else None
    """


@hookspec
def session_before_fork(event: e.SessionBeforeForkEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeResult]:
    """A copy of the session up to an entry is about to be made, and talked in from then on.

    When: ``AgentRunner.fork`` was called; nothing has changed yet. ``event.target`` is the last entry that is kept.

    Returns: ``SessionBeforeResult`` or ``None``, as for ``session_before_switch``.

    Example::

        @hookimpl
        def session_before_fork(event):
            return SessionBeforeResult(cancel=True, reason="forks are off here")
    """


@hookspec
def session_before_tree(event: e.SessionBeforeTreeEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeTreeResult]:
    """The agent is about to go on from another entry of its session.

    When: ``AgentRunner.move_to`` was called; the leaf has not moved yet.

    Returns: ``SessionBeforeTreeResult`` or ``None``. The first ``cancel`` leaves the leaf where it is. The last ``summary``
    given is put into the context there: what happened on the branch that is left. The last ``label`` given marks the place.

    Example::

        @hookimpl
        def session_before_tree(event, ctx):
            return SessionBeforeTreeResult(summary=f"Tried before: {ctx.session.messages[-1].text}")
    """


@hookspec
def session_tree(event: e.SessionTreeEvent, ctx: HandlerContext) -> Observed:
    """The agent goes on from another entry of its session.

    When: after ``AgentRunner.move_to``: the leaf, the summary and the label are in the session. What a plugin keeps in memory
    about the branch is read again from here on.

    Example::

        @hookimpl
        def session_tree(event, ctx):
            ctx.agent.state("plan").clear()
    """


@hookspec
def session_shutdown(event: e.SessionShutdownEvent, ctx: HandlerContext) -> Observed:
    """A session is about to be closed.

    When: once, also on SIGTERM and after ``skillkit run``. Every implementation is called even if one hangs (five
    seconds each).

    Example::

        @hookimpl
        def session_shutdown(event):
            flush_metrics()
    """


@hookspec
def input(event: e.InputEvent, ctx: HandlerContext) -> Answer[r.InputResult]:
    """Somebody said something.

    When: the raw text of a prompt, a steering message or a follow-up has come in, before anything is expanded.

    Returns: ``InputResult`` or ``None``. ``Transform`` chains; the first ``Handled`` stops and ends the matter: no model is
    asked. With ``keep=True`` the input and the reply are in the session, and the model sees them with the next prompt. A
    failing guard rejects the input.

    Example::

        @hookimpl
        def input(event):
            if event.text == "ping":
                return Handled("pong")
    """


@hookspec
def before_agent_start(event: e.BeforeAgentStartEvent, ctx: HandlerContext) -> Answer[r.BeforeAgentStartResult]:
    """A run is about to start.

    When: once per run, after the input was accepted.

    Returns: ``BeforeAgentStartResult`` or ``None``. ``messages`` of all answers are added; ``system_prompt`` chains. The last
    ``adapter`` and the last ``model`` answer this run alone, until somebody calls ``set_adapter`` or ``set_model``; one that
    there is not is reported, and the run keeps its own. Of ``limits`` each bound counts for this run where it is lower than
    the configured one (``Limits()`` has 200 turns; ``turns=None`` leaves them alone).

    Example::

        @hookimpl
        def before_agent_start(event):
            if len(event.prompt) < 80:
                return BeforeAgentStartResult(model="haiku", limits=Limits(turns=None, cost=0.05))
    """


@hookspec
def agent_start(event: e.AgentStartEvent, ctx: HandlerContext) -> Observed:
    """A run starts.

    When: once per run, before its first request. ``event.parent_run_id`` and ``event.parent_tool_call_id`` name the run and
    the call that a nested run is part of.
    """


@hookspec
def turn_start(event: e.TurnStartEvent, ctx: HandlerContext) -> Answer[r.TurnStartResult]:
    """A round with the model begins.

    When: before each request of a run, not for retries.

    Returns: ``TurnStartResult`` or ``None``. ``append`` joins the session at its end; ``messages``, ``tools`` and
    ``system_prompt`` replace what this turn alone sends, chained. ``stop`` ends the run before the request, with outcome
    ``limit`` and the ``reason``.

    Example::

        @hookimpl
        def turn_start(event):
            return TurnStartResult(append=[UserMessage(content="It is noon.")])
    """


@hookspec
def context_transform(event: e.ContextTransformEvent, ctx: HandlerContext) -> Answer[r.ContextTransformResult]:
    """The messages of one request.

    When: before each request, retries included, after the compaction check.

    Returns: ``ContextTransformResult`` or ``None``. ``messages`` chains, is then repaired, and is forgotten after the
    request. An empty or system-only list is refused. A failing guard fails the turn: no request leaves.

    Example::

        @hookimpl
        def context_transform(event):
            return ContextTransformResult(messages=event.messages[-20:])
    """


@hookspec
def before_provider_request(
    event: e.BeforeProviderRequestEvent, ctx: HandlerContext
) -> Answer[r.ProviderRequestResult]:
    """The last stop before the wire.

    When: an HTTP adapter has built its payload, for every attempt.

    Returns: ``ProviderRequestResult`` or ``None``. ``payload`` chains, ``headers`` and ``options`` merge. A failing
    guard fails the turn: no request leaves.

    Example::

        @hookimpl
        def before_provider_request(event):
            return ProviderRequestResult(headers={"x-team": "docs"})
    """


@hookspec
def after_provider_response(event: e.AfterProviderResponseEvent, ctx: HandlerContext) -> Observed:
    """Status and headers of the answer have arrived.

    When: before the first stream event, for every attempt.
    """


@hookspec
def message_start(event: e.MessageStartEvent, ctx: HandlerContext) -> Observed:
    """A message begins.

    When: an assistant message starts to arrive, or a tool result is about to be recorded.
    """


@hookspec
def message_update(event: e.MessageUpdateEvent, ctx: HandlerContext) -> Observed:
    """One stream event of the assistant message that is arriving.

    When: for every stream event; ``event.partial`` is the message so far, built on demand. Where a handler is async, the stream
    does not wait for it: deltas of one block that wait for their turn become one, and all are told before ``message_end``.

    Example::

        @hookimpl
        def message_update(event):
            print(event.content, end="")
    """


@hookspec
def message_end(event: e.MessageEndEvent, ctx: HandlerContext) -> Answer[r.MessageEndResult]:
    """A message is complete.

    When: before it is persisted, so before its tools run.

    Returns: ``MessageEndResult`` or ``None``. ``message`` chains; another role or other tool-call ids are refused and
    the original stays.

    Example::

        @hookimpl
        def message_end(event):
            return MessageEndResult(message=redacted(event.message))
    """


@hookspec
def before_tool_call(event: e.ToolCallEvent, ctx: HandlerContext) -> Answer[r.ToolCallEventResult]:
    """The model wants a tool to run.

    When: for every valid call, after its arguments were checked against the schema. Unknown tools and invalid
    arguments never get here.

    Returns: ``ToolCallEventResult`` or ``None``. ``block > ask > substitute > allow``; a block ends it at once.
    ``args`` (a JSON merge patch, or ``ReplaceArgs``) chains, is validated again, and whoever looked before the last
    change is asked again. Implementations in phase ``guard`` see exactly what will run and may not change it. Every
    implementation fails closed: an exception, a timeout or a wrong type blocks the call and names the plugin.

    Example::

        @hookimpl
        def before_tool_call(event):
            if event.tool_name == "bash" and "rm -rf" in event.args["command"]:
                return ToolCallEventResult(block=True, reason="Dangerous command")
    """


@hookspec
def tool_execution_start(event: e.ToolExecutionStartEvent, ctx: HandlerContext) -> Observed:
    """A tool call is taken up.

    When: once per call, also for one that is blocked or skipped.
    """


@hookspec
def tool_execution_update(event: e.ToolExecutionUpdateEvent, ctx: HandlerContext) -> Observed:
    """A running tool wrote something.

    When: between start and end of a call; nothing comes after the call has settled.
    """


@hookspec
def after_tool_result(event: e.ToolResultEvent, ctx: HandlerContext) -> Answer[r.ToolResultEventResult]:
    """A tool answered.

    When: after a real execution (also a failed or timed out one) and after a substituted result; not for blocked,
    denied or skipped calls.

    Returns: ``ToolResultEventResult`` or ``None``. A patch per answer: fields that are left out keep their value;
    later implementations see the patched result. A failing guard withholds the content.

    Example::

        @hookimpl
        def after_tool_result(event):
            return ToolResultEventResult(content=mask(event.content))
    """


@hookspec
def tool_execution_end(event: e.ToolExecutionEndEvent, ctx: HandlerContext) -> Observed:
    """A tool call has its final result.

    When: once per start, in the order of completion.
    """


@hookspec
def turn_end(event: e.TurnEndEvent, ctx: HandlerContext) -> Answer[r.TurnEndResult]:
    """A round with the model is over.

    When: after its tool results are persisted; also when the run ends in the middle of the round (aborted, failed, a limit,
    a suspension, which is kept then). Then ``message`` is what had arrived of the answer, or ``None``.

    Returns: ``TurnEndResult`` or ``None``. The run stops if one answer says ``stop``; ``outcome`` is how it ends then:
    ``completed`` (the default), or ``limit`` for a budget that is used up. ``reason`` is that of ``agent_end``.

    Example::

        @hookimpl
        def turn_end(event):
            return TurnEndResult(stop=event.turn_index >= 9, reason="ten turns", outcome="limit")
    """


@hookspec
def before_compact(event: e.BeforeCompactEvent, ctx: HandlerContext) -> Answer[r.BeforeCompactResult]:
    """The history is about to be shortened.

    When: before the compactor that ``select_compactor`` chose is called.

    Returns: ``BeforeCompactResult`` or ``None``. Any ``cancel`` wins; the first ``compaction`` supplied is used.

    Example::

        @hookimpl
        def before_compact(event):
            return BeforeCompactResult(cancel=event.reason == "threshold")
    """


@hookspec
def compaction_start(event: e.CompactionStartEvent, ctx: HandlerContext) -> Observed:
    """A compaction begins.

    When: after ``before_compact``.
    """


@hookspec
def compaction_end(event: e.CompactionEndEvent, ctx: HandlerContext) -> Observed:
    """A compaction is over.

    When: once per start.
    """


@hookspec
def retry_scheduled(event: e.RetryScheduledEvent, ctx: HandlerContext) -> Observed:
    """A request failed and will be made again.

    When: before the waiting.
    """


@hookspec
def retry_start(event: e.RetryStartEvent, ctx: HandlerContext) -> Observed:
    """The waiting before a retry is over.

    When: before the request is made again.
    """


@hookspec
def retry_end(event: e.RetryEndEvent, ctx: HandlerContext) -> Observed:
    """The retries of one request are over.

    When: once after the last attempt.
    """


@hookspec
def queue_update(event: e.QueueUpdateEvent, ctx: HandlerContext) -> Observed:
    """What waits in the queues has changed.

    When: something was queued, taken, cancelled or returned.
    """


@hookspec
def model_select(event: e.ModelSelectEvent, ctx: HandlerContext) -> Observed:
    """Another model or adapter will answer.

    When: a request is about to be built that asks another one: ``set_adapter`` or ``set_model`` takes effect, or the last
    answer of the session's branch is another model's. A ``model_change`` entry is in the session by then.
    """


@hookspec
def usage(event: e.UsageEvent, ctx: HandlerContext) -> Observed:
    """A request was paid for.

    When: after each attempt, failed ones included, once it is in the usage ledger.
    """


@hookspec
def approval_request(event: e.ApprovalRequestEvent, ctx: HandlerContext) -> Observed:
    """Guards ask whether a call may run.

    When: before the run's approver is asked.
    """


@hookspec
def approval_resolved(event: e.ApprovalResolvedEvent, ctx: HandlerContext) -> Observed:
    """An approval has its answer.

    When: once per ``approval_request``.
    """


@hookspec
def before_agent_end(event: e.BeforeAgentEndEvent, ctx: HandlerContext) -> Answer[r.BeforeAgentEndResult]:
    """The run would stop normally.

    When: no tool call, steering or follow-up is left; not on abort, failure or limits.

    Returns: ``BeforeAgentEndResult`` or ``None``. ``continue_with`` texts are joined and become a user message of the
    same run; at most three times in a row.

    Example::

        @hookimpl
        def before_agent_end(event):
            if not tests_pass():
                return BeforeAgentEndResult(continue_with="The tests still fail.")
    """


@hookspec
def agent_end(event: e.AgentEndEvent, ctx: HandlerContext) -> Observed:
    """A run is over.

    When: exactly once per ``agent_start``, whatever happened. ``event.reason`` says why a run ended that was not simply done:
    which limit, who stopped or aborted it, what it waits for.
    """


@hookspec
def agent_settled(event: e.AgentSettledEvent, ctx: HandlerContext) -> Observed:
    """Nothing is left to do.

    When: after ``agent_end``, with nothing queued.

    Example::

        @hookimpl
        def agent_settled(event):
            notify("done")
    """


@hookspec
def handler_error(event: e.HandlerErrorEvent, ctx: HandlerContext) -> Observed:
    """A handler of an event failed.

    When: after its answer was discarded. Errors of ``handler_error`` handlers only go to the log.
    """


@hookspec
def event(event: e.Event, ctx: HandlerContext) -> Observed:
    """Observe every event of every agent, those that plugins define included: for traces, logs and bridges.

    When: after everybody else who listens to the event, in its final form. ``event.type`` is its name. The implementation takes
    a ``timeout``, but neither a phase nor ``tools``. A host where no plugin implements it pays nothing for it.

    Example::

        @hookimpl
        def event(event):
            log.info("%s %s", event.type, event_to_dict(event))
    """


@hookspec
def wrap_model_call(request: Any, call_next: Callable[[], Awaitable[Any]], ctx: HandlerContext) -> Awaitable[Any]:  # type: ignore[empty-body]
    """Stand around one model call: caching, retries of your own, measurements. Async only.

    When: around each request of a run, inside the retries of the loop. ``await call_next()`` makes the request and
    gives the assistant message; it may be called again, or not at all. The first implementation is the outermost.

    Returns: the assistant message. An exception fails the model call.

    Example::

        @hookimpl
        async def wrap_model_call(request, call_next):
            started = time.perf_counter()
            message = await call_next()
            print(request.model.id, time.perf_counter() - started)
            return message
    """


@hookspec
def wrap_tool_call(call: Any, call_next: Callable[[], Awaitable[Any]], ctx: HandlerContext) -> Awaitable[Any]:  # type: ignore[empty-body]
    """Stand around one execution of a tool. Async only.

    When: after every guard agreed; ``call`` is the :class:`~skillkit_core.events.types.ToolCallEvent` with the final
    arguments. ``await call_next()`` takes no arguments, so what runs is what the guards saw; it may be called once.
    The first implementation is the outermost.

    Returns: the ``ToolOutput``. An exception fails the call.

    Example::

        @hookimpl
        async def wrap_tool_call(call, call_next):
            with tracer.span(call.tool_name):
                return await call_next()
    """
