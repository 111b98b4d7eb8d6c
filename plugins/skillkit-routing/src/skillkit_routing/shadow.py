"""A second router, asked after the answer, whose choice is written down and never carried out."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextvars import Context
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from skillkit_engines import CHAT, Route, RouteRequest, choose, gated_now, last_route

from skillkit_core.errors import in_words

from .alone import Asker
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.events.types import AgentEndEvent, SessionShutdownEvent

__all__ = ["Shadow", "log_of"]

WAIT = 5.0  # seconds for what is still asked when a session ends
_shadows: WeakKeyDictionary[AgentRunner, Shadow] = WeakKeyDictionary()


def log_of(host: Host) -> Path:
    """Return the file with a line for each comparison."""
    return host.data_dir / "routing" / "shadow.jsonl"


class Shadow:
    """Compares the choices of one agent with those of another router (``routing.shadow``).

    With ``engines.mode: shadow`` the router is the usual one, and is compared with the agent that answers everything itself.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._ref = ref(agent)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listens = False

    @classmethod
    def of(cls, agent: AgentRunner) -> Shadow:
        """Return the shadow of an agent."""
        found: Shadow | None = _shadows.get(agent)
        if found is None:
            found = _shadows[agent] = cls(agent)
        return found

    def listen(self) -> None:
        """Add the handlers, once."""
        agent = self._ref()
        if self._listens or agent is None:
            return
        self._listens = True
        agent.events.on("agent_end", self.begin)
        agent.events.on("session_shutdown", self.finish)

    def begin(self, event: AgentEndEvent) -> None:
        """Ask the other router, in a task of its own: the answer is there already, and nobody waits."""
        agent = self._ref()
        last = last_route(agent) if agent is not None else None
        if agent is None or last is None or agent.target is None:
            return
        request, route = last
        ask = Asker(agent.host, agent.target)
        work = self._compare(agent, request, route, ask)
        # in an empty context the agent that asks is none of the run that has ended
        task = Context().run(asyncio.get_running_loop().create_task, work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, event: SessionShutdownEvent) -> None:
        """Wait for what is still asked, and give up what takes too long."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=WAIT)
        for task in late:
            task.cancel()

    async def _compare(self, agent: AgentRunner, request: RouteRequest, route: Route | None, ask: Asker) -> None:
        from dataclasses import replace

        host = agent.host
        try:
            only = settings_of(host).shadow
            gated = gated_now(agent, request)
            other = await choose(host, replace(request, ask=ask), gated, agent, only=only)
            write(host, record(request, route, other, ask.cost))
        except Exception as error:  # noqa: BLE001 - nobody but the doctor hears of a shadow that fails
            host.note("routing", f"the router in the shadow failed: {in_words(error)}")


def record(request: RouteRequest, route: Route | None, other: Route, cost: float) -> dict[str, Any]:
    """Return the line of a comparison, which holds no word of the request."""
    main = {"skill": route.skill, "confidence": route.confidence, "by": route.by} if route is not None else {}
    return {
        "ts": round(time.time(), 3),
        "query": sha256(request.query.encode()).hexdigest()[:16],
        "main": main or {"skill": CHAT, "confidence": 1.0, "by": "agent"},
        "shadow": {"skill": other.skill, "confidence": other.confidence, "by": other.by, "why": other.why},
        "agree": other.skill == (route.skill if route is not None else CHAT),
        "calls": other.calls,
        "cost": cost,
    }


def write(host: Host, line: Mapping[str, Any]) -> None:
    """Add a line to the log."""
    path = log_of(host)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
