"""The guard: stops a run before a request that would exceed a budget, and keeps the books of the host."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from skillkit_core.events.results import ModelRequestResult
from skillkit_core.models import TokenUsage

from .books import Books, Scope, Spent, Wish, in_words
from .index import Index, requests_of
from .report import counted, day_of, month_of

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host
    from skillkit_core.contracts.session_store import SessionStore
    from skillkit_core.events.types import AgentEndEvent, AgentStartEvent, BeforeModelRequestEvent, Event, UsageEvent

    from .config import Budget, UsageConfig

__all__ = ["Guard", "elsewhere", "guard_of", "index_of", "month_begins", "stores_of", "zone_of"]

LOOK_AGAIN = 5.0  # seconds after which the guard looks at what other processes have used
_KINDS = ("run", "session", "day", "month")
_guards: WeakKeyDictionary[Host, Guard] = WeakKeyDictionary()


def guard_of(host: Host) -> Guard:
    """Return the guard of a host, whose section ``usage`` has budgets.

    Raises:
        ConfigError: a value does not fit.
    """
    found = _guards.get(host)
    section = host.config.section("usage")
    if found is None or found.section is not section:
        found = _guards[host] = Guard(section, found)
    return found


class Guard:
    """The budgets of a host and its books.

    Args:
        section: the section ``usage``.
        earlier: the guard before the configuration has changed, whose runs go on.
    """

    def __init__(self, section: UsageConfig, earlier: Guard | None = None) -> None:
        self.section = section
        self.zone = zone_of(section)
        self.books = Books(self._budget, self.zone, allow_unpriced=section.unpriced == "allow")
        self._families: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}  # by run: runs and sessions
        self._own: dict[
            str, float
        ] = {}  # runs that the books hold, with their beginnings: a later run may have the same name
        self._begun: set[str] = set()  # sessions whose earlier usage the books hold
        self._index: Index | None = None
        self._looked: float | None = None
        self._day = ""
        self._lock = asyncio.Lock()
        if earlier is not None:
            earlier.close()
            self.books.take_over(earlier.books)
            self._families, self._own, self._begun = earlier._families, earlier._own, earlier._begun

    def close(self) -> None:
        """Close the index."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _budget(self, scope: Scope) -> Budget | None:
        return self.section.budgets.of(scope.kind)

    async def before_model_request(
        self, event: BeforeModelRequestEvent, ctx: HandlerContext
    ) -> ModelRequestResult | None:
        """Reserve what a request may use, or stop the run."""
        runs = _runs(event)
        self._own.setdefault(runs[0], event.ts)
        self._families[runs[0]] = (runs, event.sessions)
        agent = ctx.agent
        async with self._lock:  # two requests at once look at the books one after the other
            if agent is not None:
                await self._catch_up(agent.host, event, ctx)
            wish = self._wish(event, runs)
            stops = self.books.stops(event.ts, wish)
            if stops:
                return ModelRequestResult(stop=True, reason=in_words(stops, wish, event.ts, self.zone))
            self.books.reserve(event.ts, wish)
        return None

    def agent_start(self, event: AgentStartEvent) -> None:
        """Take note of a run: what it uses is in the books."""
        self._own.setdefault(_name(event), event.ts)

    def usage(self, event: UsageEvent) -> None:
        """Add what a request used, and end its reservation."""
        wish = self.books.release(f"{event.session_id}:{event.request}") if event.request else None
        own = ((_name(event),), (event.session_id,) if event.session_id else ())
        runs, sessions = (wish.runs, wish.sessions) if wish is not None else self._families.get(_name(event), own)
        self.books.add(event.ts, runs, sessions, Spent.of(event.usage.total, event.cost))

    def agent_end(self, event: AgentEndEvent) -> None:
        """Forget a run that is over."""
        self.books.end_run(_name(event))
        self._families.pop(_name(event), None)

    def _wish(self, event: BeforeModelRequestEvent, runs: tuple[str, ...]) -> Wish:
        answer = event.max_output or self.section.longest_answer
        cost = event.model.cost_of(TokenUsage(input=event.tokens, output=answer))
        model = f"{event.provider}/{event.model.id}" if event.provider else event.model.id
        name, tokens = f"{event.session_id}:{event.request}", event.tokens + answer
        return Wish(name, runs, event.sessions, model, tokens, cost, answer, assumed=not event.max_output)

    async def _catch_up(self, host: Host, event: BeforeModelRequestEvent, ctx: HandlerContext) -> None:
        """Read what the budgets need to know and the books do not hold."""
        budgets = self.section.budgets
        if budgets.of("session") is not None:
            for session in event.sessions:
                if session not in self._begun:
                    self._begun.add(session)
                    self.books.begin(Scope("session", session), await self._session(host, session, ctx))
        if budgets.of("day") is None and budgets.of("month") is None:
            return
        day, now = day_of(event.ts, self.zone), time.monotonic()
        if self._looked is None:
            self._index = index_of(host)
            await self._index.refresh(stores_of(host))
        elif now - self._looked >= LOOK_AGAIN and self._index is not None:
            leave = {*event.sessions, *self.books.under_way()}
            changed = await self._index.refresh(stores_of(host), only_newest=True, leave=leave)
            if not changed and day == self._day:
                self._looked = now
                return
        elif day == self._day:
            return
        if self._index is not None:
            self.books.elsewhere = elsewhere(self._index, event.ts, self.zone, self._own)
        self._looked, self._day = time.monotonic(), day

    async def _session(self, host: Host, session: str, ctx: HandlerContext) -> Spent:
        """Return what a session, or one above it, used before."""
        if ctx.session.id == session:
            return _sum(requests_of(session, ctx.session.entries))
        for store in stores_of(host).values():
            if session in await store.ids():
                handle = await store.open(session, read_only=True)
                try:
                    return _sum(requests_of(session, handle.entries()))
                finally:
                    await handle.close()
        return Spent()


def _name(event: Event) -> str:
    """Return the name of the run of an event, which no other run of this process has: agents count their runs themselves."""
    return f"{event.session_id}:{event.run_id}"


def _runs(event: BeforeModelRequestEvent) -> tuple[str, ...]:
    """Return the names of the run and of those above it."""
    if len(event.sessions) != len(event.runs):
        return (_name(event), *event.runs[1:])
    return tuple(f"{session}:{run}" for session, run in zip(event.sessions, event.runs, strict=True))


def elsewhere(index: Index, now: float, zone: tzinfo | None, without: Mapping[str, float]) -> Mapping[Scope, Spent]:
    """Return what was used in the day and the month of ``now``, but for the runs ``without`` from their beginnings on."""
    day, month = Scope("day", day_of(now, zone)), Scope("month", month_of(now, zone))
    found = {day: Spent(), month: Spent()}
    for one in counted(index, month_begins(now, zone)):
        request = one.request
        if request.ts >= without.get(f"{one.session}:{request.run}", math.inf):
            continue
        spent = Spent.of(request.tokens, request.cost, int(request.purpose != "adjustment"))
        if day_of(request.ts, zone) == day.key:
            found[day].add(spent)
        if month_of(request.ts, zone) == month.key:
            found[month].add(spent)
    return found


def month_begins(now: float, zone: tzinfo | None) -> float:
    """Return the moment at which the month of ``now`` began."""
    local = datetime.fromtimestamp(now, zone)
    return local.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp()


def zone_of(section: UsageConfig) -> tzinfo | None:
    """Return the time zone of days and months; ``None``: the machine's."""
    return ZoneInfo(section.timezone) if section.timezone else None


def stores_of(host: Host) -> dict[str, SessionStore]:
    """Return the session stores that plugins have registered, by name."""
    return {name: host.session_stores.get(name) for name in host.session_stores.list()}


def index_of(host: Host) -> Index:
    """Return the index in the cache folder of a host; the caller closes it."""
    return Index(Path(host.cache_dir) / "usage")


def _sum(requests: Any) -> Spent:
    found = Spent()
    for request in requests:
        found.add(Spent.of(request.tokens, request.cost, int(request.purpose != "adjustment")))
    return found
