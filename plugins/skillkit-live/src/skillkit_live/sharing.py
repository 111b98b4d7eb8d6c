"""A front end that holds its agent itself lets others in: they see what happens, speak, and answer what is asked."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    NoticeLevel,
    Origin,
    Survey,
    UserInterface,
)

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .lives import Lives
    from .questions import Questions

__all__ = ["Beside", "address_for", "shared"]

log = logging.getLogger("skillkit.live")
HERE = Origin("terminal")
T = TypeVar("T")


def address_for(host: Host) -> Callable[[str], str]:
    """Return what tells the address under which this process takes clients of a session, for ``AgentRunner(endpoint=)``."""

    def address(session: str) -> str:
        from .door import address_of

        return str(address_of(session, host.data_dir / "sessions"))

    return address


@asynccontextmanager
async def shared(agent: AgentRunner) -> AsyncIterator[None]:
    """Let other processes attach to the session of an agent from its opening on; afterwards they are sent away.

    What is asked is asked in the front end and in the clients, and the first answer counts. The agent was made with
    :func:`address_for`; its approver and user interface are those of the front end.
    """
    beside = Beside(agent)
    agent.configure(approver=beside if agent.config.approver is not None else None, ui=beside)
    opening: asyncio.Task[Lives] | None = None

    def opened(event: Any = None) -> None:
        nonlocal opening
        own = event is None or event.agent_path == agent.events.agent_path
        if own and opening is None:
            opening = asyncio.get_running_loop().create_task(_let_in(agent, beside))

    if agent.open_session is not None:
        opened()
    stop = agent.events.observe(opened, ["session_start"])
    try:
        yield
    finally:
        stop()
        if opening is not None:
            found = await asyncio.gather(opening, return_exceptions=True)
            if not isinstance(found[0], BaseException):
                await found[0].aclose()


async def _let_in(agent: AgentRunner, beside: Beside) -> Lives:
    """Open the door; the imports of the protocol are made beside what goes on."""
    module = await asyncio.to_thread(import_module, f"{__package__}.lives")
    lives: Lives = module.Lives(agent.host, patience=math.inf, idle=math.inf, listen=True)
    live = await lives.adopt(agent)
    beside.open(live.questions)
    return lives


class Beside(Approver, UserInterface):
    """Asks the person at the front end, and the clients that are attached: the first answer counts.

    Args:
        agent: the agent; what asks its person is there already.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._approver, self._ui = agent.config.approver, agent.config.ui
        self._clients: asyncio.Future[Questions] = asyncio.get_running_loop().create_future()

    def open(self, clients: Questions) -> None:
        """Ask the clients from now on, also what is asked already."""
        self._clients.set_result(clients)

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Ask about a tool call."""
        assert self._approver is not None
        question = request.id or request.tool_call_id
        theirs = self._asked("approval", lambda clients: clients.approve(request))
        tell = partial(self._answer, question)
        decision, elsewhere = await _first(self._approver.approve(request), theirs, tell)
        if elsewhere:
            await self._say(request.tool_name, decision)
        return decision

    async def decide(self, question: str, survey: Survey) -> ApprovalDecision:
        """Ask the survey of a tool call."""
        assert self._ui is not None
        theirs = self._asked("survey", lambda clients: clients.decide(question, survey))

        def tell(decision: ApprovalDecision) -> None:
            self._answer(question, decision.answer if decision.decision == "allow" else None)

        decision, elsewhere = await _first(self._ui.decide(question, survey), theirs, tell)
        if elsewhere:
            await self._say(survey.title, decision)
        return decision

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask a survey that no tool call waits with."""
        assert self._ui is not None
        theirs = self._asked("survey", lambda clients: clients.ask(survey))
        return (await _first(self._ui.ask(survey), theirs, lambda answers: None))[0]

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Show a text to everybody."""
        assert self._ui is not None
        await self._ui.notify(text, level)
        if self._clients.done():
            await self._clients.result().notify(text, level)

    async def _asked(self, kind: str, ask: Callable[[Questions], Coroutine[Any, Any, T]]) -> T:
        """Ask the clients, once some can come; those that answer nothing of this kind leave it to the front end."""
        clients = await asyncio.shield(self._clients)
        if clients.deaf(kind):
            await asyncio.get_running_loop().create_future()
        return await ask(clients)

    def _answer(self, question: str, given: Any) -> None:
        """Answer a question of the clients with what was said at the front end."""
        if self._clients.done():
            self._clients.result().answer(question, given, HERE)

    async def _say(self, what: str, decision: ApprovalDecision) -> None:
        """Say at the front end who decided elsewhere."""
        by = decision.origin
        if self._ui is not None and by is not None:
            await self._ui.notify(f"{what}: {_WORDS[decision.decision]} by {by.id or by.kind}")


_WORDS = {"allow": "allowed", "deny": "denied", "defer": "put off"}


async def _first(
    own: Coroutine[Any, Any, T], theirs: Coroutine[Any, Any, T], tell: Callable[[T], None]
) -> tuple[T, bool]:
    """Return the first answer, and whether it is that of the clients; tell the clients what was answered here."""
    here, there = asyncio.ensure_future(own), asyncio.ensure_future(theirs)
    try:
        await asyncio.wait({here, there}, return_when=asyncio.FIRST_COMPLETED)
        if there.done() and not there.cancelled() and there.exception() is None:
            return there.result(), True
        answer = await here
        tell(answer)
        return answer, False
    finally:
        for task in (here, there):
            task.cancel("decided elsewhere")
        await asyncio.gather(here, there, return_exceptions=True)
