"""Messages of callers as runs of agents, and what happens in a run as events of a task."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from a2a.server.agent_execution import AgentExecutor, RequestContext, RequestContextBuilder
from a2a.server.tasks import TaskUpdater
from a2a.types import Artifact, Message, Role, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError, UnsupportedOperationError
from google.protobuf import json_format
from skillkit_live import FellBehind
from skillkit_skills import skills_of

from skillkit_core import (
    AgentMessage,
    AgentResponse,
    AssistantMessage,
    ModelRequestResult,
    Origin,
    SkillKitError,
    StopReason,
    UsageError,
    UserMessage,
)

from ..chain import ERROR, admit, own_id
from ..errors import PeerError
from .parts import said_in, text_part
from .questions import answer_in, asked, decides
from .sessions import name_in
from .tasks import ENDED, WAITS, Tasks, new_task, session_of
from .telling import ANSWER, PAUSE, Ended, Telling

if TYPE_CHECKING:
    from pathlib import Path

    from a2a.server.context import ServerCallContext
    from a2a.server.events import EventQueue
    from a2a.types import Part, SendMessageRequest
    from skillkit_live import Client, Live

    from .keys import Caller
    from .parts import Said
    from .served import Served
    from .sessions import Sessions

__all__ = ["SKILL", "Requests", "Runs"]

SKILL = "skillkit.skill"  # of the metadata of a message: the skill that is wanted
_CANCELLED = "the caller cancelled the task"
_LONGEST = 200  # characters of the name of a context
_SOON = 0.8  # seconds for a run to end before its task is told to be cancelled


class Requests(RequestContextBuilder):
    """Looks at a message before anything is done with it: who sent it, where it belongs, whether it may be sent now.

    Args:
        runs: the runs.
        depth: how often a task may be handed on from host to host.
    """

    def __init__(self, runs: Runs, depth: int) -> None:
        self._runs, self._depth = runs, depth

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        """Return what a message is about; a message without a context begins a session."""
        assert params is not None
        caller: Caller = context.state["caller"]
        said = said_in(params.message)
        metadata = json_format.MessageToDict(params.message.metadata)
        try:
            admit(metadata, own_id(self._runs.host), self._depth)
        except PeerError as error:
            raise UnsupportedOperationError(message=str(error), data={ERROR: error.code}) from None
        if wanted := metadata.get(SKILL):
            self._check_skill(context, caller, str(wanted))
        if task_id is not None:
            live = await self._follow_up(context, caller, task_id)
        else:
            self._runs.check_room(caller)
            live = await self._begin(caller, context_id, str(wanted or ""))
            task_id = new_task(live.id)
        self._runs.served.limit(live.id, caller)
        context.state["asked"] = live, said, _origin(caller, params.message, task_id, metadata), str(wanted or "")
        name = name_in(live.agent.session.entries)
        return RequestContext(context, request=params, task_id=task_id, context_id=name, task=task)

    def _check_skill(self, context: ServerCallContext, caller: Caller, wanted: str) -> None:
        if wanted not in self._runs.served.skills():
            raise InvalidParamsError(message=f"there is no skill {wanted!r}")
        if not caller.may_use(wanted):
            context.state["forbidden"](f"this key is not for the skill {wanted!r}")
            raise UnsupportedOperationError(message=f"this key is not for the skill {wanted!r}")

    async def _follow_up(self, context: ServerCallContext, caller: Caller, task_id: str) -> Live:
        """Return the session of a task that another message is for."""
        task = await self._runs.tasks.get(task_id, context)
        if task is not None and task.status.state in ENDED:
            raise UnsupportedOperationError(message="the task is over; begin another one in its context")
        if self._runs.works(task_id):
            raise UnsupportedOperationError(message="the task works; cancel it, or wait until it asks or ends")
        live = await self._runs.sessions.live(session_of(task_id), caller.principal)
        waiting = live.waiting()
        if waiting and not decides(caller, waiting[0]):
            raise UnsupportedOperationError(message="the owner of this agent answers that, nobody else")
        context.state["question"] = waiting[0]["id"] if waiting else ""
        return live

    async def _begin(self, caller: Caller, context_id: str | None, wanted: str) -> Live:
        """Return the session of a new task; the name that a caller gives a context is kept."""
        sessions = self._runs.sessions
        known = await sessions.find(context_id, caller.principal) if context_id else None
        if known is None:
            if len(context_id or "") > _LONGEST:
                raise InvalidParamsError(message=f"a contextId has at most {_LONGEST} characters")
            return await sessions.begin(caller, self._runs.served.alone(caller, wanted), context_id or "")
        live = await sessions.live(known, caller.principal)
        if live.state not in ("idle", "closed"):
            raise UnsupportedOperationError(
                message="another task of this context is not over; answer it, cancel it, or begin another context"
            )
        return live


def _origin(caller: Caller, message: Message, task_id: str, metadata: Mapping[str, Any]) -> Origin:
    """Return where a message comes from, as plugins see it."""
    about = {"message_id": message.message_id, "task_id": task_id, "context_id": message.context_id}
    return Origin("a2a", caller.principal, message.message_id, {**metadata, **about})


class Runs(AgentExecutor):
    """Carries out what callers ask.

    Args:
        sessions: the sessions of contexts.
        served: the skills.
        most: tasks of a caller that work at the same time.
        folder: for tasks that are too large for a note.

    Attributes:
        host: the host.
        tasks: the store of tasks.
    """

    def __init__(self, sessions: Sessions, served: Served, most: int, folder: Path) -> None:
        self.sessions, self.served, self.host = sessions, served, sessions.host
        self.tasks = Tasks(sessions, folder, self.works, self.settle, self._saved)
        self._most = most
        self._working: dict[str, tuple[str, asyncio.Event]] = {}  # by task: whose, and what is set at the end
        self._cancelled: set[str] = set()
        self._unsaved: set[str] = set()  # tasks whose work is over, and whose end was told but not kept yet
        self._kept: set[str] = set()  # tasks that work, and whose end is kept already

    def works(self, task: str) -> bool:
        """Return whether a task is worked on in this process."""
        return task in self._working or task in self._unsaved

    def _saved(self, task: str) -> None:
        """Know that the end of the work on a task, or its question, is kept."""
        self._unsaved.discard(task)
        if task in self._working:
            self._kept.add(task)

    def check_room(self, caller: Caller) -> None:
        """Raise :class:`UnsupportedOperationError` where a caller has too many tasks that work."""
        if sum(principal == caller.principal for principal, _ in self._working.values()) >= self._most:
            raise UnsupportedOperationError(message=f"{self._most} tasks of this key work already; wait for one to end")

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Work on a message until the run ends or asks."""
        live, said, origin, wanted = context.call_context.state["asked"]
        caller: Caller = context.call_context.state["caller"]
        task = context.current_task
        assert context.task_id is not None and context.context_id is not None
        if context.task_id in self._working:
            return
        over = asyncio.Event()
        self._working[context.task_id] = caller.principal, over
        self._kept.discard(context.task_id)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        work = _Work(self, live, caller, updater, event_queue, is_task=task is not None)
        try:
            if task is None:
                await work.begin(context, self._addressed(live, caller, said.text, wanted), said, origin)
            else:
                await work.answer(task, said, origin, context.call_context.state["question"])
        finally:
            self._working.pop(context.task_id, None)
            if context.task_id not in self._kept and work.is_task:
                self._unsaved.add(context.task_id)
            self._kept.discard(context.task_id)
            over.set()

    def _addressed(self, live: Live, caller: Caller, text: str, wanted: str) -> str:
        """Return the text for the agent: a skill that is wanted, or the only one, is called by name unless it is active."""
        skills = self.served.allowed(caller)
        name = wanted or (next(iter(skills)) if len(skills) == 1 else "")
        return f"/skill:{name} {text}" if name and not skills_of(live.agent).is_active(name) else text

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """End the run of a task, and tell that it is cancelled."""
        assert context.task_id is not None and context.context_id is not None
        self._cancelled.add(context.task_id)
        principal = context.call_context.user.user_name
        live = await self.sessions.live(session_of(context.task_id), principal)
        _, over = self._working.get(context.task_id, ("", None))
        live.agent.abort(_CANCELLED)
        with suppress(TimeoutError):
            async with asyncio.timeout(_SOON):
                await live.agent.wait_idle()
                if over is not None:
                    await over.wait()
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()
        self._cancelled.discard(context.task_id)

    def is_cancelled(self, task: str) -> bool:
        """Return whether a task is being cancelled, which is told elsewhere."""
        return task in self._cancelled

    async def withdraw(self, task: Task, principal: str) -> None:
        """Deny what waits in the session of a task that was cancelled, so that nobody allows it later."""
        live = await self.sessions.live(session_of(task.id), principal)
        suspension = live.agent.suspension
        if suspension is None or live.agent.running:  # a run that was aborted leaves nothing that waits
            return
        remove = live.agent.events.on("before_model_request", lambda event: ModelRequestResult(stop=True))
        try:
            denied = {call.id: "deny" for call in suspension.calls}
            await live.agent.resume(denied, origin=Origin("a2a", principal))  # type: ignore[arg-type]
        except SkillKitError:
            pass  # the run ends without a model
        finally:
            remove()

    async def settle(self, task: Task, principal: str) -> Task:
        """Return how a task stands that nobody works on here: by its session, which outlives this process.

        Its question may have been answered by the owner, in another front end; or the process that worked on it is gone.
        """
        live = await self.sessions.live(session_of(task.id), principal)
        waiting = live.waiting()
        if waiting:
            return task if task.status.state == WAITS else _with(task, WAITS, asked_of(principal, waiting[0]))
        if live.state == "running":
            return _with(task, TaskState.TASK_STATE_WORKING, [])
        answer = _answer_of(task.id, live.agent.session.messages)
        if answer is None:
            return _with(
                task, TaskState.TASK_STATE_FAILED, [text_part("the server ended while it worked on this task")]
            )
        done = _with(task, TaskState.TASK_STATE_COMPLETED, [])
        kept = [artifact for artifact in done.artifacts if artifact.artifact_id != ANSWER]
        del done.artifacts[:]
        done.artifacts.extend([*kept, Artifact(artifact_id=ANSWER, name=ANSWER, parts=[text_part(answer)])])
        return done


def _answer_of(task: str, messages: Sequence[AgentMessage]) -> str | None:
    """Return the last answer of the run of a task, ``None`` where the run did not come to its end."""
    mine, answer = False, None
    for message in messages:
        if isinstance(message, UserMessage) and message.origin is not None and message.origin.kind == "a2a":
            mine = message.origin.meta.get("task_id") == task
        if mine:
            whole = isinstance(message, AssistantMessage) and message.stop_reason == StopReason.stop
            answer = message.text if whole else None
    return answer


def asked_of(principal: str, question: Mapping[str, Any]) -> list[Part]:
    """Return the parts that ask a caller whose key is not at hand; what the key may answer is looked at when it does."""
    from .keys import Caller

    return asked(Caller(principal.removeprefix("a2a:"), approve=True), question)


def _with(task: Task, state: Any, parts: Sequence[Part]) -> Task:
    """Return a task in another state."""
    changed = Task()
    changed.CopyFrom(task)
    changed.status.CopyFrom(TaskStatus(state=state))
    changed.status.timestamp.GetCurrentTime()
    if parts:
        name = f"{task.id}-{TaskState.Name(state).lower()}"
        message = Message(
            message_id=name, role=Role.ROLE_AGENT, task_id=task.id, context_id=task.context_id, parts=parts
        )
        changed.status.message.CopyFrom(message)
    return changed


class _Work:
    """The work on one message: what the agent does is told to the task until the run ends or asks.

    Attributes:
        is_task: there is a task, and no message alone.
    """

    def __init__(
        self, runs: Runs, live: Live, caller: Caller, updater: TaskUpdater, queue: EventQueue, *, is_task: bool
    ) -> None:
        self._runs, self._live, self._caller, self.is_task = runs, live, caller, is_task
        self._updater, self._queue = updater, queue
        self._telling = Telling(live, updater)

    async def begin(self, context: RequestContext, text: str, said: Said, origin: Origin) -> None:
        """Begin a run. What a handler answers without a run is a message, and no task."""
        live = self._live
        async with live.attach(live.last, whole=True) as client:
            run = asyncio.ensure_future(live.prompt(text, images=said.blocks, origin=origin))
            run.add_done_callback(lambda done: done.cancelled() or done.exception())
            try:
                if await self._until_it_runs(client, run):
                    await self._submit(context)
                    await self._updater.start_work()
                    await self._follow(client)
                    return
                answer: AgentResponse = await run
                await self._queue.enqueue_event(self._updater.new_agent_message([text_part(answer.content)]))
            except SkillKitError as error:  # no run began
                await self._submit(context)
                refused = str(error).startswith("the input was rejected")
                state = TaskState.TASK_STATE_REJECTED if refused else TaskState.TASK_STATE_FAILED
                await self._say(state, [text_part(live.agent.redact(str(error)))])

    async def _until_it_runs(self, client: Client, run: asyncio.Future[AgentResponse]) -> bool:
        """Wait until a run has begun; return ``False`` where it is over without one."""
        while True:
            coming = asyncio.ensure_future(anext(client))
            either: set[asyncio.Future[Any]] = {coming, run}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done() and client.after == self._live.last:
                coming.cancel()
                with suppress(asyncio.CancelledError):
                    await coming
                return False
            if self._telling.begins(await coming):
                return True

    async def _submit(self, context: RequestContext) -> None:
        assert context.message is not None
        self.is_task = True
        task = Task(id=context.task_id, context_id=context.context_id, history=[context.message])
        task.status.state = TaskState.TASK_STATE_SUBMITTED
        task.status.timestamp.GetCurrentTime()
        await self._queue.enqueue_event(task)

    async def answer(self, task: Task, said: Said, origin: Origin, asked_then: str) -> None:
        """Answer what the run asks, and go on with it.

        Args:
            task: the task as it stands.
            said: what the message says.
            origin: where it comes from.
            asked_then: the question that was open when the message came; a later one is not answered by it.
        """
        live = self._live
        async with live.attach(live.last, whole=True) as client:
            waiting = {one["id"]: one for one in live.waiting()}
            named = {str(one["question"]) for one in said.data if isinstance(one, Mapping) and "question" in one}
            question = next((waiting[name] for name in named or {asked_then} if name in waiting), None)
            if question is None:
                await self._too_late(task, list(waiting.values()), client)
                return
            try:
                given = answer_in(said, question)
                outcome = await live.answer(question["id"], given, origin)
            except UsageError as error:
                await self._ask(question, f"{error}.")
                return
            left = [one for name, one in waiting.items() if name != question["id"] and not one.get("suspended")]
            if outcome != "taken":
                await self._too_late(task, live.waiting(), client)
                return
            if left:
                await self._ask(left[0])
                return
            await self._updater.start_work()
            await self._follow(client)

    async def _too_late(self, task: Task, waiting: Sequence[Mapping[str, Any]], client: Client) -> None:
        """Tell how the task stands: somebody else has answered what the message is about."""
        if waiting:
            await self._ask(waiting[0], "That was answered already.")
        elif self._live.state == "running":
            await self._updater.start_work()
            await self._follow(client)
        else:
            settled = await self._runs.settle(task, self._caller.principal)
            for artifact in settled.artifacts:
                if artifact.artifact_id == ANSWER:
                    await self._updater.add_artifact(list(artifact.parts), ANSWER, ANSWER)
            await self._say(settled.status.state, list(settled.status.message.parts))

    async def _ask(self, question: Mapping[str, Any], problem: str = "") -> None:
        await self._say(WAITS, asked(self._caller, question, problem))

    async def _follow(self, client: Client) -> None:
        """Tell what happens until the run asks or is over; who cannot tell it as fast as it happens goes on where it was."""
        try:
            while True:
                try:
                    await self._tell(client)
                    return
                except FellBehind as behind:
                    client = self._live.attach(behind.after, whole=True)
        finally:
            client.close()

    async def _tell(self, client: Client) -> None:
        """Tell what happens; while nothing happens, what was said is told at once."""
        while True:
            coming = asyncio.ensure_future(anext(client))
            try:
                if self._telling.holds and not (await asyncio.wait({coming}, timeout=PAUSE))[0]:
                    await self._telling.flush()
                message = await coming
            finally:
                coming.cancel()
            if message.type == "snapshot" and not self._live.agent.running:  # so much was missed that the end was, too
                await self._end(self._ended())
                return
            found = await self._telling.tell(message)
            if isinstance(found, Ended):
                await self._end(found)
                return
            if found is not None:
                await self._ask(found.data["question"])
                return

    def _ended(self) -> Ended:
        """Return how the run ended, by its session."""
        if self._live.waiting():
            return Ended("suspended", WAITS)
        if _answer_of(self._updater.task_id, self._live.agent.session.messages) is not None:
            return Ended("completed", TaskState.TASK_STATE_COMPLETED)
        return Ended("failed", TaskState.TASK_STATE_FAILED, "the run ended without an answer")

    async def _end(self, ended: Ended) -> None:
        if self._runs.is_cancelled(self._updater.task_id):
            return
        waiting = self._live.waiting() if ended.outcome == "suspended" else []
        if waiting:
            await self._ask(waiting[0])
        else:
            reason = [text_part(self._live.agent.redact(ended.reason))] if ended.reason else []
            await self._say(ended.state, reason, ended.code)

    async def _say(self, state: Any, parts: list[Part], code: str = "") -> None:
        """Tell the state of the task; ``code`` is that of an error, which callers hand on."""
        metadata = {ERROR: code} if code else None
        message = self._updater.new_agent_message(parts, metadata=metadata) if parts else None
        await self._updater.update_status(state, message)
