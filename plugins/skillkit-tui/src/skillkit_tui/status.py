"""The status line: mode, activity, tokens from the session's books, network; then model, cost, context, title.

Where the terminal is too narrow for both parts, the second one stands in the rule above the input line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from skillkit_commands import Indicators, context_tokens
from textual.content import Content

from skillkit_core import TokenUsage
from skillkit_core.cli.output import escaped, shorten
from skillkit_core.models import BUCKETS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Status", "counted", "short"]

WIDE = 120
"""Columns from which on all of it may stand in one line."""
_LONGEST = len("COMMAND")
_MODES = {
    "INSERT": "$text-success",
    "NORMAL": "$text-primary",
    "COMMAND": "$text-accent",
    "ASK": "$text-warning",
    "LEADER": "$text-secondary",
    "REPLAY": "$text-secondary",
}


def short(number: int) -> str:
    """Return a number in at most five characters: ``987``, ``1.2k``, ``123k``, ``4.5M``."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size - size // 2_000:  # what would be rounded to 1000k is 1.0M
            return f"{number / size:.1f}{unit}" if number < 99.95 * size else f"{number / size:.0f}{unit}"
    return str(number)


def counted(used: TokenUsage, number: Callable[[int], str] = str) -> str:
    """Return tokens as ``i:1234(c:800) o:567``: in with those that came from a cache, and out."""
    cached = f"(c:{number(used.cache_read)})" if used.cache_read else ""
    return (
        f"i:{number(used.input + used.cache_read + used.cache_write)}{cached} o:{number(used.output + used.reasoning)}"
    )


def _less(all_: TokenUsage, before: TokenUsage) -> TokenUsage:
    """Return what was used since ``before``."""
    return TokenUsage(**{name: getattr(all_, name) - getattr(before, name) for name in BUCKETS})


class Status:
    """Reads the books of an agent's session.

    Attributes:
        title: what the session is called.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self.title = ""
        self._before = TokenUsage()
        self._context = (-1, 0)
        self._indicators = Indicators(agent)

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
        return _less(self.total, self._before)

    def _context_part(self) -> str:
        session, target = self._agent.open_session, self._agent.target
        if session is None:
            return ""
        entries = len(session.entries)
        if self._context[0] != entries:
            self._context = (entries, context_tokens(self._agent))
        window, used = (target.model.context_window if target is not None else 0), self._context[1]
        if not used:
            return ""
        return f"{used / window:.0%} of {window // 1000}k" if window else f"context {used:,}"

    def draw(self, mode: str, hint: str, width: int) -> tuple[Content, Content]:
        """Return the rule above the input line, with the hint, and the status line below it, which is indented."""
        whole, width = width, width - 2
        told = self._indicators.read()
        activity, network = told.pop("activity"), told.pop("network")
        facts = self._facts(list(told.values()))
        room = width - len(f"[{activity}] [{network}]") - _LONGEST - 3  # what the mode is called moves nothing
        books, one_row = self._books(room, len(_joined(facts[:3], width)) if width >= WIDE else width)
        line = Content.assemble(
            (f"[{mode}]", f"bold {_MODES.get(mode, '$text-secondary')}"), " ", (f"[{activity}]", "bold"), " ",
            *([f"[{books}]", " "] if books else []),
            (f"[{network}]", "$text-error" if network.endswith("off") else "$text-success"),
        )  # fmt: skip
        if one_row:
            line = Content.assemble(line, "  ", _joined(facts, width - line.cell_length - 2))
        left = f" {shorten(hint, max(8, width - 20))} " if hint else ""
        right = "" if one_row else _joined(facts, width - cell_len(left) - 5)
        right = f" {right} " if right else ""
        fill = "─" * max(0, whole - cell_len(left) - cell_len(right) - 2)
        rule = Content.assemble("─", (left, "bold $text-warning"), fill, (right, "$foreground"), "─")
        return rule, line.truncate(width, ellipsis=True)

    def _books(self, room: int, facts: int) -> tuple[str, bool]:
        """Return the tokens as fully as they fit, and whether the facts have room behind them."""
        turn, total = self.turn, self.total
        forms = (f"{counted(turn)} | {counted(total)}", f"{counted(turn, short)} | {counted(total, short)}")
        for form in forms:
            if len(form) + 3 + 2 + facts <= room:
                return form, True
        return next(
            (form for form in (*forms, counted(total, short), "") if not form or len(form) + 3 <= room), ""
        ), False

    def _facts(self, indicators: Sequence[str]) -> list[str]:
        """Return what is said about the session, the most important first; an empty text is nothing."""
        agent = self._agent
        session, choice = agent.open_session, agent.config
        named: Any = choice.model if isinstance(choice.model, str) or choice.model is None else choice.model.id
        model = agent.target.model.id if agent.target is not None else named or choice.provider or "no model yet"
        cost = session.cost if session is not None else 0.0
        return [
            escaped(str(model)), f"${cost:.4f}" if cost else "", self._context_part(), *indicators, escaped(self.title)
        ]  # fmt: skip


def _joined(facts: Sequence[str], room: int) -> str:
    """Return the facts that fit; of the model its last part, and of the first one that does not fit the beginning."""
    model, *others = facts
    if cell_len(" · ".join(filter(None, facts[:3]))) > room:
        model = model.rpartition("/")[2]
        model = shorten(model, max(8, room - cell_len("".join(f" · {part}" for part in others[:1] if part))))
    said = model
    for part in filter(None, others):
        left = room - cell_len(said) - 3
        if cell_len(part) > left:
            return f"{said} · {shorten(part, left)}" if left >= 8 else said
        said += f" · {part}"
    return said if cell_len(said) <= room else shorten(said, max(0, room))
