"""Tasks in the sessions in which they run: a task is a run, and its record a note beside what was said."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.server.tasks import InMemoryTaskStore, TaskStore
from a2a.types import Task, TaskState
from google.protobuf import json_format

from skillkit_core import thaw
from skillkit_core.settings.documents import write_whole

from .sessions import name_in

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import ListTasksRequest, ListTasksResponse

    from skillkit_core import SessionEntry

    from .sessions import Sessions

__all__ = ["ENDED", "TASK", "WAITS", "Tasks", "new_task", "session_of"]

TASK = "a2a.task"  # the note that holds a task
ENDED = frozenset({
    TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
})  # fmt: skip
WAITS = TaskState.TASK_STATE_INPUT_REQUIRED
_KEPT = 500  # tasks in memory
_NOTE = 48_000  # characters of a task in a note; a longer one is a file
_ID = re.compile(r"([A-Za-z0-9-]{1,64})\.[0-9a-f]{8}\Z")


def new_task(session: str) -> str:
    """Return the id of a new task, which names its session."""
    return f"{session}.{uuid4().hex[:8]}"


def session_of(task: str) -> str:
    """Return the session of a task by its id; empty: it is no id of a task."""
    found = _ID.match(task)
    return found[1] if found else ""


class Tasks(TaskStore):
    """Keeps the tasks of callers. A task of somebody else is not there.

    Args:
        sessions: the sessions.
        folder: for tasks that are too large for a note.
        works: returns whether a task is worked on in this process.
        settle: returns how a task stands by its session, where nobody works on it.
        saved: is called once a task that is over or waits is kept.
    """

    def __init__(
        self,
        sessions: Sessions,
        folder: Path,
        works: Callable[[str], bool],
        settle: Callable[[Task, str], Awaitable[Task]],
        saved: Callable[[str], None],
    ) -> None:
        self._sessions, self._folder, self._works = sessions, folder, works
        self._settle, self._saved = settle, saved
        self._kept: OrderedDict[str, tuple[str, Task]] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Keep a task; it is written when it begins, waits and ends."""
        principal, state = context.user.user_name, task.status.state
        written = state in ENDED or state in (WAITS, TaskState.TASK_STATE_SUBMITTED)
        if written:
            _join_texts(task)
        self._keep(principal, task)
        try:
            if written:
                await self._write(principal, task)
        finally:
            if state in ENDED or state == WAITS:
                self._saved(task.id)

    def _keep(self, principal: str, task: Task) -> None:
        copy = Task()
        copy.CopyFrom(task)
        self._kept[task.id] = principal, copy
        self._kept.move_to_end(task.id)
        for old in list(self._kept)[:-_KEPT]:
            if not self._works(old):
                del self._kept[old]

    async def _write(self, principal: str, task: Task) -> None:
        told = json_format.MessageToDict(task)
        data: dict[str, Any] = {"owner": principal, "task": told}
        if len(text := json.dumps(told)) > _NOTE:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(str(self._folder / f"{task.id}.json"), self._sessions.host.redact(text))
            short = Task(id=task.id, context_id=task.context_id)
            short.status.state = task.status.state
            data = {"owner": principal, "task": json_format.MessageToDict(short), "file": f"{task.id}.json"}
        live = await self._sessions.live(session_of(task.id), principal)
        await live.agent.session.note(TASK, data, sync=task.status.state != TaskState.TASK_STATE_SUBMITTED)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return a task of the caller, as it stands now."""
        kept = self._kept.get(task_id)
        if kept is None:
            found = self._in(await self._sessions.entries(session_of(task_id)), session_of(task_id))
            kept = next((one for one in found if one[1].id == task_id), None)
        if kept is None or kept[0] != context.user.user_name:
            return None
        return await self._now(*kept)

    async def _now(self, principal: str, task: Task) -> Task:
        """Return a task as it stands, without a tie to what is kept."""
        if task.status.state not in ENDED and not self._works(task.id):
            before = task.status.state
            task = await self._settle(task, principal)
            if task.status.state != before:
                self._keep(principal, task)
                await self._write(principal, task)
        copy = Task()
        copy.CopyFrom(task)
        return copy

    def _in(self, entries: Iterable[SessionEntry], session: str) -> Sequence[tuple[str, Task]]:
        """Return the owners and tasks in a session; the newest note of each counts. A fork has none of them."""
        found: dict[str, tuple[str, Task]] = {}
        for entry in entries:
            if entry.type != "custom" or entry.data.get("custom_type") != TASK:
                continue
            told = thaw(entry.data["task"])
            if (name := entry.data.get("file")) and (file := self._folder / Path(str(name)).name).is_file():
                told = json.loads(file.read_text(encoding="utf-8"))
            task = json_format.ParseDict(told, Task(), ignore_unknown_fields=True)
            if session_of(task.id) == session:
                found[task.id] = str(entry.data["owner"]), task
        return list(found.values())

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return the tasks of the caller that fit, the newest first, in pages."""
        principal = context.user.user_name
        found: dict[str, Task] = {}
        async for session, entries in self._sessions.of(principal):
            if params.context_id in ("", name_in(entries)):
                found |= {task.id: task for owner, task in self._in(entries, session) if owner == principal}
        found |= {name: task for name, (owner, task) in self._kept.items() if owner == principal}
        page = InMemoryTaskStore(use_copying=False)
        for task in found.values():
            await page.save(await self._now(principal, task), context)
        return await page.list(params, context)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Refuse: tasks end with their sessions."""
        raise NotImplementedError("a task is removed with its session")


def _join_texts(task: Task) -> None:
    """Make one part of the pieces of a text that arrived one after the other."""
    for artifact in task.artifacts:
        if len(artifact.parts) > 1 and all(part.WhichOneof("content") == "text" for part in artifact.parts):
            text = "".join(part.text for part in artifact.parts)
            del artifact.parts[1:]
            artifact.parts[0].text = text
