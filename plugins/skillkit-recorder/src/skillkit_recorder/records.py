"""The lines of a recording: one type each, checked when a file is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from .values import (
    decision_from_json,
    error_from_json,
    model_from_json,
    output_from_json,
    settings_from_json,
    stream_from_json,
    tool_from_json,
    usage_from_json,
)

__all__ = [
    "LINE",
    "TYPES",
    "VERSION",
    "Answered",
    "Decision",
    "Entry",
    "Header",
    "Kept",
    "Line",
    "Question",
    "Request",
    "Seen",
    "Sent",
    "Sleep",
    "StreamEnd",
    "Streamed",
    "Talked",
    "Told",
    "ToolBegin",
    "ToolEnd",
    "ToolLine",
    "Woke",
]

VERSION = 1
JSON = dict[str, Any]


def _which(convert: Any) -> AfterValidator:
    """A value that ``convert`` can read."""

    def check(value: Any) -> Any:
        try:
            convert(value)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(str(error)) from None
        return value

    return AfterValidator(check)


def _objects(value: list[Any]) -> list[Any]:
    if not all(isinstance(item, dict) for item in value):
        raise ValueError("a message must be an object")
    return value


def _event(value: JSON) -> JSON:
    if not isinstance(value.get("type"), str):
        raise ValueError("an event needs a type")
    if not isinstance(value.get("tool_call_id", ""), str):
        raise ValueError("the tool_call_id of an event must be a text")
    inner = value.get("event")
    if value["type"] == "message_update" and not (isinstance(inner, dict) and isinstance(inner.get("type"), str)):
        raise ValueError("an update needs an event with a type")
    return value


STARTS_A_RUN = frozenset({"chat", "resume", "compact"})


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def to_json(self) -> JSON:
        """The line as a JSON object, without what is as it would be anyway."""
        out: JSON = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if field.is_required() or value != field.get_default(call_default_factory=True):
                out[name] = value
        return out


class Header(_Line):
    """The first line.

    Attributes:
        version: of the format. core: of ``skillkit-core``, for people.
        plugins: name to version of those that ran. context_providers: names of those that added to the system prompt.
        config: the agent's configuration, without endpoint and credentials.
        approver: whether somebody could be asked. opened: whether the session was open already. session: its id.
    """

    type: Literal["recording"]
    version: int
    core: str = ""
    plugins: dict[str, str] = Field(default_factory=dict)
    context_providers: list[str] = Field(default_factory=list)
    config: JSON = Field(default_factory=dict)
    approver: bool = False
    opened: bool = False
    session: str = ""


class Kept(_Line):
    """An entry of a session."""

    seq: int
    id: str
    parent: str | None = None
    kind: str
    data: JSON


class Entry(Kept):
    """An entry that the session held before."""

    type: Literal["entry"]


class Talked(_Line):
    """The agent talks in another session of its store now, or has read its own again: what that held before."""

    type: Literal["session"]
    id: str
    entries: list[Kept] = Field(default_factory=list)

    def to_json(self) -> JSON:
        """As that of every line."""
        return {**super().to_json(), "entries": [entry.to_json() for entry in self.entries]}


class Told(_Line):
    """The agent was told to do something.

    Attributes:
        idle: no run was active. by: the plugin whose handler did it, or began what did it.
        during: the event that was being handled: its type, the tool call that it is about (or nothing), and which one of
            those it would have been had it been seen at once; it stands behind this line.
        refused: nothing came of it. handler: a handler of that event did it; else somebody did while a handler waited.
    """

    type: Literal["told"]
    name: str
    arguments: JSON = Field(default_factory=dict)
    idle: bool = False
    by: str | None = None
    during: tuple[str, str, int] | None = None
    handler: bool = False
    refused: bool = False

    @property
    def begins(self) -> bool:
        """Whether it begins a run while none is active."""
        return self.name in STARTS_A_RUN or bool(self.arguments.get("trigger"))


class Request(_Line):
    """A request, counted from 1. ``aside``: not a turn of the agent, but a compactor's or a plugin's."""

    type: Literal["request"]
    n: int
    provider: str
    api: str
    model: Annotated[JSON, _which(model_from_json)]
    system: str
    tools: list[Annotated[JSON, _which(tool_from_json)]]
    messages: Annotated[list[Any], AfterValidator(_objects)]  # as they are: many requests hold the same ones
    settings: Annotated[JSON, _which(settings_from_json)] = Field(default_factory=dict)
    stream: bool = True
    progressive: bool = True
    aside: bool = False


class Sent(_Line):
    """What the adapter was about to send."""

    type: Literal["sent"]
    request: int
    payload: JSON
    headers: dict[str, str] = Field(default_factory=dict)


class Answered(_Line):
    """Status and headers of the provider's answer."""

    type: Literal["answered"]
    request: int
    status: int
    headers: dict[str, str] = Field(default_factory=dict)


class Streamed(_Line):
    """One event of the provider's answer."""

    type: Literal["stream"]
    request: int
    event: Annotated[JSON, _which(stream_from_json)]


class StreamEnd(_Line):
    """An answer ended without a terminal event: it ``stopped``, the adapter ``raised``, or the agent ``cut`` it."""

    type: Literal["stream_end"]
    request: int
    how: Literal["stopped", "raised", "cut"]
    error: Annotated[JSON | None, _which(lambda e: e is None or error_from_json(e))] = None


class ToolLine(_Line):
    """What belongs to one execution of a tool. ``again``: which one, for a call that was executed several times."""

    call: str
    again: int = 1


class ToolBegin(ToolLine):
    """The body of a tool was called."""

    type: Literal["tool"]
    name: str
    args: JSON


class ToolOutputLine(ToolLine):
    """What a running tool showed."""

    type: Literal["tool_output"]
    output: str
    stream: Literal["stdout", "stderr"] = "stdout"


class ToolEnd(ToolLine):
    """How a tool ended: with an output, with an exception, by its time limit, or because the run was aborted.

    Attributes:
        late: the run was aborted, and it answered all the same.
        nested: what each request of the agents below it used, and what that cost.
    """

    type: Literal["tool_end"]
    output: Annotated[JSON | None, _which(lambda o: o is None or output_from_json(o))] = None
    error: Annotated[JSON | None, _which(lambda e: e is None or error_from_json(e))] = None
    timeout: bool = False
    cancelled: bool = False
    late: bool = False
    nested: list[tuple[Annotated[JSON, _which(usage_from_json)], float | None]] = Field(default_factory=list)


class Question(_Line):
    """The approver was asked about a call."""

    type: Literal["question"]
    call: str
    name: str = ""
    questions: list[str] = Field(default_factory=list)


class Decision(_Line):
    """What the approver said, or how it failed."""

    type: Literal["decision"]
    call: str
    decision: Annotated[JSON | str | None, _which(lambda d: d is None or decision_from_json(d))] = None
    error: Annotated[JSON | None, _which(lambda e: e is None or error_from_json(e))] = None


class Sleep(_Line):
    """The agent began to wait before it tries again."""

    type: Literal["sleep"]


class Woke(_Line):
    """The waiting was over."""

    type: Literal["woke"]


class Seen(_Line):
    """An event of the agent's bus."""

    type: Literal["event"]
    event: Annotated[JSON, AfterValidator(_event)]


Line: TypeAlias = (
    Header | Entry | Talked | Told | Request | Sent | Answered | Streamed | StreamEnd | ToolBegin | ToolOutputLine | ToolEnd
    | Question | Decision | Sleep | Woke | Seen
)  # fmt: skip
TYPES = frozenset(cls.model_fields["type"].annotation.__args__[0] for cls in Line.__args__)
LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="type")])
