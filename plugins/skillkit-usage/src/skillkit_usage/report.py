"""Reports: every request once, summed by day, month, session, model, skill, engine, tool or run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .index import Index, Request

__all__ = ["BUCKETS", "BY", "Counted", "Sum", "counted", "day_of", "month_of", "summed", "with_nested"]

BUCKETS = ("input", "output", "cache_read", "cache_write", "reasoning")
BY = ("day", "month", "session", "model", "skill", "engine", "tool", "run")


@dataclass(slots=True)
class Sum:
    """What requests used.

    Attributes:
        requests: the number of requests; an adjustment is none.
        input: tokens that were not cached; the other buckets as in :class:`~skillkit_core.TokenUsage`.
        cost: US dollars of the requests whose price is known.
        unpriced: the number of requests that used tokens and have no price.
        priced: the number of entries that have a price.
        estimated: the number of requests that were cut off, so that their usage is an estimate.
    """

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float = 0.0
    unpriced: int = 0
    priced: int = 0
    estimated: int = 0

    @property
    def tokens(self) -> int:
        """All tokens of all buckets."""
        return self.input + self.output + self.cache_read + self.cache_write + self.reasoning

    def add(self, request: Request) -> None:
        """Add a request."""
        self.requests += request.purpose != "adjustment"
        self.estimated += bool(request.estimated)
        self.input += request.input
        self.output += request.output
        self.cache_read += request.cache_read
        self.cache_write += request.cache_write
        self.reasoning += request.reasoning
        if request.cost is not None:
            self.cost += request.cost
            self.priced += 1
        elif any((request.input, request.output, request.cache_read, request.cache_write, request.reasoning)):
            self.unpriced += 1

    def to_dict(self) -> dict[str, Any]:
        """Return the sums as JSON output shows them; ``cost`` is ``None`` where no price is known."""
        tokens = {name: getattr(self, name) for name in BUCKETS}
        cost = None if self.unpriced and not self.priced else round(self.cost, 10)
        about = {"cost": cost, "unpriced": self.unpriced, "estimated": self.estimated}
        return {"requests": self.requests, **tokens, "tokens": self.tokens, **about}


class Counted(NamedTuple):
    """A request, once.

    Attributes:
        request: the entry that counts.
        session: the session that made the request.
        tool: the tool that reported it, else the nearest one whose call began the run; empty: none.
        skill: the skill for which it was made; empty: none.
    """

    request: Request
    session: str
    tool: str
    skill: str


def counted(
    index: Index, since: float | None = None, until: float | None = None, session: str | None = None
) -> Iterator[Counted]:
    """Yield every request once.

    The books of a session hold what nested runs used. Such a copy counts where the nested session itself is not there, and
    then the nearest one. With ``session``, all entries of its books count, and no others.
    """
    parents = index.parents()
    holders: dict[tuple[str | None, str], set[str]] = {}
    tools: dict[tuple[str | None, str], str] = {}
    skills: dict[tuple[str | None, str], str] = {}
    for copy in index.nested():
        run = (copy.inner, copy.run)
        holders.setdefault(run, set()).add(copy.session)
        tools[run] = copy.via or tools.get(run, "")
        skills[run] = copy.skill or skills.get(run, "")
    for one in index.requests(since, until, None if session is None else [session]):
        nested = one.purpose == "nested"
        run = (one.inner if nested else one.session, one.run)
        if nested and session is None:
            others = holders.get(run, ())
            if one.inner in parents or any(_above(one.session, other, parents) for other in others):
                continue
        own = (one.inner or one.session) if nested else one.session
        yield Counted(one, own, one.tool or one.via or tools.get(run, ""), one.skill or skills.get(run, ""))


def _above(upper: str, lower: str, parents: Mapping[str, str | None]) -> bool:
    """Return whether the session ``upper`` is above ``lower``."""
    seen = {lower}
    current = parents.get(lower)
    while current is not None and current not in seen:
        if current == upper:
            return True
        seen.add(current)
        current = parents.get(current)
    return False


def summed(
    index: Index,
    by: str,
    zone: tzinfo | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    session: str | None = None,
) -> tuple[dict[str, Sum], Sum]:
    """Return the sums by ``by`` (one of ``BY``), and of all requests.

    Args:
        zone: time zone of days and months; ``None``: the machine's.
        since: only requests from this moment on, in seconds since the epoch.
        until: only requests before this moment.
        session: only what this session used, its nested runs included.
    """
    key = _keys(by, zone)
    rows: dict[str, Sum] = {}
    total = Sum()
    for one in counted(index, since, until, session):
        total.add(one.request)
        rows.setdefault(key(one), Sum()).add(one.request)
    return rows, total


def with_nested(index: Index, since: float | None = None, until: float | None = None) -> dict[str, Sum]:
    """Return the sums of every session's books, in which what nested runs used counts in all sessions above as well."""
    rows: dict[str, Sum] = {}
    for one in index.requests(since, until):
        rows.setdefault(one.session, Sum()).add(one)
    return rows


def day_of(ts: float, zone: tzinfo | None) -> str:
    """Return the day of a moment, ``YYYY-MM-DD``."""
    return datetime.fromtimestamp(ts, zone).strftime("%Y-%m-%d")


def month_of(ts: float, zone: tzinfo | None) -> str:
    """Return the month of a moment, ``YYYY-MM``."""
    return day_of(ts, zone)[:7]


def _keys(by: str, zone: tzinfo | None) -> Callable[[Counted], str]:
    if by == "day":
        return lambda one: day_of(one.request.ts, zone)
    if by == "month":
        return lambda one: month_of(one.request.ts, zone)
    if by == "session":
        return lambda one: one.session
    if by == "model":
        return lambda one: f"{one.request.provider}/{one.request.model}" if one.request.provider else one.request.model
    if by == "skill":
        return lambda one: one.skill
    if by == "engine":
        return lambda one: one.request.engine
    if by == "tool":
        return lambda one: one.tool
    # the id of a run is unique in its session
    return lambda one: f"{one.session}:{one.request.run}" if one.request.run else ""
