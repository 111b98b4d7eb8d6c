"""What a front end implements: how it shows and asks. A conversation calls it, and it calls the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .blocks import Block
    from .questions import Question
    from .recorder import Log

__all__ = ["View"]


class View(Protocol):
    """A front end, as its conversation sees it. Every method but ``ask`` and ``edit`` returns at once."""

    def show_session(self) -> None:
        """Show the session that is open now from its beginning: ``conversation.record.main.blocks``."""

    def changed(self, log: Log, block: Block | None) -> None:
        """Show a block of an agent's log that came, grew or ended; ``None``: what the agent does changed, or what waits."""

    def status_changed(self) -> None:
        """Show the status again: work began or ended."""

    def hint(self, text: str) -> None:
        """Show a few words for a moment; none: take them away."""

    async def ask(self, question: Question) -> Any:
        """Put a question; return ``await question.answer``. A question whose asking is cancelled goes away."""

    def put_back(self, texts: Sequence[str]) -> None:
        """Put texts that nobody read before what is typed."""

    def keep_line(self) -> bool:
        """Move what is typed into the history; return whether there was something."""

    def own(self, text: str) -> bool:
        """Do what a command of the front end itself says (``/help``); return whether ``text`` is one."""

    async def edit(self, path: Path) -> None:
        """Open a file in the person's editor, and return when it has ended.

        Raises:
            UsageError: there is no editor, or it fails.
        """

    def leave(self, code: int = 0) -> None:
        """End the front end with an exit code."""
