"""``/usage``: what the messages of a session used, from the core's books, and how full the context is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_core import TokenUsage

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface
    from skillkit_core.contracts.session_store import SessionEntry

__all__ = ["context_tokens", "usage"]

_SHOWN = 15  # messages; earlier ones are one row
_MESSAGE = 30  # characters of a message
_BUCKETS = ("input", "output", "cache_read", "cache_write", "reasoning")


@dataclass(slots=True)
class _Row:
    """What was used for a message.

    Attributes:
        text: beginning of the message.
        tokens: tokens of all requests.
        cost: US dollars, as far as prices are known.
        unknown: a request has no price.
    """

    text: str
    tokens: TokenUsage
    cost: float = 0.0
    unknown: bool = False

    def add(self, tokens: TokenUsage, cost: float | None) -> None:
        """Add a request; one that used nothing needs no price."""
        self.tokens += tokens
        self.cost += cost or 0.0
        self.unknown = self.unknown or (cost is None and tokens.total > 0)

    @property
    def price(self) -> str:
        """Return the cost in words."""
        if not self.unknown:
            return f"${self.cost:.4f}"
        return f"${self.cost:.4f} + not known" if self.cost else "not known"


async def usage(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """Show what each message used, all of them together, and how much of the context is left."""
    session = agent.open_session
    rows = _rows(session.entries) if session is not None else []
    if not rows:
        return "Nothing was used yet."
    total = _sum("in all", rows)
    earlier = [_sum(f"{len(rows) - _SHOWN} earlier messages", rows[:-_SHOWN])] if len(rows) > _SHOWN else []
    lines = [("message", "in", "of it cached", "out", "cost")]
    lines += [_cells(row) for row in (*earlier, *rows[-_SHOWN:], total)]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    shown = ["  ".join(_aligned(line, widths)).rstrip() for line in lines]
    return "\n".join([*shown, "", _context(agent)])


def context_tokens(agent: AgentRunner) -> int:
    """Return the tokens of the context: of the last request on this branch, else as they are estimated."""
    session = agent.open_session
    if session is None or not session.messages:
        return 0
    path = {entry.id for entry in session.path()}
    for entry in reversed(session.entries):
        if entry.type in ("compaction", "leaf"):
            break
        if (
            entry.type == "usage"
            and entry.data.get("purpose") == "turn"
            and _tokens(entry).total
            and entry.parent_id in path
        ):
            return _tokens(entry).total
    return agent.estimate_tokens(session.messages)


def _context(agent: AgentRunner) -> str:
    used = context_tokens(agent)
    window = agent.target.model.context_window if agent.target is not None else 0
    if not window:
        return f"Context: about {used:,} tokens. How many the model takes is not known."
    return f"Context: about {used:,} of {window:,} tokens ({used / window:.0%}), {max(0, window - used):,} are left."


def _rows(entries: Sequence[SessionEntry]) -> list[_Row]:
    """Return what the requests after each message of a person used, in the order of the session, all branches."""
    rows: list[_Row] = []
    for entry in entries:
        if entry.type == "message" and entry.data["message"].get("role") == "user":
            blocks = entry.data["message"].get("content", ())
            text = " ".join(" ".join(str(block.get("text", "")) for block in blocks).split())
            rows.append(_Row(text if len(text) <= _MESSAGE else text[: _MESSAGE - 1] + "…", TokenUsage()))
        elif entry.type == "usage":
            if not rows:
                rows.append(_Row("(before the first)", TokenUsage()))
            rows[-1].add(_tokens(entry), entry.data.get("cost"))
    return [row for row in rows if row.tokens.total]


def _sum(text: str, rows: Sequence[_Row]) -> _Row:
    found = _Row(text, TokenUsage())
    for row in rows:
        found.tokens += row.tokens
        found.cost += row.cost
        found.unknown = found.unknown or row.unknown
    return found


def _tokens(entry: SessionEntry) -> TokenUsage:
    return TokenUsage(**{name: entry.data.get(name, 0) for name in _BUCKETS})


def _cells(row: _Row) -> tuple[str, str, str, str, str]:
    used = row.tokens
    read = used.input + used.cache_read + used.cache_write
    return row.text, f"{read:,}", f"{used.cache_read:,}", f"{used.output + used.reasoning:,}", row.price


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells of a line in columns: numbers at the right, words at the left."""
    return [
        cell.ljust(width) if place in (0, len(cells) - 1) else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
