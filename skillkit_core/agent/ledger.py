"""The usage ledger of a run: tokens and cost of every request, and the limits that they must keep (spec, sections 7 and 12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..events.types import UsageEvent
from ..frozen import FrozenDict
from ..models import BUCKETS, TokenUsage
from ..stream import MessageBuilder

if TYPE_CHECKING:
    from ..config import Limits
    from ..events.bus import EventBus
    from .nesting import Parent
    from .session import Session
    from .target import Target

__all__ = ["LimitReached", "UsageLedger"]

Purpose: TypeAlias = Literal["turn", "compaction", "tool"]


class LimitReached(Exception):
    """A limit of the run forbids another request; the text says which."""


class UsageLedger:
    """What one run uses, nested runs included; each request is one ``usage`` entry of the session.

    Attributes:
        usage: tokens so far.
        cost: US dollars so far; ``None``: a price is unknown.
        turns: turns that have begun.
        requests: requests that were made.
        tool_calls: calls of all answers.
        limits: the bounds of the run.
    """

    def __init__(self, bus: EventBus, limits: Limits, parent: Parent | None) -> None:
        self.usage = TokenUsage()
        self.cost: float | None = 0.0
        self.turns = self.requests = self.tool_calls = 0
        self._bus = bus
        self.limits = limits
        self._parent = parent
        self._session: Session | None = None
        self._open: dict[MessageBuilder, tuple[Purpose, Target]] = {}  # requests without an entry yet
        self._ended = False

    def write_into(self, session: Session) -> None:
        """Write the entries into this session."""
        self._session = session

    def end(self) -> None:
        """Write no entry any more; what nested runs use still counts."""
        self._ended = True

    def begin_turn(self) -> None:
        """Count a turn; raise :class:`LimitReached` when a limit forbids it."""
        if self.limits.turns is not None and self.turns >= self.limits.turns:
            raise LimitReached(f"the limit of {self.limits.turns:g} turns is reached")
        self.require_room()
        self.turns += 1

    def count_tool_calls(self, calls: int) -> None:
        """Count the tool calls of an answer."""
        self.tool_calls += calls

    def open(self, request: MessageBuilder, purpose: Purpose, target: Target) -> None:
        """Count a request that is about to be made; :meth:`close` writes its entry, also after an abort."""
        self._open[request] = (purpose, target)
        if purpose == "turn":
            self.requests += 1

    async def close(self, request: MessageBuilder, error: str | None = None) -> None:
        """Write the entry of a request, with what is known of its usage."""
        purpose, target = self._open[request]
        error = error if error is not None or request.error is None else str(request.error)
        await self.record(request.usage or TokenUsage(), purpose, target, error, request)

    async def close_aborted(self) -> None:
        """Write the entries of requests that were cut off."""
        for request in tuple(self._open):
            await self.close(request, "aborted")

    async def record(
        self,
        usage: TokenUsage,
        purpose: Purpose,
        target: Target | None,
        error: str | None = None,
        request: MessageBuilder | None = None,
    ) -> None:
        """Write an entry, and add to the sums of this run and of its ancestors.

        An entry that was written before an abort counts, and is not written again.
        """
        cost, entry = _entry(usage, purpose, target, error)
        session = self._session
        cut: BaseException | None = None
        try:
            if session is not None:
                await session.append("usage", entry)
        except BaseException as raised:  # noqa: BLE001 - raised again when the ledgers of the ancestors are right, too
            cut = raised
        if cut is None or session is None or session.holds(entry):
            if request is not None:
                del self._open[request]
            self.add(usage, cost)
            await self._count_above(usage, cost, entry)
        if cut is not None:
            raise cut
        if "usage" in self._bus.table:
            about = {name: entry[name] for name in ("provider", "model", "purpose")}
            await self._bus.fire(UsageEvent, usage=usage, cost=cost, **about)

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        """Add to the sums; a cost of ``None`` is unknown, and makes the sum unknown."""
        self.usage = self.usage + usage
        if usage.total:
            self.cost = None if cost is None or self.cost is None else self.cost + cost

    async def _count_above(self, usage: TokenUsage, cost: float | None, entry: Mapping[str, Any]) -> None:
        """Write the usage into the ledger of every ancestor: once each, without an event.

        The entries there have the purpose ``nested`` and name the session that has the details.
        """
        parent = self._parent
        if parent is None:
            return
        own = self._session.id if self._session is not None else None
        nested = {**entry, "purpose": "nested", "session": own, "agent_path": self._bus.agent_path}
        while parent is not None:
            if parent.call is not None:
                parent.call.add_nested(usage)
            ledger = parent.run.ledger
            ledger.add(usage, cost)  # also when the run has ended: its budget holds for what it left behind
            if not ledger._ended and ledger._session is not None:
                await ledger._session.append("usage", nested)
            parent = ledger._parent

    def lower(self, limits: Limits) -> None:
        """Keep these bounds, too, where they are lower."""
        self.limits = self.limits.lowered(limits)

    def require_room(self) -> None:
        """Raise :class:`LimitReached` when a limit of this run, or a budget of an ancestor, forbids another request."""
        limits = self.limits
        for bound, used, unit in (
            (limits.requests, self.requests, "requests"),
            (limits.tool_calls, self.tool_calls, "tool calls"),
        ):
            if bound is not None and used >= bound:
                raise LimitReached(f"the limit of {bound:g} {unit} is reached")
        ledger, where = self, ""
        while True:
            limits = ledger.limits
            if limits.tokens is not None:
                _check(limits.tokens, ledger.usage.total, "tokens", where)
            if limits.cost is not None:
                _check(limits.cost, ledger.cost or 0.0, "US dollars", where)
            if ledger._parent is None:
                return
            ledger, where = ledger._parent.run.ledger, " in the run that this one is a part of"


def _check(bound: float | None, used: float, unit: str, where: str = "") -> None:
    if bound is not None and used >= bound:
        raise LimitReached(f"the limit of {bound:g} {unit} is reached{where}")


def _entry(
    usage: TokenUsage, purpose: Purpose, target: Target | None, error: str | None
) -> tuple[float | None, Mapping[str, Any]]:
    """Return the cost, and the data of a ``usage`` entry."""
    cost = target.model.cost_of(usage) if target is not None else None
    data: dict[str, Any] = {name: count for name in BUCKETS if (count := getattr(usage, name))}
    data["provider"] = target.provider if target is not None else ""
    data["model"] = target.model.id if target is not None else ""
    data["purpose"] = purpose
    if cost is not None:
        data["cost"] = cost
    if usage.raw:
        data["raw"] = usage.raw  # frozen already
    if error is not None:
        data["error"] = error
    return cost, FrozenDict(data)
