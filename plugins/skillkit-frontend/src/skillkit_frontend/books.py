"""The numbers of a session for a status line: model, tokens of the turn and of the session, cost, context, title, indicators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_commands import Indicators, context_tokens

from skillkit_core import TokenUsage
from skillkit_core.models import BUCKETS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Books", "short"]


def short(number: int) -> str:
    """Return a number in at most five characters: ``987``, ``1.2k``, ``123k``, ``4.5M``."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size - size // 2_000:  # what would be rounded to 1000k is 1.0M
            return f"{number / size:.1f}{unit}" if number < 99.95 * size else f"{number / size:.0f}{unit}"
    return str(number)


class Books:
    """Reads the books of an agent's session.

    Attributes:
        title: what the session is called; empty: nothing yet.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent, self._indicators = agent, Indicators(agent)
        self.title = ""
        self._before = TokenUsage()
        self._context = (-1, 0)  # for how many entries, how many tokens

    def begin(self) -> None:
        """Take over another session."""
        session = self._agent.open_session
        entries = session.entries if session is not None else ()
        titles = [e.data.get("title") for e in entries if e.type == "session_info"]
        self.title = next((str(title) for title in reversed(titles) if title), "")
        self.begin_turn()

    def begin_turn(self) -> None:
        """Count from here what the turn uses."""
        self._before = self.total

    @property
    def total(self) -> TokenUsage:
        """What the session used."""
        session = self._agent.open_session
        return session.usage if session is not None else TokenUsage()

    @property
    def turn(self) -> TokenUsage:
        """What was used since the person said something last."""
        total, before = self.total, self._before
        return TokenUsage(**{name: getattr(total, name) - getattr(before, name) for name in BUCKETS})

    @property
    def cost(self) -> float:
        """US dollars, as far as prices are known."""
        session = self._agent.open_session
        return session.cost if session is not None else 0.0

    @property
    def model(self) -> str:
        """The model that answers, else what is configured."""
        target, choice = self._agent.target, self._agent.config
        named = choice.model if isinstance(choice.model, str) or choice.model is None else choice.model.id
        return target.model.id if target is not None else named or choice.provider or "no model yet"

    @property
    def window(self) -> int:
        """Tokens that the model takes; 0: unknown."""
        return self._agent.target.model.context_window if self._agent.target is not None else 0

    @property
    def context(self) -> int:
        """Tokens of the context."""
        session = self._agent.open_session
        entries = len(session.entries) if session is not None else 0
        if self._context[0] != entries:
            self._context = (entries, context_tokens(self._agent))
        return self._context[1]

    def indicators(self) -> dict[str, str]:
        """Return what plugins indicate; ``activity`` and ``network`` are always there."""
        return self._indicators.read()
