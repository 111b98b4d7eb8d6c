"""The books of the budgets: what is spent, what is under way, and whether the next request fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from .report import day_of, month_of

if TYPE_CHECKING:
    from .config import Budget

__all__ = ["Books", "Scope", "Spent", "Stop", "Wish", "dollars", "in_words", "until"]

_ROUNDING = 1e-9  # dollars that sums of floats may be off


class Scope(NamedTuple):
    """Where a budget holds.

    Attributes:
        kind: ``run``, ``session``, ``day`` or ``month``.
        key: the id of the run or session, the day ``YYYY-MM-DD``, the month ``YYYY-MM``.
    """

    kind: str
    key: str


@dataclass(slots=True)
class Spent:
    """What was used in a scope.

    Attributes:
        cost: US dollars of the requests whose price is known.
        tokens: tokens of all kinds.
        requests: requests, failed ones included.
        unpriced: requests that used tokens and have no price.
    """

    cost: float = 0.0
    tokens: int = 0
    requests: int = 0
    unpriced: int = 0

    def add(self, other: Spent, sign: int = 1) -> None:
        """Add what ``other`` used; with ``sign=-1`` take it away."""
        self.cost += sign * other.cost
        self.tokens += sign * other.tokens
        self.requests += sign * other.requests
        self.unpriced += sign * other.unpriced

    @classmethod
    def of(cls, tokens: int, cost: float | None, requests: int = 1) -> Spent:
        """Return what one request used; one that used nothing needs no price."""
        return cls(cost or 0.0, tokens, requests, int(cost is None and tokens > 0))


class Wish(NamedTuple):
    """A request that is about to be made, at its dearest.

    Attributes:
        name: its name.
        runs: the run and those above it.
        sessions: their sessions.
        model: provider and id of the model, for people.
        tokens: tokens of input and longest answer.
        cost: US dollars; ``None``: the price is not known.
        answer: tokens of the longest answer.
        assumed: nobody knows the longest answer, ``answer`` is an assumption.
    """

    name: str
    runs: tuple[str, ...]
    sessions: tuple[str, ...]
    model: str
    tokens: int
    cost: float | None
    answer: int = 0
    assumed: bool = False


class Stop(NamedTuple):
    """A budget that a request would exceed.

    Attributes:
        scope: where the budget holds.
        unit: ``cost``, ``tokens`` or ``requests``.
        limit: the budget.
        spent: what is spent.
        reserved: what requests under way may still use.
        unknown: a price is not known, so nobody can say that the request fits.
    """

    scope: Scope
    unit: str
    limit: float
    spent: float
    reserved: float
    unknown: bool


@dataclass(slots=True)
class _Reserved:
    wish: Wish
    scopes: tuple[Scope, ...]
    spent: Spent = field(default_factory=Spent)


class Books:
    """Sums by scope, and reservations of the requests under way.

    Args:
        budget: returns the budget of a scope, ``None`` where there is none.
        zone: time zone of days and months; ``None``: the machine's.
        allow_unpriced: let requests pass a budget in dollars although a price is not known.
    """

    def __init__(
        self, budget: Callable[[Scope], Budget | None], zone: tzinfo | None = None, *, allow_unpriced: bool = False
    ) -> None:
        self._budget = budget
        self._zone = zone
        self._allow = allow_unpriced
        self._spent: dict[Scope, Spent] = {}
        self._reserved: dict[str, _Reserved] = {}
        self.elsewhere: Mapping[Scope, Spent] = {}
        """What others used in days and months, which :meth:`add` was not told."""

    def scopes(self, now: float, runs: tuple[str, ...], sessions: tuple[str, ...]) -> tuple[Scope, ...]:
        """Return the scopes of a request: run, session, day, month, from inside out."""
        return (
            *(Scope("run", run) for run in runs),
            *(Scope("session", session) for session in sessions),
            Scope("day", day_of(now, self._zone)),
            Scope("month", month_of(now, self._zone)),
        )

    def add(self, ts: float, runs: tuple[str, ...], sessions: tuple[str, ...], spent: Spent) -> None:
        """Add a request that was made."""
        for scope in self.scopes(ts, runs, sessions):
            self._spent.setdefault(scope, Spent()).add(spent)

    def begin(self, scope: Scope, spent: Spent) -> None:
        """Set what was used in a scope before these books began."""
        self._spent[scope] = spent

    def take_over(self, earlier: Books) -> None:
        """Go on with the sums and reservations of other books, whose budgets were others."""
        self._spent, self._reserved = earlier._spent, earlier._reserved

    def spent(self, scope: Scope) -> Spent:
        """Return what was used in a scope."""
        sum_ = Spent()
        for part in (self._spent.get(scope), self.elsewhere.get(scope)):
            if part is not None:
                sum_.add(part)
        return sum_

    def reserve(self, now: float, wish: Wish) -> None:
        """Reserve what a request may use, until :meth:`release`."""
        spent = Spent.of(wish.tokens, wish.cost)
        self._reserved[wish.name] = _Reserved(wish, self.scopes(now, wish.runs, wish.sessions), spent)

    def release(self, name: str) -> Wish | None:
        """End the reservation of a request, and return it."""
        found = self._reserved.pop(name, None)
        return found.wish if found is not None else None

    def end_run(self, run: str) -> None:
        """Forget the sums of a run, and what its requests and those of its nested runs had reserved."""
        for name in [name for name, held in self._reserved.items() if run in held.wish.runs]:
            del self._reserved[name]
        self._spent.pop(Scope("run", run), None)

    def under_way(self) -> set[str]:
        """Return the sessions of the requests under way."""
        return {session for held in self._reserved.values() for session in held.wish.sessions}

    def stops(self, now: float, wish: Wish) -> list[Stop]:
        """Return the budgets that a request would exceed; a sum that equals a budget does not exceed it."""
        wanted = Spent.of(wish.tokens, wish.cost)
        found: list[Stop] = []
        for scope in self.scopes(now, wish.runs, wish.sessions):
            budget = self._budget(scope)
            if budget is None:
                continue
            spent, reserved = self.spent(scope), self._under_way(scope, now, wish.name)
            for unit in ("cost", "tokens", "requests"):
                limit = getattr(budget, unit)
                if limit is None:
                    continue
                used, held = getattr(spent, unit), getattr(reserved, unit)
                over = used + held + getattr(wanted, unit) > limit + (_ROUNDING if unit == "cost" else 0)
                blind = unit == "cost" and spent.unpriced + reserved.unpriced + wanted.unpriced > 0
                unknown = blind and not self._allow
                if over or unknown:
                    found.append(Stop(scope, unit, limit, used, held, unknown and not over))
        return found

    def _under_way(self, scope: Scope, now: float, but: str) -> Spent:
        """Return what others than the request ``but`` have reserved; what is under way counts for today, whenever it began."""
        today = self.scopes(now, (), ())
        sum_ = Spent()
        for name, held in self._reserved.items():
            # guards of the runs above take part in a nested run, so that a request may be asked about twice
            if name != but and (scope in today or scope in held.scopes):
                sum_.add(held.spent)
        return sum_


def dollars(amount: float) -> str:
    """Return an amount in dollars, with as many digits as it needs."""
    return f"${amount:,.2f}" if abs(amount) >= 1 or round(amount, 2) == round(amount, 6) else f"${amount:.4f}"


def in_words(stops: list[Stop], wish: Wish, now: float, zone: tzinfo | None) -> str:
    """Return why a request is not made, with the figures, and what to do."""
    reasons = [_reason(stop, wish) for stop in stops]
    keys = ", ".join(dict.fromkeys(f"usage.budgets.{stop.scope.kind}.{stop.unit}" for stop in stops))
    ways = [f"raise {keys}"]
    if any(stop.unknown for stop in stops):
        ways.append("give the model a price, or set usage.unpriced to allow")
    if any(stop.unit != "requests" and not stop.unknown for stop in stops) and wish.answer:
        ways.append("ask for a shorter answer (max_tokens) or a cheaper model")
    ends = [end for stop in stops if (end := until(stop.scope.kind, now, zone)) is not None]
    if len(ends) == len(stops):
        ways.append(f"wait until {max(ends):%Y-%m-%d %H:%M}")
    return f"{'; '.join(reasons)}. To go on, {', or '.join(ways)}"


def until(kind: str, now: float, zone: tzinfo | None) -> datetime | None:
    """Return when a day or month ends, ``None`` for other scopes."""
    day = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if kind == "day":
        return day + timedelta(days=1)
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1) if kind == "month" else None


def _reason(stop: Stop, wish: Wish) -> str:
    of = {"run": "of this run", "session": "of this session", "day": "of the day", "month": "of the month"}[
        stop.scope.kind
    ]
    if stop.scope.kind in ("run", "session"):
        inner = (wish.runs if stop.scope.kind == "run" else wish.sessions)[:1]
        if stop.scope.key not in inner:
            of = f"of the {stop.scope.kind} above ({stop.scope.key})"
    if stop.unknown:
        what = f"the price of {wish.model}" if wish.cost is None else "the price of an earlier request"
        return f"{what} is not known, so the budget {of} of {dollars(stop.limit)} cannot hold"
    shown = dollars if stop.unit == "cost" else lambda n: f"{n:,.0f} {stop.unit}"
    used = f"{shown(stop.spent)} used" + (f", up to {shown(stop.reserved)} under way" if stop.reserved else "")
    if stop.unit == "requests":
        return f"the budget {of} is {shown(stop.limit)}: {used}"
    asked = wish.cost if stop.unit == "cost" and wish.cost is not None else wish.tokens
    answer = f"an answer of {'an assumed ' if wish.assumed else ''}{wish.answer:,} tokens"
    return (
        f"the budget {of} is {shown(stop.limit)}: {used}, and this request may take {shown(asked)} "
        f"(about {wish.tokens - wish.answer:,} tokens in, {answer})"
    )
