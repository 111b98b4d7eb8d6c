"""The status line: what is special now, the model, what was used, how full the context is, what plugins tell, the title."""

from __future__ import annotations

from skillkit_commands import USUAL
from skillkit_frontend import Books, short

from skillkit_core import TokenUsage
from skillkit_core.cli.output import escaped

__all__ = ["status_line"]


def status_line(books: Books, width: int) -> str:
    """Return the status line; of a narrow terminal's the last parts are left out."""
    line, parts = "", _parts(books)
    for part in parts:
        longer = f"{line} · {part}" if line else part
        if len(longer) > width - 2:
            room = width - 3 - len(line) - 3
            return f"{line} · {part[:room]}…" if part is parts[-1] and room > 8 else line
        line = longer
    return line


def _parts(books: Books) -> list[str]:
    """Return what is said, the most important first."""
    told = books.indicators()
    special = [said for name, usual in USUAL.items() if (said := told.pop(name)) != usual]
    used, turn, context, window = books.total, books.turn, books.context, books.window
    tokens = _counted(used) if used.total else ""
    if 0 < turn.total < used.total:
        tokens = f"{_counted(turn)} of {tokens}"
    cost = f"${books.cost:.4f}" if books.cost < 1 else f"${books.cost:.2f}"
    full = f"{context / window:.0%} of {short(window)}" if window else f"context {short(context)}"
    parts = [
        *special, escaped(books.model), tokens, cost if books.cost else "", full if context else "", *told.values(),
        escaped(books.title),
    ]  # fmt: skip
    return [part for part in parts if part]


def _counted(used: TokenUsage) -> str:
    """Return tokens in, those of them that came from a cache, and tokens out: ``↑10.4k (8.1k cached) ↓420``."""
    cached = f" ({short(used.cache_read)} cached)" if used.cache_read else ""
    return f"↑{short(used.input + used.cache_read + used.cache_write)}{cached} ↓{short(used.output + used.reasoning)}"
