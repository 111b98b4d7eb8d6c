"""Lifecycle hooks: one per event of an agent's life, with the name of the event on ``agent.events``.

Implementations may be sync or async, and may leave parameters out. They run one after the other in the order of their phase
(``rewrite < first < normal < last < guard``), in a phase plugins before session handlers, plugins in the order of the
distribution. The host dispatches them, not pluggy with its last-registered-first. An implementation returns the event's
result type or ``None``. Any other answer is an error, as is any answer to an event that is only observed. An exception or
a timeout discards the answer and is reported as ``handler_error``, and the others go on, except for hooks that fail closed.
``ctx`` is the :class:`~skillkit_core.events.context.HandlerContext`.
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
    """Add messages to the context of a session that was opened.

    When: once per session that an agent opens, before its first input.

    Returns: ``SessionStartResult`` or ``None``. The ``context`` messages of all answers join the session's context, in order.

    Example::

        @hookimpl
        def session_start(event):
            return SessionStartResult(context=[CustomMessage(custom_type="note", content="Be brief.", in_context=True)])
    """


@hookspec
def session_before_switch(event: e.SessionBeforeSwitchEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeResult]:
    """Cancel that the agent leaves its session for another one, or let it happen.

    When: ``AgentRunner.switch`` was called, and nothing has changed yet. ``event.target`` is the id of the other session,
    ``None`` for a new one.

    Returns: ``SessionBeforeResult`` or ``None``. The first ``cancel`` keeps the session, and no further handler is asked. The
    last ``reason`` given says why.

    Example::

        @hookimpl
        def session_before_switch(event):
            return SessionBeforeResult(cancel=True, reason="the draft is not saved") if draft else None
    """


@hookspec
def session_before_fork(event: e.SessionBeforeForkEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeResult]:
    """Cancel that the agent goes on in a copy of its session, or let it happen.

    When: ``AgentRunner.fork`` was called, and nothing has changed yet. ``event.target`` is the last entry that is kept.

    Returns: ``SessionBeforeResult`` or ``None``, as for ``session_before_switch``.

    Example::

        @hookimpl
        def session_before_fork(event):
            return SessionBeforeResult(cancel=True, reason="forks are off here")
    """


@hookspec
def session_before_tree(event: e.SessionBeforeTreeEvent, ctx: HandlerContext) -> Answer[r.SessionBeforeTreeResult]:
    """Cancel that the agent goes on from another entry of its session, or summarise the branch that is left.

    When: ``AgentRunner.move_to`` was called, and the leaf has not moved yet.

    Returns: ``SessionBeforeTreeResult`` or ``None``. The first ``cancel`` keeps the leaf. The last ``summary`` given joins the
    context at the new leaf. The last ``label`` given marks the new leaf.

    Example::

        @hookimpl
        def session_before_tree(event, ctx):
            return SessionBeforeTreeResult(summary=f"Tried before: {ctx.session.messages[-1].text}")
    """


@hookspec
def session_tree(event: e.SessionTreeEvent, ctx: HandlerContext) -> Observed:
    """Observe that the agent goes on from another entry of its session.

    When: after ``AgentRunner.move_to``. The leaf, the summary and the label are in the session. A plugin that keeps state of the
    branch in memory reads this state again here.

    Example::

        @hookimpl
        def session_tree(event, ctx):
            ctx.agent.state("plan").clear()
    """


@hookspec
def input(event: e.InputEvent, ctx: HandlerContext) -> Answer[r.InputResult]:
    """Change or answer the text of a prompt, a steering message or a follow-up.

    When: the raw text has come in, before anything is expanded.

    Returns: ``InputResult`` or ``None``. ``Transform`` chains. After the first ``Handled`` no further handler and no model is
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
    """Prepare a run: its messages, system prompt, adapter, model and limits.

    When: once per run, after the input was accepted.

    Returns: ``BeforeAgentStartResult`` or ``None``. ``messages`` of all answers are added; ``system_prompt`` chains, and
    ``parts`` replace parts of it by name, so that the others stay: the later of both counts. The first ``driver`` takes the
    place of the model. The last ``adapter`` and the last ``model`` answer this run alone, until somebody calls ``set_adapter``
    or ``set_model``. An unknown one is reported, and the run keeps its own. Each of the ``limits`` counts for this run where it
    is lower than the configured one (``Limits()`` has 200 turns; ``turns=None`` keeps the configured ones).

    Example::

        @hookimpl
        def before_agent_start(event):
            if len(event.prompt) < 80:
                return BeforeAgentStartResult(model="haiku", limits=Limits(turns=None, cost=0.05))
    """


@hookspec
def turn_start(event: e.TurnStartEvent, ctx: HandlerContext) -> Answer[r.TurnStartResult]:
    """Change the messages, tools or system prompt of one turn, or end the run before the turn.

    When: before each request of a run, not for retries.

    Returns: ``TurnStartResult`` or ``None``. ``append`` joins the session at its end. ``messages``, ``tools`` and
    ``system_prompt`` chain, and replace those of this turn alone. ``stop`` ends the run before the request, with outcome
    ``limit`` and the ``reason``. ``restart`` ends the run as ``completed``, and another run begins for the ``inputs`` of the
    turn: the steering messages and follow-ups that came since the last one. In a run that code drives only ``append``,
    ``stop`` and ``restart`` count.

    Example::

        @hookimpl
        def turn_start(event):
            return TurnStartResult(append=[UserMessage(content="It is noon.")])
    """


@hookspec
def context_transform(event: e.ContextTransformEvent, ctx: HandlerContext) -> Answer[r.ContextTransformResult]:
    """Change the messages of one request.

    When: before each request, retries included, after the compaction check.

    Returns: ``ContextTransformResult`` or ``None``. ``messages`` chains, is then repaired, and counts for this request alone.
    An empty or system-only list is refused. A failing guard fails the turn, and no request is sent.

    Example::

        @hookimpl
        def context_transform(event):
            return ContextTransformResult(messages=event.messages[-20:])
    """


@hookspec
def before_model_request(event: e.BeforeModelRequestEvent, ctx: HandlerContext) -> Answer[r.ModelRequestResult]:
    """End the run before a request that a budget does not allow.

    When: before each request to a model, those of retries, compactions and nested runs included, once nothing that the loop
    decides about it can change.

    Returns: ``ModelRequestResult`` or ``None``. Any ``stop`` ends the run with outcome ``limit`` and the ``reason``; a compaction
    that is stopped fails. A failing guard fails the turn. No request is made.

    Example::

        @hookimpl(phase="guard")
        def before_model_request(event):
            longest = TokenUsage(input=event.tokens, output=event.max_output)
            if spent + (event.model.cost_of(longest) or 0) > 5:
                return ModelRequestResult(stop=True, reason="the budget of $5 would be exceeded")
    """


@hookspec
def before_provider_request(
    event: e.BeforeProviderRequestEvent, ctx: HandlerContext
) -> Answer[r.ProviderRequestResult]:
    """Change the payload and the headers of a request just before it is sent.

    When: an HTTP adapter has built its payload, for every request, retries included.

    Returns: ``ProviderRequestResult`` or ``None``. ``payload`` chains, ``headers`` and ``options`` merge. A failing guard fails
    the turn, and no request is sent.

    Example::

        @hookimpl
        def before_provider_request(event):
            return ProviderRequestResult(headers={"x-team": "docs"})
    """


@hookspec
def message_update(event: e.MessageUpdateEvent, ctx: HandlerContext) -> Observed:
    """Observe one stream event of the assistant message that is arriving.

    When: for every stream event. ``event.partial`` is the message so far, built on demand. The stream does not wait for async
    handlers: waiting deltas of one block become one event, and all events are observed before ``message_end``.

    Example::

        @hookimpl
        def message_update(event):
            print(event.content, end="")
    """


@hookspec
def message_end(event: e.MessageEndEvent, ctx: HandlerContext) -> Answer[r.MessageEndResult]:
    """Replace a message that is complete.

    When: before the message is persisted and its tools run.

    Returns: ``MessageEndResult`` or ``None``. ``message`` chains. Another role or other tool-call ids are refused, and the
    original stays.

    Example::

        @hookimpl
        def message_end(event):
            return MessageEndResult(message=redacted(event.message))
    """


@hookspec
def before_tool_call(event: e.ToolCallEvent, ctx: HandlerContext) -> Answer[r.ToolCallEventResult]:
    """Block a tool call, ask for approval, substitute its result, or change its arguments.

    When: for every call of a known tool, after its arguments were checked against the schema. ``event.args`` is a copy.

    Returns: ``ToolCallEventResult`` or ``None``. ``block > ask > substitute > allow``; after a block only the rest of its phase
    is asked. ``args`` (a JSON merge patch, or ``ReplaceArgs``) chains and is validated again. Implementations that ran before
    the last change are asked again. Implementations in phase ``guard`` see the final arguments and may not change them. Every
    implementation fails closed: an exception, a timeout or a wrong type blocks the call and names the plugin.

    Example::

        @hookimpl
        def before_tool_call(event):
            if event.tool_name == "bash" and "rm -rf" in event.args["command"]:
                return ToolCallEventResult(block=True, reason="Dangerous command")
    """


@hookspec
def after_tool_result(event: e.ToolResultEvent, ctx: HandlerContext) -> Answer[r.ToolResultEventResult]:
    """Change the result of a tool.

    When: after a real execution (also a failed or timed out one) and after a substituted result, not for blocked, denied or
    skipped calls.

    Returns: ``ToolResultEventResult`` or ``None``. Each answer is a patch: fields that are left out keep their value, and later
    implementations see the patched result. A failing guard withholds the content.

    Example::

        @hookimpl
        def after_tool_result(event):
            return ToolResultEventResult(content=mask(event.content))
    """


@hookspec
def turn_end(event: e.TurnEndEvent, ctx: HandlerContext) -> Answer[r.TurnEndResult]:
    """Observe that a turn is over, or stop the run.

    When: after the turn's tool results are persisted, also when the run ends in the middle of the turn (aborted, failed, at a
    limit, or suspended, which no answer changes). Then ``message`` is the part of the answer that arrived, or ``None``.

    Returns: ``TurnEndResult`` or ``None``. The run stops if one answer says ``stop``, with the ``outcome`` ``completed`` (the
    default), or ``limit`` for a budget that is used up. ``reason`` becomes that of ``agent_end``.

    Example::

        @hookimpl
        def turn_end(event):
            return TurnEndResult(stop=event.turn_index >= 9, reason="ten turns", outcome="limit")
    """


@hookspec
def before_compact(event: e.BeforeCompactEvent, ctx: HandlerContext) -> Answer[r.BeforeCompactResult]:
    """Cancel a compaction, or supply its result.

    When: before the compactor that ``select_compactor`` chose is called.

    Returns: ``BeforeCompactResult`` or ``None``. Any ``cancel`` wins. Of several ``compaction`` the first one is used.

    Example::

        @hookimpl
        def before_compact(event):
            return BeforeCompactResult(cancel=event.reason == "threshold")
    """


@hookspec
def before_agent_end(event: e.BeforeAgentEndEvent, ctx: HandlerContext) -> Answer[r.BeforeAgentEndResult]:
    """Make a run go on that would end.

    When: no tool call, steering or follow-up is left, not on abort, failure or limits.

    Returns: ``BeforeAgentEndResult`` or ``None``. ``continue_with`` texts are joined and become a user message of the same run,
    at most three times in a row.

    Example::

        @hookimpl
        def before_agent_end(event):
            if not tests_pass():
                return BeforeAgentEndResult(continue_with="The tests still fail.")
    """


@hookspec
def event(event: e.Event, ctx: HandlerContext) -> Observed:
    """Observe every event of every agent, also those that plugins define: for traces, logs and bridges.

    When: after all other handlers of the event, in its final form. ``event.type`` is the event's name. The implementation takes
    a ``timeout``, but neither a phase nor ``tools``.

    Example::

        @hookimpl
        def event(event):
            log.info("%s %s", event.type, event_to_dict(event))
    """


@hookspec
def wrap_model_call(request: Any, call_next: Callable[[], Awaitable[Any]], ctx: HandlerContext) -> Awaitable[Any]:  # type: ignore[empty-body]
    """Wrap one model call, for caching, retries of your own, or measurements. Async only.

    When: around each request of a run, inside the retries of the loop. ``await call_next()`` sends the request and returns the
    assistant message. An implementation may call ``call_next`` again, or not at all. The first implementation is the outermost.

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
    """Wrap one execution of a tool. Async only.

    When: after every guard agreed. ``call`` is the :class:`~skillkit_core.events.types.ToolCallEvent` with the final arguments.
    ``await call_next()`` takes no arguments, so that the tool runs with those that the guards saw. A second call raises.
    The first implementation is the outermost.

    Returns: the ``ToolOutput``. An exception fails the call.

    Example::

        @hookimpl
        async def wrap_tool_call(call, call_next):
            with tracer.span(call.tool_name):
                return await call_next()
    """


# The hooks of events that are only observed. The class of each event says all that there is to say (``events/types.py``).
OBSERVED = (
    "session_shutdown", "agent_start", "after_provider_response", "message_start", "tool_execution_start",
    "tool_execution_update", "tool_execution_end", "compaction_start", "compaction_end", "retry_scheduled", "retry_start",
    "retry_end", "queue_update", "model_select", "usage", "approval_request", "approval_resolved", "question_asked",
    "question_answered", "agent_end", "agent_settled", "handler_error",
)  # fmt: skip


def _observed(name: str) -> Any:
    """Return the spec of an event that is only observed."""

    def spec(event: e.Event, ctx: HandlerContext) -> Observed: ...

    spec.__name__ = spec.__qualname__ = name
    return hookspec(spec)


globals().update({name: _observed(name) for name in OBSERVED})
