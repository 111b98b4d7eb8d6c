"""``skillkit jobs wait --follow``: what a job does, as its session says it, until the job ends.

The session is read, and the worker is not asked: so it makes no difference which worker has the job, or how often that changes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_frontend import arguments_line, one_line

from skillkit_core import Session
from skillkit_core.cli.output import echo, escaped, stdout
from skillkit_core.errors import SessionError
from skillkit_core.messages import AssistantMessage, ToolResultMessage, message_from_dict

from ..advance import said_by
from ..jobs import ENDED, Job
from ..worker import store_for

if TYPE_CHECKING:
    from skillkit_core import Host, SessionEntry

__all__ = ["Lines", "Words", "follow"]

LOOK = 0.5  # seconds between two looks


class Lines:
    """Tells what happens as lines of JSON: ``job``, ``entry``, and ``result`` at the end."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def stands(self, job: Job) -> None:
        """Tell where a job stands now."""
        about = {name: getattr(job, name) for name in ("id", "status", "worker", "recoveries", "waiting")}
        self._line({"type": "job", **about})

    def entry(self, entry: SessionEntry) -> None:
        """Tell what came into the session."""
        self._line({"type": "entry", "id": entry.id, "kind": entry.type, "ts": entry.ts, "data": dict(entry.data)})

    def end(self, job: Job) -> None:
        """Tell how it ended."""
        self._line({"type": "result", **job.to_dict()})

    def _line(self, value: Mapping[str, Any]) -> None:
        stdout().write(json.dumps(self._host.redact(value), default=dict) + "\n")
        stdout().flush()


class Words:
    """Tells what happens to people: what the model says on stdout, everything else on stderr."""

    def __init__(self, host: Host, question: Callable[[Job], str]) -> None:
        self._host, self._question = host, question
        self._said = ""  # of an answer that still arrives

    def stands(self, job: Job) -> None:
        """Tell where a job stands now."""
        self._begin_line()
        where = f" on {job.worker}" if job.status == "running" and job.worker else ""
        echo(f"{job.id} is {job.status}{where}", err=True)
        if job.waiting:
            echo(self._question(job), err=True)

    def entry(self, entry: SessionEntry) -> None:
        """Tell what came into the session."""
        if entry.type == "partial":
            self._arrives(str(entry.data.get("text", "")))
        if entry.type != "message":
            return
        message = message_from_dict(entry.data["message"])
        if isinstance(message, AssistantMessage):
            self._arrives(message.text.removeprefix(self._said))
            self._begin_line()
            for call in message.tool_calls:
                echo(f"  {one_line(call.name, 80)} {one_line(arguments_line(call.args or {}), 200)}".rstrip(), err=True)
        elif isinstance(message, ToolResultMessage):
            echo(f"  {message.outcome}: {one_line(message.text, 200)}", err=True)

    def _arrives(self, text: str) -> None:
        if text:
            self._said += text
            echo(escaped(self._host.redact(text)), nl=False)

    def _begin_line(self) -> None:
        if self._said and not self._said.endswith("\n"):
            echo()
        self._said = ""

    def end(self, job: Job) -> None:
        """Tell why it failed; what it answered was told."""
        if job.error:
            echo(f"Error: {escaped(self._host.redact(job.error))}", err=True)


def follow(host: Host, look: Callable[[], Job], tell: Lines | Words, give_up: float | None) -> Job:
    """Tell what a job does until it ends, or until the time is over; return how it stands."""
    return asyncio.run(_follow(host, look, tell, give_up))


async def _follow(host: Host, look: Callable[[], Job], tell: Lines | Words, give_up: float | None) -> Job:
    stood: tuple[Any, ...] = ()
    seen = 0
    while True:
        job = look()  # before the session, so that nothing of a job that has ended is missed
        for entry in (entries := await _entries(host, job))[seen:]:
            tell.entry(entry)
        seen = max(seen, len(entries))
        if (stands := (job.status, job.worker, job.round)) != stood:
            stood = stands
            tell.stands(job)
        if job.status in ENDED:
            tell.end(job)
            return job
        if give_up is not None and time.monotonic() > give_up:
            return job
        await asyncio.sleep(LOOK)


async def _entries(host: Host, job: Job) -> list[SessionEntry]:
    """Return what the session has of the job; nothing where it has not begun, or where its session is not here."""
    store = store_for(host, job)
    if store is None:
        return []
    try:
        session = await Session.open(store, job.session, time.time, read_only=True)
    except SessionError:
        return []
    entries = list(session.entries)
    await session.close()
    if not job.spec.session:
        return entries
    said = said_by(session, job)
    return entries[entries.index(said) :] if said is not None else []
