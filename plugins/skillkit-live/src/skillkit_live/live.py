"""A live session: one agent, and any number of clients that come and go."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from skillkit_frontend import TITLE, EventLines, preview_of

from skillkit_core import (
    AgentResponse,
    ApprovalDecision,
    ApprovalRequest,
    Block,
    Event,
    Origin,
    SessionError,
    SkillKitError,
    SuspendedCall,
    ToolError,
    UsageError,
    event_to_dict,
)
from skillkit_core.cli.output import shorten
from skillkit_core.errors import in_words

from .acts import Delivery, State, act
from .door import Door, address_of
from .journal import Client, Journal, Message
from .present import Present, delta_of
from .questions import Given, Outcome, Questions, decided, narrowed
from .shown import APPROVAL, SURVEY, blob_name, lean_entry, name_of, queued, waiting_question

if TYPE_CHECKING:
    from skillkit_core import AgentConfig, AgentRunner, Clock, Host, QueueItem

__all__ = ["IDLE", "PATIENCE", "Delivery", "Live", "State"]

log = logging.getLogger("skillkit.live")
PATIENCE = 60.0  # seconds that a question waits for a client to come
IDLE = 600.0  # seconds that a session without clients stays open
_GRACE = 5.0  # seconds for a run to suspend before it is aborted
_PREVIEW = 100_000  # characters of a preview that clients are told
_UPDATES = ("message_update", "tool_execution_update")
T = TypeVar("T")


class Live:
    """One session and the agent that works in it. Made by :meth:`Lives.open`.

    Attributes:
        epoch: the first part of the ids of messages; new for each process.
        folder: the workspace.
        agent: the agent.
        questions: what is asked now.

    An agent that is given is one that a front end holds, which asks the questions here, too.
    """

    def __init__(
        self,
        config: AgentConfig,
        host: Host,
        session: str | None,
        *,
        clock: Clock | None = None,
        patience: float = PATIENCE,
        idle: float = IDLE,
        approvers: Collection[str] = ("owner",),
        door: Callable[[Live], Door] | None = None,
        agent: AgentRunner | None = None,
    ) -> None:
        from skillkit_core import AgentRunner

        self.epoch = os.urandom(4).hex()
        self.folder_of_sockets = host.data_dir / "sessions"
        self._make_door = door
        self._doors: dict[str, Door] = {}  # by the id of the session
        self._journal = Journal(self.epoch)
        self._clients: set[Client] = set()
        self._whole: set[Client] = set()  # those that want the events themselves
        self.questions = Questions(self._tell, self._who, self._changed, approvers, self._preview)
        self.agent: AgentRunner = agent or AgentRunner(
            replace(config, approver=self.questions, ui=self.questions),
            host=host,
            session=session,
            clock=clock,
            endpoint=None if door is None else lambda session: str(address_of(session, self.folder_of_sockets)),
        )
        self.folder = self.agent.cwd
        self._patience, self._idle = patience, idle
        self._lines = EventLines(host.secrets, partial(event_to_dict, history=False, blobs=blob_name))
        self._present = Present(self._keeps)
        self._state: State = "idle"
        self._began, self._saying = asyncio.Event(), asyncio.Lock()
        self._decided: dict[str, SuspendedCall] = {}  # the calls that waited when an answer made the session go on
        self._waiting: asyncio.Task[None] | None = None
        self.over = asyncio.Event()  # set when nobody needs the session any more

    async def start(self) -> None:
        """Open the session, or raise as :meth:`AgentRunner.open`."""
        await self.agent.open()
        self.agent.events.observe(self._saw)
        self._open_door()
        self._changed()

    def _open_door(self) -> None:
        """Let clients of other processes in, under the id of the session that the agent is in now."""
        for door in self._doors.values():
            door.lock()
        if self._make_door is not None:
            try:
                self._doors[self.id] = self._make_door(self)
            except (OSError, SessionError) as error:
                log.warning("nobody can attach to session %s: %s", self.id, error)

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.agent.session.id

    @property
    def endpoint(self) -> str | None:
        """The socket at which other processes of this user attach to the session; ``None``: there is none."""
        door = self._doors.get(self.id)
        return str(door.address) if door is not None else None

    @property
    def state(self) -> State:
        """``idle``, ``running``, ``asking`` (running, with an open question), ``suspended`` or ``closed``."""
        if self._journal.closed:
            return "closed"
        if self.questions:
            return "asking"
        if self.agent.running:
            return "running"
        return "suspended" if self.agent.suspension is not None else "idle"

    @property
    def clients(self) -> int:
        """How many clients are attached."""
        return len(self._clients)

    # --- clients ----------------------------------------------------------------------------------------------

    def attach(
        self, after: str | None = None, *, answers: Iterable[str] = (APPROVAL, SURVEY), whole: bool = False
    ) -> Client:
        """Attach a client: it gets what it missed, else one snapshot, and then what happens.

        Args:
            after: the id of the last message that the client got; ``None``: it knows nothing.
            answers: the kinds of questions that the client answers: ``approval``, ``survey``.
            whole: keep the event itself with each message (``message.event``), with the history that it carries.
        """
        number = self._journal.number(after) if after is not None else None
        start = None if number is not None else self.snapshot()
        place = self._journal.last if number is None else number
        client = Client(self._journal, start, place, frozenset(answers), self._left)
        if whole:
            self._whole.add(client)
        self._clients.add(client)
        self._changed()
        return client

    def _left(self, client: Client) -> None:
        self._clients.discard(client)
        self._whole.discard(client)
        self._changed()

    def _keeps(self, entry: str) -> bool:
        try:
            self.agent.session.require(entry)
        except SessionError:
            return False
        return True

    def _who(self) -> list[frozenset[str]]:
        return [client.answers for client in self._clients]

    def snapshot(self) -> Message:
        """Return one message that stands for all up to now."""
        agent, session, target = self.agent, self.agent.session, self.agent.target
        path = session.path()
        newest = max((i for i, entry in enumerate(path) if entry.type == "compaction"), default=0)
        queues = {kind: [queued(item) for item in items] for kind, items in agent.queues.items.items()}
        data = {
            "session": session.id,
            "folder": str(self.folder),
            "state": self.state,
            "model": target.model.id if target is not None else _name(agent.config.model),
            "provider": target.model.provider if target is not None else agent.config.provider,
            "leaf": session.leaf_id,
            "entries": [lean_entry(entry) for entry in path[newest:]],
            "events": list(self._present.events()),
            "queue": queues,
            "questions": self.waiting(),
            "usage": session.usage.to_dict(),
            "cost": session.cost,
        }
        return Message(f"{self.epoch}.{self._journal.last}", "snapshot", agent.redact(data))

    async def _preview(self, request: ApprovalRequest) -> str | None:
        """Return what a call would do, as its tool says; where the tool fails, the arguments have to do."""
        try:
            text = await preview_of(self.agent, request)
        except ToolError:
            raise
        except Exception as error:  # noqa: BLE001 - a tool's preview
            log.warning("no preview of %s: %s", request.tool_name, in_words(error))
            return None
        return text if text is None or len(text) <= _PREVIEW else f"{text[:_PREVIEW]}\n... (cut)"

    # --- what clients do --------------------------------------------------------------------------------------

    async def say(self, text: str, *, images: Sequence[Block] = (), origin: Origin, delivery: Delivery = "auto") -> str:
        """Say something without waiting for the answer; return the id of the queued message, empty where a run began.

        Args:
            delivery: ``auto`` begins a run, or steers the active one; ``steer`` and ``follow_up`` as the agent's methods.

        Raises:
            SkillKitError: it could not be said.
        """
        if delivery == "follow_up" and self.agent.running:
            return await self.agent.follow_up(text, images=images, origin=origin)
        async with self._saying:
            if delivery == "steer" or self.agent.running:
                return await self.agent.steer(text, images=images, origin=origin)
            task = await self._speak(text, images, origin)
        if task.done() and (error := task.exception()) is not None and not self._began.is_set():
            raise error
        return ""

    async def prompt(self, text: str, *, images: Sequence[Block] = (), origin: Origin) -> AgentResponse:
        """Say something, and wait for the end of the run, which goes on when the caller leaves; raise as ``agent.chat``."""
        async with self._saying:
            task = await self._speak(text, images, origin)
        return await asyncio.shield(task)

    async def _speak(self, text: str, images: Sequence[Block], origin: Origin) -> asyncio.Task[AgentResponse]:
        """Begin to say something; return once a run is there for those who speak next, or none began."""
        task = self.begin(self._chat(text, images, origin))
        began = asyncio.ensure_future(self._began.wait())
        await asyncio.wait({task, began}, return_when=asyncio.FIRST_COMPLETED)
        began.cancel()
        return task

    async def _chat(self, text: str, images: Sequence[Block], origin: Origin) -> AgentResponse:
        """Say something; what is said first is the title of the session."""
        session = await self.agent.open()
        if not self.agent.running and not any(entry.type == "session_info" for entry in session.entries):
            await session.append("session_info", {"title": shorten(self.agent.host.redact(text), TITLE)})
        return await self.agent.chat(text, images=images, origin=origin)

    async def resume(
        self, decisions: Mapping[str, ApprovalDecision | Literal["allow", "deny"]], *, origin: Origin
    ) -> AgentResponse:
        """Decide calls that wait, and wait for the end of the run; raise as ``agent.resume``, and where no answer counts."""
        self.questions.check(origin)
        given: dict[str, ApprovalDecision | Literal["allow", "deny"]] = {
            call: narrowed(decision, origin) if isinstance(decision, ApprovalDecision) else decision
            for call, decision in decisions.items()
        }
        return await asyncio.shield(self.begin(self.agent.resume(given, origin=origin)))

    @property
    def last(self) -> str:
        """The id of the newest message."""
        return f"{self.epoch}.{self._journal.last}"

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do something that may begin a run, whoever waits for it."""
        if not self.agent.running:
            self._began.clear()
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def answer(self, question: str, answer: Given, origin: Origin) -> Outcome:
        """Answer a question; the first answer counts, and all clients see who gave it.

        Args:
            question: the id of the question.
            answer: a decision about a tool call; answers of a survey by id, ``None`` to decline it.

        Returns: ``late``: somebody was faster; ``unknown``: there is no such question.

        Raises:
            UsageError: the answer does not fit the question.
        """
        outcome = self.questions.answer(question, answer, origin)
        if outcome == "taken":
            return outcome
        waiting = self._decided or {name_of(call): call for call in self._suspended()}
        call = waiting.get(question)
        if call is None or outcome == "late" or self.questions.asks_about(call):
            return outcome  # of a call that is asked about again, another question is open now
        decision = decided(call.survey, answer, origin)
        if decision.decision == "defer":
            raise UsageError("a call that waits is answered by a decision to allow or to deny it")
        self.questions.note(question, SURVEY if call.survey is not None else APPROVAL, decision, origin)
        if self._decided:  # the run that the first answer began will ask about this call
            self.questions.keep(call, decision)
        else:
            self._decided = waiting
            self.begin(self._go_on(call.id, decision, origin))
        return "taken"

    async def _go_on(self, call: str, decision: ApprovalDecision, origin: Origin) -> None:
        """Go on with a suspended session; what goes wrong before its run begins is told to everybody."""
        try:
            await self.agent.resume({call: decision}, origin=origin)
        except SkillKitError as error:
            if not self._began.is_set():
                self._tell("notice", {"text": str(error), "level": "error"})
        finally:
            self._decided = {}
            self.questions.forget()

    async def abort(self, reason: str, origin: Origin) -> list[QueueItem]:
        """End the active run, and wait for its end; return the messages that were not said."""
        unsaid = self.agent.abort(reason)
        await self.agent.wait_idle()
        return unsaid

    async def act(self, method: str, params: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
        """Do what a method of the protocol asks (``protocol.ACTS``): state, fork, move, set_model, compact, command, ...

        Args:
            params: JSON values, checked here.

        Returns: the result as JSON.

        Raises:
            SkillKitError: there is no such method, the parameters do not fit, or it could not be done.
        """
        return await act(self, method, params, origin)

    # --- what happens -----------------------------------------------------------------------------------------

    def _tell(self, kind: str, data: Mapping[str, Any]) -> None:
        self._journal.add(kind, data if kind == "event" else self.agent.redact(data))

    def _saw(self, event: Event) -> None:
        """Write an event into the journal; deltas of what has ended become one."""
        if event.type == "agent_start":
            self._began.set()
        for line in self._lines.of(event):
            whole = event if self._whole and line["type"] not in _UPDATES else None
            self._journal.add("event", {"event": line}, event=whole, delta=delta_of(line))
            ended = self._present.saw(line)
            if ended is not None:
                merge = self._journal.merge(ended)
                # clients that wait are woken first, and get the pieces as they came
                asyncio.get_running_loop().call_soon(merge) if self._clients else merge()
        own = event.agent_path == self.agent.events.agent_path  # not of an agent inside the run
        if own and event.type == "session_start":
            self._present = Present(self._keeps)  # nothing is open in the session that the agent goes on in
        if own and event.type in ("session_start", "session_tree"):
            # clients begin anew, once the handlers have had their say
            asyncio.get_running_loop().call_soon(self._begin_anew)
        if own and event.type in ("agent_start", "agent_settled", "session_start", "session_tree"):
            self._changed()
            if event.type == "agent_settled":
                self.agent.scheduler.when_idle(self._changed)

    def _begin_anew(self) -> None:
        """Tell the clients where the session stands now, and let others in where it is another one."""
        if not self._journal.closed:
            if self._make_door is not None and self.id not in self._doors:
                self._open_door()
            self._tell("snapshot", self.snapshot().data)

    def _changed(self) -> None:
        """Tell the state where it is another one, and begin to wait where nobody is there."""
        if self.agent.open_session is None or self._journal.closed:
            return
        state = self.state
        if state != self._state:
            self._state = state
            self._tell("state", {"state": state})
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if not self._clients and state != "running":
            self._waiting = asyncio.get_running_loop().create_task(self._wait(state))

    async def _wait(self, state: State) -> None:
        """Wait for a client; without one a question is put off, and an idle session is over."""
        await self.agent.clock.sleep(self._patience if state == "asking" else self._idle)
        self._waiting = None
        if state == "asking":
            self.questions.defer()
        else:
            self.over.set()

    def rest(self) -> bool:
        """Return whether nobody needs the session: no client is there and nothing runs, or it is closed."""
        if self._journal.closed:
            return True
        if self._clients or self.agent.running:
            self.over.clear()
            return False
        return True

    def waiting(self) -> list[Mapping[str, Any]]:
        """Return the questions that wait for an answer, as clients see them."""
        found = [*self.questions.shown(), *map(waiting_question, self._suspended())]
        return list(self.agent.redact(found))

    def _suspended(self) -> list[SuspendedCall]:
        """Return the calls that wait for a decision in the session, and that nobody asks about now."""
        found = self.agent.suspension
        if found is None or self.agent.running:
            return []
        return [waiting for call in found.calls for waiting in call.waiting if waiting.questions]

    async def aclose(self) -> None:
        """Leave the session: what waits for an answer is suspended, everything else is aborted; clients are told."""
        if self._journal.closed:
            return
        asking = bool(self.questions)
        self.questions.defer()
        if asking:
            try:
                async with asyncio.timeout(_GRACE):
                    await self.agent.wait_idle()
            except TimeoutError:
                pass
        if self._waiting is not None:
            self._waiting.cancel()
        for door in self._doors.values():
            door.lock()
        await self.agent.aclose()
        self._tell("closed", {})
        self._journal.close()
        for door in self._doors.values():
            await door.close()
        self.over.set()


def _name(model: Any) -> str | None:
    return model if isinstance(model, str) or model is None else str(model.id)
