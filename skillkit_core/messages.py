"""The messages of people, models and tools, in immutable blocks, and their JSON form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias, TypeVar

from .frozen import EMPTY, FrozenDict, freeze
from .models import TokenUsage

__all__ = [
    "AgentMessage", "AssistantMessage", "Block", "ContextTransformer", "CustomMessage", "DocumentBlock",
    "ImageBlock", "LLMMessage", "Origin", "Outcome", "ProviderBlock", "RefusalBlock", "StopReason", "TextBlock",
    "ThinkingBlock", "ToolCall", "ToolResultMessage", "UserMessage", "blocks_of", "message_from_dict",
    "message_to_dict", "text_of",
]  # fmt: skip


class Outcome(StrEnum):
    """The outcome of a tool call (spec, section 2)."""

    ok = "ok"
    error = "error"
    blocked = "blocked"
    denied = "denied"
    skipped = "skipped"
    interrupted = "interrupted"
    timeout = "timeout"
    truncated = "truncated"
    suspended = "suspended"  # of ``tool_execution_end`` alone: an agent in the call waits for a decision


class StopReason(StrEnum):
    """The reason why an assistant message ended. ``AssistantMessage.raw_stop_reason`` keeps the provider's own word.

    Attributes:
        stop: the answer is whole. tool_calls: it is whole, and calls tools.
        length: it reached a limit of tokens; its last call is not run. refusal: the model, or a filter of the provider, declines.
        pause: the server wants to be asked again with what it said. aborted: the run was aborted in the middle of it.
        error: it failed; ``AssistantMessage.error`` says why.
    """

    stop = "stop"
    tool_calls = "tool_calls"
    length = "length"
    refusal = "refusal"
    pause = "pause"
    aborted = "aborted"
    error = "error"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message or a decision comes from.

    Attributes:
        kind: the front end or the program, such as ``terminal``, ``rpc`` or ``web``.
        principal: who speaks; ``owner`` is the user of this machine.
        id: the front end's own name for the message, the client or the connection.
        meta: further JSON values of the front end.
    """

    kind: str
    principal: str = "owner"
    id: str | None = None
    meta: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        object.__setattr__(self, "meta", freeze(self.meta))

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as JSON, without empty fields."""
        told = {"kind": self.kind, "principal": self.principal, "id": self.id, "meta": self.meta}
        return {name: value for name, value in told.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Origin:
        """Return the origin that :meth:`to_dict` wrote, without unknown fields."""
        return cls(str(data.get("kind", "")), data.get("principal", "owner"), data.get("id"), data.get("meta", EMPTY))


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text.

    Attributes:
        text: never empty in what a model is sent. citations: the provider's own objects, kept as they came.
        provider_data: further fields of the provider's own item, for replay to the same target only.
    """

    type: ClassVar[str] = "text"
    text: str
    citations: tuple[Mapping[str, Any], ...] = ()
    provider_data: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """Thinking of a model.

    Attributes:
        thinking: readable text or summary; empty when redacted or encrypted.
        signature: proof that lets the same provider, api and model accept the block again.
        redacted: the provider gave only opaque ``data``.
        data: opaque content (redacted thinking, an encrypted reasoning item) for replay, byte for byte.
        provider_data: further fields of the provider's own item, for replay to the same target only.
    """

    type: ClassVar[str] = "thinking"
    thinking: str = ""
    signature: str | None = None
    redacted: bool = False
    data: str | None = None
    provider_data: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image: base64 ``data`` with ``mime_type``, or a ``url``."""

    type: ClassVar[str] = "image"
    data: str | None = None
    mime_type: str = "image/png"
    url: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """A document such as a PDF, or a recording (``audio/wav``): base64 ``data`` with ``mime_type``, or a ``url``."""

    type: ClassVar[str] = "document"
    data: str | None = None
    mime_type: str = "application/pdf"
    url: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalBlock:
    """Text in which the model declines."""

    type: ClassVar[str] = "refusal"
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a model.

    Attributes:
        id: id that is unique in the session, and that the result carries too.
        name: the tool's name as the model wrote it.
        args: the parsed arguments, or ``None`` when ``raw_args`` is not a JSON object.
        raw_args: the text that the model wrote.
        incomplete: ``raw_args`` end too early (the stream was cut, or a length stop).
        provider_data: the provider's own extra fields (item id, thought signature) for replay to the same target.
    """

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: Mapping[str, Any] | None = EMPTY
    raw_args: str = ""
    incomplete: bool = False
    provider_data: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if self.args is not None and type(self.args) is not FrozenDict:
            object.__setattr__(self, "args", freeze(self.args))


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block that only its provider understands (server-side tools and their results), kept as it came."""

    type: ClassVar[str] = "provider"
    kind: str
    data: Mapping[str, Any] = EMPTY


Block: TypeAlias = TextBlock | ThinkingBlock | ImageBlock | DocumentBlock | RefusalBlock | ToolCall | ProviderBlock

BLOCK_TYPES: dict[str, type[Any]] = {
    cls.type: cls
    for cls in (TextBlock, ThinkingBlock, ImageBlock, DocumentBlock, RefusalBlock, ToolCall, ProviderBlock)
}


def clean(text: str) -> str:
    """Return ``text`` with lone surrogates replaced by U+FFFD, and legal text unchanged."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def blocks_of(content: str | Iterable[Block]) -> tuple[Block, ...]:
    """Return ``content`` as a tuple of blocks: one text block for a string, none for an empty one."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    return tuple(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMessage:
    """A message of a conversation, also one that a model never sees (see :class:`CustomMessage`).

    Attributes:
        content: blocks; a text becomes one block. ts: seconds since the epoch.
    """

    role: ClassVar[str] = ""
    content: tuple[Block, ...] = ()
    ts: float = 0.0

    def __post_init__(self) -> None:
        if type(self.content) is not tuple:
            object.__setattr__(self, "content", blocks_of(self.content))

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return text_of(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMMessage(AgentMessage):
    """A message that may be sent to a model: of a user, an assistant or a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(LLMMessage):
    """A message of the user.

    Attributes:
        source: ``user``, or the queue in which the message waited: ``steer``, ``follow_up``, ``next_run``.
        pinned: compaction keeps the message verbatim.
        origin: who sent the message, and from where, as far as the program said so.
    """

    role: ClassVar[str] = "user"
    source: str = "user"
    pinned: bool = False
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage(LLMMessage):
    """A message of a model.

    Thinking blocks are sent again only to exactly the same ``provider``, ``api`` and ``model``.

    Attributes:
        provider: the provider that was asked.
        api: the wire protocol.
        model: the provider's id of the model.
        stop_reason: why the message ended.
        raw_stop_reason: the provider's own word for the reason.
        usage: tokens of the request.
        response_id: the provider's name for the answer.
        error: text of the error, where ``stop_reason`` is ``error`` or ``aborted``.
    """

    role: ClassVar[str] = "assistant"
    provider: str = ""
    api: str = ""
    model: str = ""
    stop_reason: StopReason = StopReason.stop
    raw_stop_reason: str | None = None
    usage: TokenUsage = TokenUsage()
    response_id: str | None = None
    error: str | None = None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        calls: list[ToolCall] = []
        for block in self.content:
            if type(block) is ToolCall:
                calls.append(block)
        return tuple(calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultMessage(LLMMessage):
    """The result of one tool call.

    Attributes:
        tool_call_id: the call.
        tool_name: the tool that was called.
        is_error: the call failed.
        outcome: how the call ended.
        details: JSON values for people and programs, never for the model.
        pinned: compaction keeps the text verbatim.
    """

    role: ClassVar[str] = "tool_result"
    tool_call_id: str
    tool_name: str = ""
    is_error: bool = False
    outcome: Outcome = Outcome.ok
    details: Any = None
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMessage(AgentMessage):
    """A message of a plugin.

    Attributes:
        custom_type: the plugin's name for this type of message.
        in_context: the model sees the text as a user message. Without it, the model never sees the message.
        display: front ends show the message.
        details: JSON values for programs, never for the model.
        pinned: compaction keeps the message verbatim.
    """

    role: ClassVar[str] = "custom"
    custom_type: str
    in_context: bool = False
    display: bool = True
    details: Any = None
    pinned: bool = False


M = TypeVar("M", bound=AgentMessage)

MESSAGE_TYPES: dict[str, type[Any]] = {
    cls.role: cls for cls in (UserMessage, AssistantMessage, ToolResultMessage, CustomMessage)
}


def text_of(content: Iterable[Block]) -> str:
    """Return the text blocks of ``content``, joined."""
    return "".join([b.text for b in content if type(b) is TextBlock])


class _Fields(dict[type[Any], tuple[tuple[str, ...], tuple[Any, ...], Callable[[Any], tuple[Any, ...]]]]):
    """Names, defaults and a getter of the fields of a message or block, but a message's content, made once for each class."""

    def __missing__(self, cls: type[Any]) -> Any:
        names = tuple(f.name for f in fields(cls) if f.name != "content" or not issubclass(cls, AgentMessage))
        one = attrgetter(*names)
        get = one if len(names) > 1 else lambda obj: (one(obj),)
        defaults = {f.name: f.default for f in fields(cls)}
        found = self[cls] = (names, tuple(defaults[name] for name in names), get)
        return found


_FIELDS = _Fields()


def _told(obj: Any) -> list[tuple[str, Any]]:
    """Return the fields of a message or block that differ from their defaults."""
    names, known, get = _FIELDS[type(obj)]
    return [
        (name, value)
        for name, value, default in zip(names, get(obj), known)  # noqa: B905 - they have one length, and time counts
        if value is not default
        # None is always written: a call whose arguments are no object must not become a call without arguments
        and (value is None or value != default or isinstance(value, bool) != isinstance(default, bool))
    ]


def _plain(obj: Any, out: dict[str, Any]) -> dict[str, Any]:
    for name, value in _told(obj):
        out[name] = list(value) if type(value) is tuple else value
    return out


def message_to_dict(message: AgentMessage) -> dict[str, Any]:
    """Return the message as JSON: ``role``, ``content`` (a list of blocks with ``type``), and fields without their default."""
    content = [
        {"type": "text", "text": b.text}  # most blocks of most sessions
        if type(b) is TextBlock and not b.citations and not b.provider_data
        else _plain(b, {"type": b.type})
        for b in message.content
    ]
    out: dict[str, Any] = {"role": message.role, "content": content}
    for name, value in _told(message):
        if name == "origin":
            out[name] = value.to_dict()
        elif name != "usage":
            out[name] = value
        elif value.total or value.raw:
            out["usage"] = {k: v for k, v in value.to_dict().items() if k != "total"}
            if value.raw:
                out["usage"]["raw"] = value.raw
    return out


def with_time(message: M, ts: float) -> M:
    """Return a copy of ``message`` with ``ts``, quicker than :func:`dataclasses.replace`, which checks all fields again."""
    made, put = object.__new__(type(message)), object.__setattr__
    names, _, get = _FIELDS[type(message)]
    for name, value in zip(names, get(message)):  # noqa: B905 - as above
        put(made, name, value)
    put(made, "content", message.content)
    put(made, "ts", ts)
    return made


_NAMES: dict[type[Any], frozenset[str]] = {}


def _values(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``cls`` in ``data``, immutable."""
    known = _NAMES.get(cls)
    if known is None:
        known = _NAMES[cls] = frozenset(f.name for f in fields(cls)) - {"content"}
    return {k: v if type(v) is str else freeze(v) for k, v in data.items() if k in known}


def _block(raw: Mapping[str, Any]) -> Any:
    name = raw.get("type")
    if name == "text" and len(raw) == 2 and "text" in raw:  # most blocks of most sessions
        return TextBlock(raw["text"])
    kind = BLOCK_TYPES.get(name)  # type: ignore[arg-type]
    if kind is None:
        raise ValueError(f"unknown content block type {name!r}")
    values = _values(kind, raw)
    if "citations" in values:
        values["citations"] = tuple(values["citations"])
    return kind(**values)


def message_from_dict(data: Mapping[str, Any], ts: float | None = None) -> AgentMessage:
    """Return the message that :func:`message_to_dict` wrote, without unknown fields.

    Args:
        data: the message as JSON.
        ts: time that replaces the one in ``data``.

    Raises:
        ValueError: the role or the type of a block is unknown, or a field is missing.
    """
    role = data.get("role")
    cls = MESSAGE_TYPES.get(role) if isinstance(role, str) else None
    if cls is None:
        raise ValueError(f"unknown message role {role!r}")
    content = tuple([_block(raw) for raw in data.get("content", ())])
    values = _values(cls, data)
    if "usage" in values:
        values["usage"] = TokenUsage(**{k: v for k, v in values["usage"].items() if k != "total"})
    if "stop_reason" in values:
        values["stop_reason"] = StopReason(values["stop_reason"])
    if "outcome" in values:
        values["outcome"] = Outcome(values["outcome"])
    if "origin" in values:
        values["origin"] = Origin.from_dict(values["origin"])
    if ts is not None:
        values["ts"] = ts
    try:
        message: AgentMessage = cls(content=content, **values)
    except TypeError as error:
        raise ValueError(f"message of role {role!r}: {error}") from None
    return message


ContextTransformer: TypeAlias = Callable[[list[AgentMessage]], Awaitable[list[AgentMessage]]]
