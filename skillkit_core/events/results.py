"""The answers of handlers, one type per event, and how several answers combine (spec, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias, final

from ..config import Limits
from ..contracts.adapter import LLMAdapter
from ..contracts.compactor import CompactionResult
from ..contracts.driver import Driver
from ..frozen import FrozenDict, freeze
from ..messages import BLOCK_TYPES, AgentMessage, AssistantMessage, Block, CustomMessage, LLMMessage, blocks_of
from ..models import ModelDefinition, TokenUsage
from ..tools import Tool, ToolOutput

if TYPE_CHECKING:
    from .types import Event

__all__ = [
    "UNSET", "BeforeAgentEndResult", "BeforeAgentStartResult", "BeforeCompactResult", "ContextTransformResult",
    "Continue", "EventResult", "Handled", "InputResult", "MessageEndResult", "ModelRequestResult",
    "ProviderRequestResult", "ReplaceArgs",
    "SessionBeforeResult", "SessionBeforeTreeResult", "SessionStartResult", "ToolCallEventResult",
    "ToolResultEventResult", "Transform", "TurnEndResult", "TurnStartResult", "Unset",
]  # fmt: skip


@final
class Unset:
    """The type of :data:`UNSET`: "no opinion", as opposed to ``None``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> Literal[False]:
        return False


UNSET: Final = Unset()


class Merge(StrEnum):
    """The rule by which the answers of several handlers to one field become one."""

    chain = "chain"  # the next handler sees the new value
    concat = "concat"  # lists are joined in handler order
    any = "any"  # true when one answer is true
    patch = "patch"  # mappings are merged, and the next handler sees the result
    joined = "joined"  # texts are joined with a blank line
    first = "first"  # the first value given counts
    last = "last"  # the last value given counts
    lowest = "lowest"  # of each limit the lowest one given counts


_Check: TypeAlias = Callable[[Any, str], None]


def _merged(rule: Merge, check: _Check | None = None) -> Any:
    """Return a field without an opinion; ``check(value, name)`` raises what is wrong with an opinion."""
    return field(default=UNSET, metadata={"merge": rule, "check": check})


def _one(default: Any, check: _Check | None = None) -> Any:
    """Return a field with a default, whose answers are not combined field by field."""
    return field(default=default, metadata={"check": check})


@cache
def _checks(cls: type[Any]) -> tuple[tuple[str, _Check], ...]:
    return tuple((f.name, f.metadata["check"]) for f in fields(cls) if f.metadata.get("check") is not None)


@dataclass(frozen=True, slots=True)
class EventResult:
    """The return value of ``emit``, and the base of every answer. An empty one means that no handler answered.

    Each field of a subclass declares how answers combine. A field that is :data:`UNSET` has no opinion.
    """

    def set_fields(self) -> Mapping[str, Any]:
        """Return the fields that hold an opinion."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not UNSET}

    def check(self, event: Any) -> None:
        """Raise ``TypeError`` or ``ValueError`` when this object cannot be an answer to ``event``, and is to be discarded."""
        kind: Any = type(self)
        for name, check in _checks(kind):
            if (value := getattr(self, name)) is not UNSET:
                check(value, name)


def _is(*kinds: type[Any], words: str = "") -> _Check:
    wanted = words or " or ".join(kind.__name__ for kind in kinds)

    def check(value: Any, name: str) -> None:
        if not isinstance(value, kinds):
            raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")

    return check


_flag, _text, _texts, _mapping = _is(bool), _is(str), _is(str, NoneType), _is(Mapping)


def _messages(value: Any, name: str) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be a sequence of messages, not {type(value).__name__}")
    for message in value:
        if not isinstance(message, AgentMessage):
            raise TypeError(f"{name} must hold messages, not {type(message).__name__}")


def _sendable(value: Any, name: str) -> None:
    """Check that messages leave something to send (spec, section 9.29)."""
    _messages(value, name)
    if not any(_says_something(message) for message in value):
        raise ValueError("no message is left to send")


def _says_something(message: AgentMessage) -> bool:
    if isinstance(message, CustomMessage):
        return message.in_context and bool(message.content)
    return isinstance(message, LLMMessage) and message.role != "tool_result"


def _blocks(value: Any, name: str) -> None:
    if isinstance(value, str):
        return
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} must be text or a sequence of blocks, not {type(value).__name__}")
    for block in value:
        if not isinstance(block, tuple(BLOCK_TYPES.values())):
            raise TypeError(f"{name} must hold blocks, not {type(block).__name__}")


def _output(value: Any, name: str) -> None:
    if isinstance(value, ToolOutput):
        _blocks(value.content, f"{name}.content")
    else:
        _blocks(value, name)


def _parts(value: Any, name: str) -> None:
    _mapping(value, name)
    for key, part in value.items():
        _text(part, f"{name}[{key!r}]")


def _tools(value: Any, name: str) -> None:
    _is(list, tuple)(value, name)
    for tool in value:
        _is(Tool)(tool, f"every item of {name}")


def _call_ids(message: AgentMessage) -> list[str]:
    if isinstance(message, AssistantMessage):
        return [call.id for call in message.tool_calls]
    return [str(getattr(message, "tool_call_id", ""))]


def _outcome(value: Any, name: str) -> None:
    if value not in ("completed", "limit"):
        raise ValueError(f"{name} must be completed or limit, not {value!r}")


@dataclass(frozen=True, slots=True)
class SessionStartResult(EventResult):
    """Messages to put into the context of the new session."""

    context: Sequence[CustomMessage] | Unset = _merged(Merge.concat, _messages)


@dataclass(frozen=True, slots=True)
class SessionBeforeResult(EventResult):
    """An answer whose ``cancel`` keeps the session as it is, for the ``reason``. No further handler is asked."""

    cancel: bool | Unset = _merged(Merge.any, _is(bool, words="true or false"))
    reason: str | Unset = _merged(Merge.last, _is(str, words="a text"))

    @property
    def stops(self) -> bool:
        """Whether no further handler is asked."""
        return self.cancel is True


@dataclass(frozen=True, slots=True)
class SessionBeforeTreeResult(SessionBeforeResult):
    """An answer with a ``summary`` of the branch that is left, for the context, and a ``label`` for the new leaf."""

    summary: str | Unset = _merged(Merge.last, _is(str, words="a text"))
    label: str | Unset = _merged(Merge.last, _is(str, words="a text"))


class InputResult(EventResult):
    """Base of the answers to ``input``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Continue(InputResult):
    """Take the input as it is."""


@dataclass(frozen=True, slots=True)
class Transform(InputResult):
    """Replace text or images of the input. Later handlers see the new ones. A ``pinned`` input outlives compactions."""

    text: str | Unset = _merged(Merge.chain, _text)
    images: Sequence[Block] | Unset = _merged(Merge.chain, _blocks)
    pinned: bool | Unset = _merged(Merge.any, _flag)


@dataclass(frozen=True, slots=True)
class Handled(InputResult):
    """Answer the input without a model. No further handler is asked.

    Attributes:
        reply: the answer.
        keep: put the input and the reply into the session, so that the model sees them later. Those of a steering message or
            a follow-up are put there with the next prompt.
    """

    stops: ClassVar[bool] = True
    reply: str | None = _one(None, _texts)
    keep: bool = _one(False, _flag)


@dataclass(frozen=True, slots=True)
class BeforeAgentStartResult(EventResult):
    """The beginning of one run, and the model that answers it.

    Attributes:
        messages: messages that join the session before the run.
        system_prompt: the system prompt of the run, as a whole.
        parts: parts of the system prompt by name, which replace or extend those of the event; an empty text leaves a part out.
            ``{"system_prompt": "You route mail."}`` replaces the base and keeps what context providers add (AGENTS.md).
        adapter: name of the provider, or the adapter, that answers this run. ``set_adapter`` during the run counts more.
        model: name or definition of the model that answers this run. ``set_model`` during the run counts more.
        driver: code that drives this run in the place of the model. The first one given counts.
        limits: limits of this run. Each one counts where it is lower than the configured one, ``None`` never counts.
    """

    messages: Sequence[AgentMessage] | Unset = _merged(Merge.concat, _messages)
    system_prompt: str | Unset = _merged(Merge.chain, _text)
    parts: Mapping[str, str] | Unset = _merged(Merge.patch, _parts)
    adapter: str | LLMAdapter | Unset = _merged(Merge.last, _is(str, LLMAdapter))
    model: str | ModelDefinition | Unset = _merged(Merge.last, _is(str, ModelDefinition))
    driver: Driver | Unset = _merged(Merge.first, _is(Driver, words="a Driver, with async drive(run)"))
    limits: Limits | Unset = _merged(Merge.lowest, _is(Limits))


@dataclass(frozen=True, slots=True)
class TurnStartResult(EventResult):
    """Changes to one turn, or the end of the run before the turn.

    Attributes:
        append: messages that join the session.
        messages: messages that this turn alone sends in place of the context.
        tools: tools that this turn alone offers, as far as ``only_tools`` allows. A call of another tool is unknown.
        system_prompt: the system prompt of this turn alone.
        stop: end the run before the request, with outcome ``limit``.
        restart: end the run before the request, as ``completed``, and begin another one for the ``inputs`` of the turn. Without
            inputs it has no effect.
        reason: reason of the stop.
    """

    append: Sequence[AgentMessage] | Unset = _merged(Merge.concat, _messages)
    messages: Sequence[AgentMessage] | Unset = _merged(Merge.chain, _sendable)
    tools: Sequence[Tool] | Unset = _merged(Merge.chain, _tools)
    system_prompt: str | Unset = _merged(Merge.chain, _text)
    stop: bool | Unset = _merged(Merge.any, _flag)
    restart: bool | Unset = _merged(Merge.any, _flag)
    reason: str | Unset = _merged(Merge.joined, _text)


@dataclass(frozen=True, slots=True)
class ContextTransformResult(EventResult):
    """The messages of one request. The loop repairs them before they are sent, and the session is unchanged."""

    messages: Sequence[AgentMessage] | Unset = _merged(Merge.chain, _sendable)


@dataclass(frozen=True, slots=True)
class ModelRequestResult(EventResult):
    """End the run before a request: ``stop`` with outcome ``limit`` and the ``reason``."""

    stop: bool | Unset = _merged(Merge.any, _flag)
    reason: str | Unset = _merged(Merge.joined, _text)


@dataclass(frozen=True, slots=True)
class ProviderRequestResult(EventResult):
    """Changes to a request that is about to be sent: the body, headers (merged), and fields of the body (``options``, merged)."""

    payload: Mapping[str, Any] | Unset = _merged(Merge.chain, _mapping)
    headers: Mapping[str, str] | Unset = _merged(Merge.patch, _mapping)
    options: Mapping[str, Any] | Unset = _merged(Merge.patch, _mapping)


@dataclass(frozen=True, slots=True)
class MessageEndResult(EventResult):
    """Replace a message before it is persisted. A message with another role or other tool-call ids is refused."""

    message: AgentMessage | Unset = _merged(Merge.chain, _is(AgentMessage))

    def check(self, event: Any) -> None:
        """Raise also for a role or tool-call ids other than those of the event's message (spec, section 9.30)."""
        EventResult.check(self, event)
        old, new = event.message, self.message
        if isinstance(new, Unset):
            return
        if old is not None and (old.role != new.role or _call_ids(old) != _call_ids(new)):
            raise ValueError("a replaced message must keep its role and its tool-call ids")


@dataclass(frozen=True, slots=True)
class ReplaceArgs:
    """Arguments that replace the call's arguments as a whole, instead of patching them."""

    args: Mapping[str, Any]

    def __post_init__(self) -> None:
        _mapping(self.args, "args")
        object.__setattr__(self, "args", freeze(self.args))


@dataclass(frozen=True, slots=True)
class ToolCallEventResult(EventResult):
    """The answer to ``before_tool_call`` (spec, section 6). Decisions: block > ask > substitute > allow.

    Attributes:
        block: do not run the call.
        reason: reason of the block, for the model and the user.
        args: a JSON merge patch of the arguments, or :class:`ReplaceArgs`, never in phase ``guard``.
        ask: question for the run's approver.
        ask_key: the answer to the question may be remembered for the tool and this key.
        ask_rule: what the plugin keeps of a remembered answer, as a person reads it; it listens to ``approval_resolved``.
        result: text, blocks or ``ToolOutput`` to use instead of running the tool.
        terminate: end the run after this batch, if every call of the batch is answered so.
    """

    block: bool = _one(False, _flag)
    reason: str = _one("", _text)
    args: Mapping[str, Any] | ReplaceArgs | None = _one(None, _is(Mapping, ReplaceArgs, NoneType))
    result: Any = _one(UNSET, _output)
    ask: str | None = _one(None, _texts)
    ask_key: str | None = _one(None, _texts)
    ask_rule: str | None = _one(None, _texts)
    terminate: bool = _one(False, _flag)

    def __post_init__(self) -> None:
        if isinstance(self.args, Mapping) and type(self.args) is not FrozenDict:
            object.__setattr__(self, "args", freeze(self.args))


@dataclass(frozen=True, slots=True)
class ToolResultEventResult(EventResult):
    """A patch of a tool's result. Fields left out keep their value (``details=None`` is a value)."""

    content: str | Sequence[Block] | Unset = _merged(Merge.chain, _blocks)
    details: Any = _merged(Merge.chain)
    is_error: bool | Unset = _merged(Merge.chain, _flag)
    terminate: bool | Unset = _merged(Merge.chain, _flag)
    usage: TokenUsage | Unset | None = _merged(Merge.chain, _is(TokenUsage, NoneType))


@dataclass(frozen=True, slots=True)
class TurnEndResult(EventResult):
    """The end of a run after this turn.

    Attributes:
        stop: end the run.
        reason: reason of the stop.
        outcome: outcome of the run: ``completed``, or ``limit`` when a budget is used up.
    """

    stop: bool | Unset = _merged(Merge.any, _flag)
    reason: str | Unset = _merged(Merge.joined, _text)
    outcome: Literal["completed", "limit"] | Unset = _merged(Merge.last, _outcome)


@dataclass(frozen=True, slots=True)
class BeforeAgentEndResult(EventResult):
    """Text that makes the run go on, at most three times in a row."""

    continue_with: str | Unset = _merged(Merge.joined, _text)


@dataclass(frozen=True, slots=True)
class BeforeCompactResult(EventResult):
    """Cancel a compaction, or supply its result."""

    cancel: bool | Unset = _merged(Merge.any, _flag)
    compaction: CompactionResult | Unset = _merged(Merge.first, _is(CompactionResult))


@cache
def _rules(cls: type[Any]) -> tuple[tuple[str, Merge], ...]:
    return tuple((f.name, f.metadata["merge"]) for f in fields(cls) if "merge" in f.metadata)


def _normal(name: str, value: Any) -> Any:
    if name in ("content", "images"):
        return blocks_of(value)
    if name == "messages":
        return tuple(value)
    return value


class Fold:
    """The answers of the handlers so far, in order. ``event`` is the event as the next handler sees it."""

    __slots__ = ("_values", "event", "last", "stopped")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.last: EventResult | None = None
        self.stopped = False
        self._values: dict[str, Any] = {}

    def add(self, answer: EventResult) -> str | None:
        """Add one more answer, already checked. Return a field of the answer that came too late to count, or ``None``."""
        if getattr(answer, "stops", False):
            self.last, self.stopped = answer, True
            return None
        kind: Any = type(answer)
        rules = _rules(kind)
        if self.last is None or rules:
            self.last = answer
        surplus = None
        for name, rule in rules:
            value = getattr(answer, name)
            if value is UNSET:
                continue
            if rule is Merge.first and name in self._values:
                surplus = name
            self._merge(name, rule, _normal(name, value))
        return surplus

    def _merge(self, name: str, rule: Merge, value: Any) -> None:
        values = self._values
        if rule is Merge.first:
            values.setdefault(name, value)
        elif rule is Merge.last:
            values[name] = value
        elif rule is Merge.lowest:
            values[name] = values[name].lowered(value) if name in values else value
        elif rule is Merge.any:
            values[name] = bool(value) or values.get(name, False)
        elif rule is Merge.concat:
            values[name] = (*values.get(name, ()), *value)
        elif rule is Merge.joined:
            values[name] = f"{values[name]}\n\n{value}" if values.get(name) else value
        else:
            if rule is Merge.patch:
                value = {**getattr(self.event, name, values.get(name, {})), **value}
            values[name] = value
            if hasattr(self.event, name):
                self.event = replace(self.event, **{name: value})
            if name == "parts":  # the prompt is made of them, the configured part first
                first = value.get("system_prompt", "")
                parts = [first, *(part for key, part in value.items() if key != "system_prompt")]
                self._merge("system_prompt", Merge.chain, "\n\n".join(part for part in parts if part))

    def result(self) -> EventResult:
        """Return all answers as one."""
        if self.last is None or self.stopped:
            return self.last or NO_ANSWER
        kind: Any = type(self.last)
        return replace(self.last, **{name: self._values.get(name, UNSET) for name, _ in _rules(kind)})


NO_ANSWER = EventResult()
