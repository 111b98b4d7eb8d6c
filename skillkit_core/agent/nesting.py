"""Runs inside runs: what an agent takes over from the run whose tool or handler started it (spec, section 9.49).

Nobody has to hand anything on. Where a run works, a context variable says so; an agent that is made or asked there belongs
below that run. It gets the run's guards and observers, counts against its budgets, ends with it, and asks who it asks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import AgentError, UsageError
from ..models import TokenUsage
from .part import Part

if TYPE_CHECKING:
    from .run import Run
    from .runner import AgentRunner
    from .tool_call import CallContext

__all__ = ["Nesting", "Place", "beyond", "chain", "count_above", "here", "leave", "work_in"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where code works: in a run, and in a call of a tool or (``None``) a handler."""

    run: Run
    call: CallContext | None = None


_place: ContextVar[Place | None] = ContextVar("skillkit_place", default=None)


def here() -> Place | None:
    """The run that this code is part of, ``None`` outside of any."""
    return _place.get()


def work_in(run: Run, call: CallContext | None = None) -> Token[Place | None]:
    """Say that the current task works for ``run``."""
    return _place.set(Place(run, call))


def leave(token: Token[Place | None]) -> None:
    """Undo :func:`work_in`."""
    _place.reset(token)


class Nesting(Part):
    """What an agent knows about the run above it.

    An agent that was made inside a run stays below it for good, whichever task asks it later; one that is only asked there is
    below it for as long as it answers.
    """

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._born = self._place = here()

    def settle(self) -> None:
        """Take over what an agent that was made inside a run gets from it."""
        if self._born is not None:
            self._take_over(self._born)

    @property
    def above(self) -> Place | None:
        """Where the agent is asked from, ``None`` for one of its own."""
        return self._place

    def begin(self, run: Run) -> None:
        """Put ``run`` below the run that asks for it.

        Raises:
            AgentError: that is deeper than ``Limits.depth`` of the outermost run allows. UsageError: it is another thread's.
        """
        asked = here()
        if asked is not None and any(r.agent is self._agent for r in chain(asked.run)):
            asked = None  # a task that outlived its run asks the very agent of that run
        place = self._place = asked or self._born
        if place is None:
            return
        runs = list(chain(place.run))
        deepest = runs[-1].agent.config.limits.depth
        if len(runs) > deepest:
            path = " > ".join((*place.run.agent.agent_path, "..."))
            raise AgentError(
                f"agents are nested more than {deepest} deep ({path})",
                hint="answer in place, or raise Limits.depth of the outermost agent",
            )
        if place.run.loop is not run.loop:
            raise UsageError(
                "an agent inside a run must be asked on the event loop of that run",
                hint="make the tool or handler an async function and await the agent",
            )
        if self._agent.events.above is not place.run.agent.events:
            self._take_over(place)
        run.above = place
        above = place.run
        run.unlink = above.signal.add_callback(lambda: self._agent.slot.abort(run, above.signal.reason))

    def end(self, run: Run) -> None:
        """The run is over."""
        run.unlink()
        if run.above is not None and self._born is None:
            self._place = None
            self._agent.agent_path = self._agent.events.agent_path = ("main",)
            self._agent.events.inherit(None)

    def _take_over(self, place: Place) -> None:
        agent, above = self._agent, place.run
        above.nested += 1
        where = f"{above.agent.session_id} {above.id} {place.call.tool_call_id if place.call else ''} {above.nested}"
        name = f"sub:{zlib.crc32(where.encode()):08x}"
        agent.agent_path = agent.events.agent_path = (*above.agent.agent_path, name)
        agent.events.inherit(above.agent.events)


def chain(run: Run) -> Iterator[Run]:
    """``run`` and the runs above it, the outermost last."""
    current: Run | None = run
    while current is not None:
        yield current
        current = current.above.run if current.above is not None else None


async def count_above(run: Run, usage: TokenUsage, cost: float | None, entry: dict[str, object]) -> None:
    """Write what a nested run used into the books of every run above it: once each, without an event.

    The ledger entries there have the purpose ``nested`` and name the session that has the details.
    """
    place = run.above
    nested = {**entry, "purpose": "nested", "session": run.agent.session_id, "agent_path": run.agent.agent_path}
    while place is not None:
        above = place.run
        if place.call is not None:
            place.call.nested = place.call.nested + usage
        above.add(usage, cost)  # also when it has ended: its budget holds for what it left behind
        if not above.ended and above.agent.open_session is not None:
            await above.agent.open_session.append("usage", nested)
        place = above.above


def beyond(reported: TokenUsage, counted: TokenUsage) -> TokenUsage:
    """What a tool reports besides the nested runs that are in the books already."""
    return TokenUsage(
        max(0, reported.input - counted.input),
        max(0, reported.output - counted.output),
        max(0, reported.cache_read - counted.cache_read),
        max(0, reported.cache_write - counted.cache_write),
        max(0, reported.reasoning - counted.reasoning),
    )
