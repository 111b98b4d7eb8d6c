"""The usage ledger of a run: tokens and cost of every request, and the limits of the run (spec, sections 7 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..errors import ErrorKind, LimitReached, SessionError
from ..events.results import ModelRequestResult
from ..events.types import BeforeModelRequestEvent, UsageEvent
from ..frozen import FrozenDict
from ..models import BUCKETS, TokenUsage
from ..stream import MessageBuilder

if TYPE_CHECKING:
    from ..config import Limits
    from ..contracts.adapter import LLMRequest
    from ..events.bus import EventBus
    from .nesting import Parent
    from .run import Run
    from .session import Session
    from .target import Target

__all__ = ["UsageLedger"]

Purpose: TypeAlias = str  # turn, compaction, tool, or the word of a plugin: "<plugin>.<what>"


_UNDER_WAY = (ErrorKind.timeout, ErrorKind.protocol, ErrorKind.aborted)  # errors of requests that were being answered


class _Request(NamedTuple):
    """A request that an adapter makes."""

    purpose: Purpose
    target: Target
    name: str
    role: str | None
    estimate: Callable[[], TokenUsage]


class UsageLedger:
    """Records the usage of one run and its nested runs; each request is one ``usage`` entry of the session.

    Attributes:
        usage: the tokens so far.
        cost: US dollars so far; ``None``: a price is unknown.
        known_cost: US dollars of the requests whose price is known.
        turns: the number of turns that have begun.
        requests: the number of requests to models, those of nested runs included, those of compactions not.
        tool_calls: the number of tool calls of all answers.
        limits: the limits of the run.
    """

    def __init__(self, bus: EventBus, limits: Limits, parent: Parent | None) -> None:
        self.usage = TokenUsage()
        self.cost: float | None = 0.0
        self.known_cost = 0.0
        self.turns = self.requests = self.tool_calls = 0
        self._bus = bus
        self.limits = limits
        self._parent = parent
        self._run_id = ""
        self._origin: Mapping[str, str] = {}
        self._made = 0
        self._session: Session | None = None
        self._open: dict[MessageBuilder, _Request] = {}  # requests without an entry yet
        self._ended = False

    def write_into(self, session: Session, run_id: str) -> None:
        """Set the session that gets the entries, and the id of the run there."""
        self._session = session
        self._run_id = run_id
        self._origin = {"run_id": run_id, **_via_tool(self._parent)}

    def end(self) -> None:
        """Let the session be closed: nested runs that outlive the run write entries as long as they can."""
        self._ended = True

    def begin_turn(self) -> None:
        """Count a turn, or raise :class:`LimitReached`."""
        if self.limits.turns is not None and self.turns >= self.limits.turns:
            raise LimitReached(f"the limit of {self.limits.turns:g} turns is reached")
        self.require_room()
        self.turns += 1

    def count_turn(self) -> None:
        """Count a turn that makes no request, and so needs no room in the limits."""
        self.turns += 1

    def count_tool_calls(self, calls: int) -> None:
        """Count the tool calls of an answer."""
        self.tool_calls += calls

    async def permit(
        self,
        request: LLMRequest,
        target: Target,
        tokens: Callable[[], int],
        purpose: Purpose,
        repeats: tuple[int, str | None],
    ) -> str:
        """Emit ``before_model_request``; return the name of the request.

        Args:
            repeats: how often the request has been made with this time, and the name of the first one.

        Raises:
            LimitReached: a handler stops the run, or a limit in dollars cannot hold because the model's price is unknown.
            GuardFailed: a guard failed.
        """
        ledger: UsageLedger | None = self if target.model.cost is None else None
        while ledger is not None:
            if ledger.limits.cost is not None and not ledger.limits.unpriced:
                raise LimitReached(_unpriced(ledger.limits.cost, f"{target.provider}/{target.model.id}"))
            ledger = ledger._parent.run.ledger if ledger._parent is not None else None
        self._made += 1
        name = f"{self._run_id}:{self._made}"
        if "before_model_request" not in self._bus.table:
            return name
        runs: list[Run] = []
        parent = self._parent
        while parent is not None:
            runs.append(parent.run)
            parent = parent.run.parent
        sessions = [self._session, *(run.ledger._session for run in runs)]
        answer = await self._bus.fire(
            BeforeModelRequestEvent,
            request=name,
            model=target.model,
            provider=target.provider,
            purpose=purpose,
            attempt=repeats[0],
            first=repeats[1],
            tokens=tokens(),
            max_output=request.settings.max_tokens or target.model.max_output_tokens,
            runs=(self._run_id, *(run.id for run in runs)),
            sessions=tuple(dict.fromkeys(session.id for session in sessions if session is not None)),
            _sent=_shown(request),
        )
        if isinstance(answer, ModelRequestResult) and answer.stop is True:
            raise LimitReached(answer.reason if isinstance(answer.reason, str) else "stopped by a handler")
        return name

    def open(
        self,
        request: MessageBuilder,
        purpose: Purpose,
        target: Target,
        name: str,
        role: str | None,
        estimate: Callable[[], TokenUsage],
    ) -> None:
        """Count a request before the adapter makes it; :meth:`close` writes its entry, also after an abort.

        Args:
            estimate: returns what the request may have used by then, for one that is cut off.
        """
        self._open[request] = _Request(purpose, target, name, role, estimate)
        if purpose != "compaction":
            self.requests += 1
            parent = self._parent
            while parent is not None:
                parent.run.ledger.count_request()
                parent = parent.run.parent

    def count_request(self) -> None:
        """Count a request of a nested run."""
        self.requests += 1

    async def close(self, request: MessageBuilder, error: str | None = None) -> None:
        """Write the entry of a request, with its usage as far as the adapter has reported it, else by estimate (I23)."""
        if request not in self._open:
            return  # an abort has written the entry before
        purpose, target, *_, estimate = self._open[request]
        error = error if error is not None or request.error is None else str(request.error)
        usage = request.usage
        estimated = _cut_off(request) and (usage is None or request.early)
        if estimated:
            found = estimate()
            usage = found if usage is None else replace(usage, output=max(usage.output, found.output))
        await self.record(usage or TokenUsage(), purpose, target, error, request, estimated=estimated)

    async def close_aborted(self) -> None:
        """Write the entries of the requests that an abort cut off."""
        for request in tuple(self._open):
            await self.close(request, "aborted")

    async def record(
        self,
        usage: TokenUsage,
        purpose: Purpose,
        target: Target | None,
        error: str | None = None,
        request: MessageBuilder | None = None,
        tool_name: str = "",
        estimated: bool = False,
    ) -> None:
        """Write an entry, add its usage to this run and its ancestors, and emit ``usage``.

        An entry that the store wrote counts also when an abort cut off the wait for the disk.
        """
        opened = self._open[request] if request is not None else None
        name = opened.name if opened is not None else ""
        about: dict[str, Any] = {**self._origin, "tool_name": tool_name} if tool_name else {**self._origin}
        if opened is not None and opened.role:
            about["role"] = opened.role
        if estimated:
            about["estimated"] = True
        cost, entry = _entry(usage, purpose, target, error, about)
        session = self._session
        cut: BaseException | None = None
        try:
            if session is not None:
                await session.append("usage", entry)
        except BaseException as raised:  # noqa: BLE001 - raised again after the ancestors have counted the usage
            cut = raised
        if cut is None or session is None or session.holds(entry):
            if request is not None:
                del self._open[request]
            self.add(usage, cost)
            await self._count_in_ancestors(usage, cost, entry)
        if cut is not None:
            raise cut
        if "usage" in self._bus.table:
            about = {name: entry[name] for name in ("provider", "model", "purpose")}
            about |= {"request": name, "tool_name": tool_name, "estimated": estimated}
            why = getattr(request.error if request is not None else None, "kind", error)
            about |= {"role": entry.get("role", ""), "error": str(why or "")}
            await self._bus.fire(UsageEvent, usage=usage, cost=cost, _builder=request, **about)

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        """Add to ``usage`` and ``cost``; an unknown cost (``None``) makes the sum unknown."""
        self.usage = self.usage + usage
        self.known_cost += cost or 0.0
        if usage.total:
            self.cost = None if cost is None or self.cost is None else self.cost + cost

    async def _count_in_ancestors(self, usage: TokenUsage, cost: float | None, entry: Mapping[str, Any]) -> None:
        """Record usage in the ledger of every ancestor, without an event.

        The entries have the purpose ``nested`` and name the session that holds ``entry``.
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
            # an ancestor that has ended still limits the agents that outlive it
            ledger.add(usage, cost)
            if ledger._session is not None:
                try:
                    await ledger._session.append("usage", nested)
                except SessionError:
                    if not ledger._ended:
                        raise
            parent = ledger._parent

    def lower(self, limits: Limits) -> None:
        """Lower each limit to that of ``limits`` where that is lower."""
        self.limits = self.limits.lowered(limits)

    def require_room(self) -> None:
        """Raise :class:`LimitReached` when a limit of this run, or requests, tokens or cost of an ancestor, forbid a request."""
        limits = self.limits
        if limits.tool_calls is not None and self.tool_calls >= limits.tool_calls:
            raise LimitReached(f"the limit of {limits.tool_calls:g} tool calls is reached")
        ledger, where = self, ""
        while True:
            limits = ledger.limits
            if limits.requests is not None and ledger.requests >= limits.requests:
                raise LimitReached(f"the limit of {limits.requests:g} requests is reached{where}")
            if limits.tokens is not None:
                _check(limits.tokens, ledger.usage.total, "tokens", where)
            if limits.cost is not None:
                _check(limits.cost, ledger.known_cost, "US dollars", where)
                if ledger.cost is None and not limits.unpriced:
                    raise LimitReached(_unpriced(limits.cost, "a request of this run" + where))
            if ledger._parent is None:
                return
            ledger, where = ledger._parent.run.ledger, " in the run that this one is a part of"


def _cut_off(request: MessageBuilder) -> bool:
    """Return whether a provider may have worked for a request whose answer did not come to its end."""
    error = request.error
    if error is None:
        return request.stop_reason is None
    began = getattr(error, "kind", None) in _UNDER_WAY or getattr(error, "status", None) == 200
    return began or not request.empty or getattr(error, "sent", False)


def _check(bound: float | None, used: float, unit: str, where: str = "") -> None:
    if bound is not None and used >= bound:
        raise LimitReached(f"the limit of {bound:g} {unit} is reached{where}")


def _shown(request: LLMRequest) -> LLMRequest:
    """Return a request without what leads to the run: whoever keeps an event must not keep the run."""
    return type(request)(request.model, request.messages, request.tools, request.system, request.settings)


def _via_tool(parent: Parent | None) -> dict[str, str]:
    """Return the name of the nearest tool whose call began a run."""
    while parent is not None and parent.call is None:
        parent = parent.run.parent
    return {"via_tool": parent.call.tool_name} if parent is not None and parent.call is not None else {}


def _unpriced(limit: float, of: str) -> str:
    return (
        f"the price of {of} is not known, so the limit of {limit:g} US dollars cannot hold; "
        "give the model a price, or set limits.unpriced"
    )


def _entry(
    usage: TokenUsage, purpose: Purpose, target: Target | None, error: str | None, about: Mapping[str, Any]
) -> tuple[float | None, Mapping[str, Any]]:
    cost = target.model.cost_of(usage) if target is not None else None
    data: dict[str, Any] = {name: count for name in BUCKETS if (count := getattr(usage, name))}
    data["provider"] = target.provider if target is not None else ""
    data["model"] = target.model.id if target is not None else ""
    data["purpose"] = purpose
    data.update(about)
    if cost is not None:
        data["cost"] = cost
    if usage.raw:
        data["raw"] = usage.raw  # frozen already
    if error is not None:
        data["error"] = error
    return cost, FrozenDict(data)
