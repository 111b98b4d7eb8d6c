"""Nested runs: an agent inherits from the run whose tool or handler makes or asks the agent (spec, section 9.49).

A context variable holds the run in which code works. An agent that is made or asked there becomes a child of that run. The
child gets the parent's guards and observers, executor and workspace, offers only tools that the parent may offer, counts
against the parent's limits, ends with the parent, and asks the parent's approver.
"""

from __future__ import annotations

import asyncio
import zlib
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import AgentError, UsageError
from ..frozen import EMPTY
from .part import Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..contracts.approver import ApprovalDecision
    from .run import Run
    from .runner import AgentRunner
    from .suspension import Suspension
    from .tool_call import CallContext

__all__ = ["Nesting", "Parent", "current_parent", "enter", "leave"]


@dataclass(frozen=True, slots=True)
class Parent:
    """The run for which code works.

    Attributes:
        run: the run.
        call: the tool call of the run; ``None``: the code is a handler's.
    """

    run: Run
    call: CallContext | None = None


_current: ContextVar[Parent | None] = ContextVar("skillkit_parent", default=None)


def current_parent() -> Parent | None:
    """Return the run for which this code works; ``None`` outside of all runs."""
    return _current.get()


def enter(run: Run, call: CallContext | None = None) -> Token[Parent | None]:
    """Mark the current task as working for ``run``; return the token for :func:`leave`."""
    return _current.set(Parent(run, call))


def leave(token: Token[Parent | None]) -> None:
    """Undo :func:`enter`."""
    _current.reset(token)


class Nesting(Part):
    """The parent of an agent.

    An agent that was made inside a run stays a child of that run, whichever task asks the agent later. An agent that is only
    asked inside a run is a child until the agent has answered.

    Attributes:
        parent: the run and the tool call that ask the agent; ``None``: an application asks.
    """

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._born = self.parent = current_parent()

    def ancestors(self) -> Iterator[AgentRunner]:
        """Yield the agent and the agents of its ancestors, the outermost last."""
        yield self._agent
        if self.parent is not None:
            for run in self.parent.run.ancestors():
                yield run.agent

    def only_tools(self) -> tuple[Collection[str] | None, ...]:
        """Return ``only_tools`` of the agent and its ancestors; ``None`` in it: no restriction."""
        return tuple(agent.config.only_tools for agent in self.ancestors())

    def adopt(self) -> None:
        """Inherit bus and path from the parent if the agent was made inside a run, else begin a path of its own."""
        if self._born is not None:
            self._take_over(self._born)
        elif self._agent.name is not None:
            self._agent.events.inherit(None, (self._agent.name,))

    def begin(self) -> Parent | None:
        """Return the parent of a run that is about to be made.

        Raises:
            AgentError: the run would be deeper than ``Limits.depth`` of the outermost run allows.
            UsageError: the parent runs on the loop of another thread.
        """
        asked = current_parent()
        if asked is not None and any(run.agent is self._agent for run in asked.run.ancestors()):
            asked = None  # a task that outlived its run asks the agent of that run
        parent = self.parent = asked or self._born
        if parent is None:
            return None
        runs = list(parent.run.ancestors())
        deepest = runs[-1].ledger.limits.depth
        if len(runs) > deepest:
            path = " > ".join((*parent.run.agent.events.agent_path, "..."))
            raise AgentError(
                f"agents are nested more than {deepest} deep ({path})",
                hint="answer in place, or raise Limits.depth of the outermost agent",
            )
        if parent.run.loop is not asyncio.get_running_loop():
            raise UsageError(
                "an agent inside a run must be asked on the event loop of that run",
                hint="make the tool or handler an async function and await the agent",
            )
        if self._agent.events.parent is not parent.run.bus:
            self._take_over(parent)
        return parent

    def decisions(self, suspension: Suspension) -> dict[str, ApprovalDecision]:
        """Return the decisions about these calls that were given to the call of the parent, which is resumed."""
        parent = current_parent()
        given = parent.call.call.decisions if parent is not None and parent.call is not None else EMPTY
        # the call of another session may have the same id, so the name of a call of this one says the session, too
        named = {call.id: f"{self._agent.session_id}/{call.id}" for call in suspension.calls if not call.inner}
        named |= {inner.id: inner.id for call in suspension.calls for inner in call.inner}
        return {call_id: given[name] for call_id, name in named.items() if name in given}

    def end(self) -> None:
        """Drop the parent after a nested run, unless the agent was made inside the parent."""
        if self._born is None:
            self.parent = None
            self._agent.events.inherit(None, (self._agent.name or "main",))

    def _take_over(self, parent: Parent) -> None:
        run = parent.run
        call = parent.call.tool_call_id if parent.call is not None else ""
        where = f"{run.agent.session_id} {run.id} {call} {run.count_child()}"
        name = f"{self._agent.name or 'sub'}:{zlib.crc32(where.encode()):08x}"
        self._agent.events.inherit(run.bus, (*run.agent.events.agent_path, name))
