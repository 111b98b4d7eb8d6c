"""The status line: what is special now, the model, what was used, how full the context is, what plugins tell, the title."""

from __future__ import annotations

from skillkit_commands import USUAL
from skillkit_frontend import Books, short

from skillkit_core import TokenUsage
from skillkit_core.cli.output import escaped

__all__ = ["status_line"]

_SURE = 2
"""Parts behind the tokens that stay longer than the tokens: the cost, and how full the context is."""


def status_line(books: Books, width: int) -> str:
    """Return the status line; where it is narrow without tokens, then with the end of the model, then without the last parts."""
    line, (parts, tokens) = "", _parts(books)
    model = parts.index(escaped(books.model))
    if tokens and len(" · ".join(parts[: model + 2 + _SURE])) > width - 2:
        parts.remove(tokens)
        if len(" · ".join(parts[: model + 1 + _SURE])) > width - 2:
            parts[model] = parts[model].rpartition("/")[2]
    for part in parts:
        longer = f"{line} · {part}" if line else part
        if len(longer) > width - 2:
            room = width - 3 - len(line) - 3
            return f"{line} · {part[:room]}…" if part is parts[-1] and room > 8 else line
        line = longer
    return line


def _parts(books: Books) -> tuple[list[str], str]:
    """Return what is said, the most important first, and which of it are the tokens."""
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
    return [part for part in parts if part], tokens


def _counted(used: TokenUsage) -> str:
    """Return tokens in, those of them that came from a cache, and tokens out: ``↑10.4k (8.1k cached) ↓420``."""
    cached = f" ({short(used.cache_read)} cached)" if used.cache_read else ""
    return f"↑{short(used.input + used.cache_read + used.cache_write)}{cached} ↓{short(used.output + used.reasoning)}"
