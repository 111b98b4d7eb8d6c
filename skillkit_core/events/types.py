"""The events: one frozen class each, in the order in which a run emits them (spec, sections 1, 2 and 5).

The file is long because it is the one list of all events, to be read beside the hooks of the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ..abort import AbortSignal
from ..contracts.approver import Question
from ..errors import UnknownName
from ..frozen import EMPTY
from ..messages import AgentMessage, AssistantMessage, Block, Origin, Outcome, ToolResultMessage, UserMessage
from ..models import ModelDefinition, TokenUsage
from ..stream import StreamEvent
from ..tools import Tool
from . import results

__all__ = [
    "AfterProviderResponseEvent", "AgentEndEvent", "AgentSettledEvent", "AgentStartEvent", "ApprovalRequestEvent",
    "ApprovalResolvedEvent", "BeforeAgentEndEvent", "BeforeAgentStartEvent", "BeforeCompactEvent",
    "BeforeModelRequestEvent", "BeforeProviderRequestEvent", "CompactionEndEvent", "CompactionStartEvent",
    "ContextTransformEvent", "Event", "HandlerErrorEvent", "InputEvent", "MessageEndEvent", "MessageStartEvent",
    "MessageUpdateEvent", "ModelSelectEvent", "QuestionAnsweredEvent", "QuestionAskedEvent", "QueueUpdateEvent",
    "RetryEndEvent", "RetryScheduledEvent", "RetryStartEvent", "SessionBeforeForkEvent", "SessionBeforeSwitchEvent",
    "SessionBeforeTreeEvent", "SessionShutdownEvent", "SessionStartEvent", "SessionTreeEvent", "ToolCallEvent",
    "ToolExecutionEndEvent", "ToolExecutionStartEvent", "ToolExecutionUpdateEvent", "ToolResultEvent", "TurnEndEvent",
    "TurnStartEvent", "UsageEvent",
]  # fmt: skip


def _history(default: Any) -> Any:
    """Return a field that holds messages of earlier turns, which ``event_to_dict(event, history=False)`` leaves out."""
    return field(default=default, metadata={"history": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events. Payloads are immutable and shared: a handler answers, and never edits a payload.

    Attributes:
        session_id: session of the event; ``None`` outside a session.
        run_id: run of the event; ``None`` outside a run.
        agent_path: the names of the agents from the outermost one on: ``("main",)``, ``("main", "sub:1f0c72aa")``.
        seq: number that grows by one with every event of an agent.
        ts: seconds since the epoch.
    """

    answer: ClassVar[type[results.EventResult] | None] = None  # type of an answer; None: the event is only observed
    guard: ClassVar[Literal["", "phase", "always"]] = ""  # handlers that fail closed: none, those in phase guard, all
    type: ClassVar[str] = ""
    session_id: str | None = None
    run_id: str | None = None
    agent_path: tuple[str, ...] = ("main",)
    seq: int = 0
    ts: float = 0.0
    _redact: Callable[[Any], Any] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStartEvent(Event):
    """A session was opened."""

    type = "session_start"
    answer = results.SessionStartResult
    reason: Literal["startup", "new", "resume", "fork", "reload"] = "new"
    previous: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBeforeSwitchEvent(Event):
    """The agent is about to leave its session for another one: ``target`` is the other's id, ``None`` for a new session."""

    type = "session_before_switch"
    answer = results.SessionBeforeResult
    target: str | None = None
    reason: Literal["new", "resume"] = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBeforeForkEvent(Event):
    """The agent is about to go on in a copy of the session up to the entry ``target``, in an empty one for ``None``."""

    type = "session_before_fork"
    answer = results.SessionBeforeResult
    target: str | None = None
    reason: Literal["fork"] = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBeforeTreeEvent(Event):
    """The agent is about to go on from the entry ``target`` of the same session, from the start for ``None``."""

    type = "session_before_tree"
    answer = results.SessionBeforeTreeResult
    target: str | None = None
    reason: Literal["tree"] = "tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTreeEvent(Event):
    """The agent goes on from another entry of its session. The leaf has moved.

    Attributes:
        target: the entry; ``None``: the start of the session.
        previous: the entry that was the leaf before.
        summary_id: the entry with the summary of the branch that was left, if there is one.
        label: the label that the new leaf was given, if any.
    """

    type = "session_tree"
    target: str | None = None
    previous: str | None = None
    summary_id: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionShutdownEvent(Event):
    """A session is about to be closed. Emitted once, also on SIGTERM and after ``run``.

    Every handler is called, even if one hangs (five seconds each).
    """

    type = "session_shutdown"
    reason: str = "exit"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputEvent(Event):
    """A prompt, a steering message or a follow-up has come in, as raw text before anything is expanded."""

    type = "input"
    answer = results.InputResult
    guard = "phase"
    text: str = ""
    images: tuple[Block, ...] = ()
    origin: Origin | None = None
    delivery: Literal["prompt", "steer", "follow_up"] = "prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAgentStartEvent(Event):
    """A run is about to start. Emitted once per run.

    Attributes:
        prompt: text of the input that the run works on.
        images: the other blocks of the input.
        resumed: the run goes on with an input on which an earlier run has worked (``resume``).
        system_prompt: the system prompt.
        parts: parts of ``system_prompt`` in order: ``system_prompt`` for the configured one, then each context provider by its
            name.
    """

    type = "before_agent_start"
    answer = results.BeforeAgentStartResult
    prompt: str = ""
    images: tuple[Block, ...] = ()
    resumed: bool = False
    system_prompt: str = ""
    parts: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStartEvent(Event):
    """A run starts, before its first request.

    Attributes:
        model: model that answers.
        provider: provider of the model.
        tools: names of the tools that are offered.
        limits: fields of :class:`Limits`; ``None``: no limit.
        parent_run_id: run in which this run is nested; ``None``: an application started this run.
        parent_tool_call_id: tool call of the parent run; ``None``: a handler of the parent run started this run.
    """

    type = "agent_start"
    model: ModelDefinition | None = None
    provider: str = ""
    tools: tuple[str, ...] = ()
    limits: Mapping[str, Any] = EMPTY
    parent_run_id: str | None = None
    parent_tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartEvent(Event):
    """A turn begins, before its request.

    Attributes:
        turn_index: number of the turn in its run, counted from 0.
        inputs: messages of the user that came since the last turn: steering messages and follow-ups, not those with which the
            run began.
        messages: messages of the branch, from the newest compaction on.
        tools: tools that the turn offers.
        system_prompt: the system prompt of the run.
    """

    type = "turn_start"
    answer = results.TurnStartResult
    turn_index: int = 0
    inputs: tuple[UserMessage, ...] = ()
    messages: Sequence[AgentMessage] = _history(())
    tools: Sequence[Tool] = ()
    system_prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTransformEvent(Event):
    """The messages of a request are ready, also of a retry. ``tokens`` is an estimate."""

    type = "context_transform"
    answer = results.ContextTransformResult
    guard = "phase"
    messages: Sequence[AgentMessage] = _history(())
    tokens: int = 0
    window: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeModelRequestEvent(Event):
    """A request to a model is about to be made: of a turn, of a compaction, or of a plugin; also a retry.

    Attributes:
        request: name of the request; its ``usage`` event has the same.
        purpose: ``turn``, ``compaction``, or the word of a plugin, ``<plugin>.<what>``.
        attempt: how often the request has been made with this time, counted from 1: retries, and repeats of a wrapper.
        first: name of the request that this one repeats; ``None``: it is the first.
        tokens: estimated tokens of the input.
        max_output: most tokens of the answer; 0: unknown.
        runs: ids of the run and of its ancestors, the outermost last.
        sessions: the sessions of these runs.
    """

    type = "before_model_request"
    answer = results.ModelRequestResult
    guard = "phase"
    request: str
    model: ModelDefinition
    provider: str = ""
    purpose: str = "turn"
    attempt: int = 1
    first: str | None = None
    tokens: int = 0
    max_output: int = 0
    runs: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    _sent: Any = None

    @property
    def sent(self) -> Any:
        """The :class:`~skillkit_core.LLMRequest`: system prompt, messages, tools and settings."""
        return self._sent


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeProviderRequestEvent(Event):
    """A request is about to be sent, with the adapter's final payload. Credentials in ``headers`` are redacted.

    ``options`` are the extra fields of the body from the settings (``ModelSettings.extra``).
    """

    type = "before_provider_request"
    answer = results.ProviderRequestResult
    guard = "phase"
    model: ModelDefinition | None = None
    options: Mapping[str, Any] = EMPTY
    headers: Mapping[str, str] = EMPTY
    payload: Mapping[str, Any] = _history(EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterProviderResponseEvent(Event):
    """Status and headers have arrived, before the first stream event, also of a retry. ``latency`` in seconds."""

    type = "after_provider_response"
    status: int = 0
    headers: Mapping[str, str] = EMPTY
    latency: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStartEvent(Event):
    """An assistant message begins to arrive, or a tool result is about to be persisted."""

    type = "message_start"
    message: AgentMessage | None = None
    role: str = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdateEvent(Event):
    """One stream event of the assistant message that is arriving."""

    type = "message_update"
    event: StreamEvent
    _builder: Any = None

    @property
    def content(self) -> str:
        """The delta's text."""
        return self.event.content

    @property
    def partial(self) -> AssistantMessage | None:
        """The message so far, built on demand."""
        return self._builder.message() if self._builder is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEndEvent(Event):
    """A message is complete and about to be persisted as ``entry_id``."""

    type = "message_end"
    answer = results.MessageEndResult
    message: AgentMessage | None = None
    entry_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent(Event):
    """Base of the events of one tool call."""

    tool_name: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEvent(ToolEvent):
    """``before_tool_call``: the model calls a tool. ``args`` are the arguments that would run, ``raw_args`` the model's own."""

    type = "before_tool_call"
    answer = results.ToolCallEventResult
    guard = "always"
    args: Mapping[str, Any] = EMPTY
    raw_args: Mapping[str, Any] = EMPTY
    index: int = 0
    batch_size: int = 1
    attempt: int = 1
    annotations: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionStartEvent(ToolEvent):
    """A tool call begins, also one that was blocked or skipped. Emitted once per call."""

    type = "tool_execution_start"
    args: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionUpdateEvent(ToolEvent):
    """A running tool wrote output. ``n`` counts the updates of the call from 1.

    A slow async handler gets joined output, and of very much output both ends and a note.
    """

    type = "tool_execution_update"
    output: str = ""
    stream: Literal["stdout", "stderr"] = "stdout"
    partial_result: Any = None
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEvent(ToolEvent):
    """``after_tool_result``: a tool answered, or a handler substituted the answer. ``duration`` is in seconds."""

    type = "after_tool_result"
    answer = results.ToolResultEventResult
    guard = "phase"
    args: Mapping[str, Any] = EMPTY
    raw_args: Mapping[str, Any] = EMPTY
    content: tuple[Block, ...] = ()
    details: Any = None
    is_error: bool = False
    terminate: bool = False
    usage: TokenUsage | None = None
    outcome: Outcome = Outcome.ok
    duration: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionEndEvent(ToolEvent):
    """A tool call has its final result. Emitted once per start, in the order of completion, with the ``args`` of the start.

    ``guards`` are the handlers of ``before_tool_call`` that spoke: plugin to ``block``, ``ask``, ``substitute`` or ``change``.
    """

    type = "tool_execution_end"
    args: Mapping[str, Any] = EMPTY
    content: tuple[Block, ...] = ()
    details: Any = None
    is_error: bool = False
    outcome: Outcome = Outcome.ok
    duration: float = 0.0
    guards: Mapping[str, str] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEndEvent(Event):
    """A turn is over, and its results are persisted. ``message`` is ``None`` when there was no answer."""

    type = "turn_end"
    answer = results.TurnEndResult
    turn_index: int = 0
    message: AssistantMessage | None = None
    tool_results: tuple[ToolResultMessage, ...] = ()
    usage: TokenUsage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeCompactEvent(Event):
    """The history is about to be shortened. ``signal`` is set when the run is aborted meanwhile."""

    type = "before_compact"
    answer = results.BeforeCompactResult
    reason: Literal["threshold", "overflow", "manual"] = "threshold"
    preparation: Any = _history(None)
    tokens: int = 0
    signal: AbortSignal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStartEvent(Event):
    """A compaction begins, after ``before_compact``."""

    type = "compaction_start"
    reason: str = "threshold"
    before_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEndEvent(Event):
    """A compaction is over. Emitted once per ``compaction_start``.

    ``outcome`` is ``completed``, ``no_progress``, ``cancelled``, ``aborted`` or ``failed``.
    """

    type = "compaction_end"
    reason: str = "threshold"
    outcome: str = "completed"
    before_tokens: int = 0
    after_tokens: int = 0
    entry_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduledEvent(Event):
    """A request failed and will be sent again in ``delay`` seconds, for the ``attempt``-th time."""

    type = "retry_scheduled"
    attempt: int = 2
    delay: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryStartEvent(Event):
    """The delay is over, and the request is sent again."""

    type = "retry_start"
    attempt: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEndEvent(Event):
    """The retries of one request are over. Emitted once, after the last retry."""

    type = "retry_end"
    attempt: int = 2
    success: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueUpdateEvent(Event):
    """A message was queued, taken, cancelled or returned. The fields hold the ids of the waiting messages."""

    type = "queue_update"
    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()
    next_run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSelectEvent(Event):
    """Another model or adapter will answer. ``reason``: why the one before failed, of a fallback.

    Emitted before a request to another model is built: ``set_adapter`` or ``set_model`` takes effect, the last answer of the
    session's branch is another model's, or a fallback answers. A ``model_change`` entry is in the session by then.
    """

    type = "model_select"
    model: ModelDefinition | None = None
    provider: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent(Event):
    """A request used tokens, also a failed one, and the usage ledger has them.

    ``cost`` is in dollars, ``None``: the price is unknown. ``estimated``: the request was cut off before the provider told the
    usage. ``request``: that of ``before_model_request``, empty: ``tool_name`` reported the usage. ``role``: for which a driver
    asked. ``error``: why the request failed, in a word: an :class:`ErrorKind`, ``aborted`` or ``cancelled``; empty: it did not.
    """

    type = "usage"
    usage: TokenUsage
    cost: float | None = None
    provider: str = ""
    model: str = ""
    purpose: str = "turn"
    request: str = ""
    tool_name: str = ""
    estimated: bool = False
    role: str = ""
    error: str = ""
    _builder: Any = None

    @property
    def received(self) -> AssistantMessage | None:
        """What came of the answer, built on demand; ``None``: a tool reported the usage."""
        return self._builder.message() if self._builder is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequestEvent(ToolEvent):
    """Guards ask for the approval of a tool call, before the run's approver is asked.

    The question is in the session already, where the run can wait for it.

    Attributes:
        id: the name of the question, another one each time that somebody is asked about the call.
        args: arguments that would run.
        questions: what the guards ask, as a person reads it.
        asked: the questions themselves, with plugin, key and rule.
        rememberable: a decision can hold for later calls.
        deferrable: the decision can be put off.
    """

    type = "approval_request"
    id: str = ""
    args: Mapping[str, Any] = EMPTY
    questions: tuple[str, ...] = ()
    asked: tuple[Question, ...] = ()
    rememberable: bool = False
    deferrable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResolvedEvent(ToolEvent):
    """An approval is decided. Emitted once per ``approval_request``.

    Attributes:
        id: the name of the question, as in ``approval_request``.
        args: arguments that would run.
        questions: questions of the guards.
        decision: ``allow``, ``deny`` or ``defer``.
        reason: reason of the decision.
        remember: the decision also holds for later calls whose questions have the same keys, and how long.
        answers: further answers of a person (:attr:`ApprovalDecision.answer`), without those to secret questions.
        origin: who decided, and from where, as far as the program said so.
    """

    type = "approval_resolved"
    id: str = ""
    args: Mapping[str, Any] = EMPTY
    questions: tuple[str, ...] = ()
    decision: str = "deny"
    reason: str = ""
    remember: bool | Literal["session", "project", "ever"] = False
    answers: Mapping[str, Any] | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAskedEvent(ToolEvent):
    """A tool asks a person, before the user interface is asked or the run waits because nobody is there.

    The question is in the session already, where the run can wait for it.

    Attributes:
        id: the name of the question, another one each time that somebody is asked about the call.
        args: arguments with which the tool runs.
        survey: the questions, as :meth:`Survey.to_dict` tells them.
    """

    type = "question_asked"
    id: str = ""
    args: Mapping[str, Any] = EMPTY
    survey: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnsweredEvent(ToolEvent):
    """A tool has the answers of a person, or a person declined.

    Emitted after ``question_asked``, in the same run or in one that resumes it, unless the question is put off.

    Attributes:
        id: the name of the question, as in ``question_asked``.
        args: arguments with which the tool runs.
        by: who answered, and from where, as far as the program said so.
        answers: the answers without those to secret questions; ``None``: the person declined.
    """

    type = "question_answered"
    id: str = ""
    args: Mapping[str, Any] = EMPTY
    by: Origin | None = None
    answers: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAgentEndEvent(Event):
    """A run would end normally. ``n_continues`` counts how often in a row handlers made the run go on."""

    type = "before_agent_end"
    answer = results.BeforeAgentEndResult
    messages: Sequence[AgentMessage] = _history(())
    stop_hook_active: bool = False
    n_continues: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEndEvent(Event):
    """A run is over. Emitted exactly once per ``agent_start``, whatever happened.

    ``reason`` says why a run did not simply complete: the limit, the plugin that stopped the run, the reason of the abort, or the
    calls that wait for approval.
    """

    type = "agent_end"
    outcome: Literal["completed", "aborted", "failed", "limit", "suspended"] = "completed"
    reason: str = ""
    error: Exception | None = None
    messages: Sequence[AgentMessage] = ()
    usage: TokenUsage | None = None
    leaf_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettledEvent(Event):
    """The agent has nothing left to do after ``agent_end``: no retry, no compaction, no queued message."""

    type = "agent_settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerErrorEvent(Event):
    """A handler failed, and its answer was discarded. Errors of handlers of this event only go to the log.

    ``event`` is the event's name, ``plugin`` the plugin that registered the handler.
    """

    type = "handler_error"
    event: str = ""
    source: str = ""
    plugin: str | None = None
    error: str = ""
    traceback: str = ""


EVENTS: Mapping[str, type[Event]] = {  # in the order of this file
    cls.type: cls for cls in list(globals().values()) if isinstance(cls, type) and issubclass(cls, Event) and cls.type
}
ALIASES: dict[str, str] = {
    "tool_call": "before_tool_call",
    "tool_result": "after_tool_result",
    "context": "context_transform",
    "response": "message_end",
}


def event_type(
    event: str | type[Event], *, aliases: bool = True, known: Mapping[str, type[Event]] = EVENTS
) -> type[Event]:
    """Return the event class for a name, an alias or the class itself.

    Args:
        aliases: whether the names of :data:`ALIASES` count.
        known: the events by name: the core's, or those of one host.

    Raises:
        UnknownName: there is no such event.
    """
    if isinstance(event, type):
        if not issubclass(event, Event) or event.type not in known:
            raise UnknownName("event class", event.__name__, [c.__name__ for c in known.values()])
        return event
    name = ALIASES.get(event, event) if aliases else event
    cls = known.get(name)
    if cls is None:
        raise UnknownName("event", event, [*known, *(ALIASES if aliases else ())])
    return cls
