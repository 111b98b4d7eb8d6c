"""What can go wrong between two agents, as one error with a word for programs."""

from __future__ import annotations

from typing import Any

from skillkit_core import ToolError

__all__ = ["PeerError"]


class PeerError(ToolError):
    """An agent elsewhere was not asked, or did not do what it was asked.

    Attributes:
        code: ``address`` (may not be called), ``unreachable``, ``silent``, ``too_large``, ``protocol``, ``auth``, ``signature``,
            ``busy``, ``unknown_agent``, ``unknown_skill``, ``unknown_task``, ``depth``, ``ring``, ``rejected``, ``failed``,
            ``canceled``, ``declined``, ``nobody``.
        retryable: the same may succeed later.
        task: the id of the task there, once it is known.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", retryable: bool = False, task: str = "") -> None:
        super().__init__(message, hint=hint or None)
        self.code, self.retryable, self.task = code, retryable, task

    def to_dict(self) -> dict[str, Any]:
        """Return the error as JSON."""
        return {"error": self.code, "message": self.message, "retryable": self.retryable, "task": self.task or None}
