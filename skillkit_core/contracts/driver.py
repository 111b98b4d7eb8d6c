"""The driver contract: code that takes the place of the model in a run (spec, section 7)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..abort import AbortSignal
from ..messages import AgentMessage, AssistantMessage, ToolCall, ToolResultMessage
from ..tools import Tool

if TYPE_CHECKING:
    from ..agent.input import QueueItem
    from ..agent.runner import AgentRunner

__all__ = ["DrivenRun", "Driver"]


class DrivenRun(Protocol):
    """A run, as its driver holds it.

    The methods raise :class:`AgentError` once the run is over, for example in a task that outlives :meth:`Driver.drive`.

    Attributes:
        agent: the agent of the run.
        query: the text of the input that the run works on.
        resumed: an earlier run has worked on the input and was suspended, or ended by a crash, a failure, a limit or an abort.
        signal: set when the run is aborted.
    """

    agent: AgentRunner
    query: str
    resumed: bool
    signal: AbortSignal

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The messages of the branch, from the newest compaction on."""

    async def say(self, text: str) -> None:
        """Say a text as one assistant message, which is streamed like a model's. It needs no room in any limit.

        In a run that is resumed, a text that the branch holds already is not said again.
        """

    async def call(self, *calls: ToolCall) -> tuple[ToolResultMessage, ...]:
        """Make tool calls, as one assistant message with calls, and return their results in the order of the calls.

        Guards, approvals, events and persistence are those of a model's calls. A call that waits for a decision ends the run
        as ``suspended``: the driver is cancelled here. When the run is resumed, :meth:`Driver.drive` is called again from
        the beginning, and a call that the branch holds already (same name and arguments, in order) returns its stored result.
        An unknown tool, wrong arguments, a block and a denial are results, too. An empty id becomes a new one.

        Raises:
            LimitReached: a limit of the run forbids another turn. The driver may still :meth:`say` what it has.
            UsageError: a value is no :class:`ToolCall`, or a tool that the driver has called makes the call.
        """

    async def ask(
        self,
        messages: Sequence[AgentMessage],
        *,
        system: str = "",
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
        purpose: str,
        role: str | None = None,
    ) -> AssistantMessage:
        """Ask the model of the run once, as :meth:`HandlerContext.complete`; several may be asked at the same time.

        Nothing is said or persisted but the usage, so a driver that must not ask again when it is resumed keeps the answer in
        a note.

        Args:
            role: the part for which the driver asks (``critic``), which the entry of the usage keeps.
        """

    def checkpoint(self) -> list[QueueItem]:
        """Take and return the steering messages that have come; they join the session as messages of the user."""


@runtime_checkable
class Driver(Protocol):
    """Drives one run in the place of a model. :class:`BeforeAgentStartResult` names the driver of a run."""

    @abstractmethod
    async def drive(self, run: DrivenRun) -> None:
        """Do the work of the run; its end is the end of the run.

        An exception fails the run; an uncaught :class:`LimitReached` ends it with outcome ``limit``. The driver is cancelled
        when the run is aborted, is suspended, or is stopped by a handler.
        """
