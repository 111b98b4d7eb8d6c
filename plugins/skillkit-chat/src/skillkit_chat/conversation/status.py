"""The status line: what is special now, the model, what was used, how full the context is, what plugins tell, the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_commands import USUAL, Indicators, context_tokens

from skillkit_core import TokenUsage, UsageEvent
from skillkit_core.cli.output import escaped
from skillkit_core.models import BUCKETS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Status", "short"]


def short(number: int) -> str:
    """Return a number in at most four characters and a letter: ``950``, ``12.3k``, ``1.2M``."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            value = number / size
            return f"{value:.0f}{letter}" if value >= 100 else f"{value:.1f}{letter}"
    return str(number)


def _counted(used: TokenUsage) -> str:
    """Return tokens in, those of them that came from a cache, and tokens out: ``↑10.4k (8.1k cached) ↓420``."""
    cached = f" ({short(used.cache_read)} cached)" if used.cache_read else ""
    return f"↑{short(used.input + used.cache_read + used.cache_write)}{cached} ↓{short(used.output + used.reasoning)}"


class Status:
    """Counts what an agent and those below it use.

    Attributes:
        title: what the session is called; empty: nothing yet.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent, self._indicators = agent, Indicators(agent)
        self.title = ""
        self.begin()

    def begin(self) -> None:
        """Count from what the open session says."""
        session = self._agent.open_session
        self.begin_turn()
        titles = (
            [e.data.get("title") for e in session.entries if e.type == "session_info"] if session is not None else []
        )
        self.title = next((str(title) for title in reversed(titles) if title), "")
        self._context = context_tokens(self._agent)

    def begin_turn(self) -> None:
        """Count from here what a turn uses."""
        self._before = self._total

    @property
    def _total(self) -> TokenUsage:
        """What the session used, from its books."""
        session = self._agent.open_session
        return session.usage if session is not None else TokenUsage()

    def used(self, event: UsageEvent) -> None:
        """Take over how long the context is."""
        if event.usage.total and event.purpose == "turn" and len(event.agent_path) == 1:
            self._context = event.usage.total

    def shortened(self, tokens: int) -> None:
        """Take the context for ``tokens`` long."""
        self._context = tokens

    def text(self, width: int) -> str:
        """Return the line; of a narrow terminal's the last parts are left out."""
        target, choice = self._agent.target, self._agent.config
        named = choice.model if isinstance(choice.model, str) or choice.model is None else choice.model.id
        model = target.model.id if target is not None else named or choice.provider or "no model yet"
        used, before, session = self._total, self._before, self._agent.open_session
        cost = session.cost if session is not None else 0.0
        told = self._indicators.read()
        special = [said for name, usual in USUAL.items() if (said := told.pop(name)) != usual]
        parts = [*special, escaped(model)]
        if before.total and used.total > before.total:
            turn = TokenUsage(**{name: getattr(used, name) - getattr(before, name) for name in BUCKETS})
            parts.append(f"{_counted(turn)} of {_counted(used)}")
        elif used.total:
            parts.append(_counted(used))
        if cost:
            parts.append(f"${cost:.4f}" if cost < 1 else f"${cost:.2f}")
        window = target.model.context_window if target is not None else 0
        if self._context:
            parts.append(
                f"{self._context / window:.0%} of {short(window)}" if window else f"context {short(self._context)}"
            )
        parts += filter(None, told.values())
        if self.title:
            parts.append(escaped(self.title))
        line = ""
        for part in parts:
            longer = f"{line} · {part}" if line else part
            if len(longer) > width - 2:
                room = width - 3 - len(line) - 3
                return f"{line} · {part[:room]}…" if part is parts[-1] and room > 8 else line
            line = longer
        return line
