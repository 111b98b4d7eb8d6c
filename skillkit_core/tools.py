"""Tools: what a model may call, what a tool is told, and what it answers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from .fields import Schema, Seconds, check_fields
from .frozen import EMPTY, FrozenDict, freeze
from .messages import Block, blocks_of
from .models import TokenUsage

if TYPE_CHECKING:
    from .abort import AbortSignal
    from .agent.runner import AgentRunner
    from .contracts.user_interface import UserInterface

__all__ = ["NO_PARAMETERS", "Tool", "ToolContext", "ToolFunction", "ToolOutput", "ToolSet"]

NO_PARAMETERS = freeze({"type": "object", "properties": {}, "additionalProperties": False})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool answers.

    Attributes:
        content: text or blocks for the model.
        details: anything for people and programs (JSON-serialisable); the model never sees it.
        is_error: the call failed.
        terminate: end the run after this batch, if every result of the batch says so.
        usage: tokens that the tool itself spent (a nested run).
    """

    content: str | Sequence[Block] = ""
    details: Any = None
    is_error: bool = False
    terminate: bool = False
    usage: TokenUsage | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """``content`` as blocks."""
        return blocks_of(self.content)


class ToolContext(Protocol):
    """What a running tool can see and do."""

    @property
    def tool_name(self) -> str:
        """Name of the tool."""

    @property
    def tool_call_id(self) -> str:
        """Id of the call."""

    @property
    def signal(self) -> AbortSignal:
        """Set when the run is aborted: stop, and leave no process behind."""

    @property
    def cwd(self) -> Path:
        """The workspace: where relative paths start."""

    @property
    def session_id(self) -> str | None:
        """The session, if there is one."""

    @property
    def agent_path(self) -> tuple[str, ...]:
        """``("main",)`` or deeper for a nested run."""

    @property
    def agent(self) -> AgentRunner:
        """The agent whose run called the tool."""

    @property
    def answer(self) -> Mapping[str, Any] | None:
        """What whoever allowed the call answered besides: :attr:`ApprovalDecision.answer`."""

    @property
    def ui(self) -> UserInterface | None:
        """How a person is asked and told; ``None``: there is nobody."""

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output while the tool runs (``tool_execution_update``); after the call has its result, do nothing."""


ToolFunction: TypeAlias = Callable[[Mapping[str, Any], ToolContext], Awaitable["ToolOutput | str"]]


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model can call.

    Attributes:
        name: ``[A-Za-z0-9_-]{1,64}``.
        description: for the model: what it does, when to use it.
        parameters: JSON Schema of the arguments, an object schema. Keywords that the core does not check are a warning of
            ``skillkit plugins doctor``.
        execute: ``async (args, ctx) -> ToolOutput | str``, or its import string ``"module:function"``. ``args`` are
            validated and immutable. Raise :class:`~skillkit_core.errors.ToolError` for a failure the model should read.
        strict: ask the provider to enforce the schema where it can.
        opt_in: the model gets the tool only when the user allowed it by name.
        sequential: never run beside other calls of the same batch.
        replay: ``"safe"`` when running it twice does no harm (crash recovery); default ``"never"``.
        timeout: seconds until the call is cancelled; ``None``: no limit of its own.
        max_output: most characters of text that reach the model; the rest is cut out of the middle with a note.
        annotations: facts for programs (``skill``, ``action``, ``keywords``, ``examples``); never sent to a model.

    Raises:
        ValueError: no wire takes the name, or the parameters are no object schema.
        UsageError: a value is of a wrong type.
    """

    name: str
    description: str
    execute: Annotated[ToolFunction | str, "a function or its import string"]
    parameters: Schema = NO_PARAMETERS
    strict: bool = False
    opt_in: bool = False
    sequential: bool = False
    replay: Literal["never", "safe"] = "never"
    timeout: Seconds | None = None
    max_output: int = 100_000
    annotations: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            raise ValueError(f"tool name {self.name!r} must match [A-Za-z0-9_-]{{1,64}}")
        check_fields(self, f"tool {self.name!r}")
        if self.parameters.get("type", "object") != "object":
            raise ValueError(f"tool {self.name!r}: the parameters must be an object schema")
        for name in ("parameters", "annotations"):
            if type(getattr(self, name)) is not FrozenDict:
                object.__setattr__(self, name, freeze(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class ToolSet:
    """Tools that depend on the moment.

    Attributes:
        name: unique among the tool sets.
        factory: ``(agent) -> Sequence[Tool]``, or its import string, called before every request with the
            :class:`~skillkit_core.AgentRunner`. It returns the same tuple while nothing has changed.
    """

    name: str
    factory: Callable[[Any], Sequence[Tool]] | str
