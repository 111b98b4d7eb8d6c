"""What a person's words do: ask the model, steer it while it runs, call a command, interrupt, decide about what waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_commands import Edit, Invocation, Prompt, SlashCommands
from skillkit_frontend import TITLE, Block, KeyQuestion, images_in, keep_folders

from skillkit_core import NoActiveRun, RunAborted, SkillKitError, UsageError
from skillkit_core.cli.output import shorten

if TYPE_CHECKING:
    from skillkit_core import AgentResponse

    from .app import TerminalUI

__all__ = ["Talk"]


class Talk:
    """One agent, and what a person says to it.

    Args:
        front: the UI.
        kept: the session outlives the process.
        skills_dirs: folders of skills that the session is given.

    Attributes:
        commands: the slash commands.
        interrupted: the work that goes on is being interrupted.
    """

    def __init__(self, front: TerminalUI, *, kept: bool, skills_dirs: Sequence[Path] = ()) -> None:
        self._front, self._agent, self._kept, self._skills_dirs = front, front.agent, kept, skills_dirs
        self.commands = SlashCommands(front.agent)
        self._work: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: list[str] = []  # said when what goes on now is over
        self.interrupted = self._moved = False
        front.agent.events.observe(self._see, ["session_start", "session_tree"])

    @property
    def busy(self) -> bool:
        """Whether something goes on."""
        return self._work is not None and not self._work.done()

    def begin(self, request: str) -> None:
        """Decide about calls that wait, then say the request of the command line."""
        if self._agent.suspension is not None:
            self._begin(self._decide())
            self._next += [request] if request else []
        elif request:
            self.entered(request)

    def entered(self, text: str) -> None:
        """Take a text that a person entered."""
        self.spawn(self._enter(text))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside what goes on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._report)

    async def enter(self, text: str) -> None:
        """Do what a text means: a command, or words for the model."""
        if self._front.own(text):
            return
        invocation = self.commands.match(text)
        if invocation is None:
            await self._say(text)
        elif not self.busy:
            self._begin(self._run_command(text, invocation))
        elif invocation.command.while_running:
            await self._run_command(text, invocation)
        else:
            raise UsageError(
                f"/{invocation.command.name} has to wait for the end of the run", hint="Ctrl-C interrupts it"
            )

    async def close(self) -> None:
        """End what goes on."""
        self._agent.abort("the person left")
        for task in (*self._tasks, *([self._work] if self._work else [])):
            if task is not asyncio.current_task():
                with contextlib.suppress(asyncio.CancelledError, SkillKitError):
                    await task

    def interrupt(self) -> bool:
        """Interrupt what goes on; return whether there was something to interrupt that was not interrupted yet."""
        if not self.busy or self.interrupted:
            return False
        self.interrupted = True
        queued = self._front.record.take_back()
        unsaid = self._agent.abort("interrupted by the person")
        waiting, self._next = self._next, []
        self._front.put_back([*(queued.get(item.id, item.text) for item in unsaid), *waiting])
        if not self._agent.running and self._work is not None:
            self._work.cancel()
        return True

    # --- what is done -----------------------------------------------------------------------------------------

    async def _enter(self, text: str) -> None:
        try:
            await self.enter(text)
        except SkillKitError as error:
            self._wrong(error)
            self._front.put_back([text])

    async def _run_command(self, text: str, invocation: Invocation) -> None:
        self._front.record.say(text)
        await self._agent.open()
        self._moved, shown = False, len(self._front.record.main.blocks)
        try:
            answer = await self.commands.run(invocation)
        except RunAborted:
            self._front.record.note("interrupted")
            return
        except SkillKitError as error:
            self._wrong(error)
            self._front.put_back([text])
            return
        if self._moved:
            told = [block for block in self._front.record.main.blocks[shown:] if block.kind == "note"]
            self._front.begin_session()
            for block in told:  # while the command went on
                self._front.record.put(block)
        if isinstance(answer, str) and answer:
            self._front.record.put(Block("note", answer))
        if isinstance(answer, Prompt):
            await self._ask(answer.text, typed=text)
        elif isinstance(answer, Edit):
            await self._edit(answer)

    async def _edit(self, edit: Edit) -> None:
        """Open the person's editor on a file, and say what the command makes of it."""
        try:
            await self._front.edit(edit.path)
            told = await edit.done()
        except SkillKitError as error:
            self._wrong(error)
            return
        if told:
            self._front.record.put(Block("note", told))

    async def _say(self, text: str) -> None:
        """Say a text to the model: now, into the run that goes on, or after what goes on."""
        images = images_in(text, self._agent.cwd)
        if not self.busy:
            self._begin(self._ask(text))
            return
        try:
            self._front.record.wait(await self._agent.steer(text, images=images), text)
        except NoActiveRun:
            self._next.append(text)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.interrupted = False
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._report(task)
        self._front.hint = ""
        waiting, self._next = self._next, []
        if waiting:
            self.entered("\n".join(waiting))
        self._front.redraw()

    def _report(self, task: asyncio.Task[None]) -> None:
        """Report what nobody foresaw in one line."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._front.record.note(f"{type(error).__name__}: {' '.join(str(error).split())}", error=True)

    async def _ask(self, text: str, *, typed: str = "") -> None:
        """Let the model answer a text, or the one that a person's command stands for."""
        images = images_in(text, self._agent.cwd)
        if not await self._may_deny_what_waits():
            self._front.put_back([typed or text])
            return
        if not typed:
            self._front.record.say(text)
        session = await self._agent.open()
        await keep_folders(session, self._skills_dirs)
        if not self._front.status.title:
            self._front.status.title = shorten(self._agent.host.redact(typed or text), TITLE)
            if self._kept:
                await session.append("session_info", {"title": self._front.status.title})
        if not await self._run(lambda: self._agent.chat(text, images=images)):
            self._front.put_back([typed or text])

    async def _decide(self) -> None:
        """Ask about the calls that wait, and go on with them."""
        waiting = self._agent.suspension
        if waiting is None:
            return
        made_in = waiting.cwd
        if made_in is not None and Path(made_in).resolve() != self._agent.cwd.resolve():
            raise UsageError(f"the calls that wait were made in {made_in}, and would run in {self._agent.cwd}")
        self._front.record.note("the session waits for a decision")
        await self._run(self._agent.resume)

    async def _run(self, work: Callable[[], Awaitable[AgentResponse]]) -> bool:
        """Show a run; return whether what was said is part of the session."""
        self._front.status.begin_turn()
        self._front.follow()
        before = self._agent.session.leaf_id
        record = self._front.record
        try:
            response = await work()
        except RunAborted:
            record.finish()
            record.note("interrupted")
        except SkillKitError as error:
            record.finish()
            self._wrong(error)
            return self._agent.session.leaf_id != before
        else:
            record.finish()
            if response.outcome == "limit":
                record.note(response.reason)
            elif response.outcome == "suspended":
                record.note("put off: another message denies what waits; --continue asks again")
            elif response.content and not any(b.kind == "text" for b in record.main.blocks[-20:]):
                record.put(Block("text", response.content))  # a handler answered
        finally:
            queued = record.take_back()
            self._front.put_back([t for name, t in queued.items() if self._agent.cancel(name) == "cancelled"])
        return True

    async def _may_deny_what_waits(self) -> bool:
        if self._agent.suspension is None:
            return True
        choices = {"d": "decide now", "y": "yes", "n": "no"}
        text = "Calls wait for a decision, and this message denies them. Say it?"
        answer = await self._front.person.put(KeyQuestion(text, choices))
        if answer == "decide now":
            await self._decide()
        return answer == "yes" or (answer == "decide now" and self._agent.suspension is None)

    def _wrong(self, error: Exception) -> None:
        self._front.tell(" ".join(str(error).split()), error=True)

    def _see(self, event: Any) -> None:
        if len(event.agent_path) == 1:
            self._moved = True
