"""Tools that a model may call, the context of a running tool, and its output."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from .errors import ToolError
from .fields import Schema, Seconds, check_fields
from .frozen import EMPTY, FrozenDict, freeze
from .messages import (
    AgentMessage,
    AssistantMessage,
    Block,
    DocumentBlock,
    ImageBlock,
    ProviderBlock,
    TextBlock,
    blocks_of,
)
from .models import ModelDefinition, TokenUsage

if TYPE_CHECKING:
    from .abort import AbortSignal
    from .agent.runner import AgentRunner
    from .contracts.user_interface import Answers, Survey, UserInterface

__all__ = ["NO_PARAMETERS", "Tool", "ToolContext", "ToolFunction", "ToolOutput", "ToolSet"]

NO_PARAMETERS = freeze({"type": "object", "properties": {}, "additionalProperties": False})
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool.

    Attributes:
        content: text or blocks for the model.
        details: JSON values for people and programs, never for the model.
        is_error: the call failed.
        terminate: end the run after this batch, if every result of the batch says so.
        usage: tokens that the tool itself spent (a nested run).
        pinned: compaction keeps the text verbatim: instructions that hold on, for example those of a skill.
    """

    content: str | Sequence[Block] = ""
    details: Any = None
    is_error: bool = False
    terminate: bool = False
    usage: TokenUsage | None = None
    pinned: bool = False

    @property
    def blocks(self) -> tuple[Block, ...]:
        """``content`` as blocks."""
        return blocks_of(self.content)


class ToolContext(Protocol):
    """The context of a running tool."""

    @property
    def tool_name(self) -> str:
        """Name of the tool."""

    @property
    def tool_call_id(self) -> str:
        """Id of the call."""

    @property
    def signal(self) -> AbortSignal:
        """The signal of an abort: end the tool, and leave no process behind."""

    @property
    def cwd(self) -> Path:
        """The workspace, to which relative paths are relative."""

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
        """The further answers of the approval of the call: :attr:`ApprovalDecision.answer`."""

    @property
    def run_id(self) -> str | None:
        """The run that called the tool."""

    @property
    def idempotency_key(self) -> str:
        """A name of this call for services that take one: the same after a crash and a resume, another one in a fork."""

    @property
    def below(self) -> tuple[str, ...]:
        """The sessions of the agents that this call started and that wait, that of its own agent first; of ``suspends`` tools."""

    @property
    def ui(self) -> UserInterface | None:
        """The user interface that reaches a person; ``None``: nobody can be asked."""

    async def ask(self, survey: Survey, *, wait: bool = True) -> Answers | None:
        """Ask a person, and return the answers; ``None``: the person declined, or nobody can be asked.

        The question is in the session before a person is asked, if the tool is annotated ``asks``. Where nobody is there then, or
        the process dies while the person thinks, the run waits, and ``resume({call id: ApprovalDecision("allow", answer=...)})``
        runs the tool again, whose same question has the answers. A tool lets :class:`~skillkit_core.errors.Suspended` pass. With
        ``wait=False`` a run without a user interface does not wait, unless the question waits already.

        Raises:
            UsageError: the call is over.
        """

    async def complete(
        self,
        messages: Sequence[AgentMessage],
        *,
        system: str = "",
        schema: Mapping[str, Any] | None = None,
        purpose: str,
        max_tokens: int | None = None,
        timeout: float | None = None,
        model: str | ModelDefinition | None = None,
        tools: Sequence[Tool] = (),
    ) -> AssistantMessage:
        """Ask a model once; see :meth:`~skillkit_core.HandlerContext.complete`. Nobody is asked after the call has its result."""

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output while the tool runs (``tool_execution_update``). Do nothing after the call has its result."""


ToolFunction: TypeAlias = Callable[[Mapping[str, Any], ToolContext], Awaitable["ToolOutput | str"]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model can call.

    Attributes:
        name: ``[A-Za-z0-9_-]{1,64}``.
        description: text for the model: what the tool does, and when to use the tool.
        parameters: JSON Schema of the arguments, an object schema. ``skillkit plugins doctor`` warns of keywords that the core
            does not check.
        execute: ``async (args, ctx) -> ToolOutput | str``, or its import string ``"module:function"``. ``args`` are
            validated and immutable. Raise :class:`~skillkit_core.errors.ToolError` for a failure that the model should read.
        strict: ask the provider to enforce the schema where it can.
        opt_in: the model gets the tool only when the user allowed it, by name (``tools.allow``) or by a rule of permissions.
        sequential: never run beside other calls of the same batch.
        replay: ``"safe"`` when running the tool twice does no harm (crash recovery); default ``"never"``.
        timeout: seconds until the call is cancelled; ``None``: no limit.
        max_output: most characters of text that reach the model. A note replaces the middle of a longer text.
        suspends: the tool runs agents, and can run again to resume them when a decision about one of their calls was put off:
            ``AgentRunner(session=ctx.below[0])`` and ``resume()`` in place of ``chat``. Their sessions must be kept. The tool
            lets :class:`~skillkit_core.errors.Suspended` pass.
        annotations: facts for programs, not models: ``mutates`` (``none``, ``files``, ``world``), ``network``, the arguments that
            are ``paths``, a shell ``command``, a ``host``; ``remote``; ``skill``, ``action``, ``keywords``, ``examples``;
            ``asks``: the tool asks a person first and acts afterwards, so that it can run again when the answers come later.

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
    suspends: bool = False

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
    """Tools that change with the state of an agent.

    Attributes:
        name: unique name among the tool sets.
        factory: ``(agent) -> Sequence[Tool]``, or its import string, called before every request with the
            :class:`~skillkit_core.AgentRunner`. The factory returns the same tuple while the tools stay the same.
        lasting: an answer lasts until the run, the session, the model or the user interface is another one, or
            ``agent.toolbox.changed()`` is called.
    """

    name: str
    factory: Callable[[Any], Sequence[Tool]] | str
    lasting: bool = False

    def __post_init__(self) -> None:
        check_fields(self, f"tool set {self.name!r}")


def checked(tool: Tool, output: Any) -> ToolOutput:
    """Return the output of a tool or a wrapper, or raise :class:`ToolError` when its type or content is wrong."""
    if not isinstance(output, ToolOutput):
        raise ToolError(f"tool {tool.name!r} returned {type(output).__name__} instead of ToolOutput")
    content = output.content
    if isinstance(content, str):
        return output
    allowed = (TextBlock, ImageBlock, DocumentBlock, ProviderBlock)
    if not isinstance(content, Sequence) or not all(isinstance(block, allowed) for block in content):
        raise ToolError(f"tool {tool.name!r} returned content that is neither text nor blocks of text, images or files")
    return output


def plain_details(details: Any) -> Any:
    """Return ``details`` as JSON values, so that they can be persisted."""
    if details is None:
        return None
    import json

    try:
        return json.loads(json.dumps(details, default=str))
    except (TypeError, ValueError, RecursionError):
        return repr(details)[:10_000]
