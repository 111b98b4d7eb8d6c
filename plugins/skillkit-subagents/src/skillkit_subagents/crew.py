"""The agents that work for an agent: each has a task of its own, waits for a place, works, and ends once."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillkit_core import AssistantMessage, StopReason
from skillkit_core.errors import (
    AgentBusy,
    AgentError,
    RunAborted,
    SessionError,
    Suspended,
    UnknownName,
    UsageError,
    in_words,
)

from .state import CREW, CREWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillkit_core import AgentResponse, AgentRunner

__all__ = ["Crew", "Subagent", "crew_of", "stop", "subagents_of"]

_TITLE = 80  # characters of a task that name its session
_DONE = {"limit": "was stopped by a limit", "stopped": "was stopped", "failed": "failed"}


@dataclass(slots=True, eq=False)
class Subagent:
    """One agent that works for another.

    Attributes:
        runner: the agent, which is closed when it has ended; ``None`` from then on, so that nothing keeps its transcript.
        path: its ``agent_path``.
        crew: the agents that it asked.
        name: name of its file, else ``agent``.
        work: what it was asked.
        background: the agent that asked goes on meanwhile.
        session: its session; ``None``: not open yet, or not kept.
        asked_in: session of the agent that asked.
        call: the call that asked it, by its idempotency key.
        resumed: it goes on in its session, with the decisions that it waited for, or where a crash has left it.
        suspended: it waits for a decision, and its session has what is asked.
        state: ``waiting``, ``working``, ``completed``, ``limit``, ``stopped``, ``failed`` or ``suspended``.
        reason: why it did not simply complete.
        answer: its last message, as far as it came.
        doing: what it does now.
        notes: what of the request had no effect, a sentence each.
    """

    runner: AgentRunner | None = field(repr=False)
    path: tuple[str, ...]
    crew: Crew = field(repr=False)
    name: str
    work: str
    background: bool
    asked_in: str | None
    notes: tuple[str, ...] = ()
    session: str | None = None
    state: str = "waiting"
    reason: str = ""
    answer: str = ""
    doing: str = ""
    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    call: str = ""
    resumed: bool = False
    suspended: Suspended | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The last part of its path."""
        return self.path[-1]

    @property
    def over(self) -> bool:
        """Whether the agent has ended."""
        return self.state not in ("waiting", "working")

    def stop(self, reason: str) -> None:
        """End the agent, whatever it does; the agent that asked gets an error that says so."""
        if self.over or self.task is None:
            return
        self.reason = reason
        if self.runner is not None and self.runner.running:
            self.runner.abort(reason)
        else:
            self.task.cancel()

    def to_dict(self) -> dict[str, Any]:
        """Return the agent as JSON, without its answer."""
        names = (
            "id",
            "name",
            "session",
            "background",
            "state",
            "reason",
            "doing",
            "turns",
            "tool_calls",
            "tokens",
            "cost",
        )
        about = {"path": list(self.path), "task": self.work}
        return {**{name: getattr(self, name) for name in names}, **about}

    def report(self) -> str:
        """Return the answer for the agent that asked, with what did not go as it was asked."""
        text = self.answer or ("" if self.state in _DONE else "The agent gave no answer.")
        if self.state in _DONE:
            said = "\n\nUntil then it said:\n" if text else ""
            text = f"The agent {self.id} {_DONE[self.state]}: {self.reason or 'no reason given'}.{said}{text}"
        return "\n\n".join([text, *(f"[{note}]" for note in self.notes)])


class Crew:
    """The agents that one agent asked. It does not hold that agent, which nothing may keep once it is closed.

    Attributes:
        subagents: all of them by id, oldest first.
        count: how many were asked, by the agents of these agents, too.
    """

    def __init__(self) -> None:
        self._places: asyncio.Semaphore | None = None
        self.subagents: dict[str, Subagent] = {}
        self.count = 0

    def begin(self, agent: AgentRunner, subagent: Subagent, places: int) -> None:
        """Let an agent work for ``agent`` in a task of its own, at most ``places`` of them at once."""
        self.subagents[subagent.id] = subagent
        if self._places is None:
            self._places = asyncio.Semaphore(places)
        subagent.task = asyncio.create_task(_work(agent, subagent, self._places), name=f"subagent {subagent.id}")

    async def delivered(self) -> None:
        """Wait until every agent in the background has ended and its answer is a message."""
        while tasks := [s.task for s in self.subagents.values() if s.background and s.task and not s.task.done()]:
            await asyncio.wait(tasks)

    async def end(self, reason: str) -> None:
        """End all agents and wait for them."""
        for subagent in self.subagents.values():
            subagent.stop(reason)
        if tasks := [s.task for s in self.subagents.values() if s.task and not s.task.done()]:
            await asyncio.wait(tasks)


async def _work(agent: AgentRunner, subagent: Subagent, places: asyncio.Semaphore) -> None:
    """Have an agent do its work once there is a place, close it, and tell its answer if it worked in the background."""
    runner = subagent.runner
    assert runner is not None
    try:
        # what it begins in holds for it, also where that ends before there is a place
        async with runner, places:
            await _ask(agent, subagent, runner)
    except RunAborted as error:
        _ended(subagent, "stopped", subagent.reason or str(error), error)
    except asyncio.CancelledError:
        subagent.state = "stopped"
    except Suspended as waiting:
        _ended(subagent, "suspended", str(waiting), waiting)
        subagent.suspended = waiting
    except AgentError as error:
        _ended(subagent, "failed", str(error), error)
    except Exception as error:  # noqa: BLE001 - whatever ends an agent is one error for the agent that asked
        _ended(subagent, "failed", in_words(error))
    subagent.doing, subagent.runner = "", None
    try:
        if subagent.background:
            await _deliver(agent, subagent)
    finally:
        subagent.task = None  # a task holds the context of the run that it was made in


async def _ask(agent: AgentRunner, subagent: Subagent, runner: AgentRunner) -> None:
    """Have an agent do its work, in a session that the session of the asking agent names."""
    subagent.state = "working"
    session = runner.session
    subagent.session = session.id if session.location is not None else None
    title = f"{subagent.name}: {' '.join(subagent.work.split())}"
    await session.append("session_info", {"title": title[:_TITLE]})
    about: dict[str, Any] = {
        "id": subagent.id,
        "name": subagent.name,
        "session": subagent.session,
        "task": title[:_TITLE],
    }
    about |= {"background": subagent.background, "call": subagent.call}
    await agent.session.note("subagents.agent", about, sync=True)  # before it does anything: a crash must not lose it
    runner.events.observe(lambda event: _see(subagent, event), ["turn_start", "tool_execution_start", "usage"])
    response = await _answered(subagent, runner)
    if response is not None:
        subagent.answer, subagent.reason = response.content, response.reason
        subagent.state = "limit" if response.outcome == "limit" else "completed"


async def _answered(subagent: Subagent, runner: AgentRunner) -> AgentResponse | None:
    """Return the answer of an agent; ``None``: its session has it, because it had ended when its process died."""
    if not subagent.resumed or not runner.messages:
        return await runner.chat(subagent.work)
    try:
        return await runner.resume()
    except UsageError:
        last = runner.messages[-1]
        if not isinstance(last, AssistantMessage):
            raise
        cut = last.stop_reason in (StopReason.error, StopReason.aborted)
        subagent.answer, subagent.state = last.text, "failed" if cut else "completed"
        subagent.reason = f"its last answer was cut off ({last.stop_reason})" if cut else ""
        return None


def _ended(subagent: Subagent, state: str, reason: str, error: AgentError | None = None) -> None:
    subagent.state, subagent.reason = state, reason
    if error is not None and error.response is not None:
        subagent.answer = error.response.content


async def _deliver(agent: AgentRunner, subagent: Subagent) -> None:
    """Tell the answer of an agent in the background as a message, which begins a run where none is active."""
    if agent.scheduler.closed:
        return
    text = f"The agent {subagent.id}, which works in the background, has ended. It reports:\n\n{subagent.report()}"
    if agent.session_id != subagent.asked_in:
        if agent.ui is not None:
            await agent.ui.notify(f"{subagent.id} of session {subagent.asked_in} has ended: {subagent.state}")
        return
    try:
        if subagent.state == "stopped":
            agent.next_run(text)  # whoever stopped it wants no run because of it
        else:
            await agent.follow_up(text, trigger=True)
    except AgentBusy:
        agent.next_run(text)
    except (AgentError, SessionError):
        with contextlib.suppress(AgentError):
            await agent.events.complain("subagents", f"the answer of {subagent.id} came too late to be told")


def _see(subagent: Subagent, event: Any) -> None:
    """Follow the turns and calls of an agent, and the usage of its own agents, too."""
    if event.type == "usage":
        subagent.tokens += event.usage.total
        subagent.cost += event.cost or 0.0
    elif event.agent_path == subagent.path and event.type == "turn_start":
        subagent.turns += 1
        subagent.doing = "thinks"
    elif event.agent_path == subagent.path:
        subagent.tool_calls += 1
        subagent.doing = event.tool_name


def crew_of(agent: AgentRunner) -> Crew:
    """Return the agents that ``agent`` asked."""
    found = CREWS.get(agent)
    if not isinstance(found, Crew):  # nobody was asked yet
        found = CREWS[agent] = Crew()
        agent.events.arm(CREW)
    return found


def begun_by(agent: AgentRunner, call: str) -> tuple[str, ...]:
    """Return the session of the agent that a call began before its process died; empty: it began none that was kept."""
    notes = [note.data for note in agent.session.notes("subagents.agent") if note.data.get("call") == call]
    return (str(notes[-1]["session"]),) if notes and notes[-1]["session"] else ()


def subagents_of(agent: AgentRunner) -> Iterator[tuple[int, Subagent]]:
    """Yield the agents that work or worked for ``agent``, and below each its own, with how deep each stands."""
    waiting = [(0, one) for one in reversed(crew_of(agent).subagents.values())]
    while waiting:
        depth, subagent = waiting.pop()
        yield depth, subagent
        waiting += [(depth + 1, one) for one in reversed(subagent.crew.subagents.values())]


def stop(agent: AgentRunner, name: str, reason: str = "a person stopped it") -> Subagent:
    """End one of the agents that work for ``agent``, or for one of these; the others go on.

    Args:
        name: id of the agent, or the start of it.

    Raises:
        UnknownName: no agent that works is called so.
    """
    working = [one for _, one in subagents_of(agent) if not one.over]
    found = next((one for one in working if one.id == name), None)
    found = found or next((one for one in working if name and one.id.startswith(name)), None)
    if found is None:
        names = [one.id for one in working]
        raise UnknownName("agent at work", name, names, hint=None if names else "none works")
    found.stop(reason)
    return found
