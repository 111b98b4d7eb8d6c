"""What happens in a run, as events of its task: the answer piece by piece, and what tools hand over."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from a2a.types import TaskState

from skillkit_core import StopReason

from .parts import made_by, text_part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.server.tasks import TaskUpdater
    from skillkit_live import Live, Message

__all__ = ["ANSWER", "PAUSE", "Ended", "Telling"]

PAUSE = 0.1  # seconds between two pieces of an answer: each costs a copy of the task
ANSWER = "answer"  # the artifact that holds it
_STATES = {
    "completed": TaskState.TASK_STATE_COMPLETED,
    "aborted": TaskState.TASK_STATE_CANCELED,
    "suspended": TaskState.TASK_STATE_INPUT_REQUIRED,
}


class Ended(NamedTuple):
    """The end of a run.

    Attributes:
        outcome: of the run.
        state: of the task.
        reason: why; empty for what simply completed.
        code: ``ring`` or ``depth``, where another host refused for that what the run handed on.
    """

    outcome: str
    state: Any
    reason: str = ""
    code: str = ""


class Telling:
    """Tells a task what happens in a live session. The artifact ``answer`` is what the agent said last.

    Args:
        live: the session.
        updater: the task.
    """

    def __init__(self, live: Live, updater: TaskUpdater) -> None:
        self._live, self._updater = live, updater
        self._begun = False  # pieces of the message that arrives were told
        self._held = ""  # what of it was not told yet
        self._told = 0.0  # when the last piece was told
        self._ended = Ended("completed", TaskState.TASK_STATE_COMPLETED)
        self._refused = False
        self._code = ""

    def begins(self, message: Message) -> bool:
        """Return whether a message says that the run of the session begins."""
        return (
            message.type == "event" and _own(message.data["event"]) and message.data["event"]["type"] == "agent_start"
        )

    @property
    def holds(self) -> bool:
        """Whether something was said that was not told yet: pieces come together, :data:`PAUSE` seconds apart."""
        return bool(self._held)

    async def tell(self, message: Message) -> Message | Ended | None:
        """Tell what a message of the session means; return it if it is a question, or the end of the run."""
        if message.type == "event" and message.data["event"]["type"] == "message_update":
            await self._update(message.data["event"])
            return None
        await self.flush()
        if message.type in ("question", "closed"):
            return message if message.type == "question" else self._ended
        if message.type != "event" or not _own(line := message.data["event"]):
            return None
        match line["type"]:
            case "message_end" if line["message"]["role"] == "assistant":
                await self._said(message.event.message if message.event is not None else None)  # type: ignore[attr-defined]
            case "tool_execution_end" if message.event is not None and not line.get("is_error"):
                await self._made(message.event)
            case "tool_execution_end" if isinstance(details := line.get("details"), dict):
                self._code = details["error"] if details.get("error") in ("ring", "depth") else ""
            case "agent_end":
                self._ended = self._end(line)
            case "agent_settled":
                return self._ended
        return None

    async def _update(self, line: Mapping[str, Any]) -> None:
        if _own(line) and line["event"]["type"] == "text_delta":
            self._held += line["event"].get("content") or ""
            if monotonic() - self._told >= PAUSE:
                await self.flush()

    async def flush(self) -> None:
        """Tell what is held. The first piece of another message takes the place of the one before."""
        if self._held:
            parts, self._held = [text_part(self._held)], ""
            await self._updater.add_artifact(parts, ANSWER, ANSWER, append=self._begun, last_chunk=False)
            self._begun, self._told = True, monotonic()

    async def _said(self, message: Any) -> None:
        if message is not None and not self._begun:
            self._held = message.text  # it came in one piece
            await self.flush()
        self._refused = message is not None and message.stop_reason == StopReason.refusal
        self._begun = False

    async def _made(self, event: Any) -> None:
        agent = self._live.agent
        tool, folder = agent.offered(event.tool_name), self._live.folder
        for made in made_by(agent.host, tool, event.content, agent.redact(event.details), folder):
            await self._updater.add_artifact(made.parts, name=made.name, last_chunk=True)

    def _end(self, line: Mapping[str, Any]) -> Ended:
        outcome = line.get("outcome", "completed")
        if outcome == "completed" and self._refused:
            return Ended(outcome, TaskState.TASK_STATE_REJECTED, "the model declines")
        reason = line.get("reason") or ""
        if outcome == "failed" and line.get("error"):
            error = line["error"]
            reason = str(error.get("message") if isinstance(error, dict) else error)
        state = _STATES.get(outcome, TaskState.TASK_STATE_FAILED)
        return Ended(outcome, state, "" if outcome == "completed" else reason or outcome, self._code)


def _own(line: Mapping[str, Any]) -> bool:
    """Return whether an event is of the agent of the session, and of none inside a call."""
    return len(line["agent_path"]) == 1
