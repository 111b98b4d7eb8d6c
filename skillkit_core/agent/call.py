"""One execution of a tool: where it runs, what it sees, and what its answer must be."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..abort import AbortSignal
from ..containment import run_in_thread
from ..contracts.tool_executor import ToolExecutor
from ..descriptors import load_object
from ..errors import ToolError
from ..events.results import UNSET
from ..frozen import EMPTY
from ..messages import (
    DocumentBlock,
    ImageBlock,
    ProviderBlock,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    blocks_of,
)
from ..models import TokenUsage
from ..tools import Tool, ToolOutput

if TYPE_CHECKING:
    from ..contracts.approver import ApprovalDecision, Question
    from ..events.types import ToolCallEvent
    from .run import Run
    from .suspension import SuspendedCall

__all__ = ["IN_PROCESS", "CallContext", "InProcessExecutor", "Prepared", "as_output", "checked", "plain_details"]


@dataclass(slots=True)
class Prepared:
    """One call on its way: what it is, what was decided, and its result."""

    call: ToolCall
    index: int
    tool: Tool | None = None
    args: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    event: ToolCallEvent | None = None
    substitute: Any = UNSET
    terminate: bool = False
    started: bool = False
    ended: bool = False
    begun_at: float = 0.0
    ctx: CallContext | None = None
    result: ToolResultMessage | None = None
    stored: SuspendedCall | None = None
    decision: ApprovalDecision | None = None
    deferred: tuple[Question, ...] | None = None


class InProcessExecutor(ToolExecutor):
    """Runs tools in this process, on the loop of the run."""

    async def execute(self, tool: Tool, args: Mapping[str, Any], ctx: Any) -> ToolOutput:
        """Call the tool's function."""
        function = load_object(tool.execute)
        if inspect.iscoroutinefunction(function):
            answer = await function(args, ctx)
        else:  # a plain function must not hold up the loop; one that gives an awaitable has it awaited here
            answer = await asyncio.to_thread(run_in_thread, function, args, ctx)
            answer = await answer if inspect.isawaitable(answer) else answer
        if isinstance(answer, ToolOutput):
            return answer
        if isinstance(answer, str):
            return ToolOutput(answer)
        raise ToolError(f"tool {tool.name!r} returned {type(answer).__name__} instead of ToolOutput or str")


Emit: TypeAlias = "Callable[[CallContext, str, str, int], None]"


class CallContext:
    """What a running tool can see and do (:class:`~skillkit_core.tools.ToolContext`)."""

    __slots__ = (
        "_emit",
        "_n",
        "agent",
        "agent_path",
        "cwd",
        "nested",
        "session_id",
        "settled",
        "signal",
        "tool_call_id",
        "tool_name",
    )

    def __init__(self, run: Run, tool_name: str, call_id: str, emit: Emit) -> None:
        self.agent = run.agent
        self.tool_name = tool_name
        self.tool_call_id = call_id
        self.signal: AbortSignal = run.signal
        self.cwd: Path = run.agent.cwd
        self.session_id = run.agent.session_id
        self.agent_path = run.agent.agent_path
        self.settled = False
        self.nested = TokenUsage()  # what runs inside the call used; it is in the books already
        self._emit = emit
        self._n = 0

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output; nothing is shown after the call has settled."""
        if not self.settled and output:
            self._n += 1
            self._emit(self, output, stream, self._n)


def checked(tool: Tool, output: Any) -> ToolOutput:
    """What a tool or a wrapper gave, or a :class:`ToolError` that says what is wrong with it."""
    if not isinstance(output, ToolOutput):
        raise ToolError(f"tool {tool.name!r} returned {type(output).__name__} instead of ToolOutput")
    content = output.content
    if isinstance(content, str):
        return output
    allowed = (TextBlock, ImageBlock, DocumentBlock, ProviderBlock)
    if not isinstance(content, Sequence) or not all(isinstance(block, allowed) for block in content):
        raise ToolError(
            f"tool {tool.name!r} returned content that is neither text nor blocks of text, images and files"
        )
    return output


def as_output(value: Any) -> ToolOutput:
    """A substituted result as a tool's output."""
    if isinstance(value, ToolOutput):
        return value
    return ToolOutput(value if isinstance(value, str) else blocks_of(value))


def plain_details(details: Any) -> Any:
    """``details`` as JSON values, so that they can be kept."""
    import json

    if details is None:
        return None
    try:
        return json.loads(json.dumps(details, default=str))
    except (TypeError, ValueError, RecursionError):
        return repr(details)[:10_000]


IN_PROCESS = InProcessExecutor()
