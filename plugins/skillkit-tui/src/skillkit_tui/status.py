"""The status line: mode, activity, tokens from the session's books, network; then model, cost, context, title.

Where the terminal is too narrow for both parts, the second one stands in the rule above the input line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from skillkit_frontend import Books, short
from textual.content import Content

from skillkit_core import TokenUsage
from skillkit_core.cli.output import escaped, shorten

__all__ = ["Status", "counted"]

WIDE = 120
"""Columns from which on all of it may stand in one line."""
_LEAST = 8
"""Columns that the model keeps beside cost and context."""
_LONGEST = len("COMMAND")
_MODES = {
    "INSERT": "$text-success",
    "NORMAL": "$text-primary",
    "COMMAND": "$text-accent",
    "ASK": "$text-warning",
    "LEADER": "$text-secondary",
    "REPLAY": "$text-secondary",
}


def counted(used: TokenUsage, number: Callable[[int], str] = str) -> str:
    """Return tokens as ``i:1234(c:800) o:567``: in with those that came from a cache, and out."""
    cached = f"(c:{number(used.cache_read)})" if used.cache_read else ""
    return (
        f"i:{number(used.input + used.cache_read + used.cache_write)}{cached} o:{number(used.output + used.reasoning)}"
    )


class Status:
    """Draws the books of a session."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def draw(self, mode: str, hint: str, width: int) -> tuple[Content, Content]:
        """Return the rule above the input line, with the hint, and the status line below it, which is indented."""
        whole, width = width, width - 2
        told = self._books.indicators()
        activity, network = told.pop("activity"), told.pop("network")
        activity = f"{activity}] [{mode_}" if (mode_ := told.pop("mode")) else activity
        facts = self._facts(list(told.values()))
        room = width - len(f"[{activity}] [{network}]") - _LONGEST - 3  # what the mode is called moves nothing
        tokens, one_row = self._tokens(room, len(_joined(facts[:3], width)) if width >= WIDE else width)
        line = Content.assemble(
            (f"[{mode}]", f"bold {_MODES.get(mode, '$text-secondary')}"), " ", (f"[{activity}]", "bold"), " ",
            *([f"[{tokens}]", " "] if tokens else []),
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

    def _tokens(self, room: int, facts: int) -> tuple[str, bool]:
        """Return the tokens as fully as they fit, and whether the facts have room behind them."""
        turn, total = self._books.turn, self._books.total
        forms = (f"{counted(turn)} | {counted(total)}", f"{counted(turn, short)} | {counted(total, short)}")
        for form in forms:
            if len(form) + 3 + 2 + facts <= room:
                return form, True
        return next(
            (form for form in (*forms, counted(total, short), "") if not form or len(form) + 3 <= room), ""
        ), False

    def _facts(self, indicators: Sequence[str]) -> list[str]:
        """Return what is said about the session, the most important first; an empty text is nothing."""
        books = self._books
        context, window = books.context, books.window
        full = f"{context / window:.0%} of {window // 1000}k" if window else f"context {context:,}"
        cost = f"${books.cost:.4f}" if books.cost else ""
        return [escaped(books.model), cost, full if context else "", *indicators, escaped(books.title)]


def _joined(facts: Sequence[str], room: int) -> str:
    """Return the facts that fit; of the model its last part, and of the first one that does not fit the beginning."""
    model, *others = facts
    if cell_len(" · ".join(filter(None, facts[:3]))) > room:
        model = model.rpartition("/")[2]
        cost, both = (cell_len("".join(f" · {part}" for part in others[:some] if part)) for some in (1, 2))
        model = shorten(model, max(_LEAST, room - (both if room - both >= _LEAST else cost)))
    said = model
    for part in filter(None, others):
        left = room - cell_len(said) - 3
        if cell_len(part) > left:
            return f"{said} · {shorten(part, left)}" if left >= 8 else said
        said += f" · {part}"
    return said if cell_len(said) <= room else shorten(said, max(0, room))
