"""What a handler sees of the session: everything, and no way to change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contracts.session_store import SessionEntry
from ..messages import AgentMessage
from ..models import TokenUsage

if TYPE_CHECKING:
    from .choice import ModelChoice
    from .session import Session
    from .suspension import Suspension

__all__ = ["SessionView"]


class SessionView:
    """A :class:`Session` for reading. Who must write something of his own takes ``ctx.agent.session``."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def id(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def location(self) -> str | None:
        """Where it is kept, if that is a place."""
        return self._session.location

    @property
    def entries(self) -> Sequence[SessionEntry]:
        """All entries of all branches, in the order they were written."""
        return self._session.entries

    @property
    def messages(self) -> Sequence[AgentMessage]:
        """The messages of the current branch, from the newest compaction on."""
        return self._session.messages

    @property
    def leaf_id(self) -> str | None:
        """The entry that the next one follows; ``None`` before the first."""
        return self._session.leaf_id

    @property
    def model(self) -> ModelChoice | None:
        """Who answers on the current branch; ``None``: nobody has answered yet."""
        return self._session.model

    @property
    def thinking_level(self) -> str:
        """How hard the model was last asked to think on the current branch: ``off``, ``minimal`` to ``xhigh``."""
        return self._session.thinking_level

    @property
    def usage(self) -> TokenUsage:
        """Tokens of the whole session: the sum of its ledger."""
        return self._session.usage

    @property
    def cost(self) -> float:
        """What they cost, in US dollars, as far as prices are known."""
        return self._session.cost

    def path(self, leaf_id: str | None = None) -> Sequence[SessionEntry]:
        """The entries from the root to ``leaf_id``; default: to the current leaf."""
        return self._session.path(leaf_id)

    def suspension(self) -> Suspension | None:
        """The calls that wait for a decision, if the current branch ends with some."""
        return self._session.suspension()
