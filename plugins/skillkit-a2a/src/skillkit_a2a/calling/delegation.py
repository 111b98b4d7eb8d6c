"""One call of the tool: a task of an agent elsewhere, from its first message to its end, also over several processes.

What must not happen twice is in notes of the session. A call that is made again (after a decision, or a crash) finds its task by
them, asks the person the same questions, which have their answers by then, and goes on with the same task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from skillkit_core import Survey
from skillkit_core.errors import SkillKitError
from skillkit_core.frozen import thaw

from ..chain import come_by, own_id
from ..errors import PeerError
from .peer import Peer
from .progress import Progress
from .questions import answer_parts, name_of, survey_of

if TYPE_CHECKING:
    from skillkit_core import ToolContext

    from .settings import Target

__all__ = ["NOTE", "Delegation"]

NOTE = "a2a.call"  # type of the notes: {key, what: begun | known | asked | answered | canceled, ...}
_CANCEL_SECONDS = 2.0


class Delegation:
    """A task that a call of a tool gives to an agent elsewhere.

    Args:
        ctx: the call.
        target: the agent.
    """

    def __init__(self, ctx: ToolContext, target: Target) -> None:
        self._ctx, self._target = ctx, target
        self._key = sha256(ctx.idempotency_key.encode()).hexdigest()[:32]
        self._notes: list[Mapping[str, Any]] = []
        self._read()

    def _read(self) -> None:
        """Read what an earlier attempt of this call has left; what was canceled is not there any more."""
        for note in self._ctx.agent.session.notes(NOTE):
            if note.data["key"] == self._key:
                self._notes = [] if note.data["what"] == "canceled" else [*self._notes, thaw(note.data)]

    async def _note(self, what: str, **about: Any) -> None:
        data = {"key": self._key, "what": what, "agent": self._target.name, **about}
        self._notes.append(data)
        await self._ctx.agent.session.note(NOTE, data, sync=True)

    def _noted(self, what: str) -> list[Mapping[str, Any]]:
        return [note for note in self._notes if note["what"] == what]

    async def run(self, text: str, task: str = "") -> Progress:
        """Give the task, and return what came of it; with ``task`` go on with one that is there.

        Raises:
            PeerError: it did not come to its end.
            Suspended: the agent asks something, and nobody is there to answer.
        """
        host = self._ctx.agent.host
        metadata = come_by(self._ctx.agent).onward(own_id(host), self._settings_depth())
        known = next((str(note["task"]) for note in self._noted("known")), task)
        if self._noted("begun") and not known:
            text = f"it is not known whether {self._target.name} got the message: this program ended while it was sent"
            raise PeerError("unknown_task", text, hint="ask again if it may be done twice")
        async with Peer(host, self._target) as peer:
            progress = peer.progress(known)
            try:
                await self._carry_out(peer, progress, text, metadata)
            except asyncio.CancelledError:
                await self._cancel(peer, progress)
                raise
        if (failure := progress.failure()) is not None:
            raise failure
        return progress

    def _settings_depth(self) -> int:
        from .settings import settings_of

        return settings_of(self._ctx.agent.host).depth

    async def _carry_out(self, peer: Peer, progress: Progress, text: str, metadata: Mapping[str, Any]) -> None:
        """Send what was not sent yet, and answer what the agent asks, until the task ends."""
        answered = await self._again(peer, progress, metadata)
        if answered is None:
            if progress.task:
                await self._follow(peer, peer.watch(progress), progress)
            else:
                await self._note("begun")
                sent = peer.send([{"text": text}], progress, message=self._key, metadata=metadata)
                await self._follow(peer, sent, progress)
        while progress.state == "input-required":
            about = {"survey": survey_of(progress).to_dict(), "called": name_of(progress)}
            await self._note("asked", question=progress.asked, **about)
            await self._answer(peer, progress, self._noted("asked")[-1], metadata)

    async def _again(self, peer: Peer, progress: Progress, metadata: Mapping[str, Any]) -> str | None:
        """Go through the questions that an earlier attempt has asked; return the last one, ``None``: there is none."""
        last = None
        for note in self._noted("asked"):
            last = str(note["question"])
            if any(one["question"] == last for one in self._noted("answered")):
                await self._ask(note)  # its answer is there, and was sent: the order of the questions counts
            else:
                await self._answer(peer, progress, note, metadata)
                return last
        if last is not None:
            await self._follow(peer, peer.watch(progress, than=last), progress)
        return last

    async def _ask(self, note: Mapping[str, Any]) -> Any:
        """Ask the person, and return the answers.

        Raises:
            PeerError: ``nobody``, ``declined``.
            Suspended: nobody is there now.
        """
        name = self._target.name
        answers = await self._ctx.ask(Survey.from_dict(note["survey"]))
        if answers is None and self._ctx.ui is None:
            hint = "the task waits there"
            raise PeerError("nobody", f"{name} asks, and nobody can be asked here", hint=hint, retryable=True)
        return answers

    async def _answer(
        self, peer: Peer, progress: Progress, note: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Let the person answer a question, and send the answer, unless an earlier attempt has sent it."""
        question, name = str(note["question"]), self._target.name
        try:
            answers = await self._ask(note)
        except PeerError as error:
            error.task = progress.task
            raise
        if answers is None:
            with suppress(PeerError):
                await peer.cancel(progress)
            raise PeerError("declined", f"the person did not answer what {name} asks", task=progress.task)
        if progress.state != "input-required":  # this attempt has not looked at the task yet
            await self._follow(peer, peer.watch(progress), progress)
        if progress.state == "input-required" and progress.asked == question:
            parts = answer_parts(Survey.from_dict(note["survey"]), answers, note["called"])
            number = len(self._noted("asked"))
            sent = peer.send(parts, progress, message=f"{self._key}-{number}", metadata=metadata, than=question)
            await self._follow(peer, sent, progress, answered=question)
        else:
            await self._note("answered", question=question)

    async def _follow(
        self, peer: Peer, events: AsyncIterator[Progress], progress: Progress, *, answered: str = ""
    ) -> None:
        """Show what is told, and keep the id of the task as soon as it is known."""
        name, shown = self._target.name, ""
        try:
            async with asyncio.timeout(peer.settings.wait):
                async for _ in events:
                    if progress.task and not self._noted("known"):
                        await self._note("known", task=progress.task, context=progress.context)
                    if answered and not any(one["question"] == answered for one in self._noted("answered")):
                        await self._note("answered", question=answered)
                    line = f"{name}: {progress.state}" + (f": {progress.said}" if progress.said else "")
                    if line != shown:
                        shown = line
                        self._ctx.on_output(f"{line}\n")
        except TimeoutError:
            raise peer.left(progress) from None

    async def _cancel(self, peer: Peer, progress: Progress) -> None:
        """End the task there as well, as far as it can be told in a moment."""
        if not progress.task:
            return
        with suppress(SkillKitError, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                await peer.cancel(progress)
            await self._note("canceled", task=progress.task)
