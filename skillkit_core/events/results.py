"""What handlers may answer, one type per event, and how several answers combine (spec, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, cast, final

from ..config import Limits
from ..contracts.adapter import LLMAdapter
from ..contracts.compactor import CompactionResult
from ..frozen import FrozenDict, freeze
from ..messages import BLOCK_TYPES, AgentMessage, AssistantMessage, Block, CustomMessage, LLMMessage
from ..models import ModelDefinition, TokenUsage
from ..tools import Tool, ToolOutput

__all__ = [
    "UNSET",
    "BeforeAgentEndResult",
    "BeforeAgentStartResult",
    "BeforeCompactResult",
    "ContextTransformResult",
    "Continue",
    "EventResult",
    "Handled",
    "InputResult",
    "MessageEndResult",
    "ProviderRequestResult",
    "ReplaceArgs",
    "SessionBeforeResult",
    "SessionBeforeTreeResult",
    "SessionStartResult",
    "ToolCallEventResult",
    "ToolResultEventResult",
    "Transform",
    "TurnEndResult",
    "TurnStartResult",
    "Unset",
]


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
    """How the answers of several handlers to one field become one."""

    chain = "chain"  # the next handler sees the new value
    concat = "concat"  # lists are joined in handler order
    any = "any"  # true when one says so
    patch = "patch"  # mappings are merged, the next handler sees the result
    joined = "joined"  # texts are joined with a blank line
    first = "first"  # the first value given counts
    last = "last"  # the last value given counts
    lowest = "lowest"  # of each bound the lowest one given counts


def _merge(rule: Merge, default: Any = UNSET) -> Any:
    return field(default=default, metadata={"merge": rule})


@dataclass(frozen=True, slots=True)
class EventResult:
    """What ``emit`` gives back, and the base of every answer. Empty: nobody had anything to say.

    Each subclass's fields say how answers combine. A field that is :data:`UNSET` has no opinion.
    """

    def set_fields(self) -> Mapping[str, Any]:
        """The fields that hold an opinion."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not UNSET}

    def check(self, event: Any) -> None:
        """Raise ``TypeError`` or ``ValueError`` when this cannot be an answer to ``event``: it is discarded then."""


def _messages(value: Any, name: str) -> None:
    if value is UNSET:
        return
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be a sequence of messages, not {type(value).__name__}")
    for message in value:
        if not isinstance(message, AgentMessage):
            raise TypeError(f"{name} must hold messages, not {type(message).__name__}")


def _blocks(value: Any, name: str) -> None:
    if value is UNSET or isinstance(value, str):
        return
    if not isinstance(value, Sequence):
        raise TypeError(f"{name} must be text or a sequence of blocks, not {type(value).__name__}")
    for block in value:
        if not isinstance(block, tuple(BLOCK_TYPES.values())):
            raise TypeError(f"{name} must hold blocks, not {type(block).__name__}")


def _typed(value: Any, name: str, *kinds: type[Any]) -> None:
    if value is not UNSET and not isinstance(value, kinds):
        raise TypeError(f"{name} must be {' or '.join(k.__name__ for k in kinds)}, not {type(value).__name__}")


def _sendable(messages: Any) -> None:
    _messages(messages, "messages")
    if messages is not UNSET and not any(_says_something(m) for m in messages):
        raise ValueError("no message is left to send")


def _says_something(message: AgentMessage) -> bool:
    if isinstance(message, CustomMessage):
        return message.in_context and bool(message.content)
    return isinstance(message, LLMMessage) and message.role != "tool_result"


def _call_ids(message: AgentMessage) -> list[str]:
    if isinstance(message, AssistantMessage):
        return [call.id for call in message.tool_calls]
    return [str(getattr(message, "tool_call_id", ""))]


@dataclass(frozen=True, slots=True)
class SessionStartResult(EventResult):
    """Messages to put into the context of the new session."""

    context: Sequence[CustomMessage] | Unset = _merge(Merge.concat)

    def check(self, event: Any) -> None:
        """Only messages."""
        _messages(self.context, "context")


@dataclass(frozen=True, slots=True)
class SessionBeforeResult(EventResult):
    """``cancel`` keeps things as they are, and nobody else is asked; ``reason`` says why."""

    cancel: bool | Unset = _merge(Merge.any)
    reason: str | Unset = _merge(Merge.last)

    @property
    def stops(self) -> bool:
        """Whether no other handler is asked."""
        return self.cancel is True

    def check(self, event: Any) -> None:
        """A boolean and texts."""
        if self.cancel is not UNSET and not isinstance(self.cancel, bool):
            raise TypeError(f"cancel must be true or false, not {type(self.cancel).__name__}")
        for name, value in self.set_fields().items():
            if name != "cancel" and not isinstance(value, str):
                raise TypeError(f"{name} must be a text, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class SessionBeforeTreeResult(SessionBeforeResult):
    """Also: ``summary`` of the branch that is left, put into the context, and a ``label`` for where the agent goes on."""

    summary: str | Unset = _merge(Merge.last)
    label: str | Unset = _merge(Merge.last)


class InputResult(EventResult):
    """Base of the answers to ``input``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Continue(InputResult):
    """Take the input as it is."""


@dataclass(frozen=True, slots=True)
class Transform(InputResult):
    """Replace text or images of the input; later handlers see the new ones."""

    text: str | Unset = _merge(Merge.chain)
    images: Sequence[Block] | Unset = _merge(Merge.chain)

    def check(self, event: Any) -> None:
        """Text and blocks."""
        _typed(self.text, "text", str)
        _blocks(self.images, "images")


@dataclass(frozen=True, slots=True)
class Handled(InputResult):
    """The input is dealt with: no model is asked. The first one stops the others.

    Attributes:
        reply: the answer.
        keep: put the input and the reply into the session, so that the model sees them later; those of a steering message or
            a follow-up are put there with the next prompt.
    """

    stops: ClassVar[bool] = True
    reply: str | None = None
    keep: bool = False

    def check(self, event: Any) -> None:
        """The types of all fields."""
        _typed(self.reply, "reply", str, type(None))
        _typed(self.keep, "keep", bool)


@dataclass(frozen=True, slots=True)
class BeforeAgentStartResult(EventResult):
    """What one run begins with, and who answers it.

    Attributes:
        messages: messages that join the session before the run.
        system_prompt: the system prompt of the run.
        adapter: the provider's name, or the adapter, that answers this run; ``set_adapter`` during the run counts more.
        model: the name or definition of the model that answers this run; ``set_model`` during the run counts more.
        limits: bounds of this run; each one counts where it is lower than the configured one, ``None`` never does.
    """

    messages: Sequence[AgentMessage] | Unset = _merge(Merge.concat)
    system_prompt: str | Unset = _merge(Merge.chain)
    adapter: str | LLMAdapter | Unset = _merge(Merge.last)
    model: str | ModelDefinition | Unset = _merge(Merge.last)
    limits: Limits | Unset = _merge(Merge.lowest)

    def check(self, event: Any) -> None:
        """The types of all fields."""
        _messages(self.messages, "messages")
        _typed(self.system_prompt, "system_prompt", str)
        _typed(self.adapter, "adapter", str, LLMAdapter)
        _typed(self.model, "model", str, ModelDefinition)
        _typed(self.limits, "limits", Limits)


@dataclass(frozen=True, slots=True)
class TurnStartResult(EventResult):
    """What one turn sends, or that there is none.

    Attributes:
        append: messages that join the session.
        messages: what this turn alone sends instead of the context.
        tools: the tools that this turn alone offers, as far as ``only_tools`` allows; a call of another one is unknown.
        system_prompt: the system prompt of this turn alone.
        stop: end the run before the request, with outcome ``limit``.
        reason: why.
    """

    append: Sequence[AgentMessage] | Unset = _merge(Merge.concat)
    messages: Sequence[AgentMessage] | Unset = _merge(Merge.chain)
    tools: Sequence[Tool] | Unset = _merge(Merge.chain)
    system_prompt: str | Unset = _merge(Merge.chain)
    stop: bool | Unset = _merge(Merge.any)
    reason: str | Unset = _merge(Merge.joined)

    def check(self, event: Any) -> None:
        """Messages, of which something must be left to send; tools; texts."""
        _messages(self.append, "append")
        _sendable(self.messages)
        _typed(self.tools, "tools", list, tuple)
        for tool in () if isinstance(self.tools, Unset) else self.tools:
            _typed(tool, "every item of tools", Tool)
        _typed(self.system_prompt, "system_prompt", str)
        _typed(self.stop, "stop", bool)
        _typed(self.reason, "reason", str)


@dataclass(frozen=True, slots=True)
class ContextTransformResult(EventResult):
    """The messages of this one request. They are repaired before they leave; the session is untouched."""

    messages: Sequence[AgentMessage] | Unset = _merge(Merge.chain)

    def check(self, event: Any) -> None:
        """Messages; something must be left to send (spec, section 9.29)."""
        _sendable(self.messages)


@dataclass(frozen=True, slots=True)
class ProviderRequestResult(EventResult):
    """Changes to what is about to be sent: the body, headers (merged), and single fields of the body (``options``, merged)."""

    payload: Mapping[str, Any] | Unset = _merge(Merge.chain)
    headers: Mapping[str, str] | Unset = _merge(Merge.patch)
    options: Mapping[str, Any] | Unset = _merge(Merge.patch)

    def check(self, event: Any) -> None:
        """Mappings."""
        for name in ("payload", "headers", "options"):
            _typed(getattr(self, name), name, Mapping)


@dataclass(frozen=True, slots=True)
class MessageEndResult(EventResult):
    """Replace the message before it is persisted: same role, same tool-call ids, or it is ignored with an error."""

    message: AgentMessage | Unset = _merge(Merge.chain)

    def check(self, event: Any) -> None:
        """Same role and same tool-call ids as the message of the event (spec, section 9.30)."""
        if self.message is UNSET:
            return
        _typed(self.message, "message", AgentMessage)
        old, new = event.message, cast(Any, self.message)
        if old is not None and (old.role != new.role or _call_ids(old) != _call_ids(new)):
            raise ValueError("a replaced message must keep its role and its tool-call ids")


@dataclass(frozen=True, slots=True)
class ReplaceArgs:
    """Arguments that replace the call's arguments as a whole, instead of patching them."""

    args: Mapping[str, Any]

    def __post_init__(self) -> None:
        _typed(self.args, "args", Mapping)
        object.__setattr__(self, "args", freeze(self.args))


@dataclass(frozen=True, slots=True)
class ToolCallEventResult(EventResult):
    """The answer to ``before_tool_call`` (spec, section 6). Decisions: block > ask > substitute > allow.

    Attributes:
        block: do not run it; ``reason`` goes to the model and the user.
        args: a JSON merge patch of the arguments, or :class:`ReplaceArgs`; never in phase ``guard``.
        ask: a question for the run's approver; ``ask_key`` makes the answer sticky for (tool, key).
        result: use this text, blocks or ``ToolOutput`` instead of running the tool.
        terminate: end the run after this batch, if every call's answer says so.
    """

    block: bool = False
    reason: str = ""
    args: Mapping[str, Any] | ReplaceArgs | None = None
    result: Any = UNSET
    ask: str | None = None
    ask_key: str | None = None
    terminate: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.args, Mapping) and type(self.args) is not FrozenDict:
            object.__setattr__(self, "args", freeze(self.args))

    def check(self, event: Any) -> None:
        """The types of all fields: what cannot be understood blocks the call instead of being guessed at."""
        _typed(self.block, "block", bool)
        _typed(self.reason, "reason", str)
        _typed(self.terminate, "terminate", bool)
        for name in ("ask", "ask_key"):
            _typed(getattr(self, name), name, str, type(None))
        _typed(self.args, "args", Mapping, ReplaceArgs, type(None))
        if not isinstance(self.result, ToolOutput):
            _blocks(self.result, "result")
        elif not isinstance(self.result.content, str):
            _blocks(self.result.content, "result.content")


@dataclass(frozen=True, slots=True)
class ToolResultEventResult(EventResult):
    """A patch of a tool's result; fields left out keep their value (``details=None`` is a value)."""

    content: str | Sequence[Block] | Unset = _merge(Merge.chain)
    details: Any = _merge(Merge.chain)
    is_error: bool | Unset = _merge(Merge.chain)
    terminate: bool | Unset = _merge(Merge.chain)
    usage: TokenUsage | Unset | None = _merge(Merge.chain)

    def check(self, event: Any) -> None:
        """The types of all fields."""
        _blocks(self.content, "content")
        _typed(self.is_error, "is_error", bool)
        _typed(self.terminate, "terminate", bool)
        _typed(self.usage, "usage", TokenUsage, type(None))


@dataclass(frozen=True, slots=True)
class TurnEndResult(EventResult):
    """Whether to end the run after this turn.

    Attributes:
        stop: end it.
        reason: why.
        outcome: how it ends: ``completed``, or ``limit`` when a budget is used up.
    """

    stop: bool | Unset = _merge(Merge.any)
    reason: str | Unset = _merge(Merge.joined)
    outcome: Literal["completed", "limit"] | Unset = _merge(Merge.last)

    def check(self, event: Any) -> None:
        """The types of all fields."""
        _typed(self.stop, "stop", bool)
        _typed(self.reason, "reason", str)
        if self.outcome is not UNSET and self.outcome not in ("completed", "limit"):
            raise ValueError(f"outcome must be completed or limit, not {self.outcome!r}")


@dataclass(frozen=True, slots=True)
class BeforeAgentEndResult(EventResult):
    """Text that makes the run go on; at most three times in a row."""

    continue_with: str | Unset = _merge(Merge.joined)

    def check(self, event: Any) -> None:
        """Text."""
        _typed(self.continue_with, "continue_with", str)


@dataclass(frozen=True, slots=True)
class BeforeCompactResult(EventResult):
    """Cancel a compaction, or supply its result."""

    cancel: bool | Unset = _merge(Merge.any)
    compaction: CompactionResult | Unset = _merge(Merge.first)

    def check(self, event: Any) -> None:
        """The types of all fields."""
        _typed(self.cancel, "cancel", bool)
        _typed(self.compaction, "compaction", CompactionResult)
