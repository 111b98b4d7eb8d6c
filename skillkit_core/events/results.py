"""What handlers may answer, one type per event, and how several answers combine (spec, sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar, Final, final

from ..contracts.compactor import CompactionResult
from ..frozen import FrozenDict, freeze
from ..messages import AgentMessage, Block, CustomMessage
from ..models import TokenUsage

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
    "Merge",
    "MessageEndResult",
    "ProviderRequestResult",
    "ReplaceArgs",
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

    def __bool__(self) -> bool:
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


@dataclass(frozen=True, slots=True)
class SessionStartResult(EventResult):
    """Messages to put into the context of the new session."""

    context: Sequence[CustomMessage] | Unset = _merge(Merge.concat)


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


@dataclass(frozen=True, slots=True)
class Handled(InputResult):
    """The input is dealt with: no run starts; ``reply`` is the answer. The first one stops the others."""

    stops: ClassVar[bool] = True
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class BeforeAgentStartResult(EventResult):
    """Messages to add before the run, and the system prompt to use for it."""

    messages: Sequence[AgentMessage] | Unset = _merge(Merge.concat)
    system_prompt: str | Unset = _merge(Merge.chain)


@dataclass(frozen=True, slots=True)
class TurnStartResult(EventResult):
    """``append``: messages that join the session. ``messages``: what this turn alone sends instead."""

    append: Sequence[AgentMessage] | Unset = _merge(Merge.concat)
    messages: Sequence[AgentMessage] | Unset = _merge(Merge.chain)


@dataclass(frozen=True, slots=True)
class ContextTransformResult(EventResult):
    """The messages of this one request. They are repaired before they leave; the session is untouched."""

    messages: Sequence[AgentMessage] | Unset = _merge(Merge.chain)


@dataclass(frozen=True, slots=True)
class ProviderRequestResult(EventResult):
    """Changes to what is about to be sent: the body, headers (merged), and adapter options."""

    payload: Mapping[str, Any] | Unset = _merge(Merge.chain)
    headers: Mapping[str, str] | Unset = _merge(Merge.patch)
    options: Mapping[str, Any] | Unset = _merge(Merge.patch)


@dataclass(frozen=True, slots=True)
class MessageEndResult(EventResult):
    """Replace the message before it is persisted: same role, same tool-call ids, or it is ignored with an error."""

    message: AgentMessage | Unset = _merge(Merge.chain)


@dataclass(frozen=True, slots=True)
class ReplaceArgs:
    """Arguments that replace the call's arguments as a whole, instead of patching them."""

    args: Mapping[str, Any]

    def __post_init__(self) -> None:
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


@dataclass(frozen=True, slots=True)
class ToolResultEventResult(EventResult):
    """A patch of a tool's result; fields left out keep their value (``details=None`` is a value)."""

    content: str | Sequence[Block] | Unset = _merge(Merge.chain)
    details: Any = _merge(Merge.chain)
    is_error: bool | Unset = _merge(Merge.chain)
    terminate: bool | Unset = _merge(Merge.chain)
    usage: TokenUsage | Unset | None = _merge(Merge.chain)


@dataclass(frozen=True, slots=True)
class TurnEndResult(EventResult):
    """Whether to end the run after this turn."""

    stop: bool | Unset = _merge(Merge.any)
    reason: str | Unset = _merge(Merge.joined)


@dataclass(frozen=True, slots=True)
class BeforeAgentEndResult(EventResult):
    """Text that makes the run go on; at most three times in a row."""

    continue_with: str | Unset = _merge(Merge.joined)


@dataclass(frozen=True, slots=True)
class BeforeCompactResult(EventResult):
    """Cancel a compaction, or supply its result."""

    cancel: bool | Unset = _merge(Merge.any)
    compaction: CompactionResult | Unset = _merge(Merge.first)
