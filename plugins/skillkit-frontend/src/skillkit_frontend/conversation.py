"""The conversation: what a person's words do. They ask the model, steer it while it runs, call a command, interrupt, decide."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_commands import Edit, Invocation, Prompt, SlashCommands

from skillkit_core import AbortSignal, NoActiveRun, RunAborted, SkillKitError, UsageError
from skillkit_core.cli.output import shorten

from .approvals import Defers
from .blocks import Block
from .books import Books
from .mentions import images_in
from .opening import TITLE, check_workspace, get_ready, keep_folders
from .options import Approvals
from .person import Person
from .questions import KeyQuestion
from .recorder import Recorder
from .shell import command_in, run_line
from .tasks import Tasks

if TYPE_CHECKING:
    from skillkit_core import AgentResponse, AgentRunner

    from .view import View

__all__ = ["Conversation"]

_OFFLINE = "offline"
SUSPENDING = 0.4
"""Seconds that a run has to suspend itself when the person leaves at a question."""


class Conversation:
    """One agent, and what a person says to it.

    Args:
        agent: the agent; its session may be open already.
        view: the front end.
        kept: the session outlives the process.
        skills_dirs: folders of skills that the session is given.
        approvals: what happens when a guard asks: the person is asked, nobody is (``deny``), or the run is suspended.

    Attributes:
        agent: the agent.
        commands: the slash commands.
        record: what happened, as blocks.
        books: the numbers of the session, and its title.
        person: how the person is asked and told.
    """

    def __init__(
        self,
        agent: AgentRunner,
        view: View,
        *,
        kept: bool = False,
        skills_dirs: Sequence[Path] = (),
        approvals: Approvals = "ask",
    ) -> None:
        self.agent, self._view, self._kept, self._skills_dirs = agent, view, kept, skills_dirs
        self.commands = SlashCommands(agent)
        self.record = Recorder(agent, view.changed)
        self.books = Books(agent)
        self.person = Person(agent, self.record, view.ask, later=kept)
        self._work: asyncio.Task[None] | None = None
        self._line: AbortSignal | None = None  # ends the shell line that goes on
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: list[str] = []  # said when what goes on now is over
        self._interrupted = self._leaving = self._moved = False
        agent.configure(approver={"ask": self.person, "defer": Defers(), "deny": None}[approvals], ui=self.person)
        agent.events.observe(self._see, ["session_start", "session_tree"])

    # --- beginning and end ------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether something goes on."""
        return self._work is not None and not self._work.done()

    def begin(self, request: str = "") -> None:
        """Show the session, decide about calls that wait in it, then say a request."""
        tasks = asyncio.get_running_loop().get_task_factory()
        if isinstance(tasks, Tasks):
            tasks.tell = self._plugin_failed
        self.show_session()
        if self.agent.suspension is not None:
            self._begin(self._decide())
            self._next += [request] if request else []
        elif request:
            self.entered(request)

    async def choose_model(self) -> None:
        """Find the model that answers, so that the status names it; say how a person gets one where none does."""
        try:
            target = self.agent.target or await self.agent.find_target()
        except SkillKitError:
            return  # said when it is asked
        get_ready(target.adapter)
        if target.provider == _OFFLINE:
            way_out = self.agent.host.adapters.way_out()
            self.record.note(
                f"No model is asked: skills answer. For a model {way_out}, or name a --provider.", "notice"
            )
        self._view.status_changed()

    async def close(self) -> None:
        """End what goes on; what was not said goes into the history of the line, and a question waits in the session."""
        self._view.put_back([*self.record.take_back().values(), *self._next])
        self._next = []
        self._view.keep_line()
        if self._work is not None and self.person.leave():
            await asyncio.wait([self._work], timeout=SUSPENDING)
        self.agent.abort("the person left")
        self._stop_line()
        for task in (*self._tasks, *([self._work] if self._work else [])):
            if task is not asyncio.current_task():
                with contextlib.suppress(asyncio.CancelledError, SkillKitError):
                    await task

    @property
    def going_on(self) -> str | None:
        """The id of the session that a person can go on with, ``None`` where nothing is kept."""
        return self.agent.session.id if self._kept and self.agent.messages else None

    # --- what a person enters ---------------------------------------------------------------------------------

    def entered(self, text: str) -> None:
        """Take a text that a person entered; :meth:`enter` beside what goes on, with errors shown."""
        self.spawn(self._enter(text))

    async def enter(self, text: str, *, typed: bool = True) -> None:
        """Do what a text means: a command, a shell line, or words for the model, said now or into the run that goes on.

        Args:
            typed: a person typed the text, and gets it back into the line where it cannot be done.

        Raises:
            SkillKitError: the text cannot be done.
        """
        if self._view.own(text):
            return
        invocation = self.commands.match(text)
        if (command := command_in(text)) is not None:
            self._may_run_line()
            self._begin(self._run_line(text, command, typed))
        elif invocation is None:
            await self._say(text)
        elif not self.busy:
            self._begin(self._run_command(text, invocation, typed))
        elif invocation.command.while_running:
            await self._run_command(text, invocation, typed)
        else:
            raise UsageError(f"/{invocation.command.name} has to wait for the end of the run", hint="interrupt it")

    async def queue(self, text: str) -> None:
        """Say a text when the model has answered all that was said before."""
        images = images_in(text, self.agent.cwd)
        if self.agent.running:
            self.record.wait(await self.agent.follow_up(text, images=images), text)
        elif self.busy:
            self._next.append(text)
        else:
            await self._say(text)

    def unqueue(self) -> None:
        """Take back into the line what waits for the model and was not read, to be changed there."""
        waiting, self._next = self._next, []
        self._view.put_back([*self._unread(), *waiting])
        self._view.status_changed()

    def typed(self) -> None:
        """Note that a person typed something: the next Ctrl-C does not leave."""
        if self._leaving:
            self._leaving = False
            self._view.hint("")

    def interrupt(self) -> bool:
        """Interrupt what goes on; return whether there was something to interrupt that was not interrupted yet."""
        if not (self.busy or self.agent.running) or self._interrupted:
            return False
        self._interrupted = True
        queued = self.record.take_back()
        unsaid = self.agent.abort("interrupted by the person")
        waiting, self._next = self._next, []  # what is entered from now on is said when this is over
        self._view.put_back([*(queued.get(item.id, item.text) for item in unsaid), *waiting])
        if not self._stop_line() and not self.agent.running and self._work is not None:
            self._work.cancel()
        return True

    def stop(self) -> None:
        """Do what Ctrl-C means: interrupt what goes on; the second time, or where nothing goes on, leave.

        At a question that keys answer, a text in the line makes way first.
        """
        if isinstance(self.person.question, KeyQuestion) and self._view.keep_line():
            self._view.hint("the line is in the history (Up); Ctrl-C again interrupts")
        elif self.interrupt():
            self._view.hint("interrupting; again leaves")
        elif self.busy or self._leaving:
            self._view.leave()
        else:
            kept = self._view.keep_line()
            self._leaving = True
            self._view.hint("the line is in the history (Up); Ctrl-C leaves" if kept else "Ctrl-C again leaves")

    def change_mode(self) -> None:
        """Do what Shift-Tab means: go to the next mode of permissions, which the status shows."""
        self.spawn(self._change_mode())

    async def _change_mode(self) -> None:
        try:
            invocation = self.commands.match("/mode")
            assert invocation is not None
            await self.commands.run(invocation)
        except SkillKitError as error:
            self._wrong(error)
        self._view.status_changed()

    async def idle(self) -> None:
        """Wait until nothing goes on."""
        while self._tasks or self.busy:
            await asyncio.wait([*self._tasks, *([self._work] if self._work else [])])

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside what goes on."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._report)

    # --- commands ---------------------------------------------------------------------------------------------

    async def _enter(self, text: str) -> None:
        try:
            await self.enter(text)
        except SkillKitError as error:
            self._wrong(error)
            self._view.put_back([text])

    async def _run_command(self, text: str, invocation: Invocation, typed: bool) -> None:
        self.record.say(text)
        await self.agent.open()
        self._moved, shown = False, len(self.record.main.blocks)
        try:
            answer = await self.commands.run(invocation)
        except RunAborted:
            self.record.note("interrupted", "end")
            return
        except SkillKitError as error:
            self._wrong(error)
            self._view.put_back([text] if typed else [])
            return
        if self._moved:
            told = [block for block in self.record.main.blocks[shown:] if block.kind == "note"]
            self.show_session()
            for block in told:  # while the command went on
                self.record.put(block)
        if isinstance(answer, str) and answer:
            self.record.note(answer)
        if isinstance(answer, Prompt):
            await self._ask(answer.text, said=text, back=[text] if typed else [])
        elif isinstance(answer, Edit):
            await self._edit(answer)

    def _may_run_line(self) -> None:
        """Refuse a shell line where the model could not read it next."""
        if self.busy:
            raise UsageError("a shell line has to wait for the end of what goes on", hint="interrupt it")
        if self.agent.suspension is not None:
            raise UsageError("a shell line has to wait for the calls that wait for a decision", hint="decide them")

    async def _run_line(self, text: str, command: str, typed: bool) -> None:
        self._line = AbortSignal()
        try:
            await run_line(self.agent, self.record.put, command, self._line)
        except SkillKitError as error:
            self._wrong(error)
            self._view.put_back([text] if typed else [])
        finally:
            self._line = None

    def _stop_line(self) -> bool:
        """End the shell line that goes on; return whether there is one."""
        if self._line is not None:
            self._line.abort("stopped by the person")
        return self._line is not None

    async def _edit(self, edit: Edit) -> None:
        """Open the person's editor on a file, and say what the command makes of it."""
        try:
            await self._view.edit(edit.path)
            told = await edit.done()
        except SkillKitError as error:
            self._wrong(error)
            return
        if told:
            self.record.note(told)

    def show_session(self) -> None:
        """Show the session that is open now from its beginning."""
        session = self.agent.open_session
        if session is not None:
            self.record.begin(session)
        self.books.begin()
        self._view.show_session()

    # --- runs -------------------------------------------------------------------------------------------------

    async def _say(self, text: str) -> None:
        """Say a text to the model: now, into the run that goes on, or after what goes on."""
        images = images_in(text, self.agent.cwd)
        if not (self.busy or self.agent.running):  # somebody who is attached may have begun a run
            self._begin(self._ask(text))
            return
        try:
            self.record.wait(await self.agent.steer(text, images=images), text)
        except NoActiveRun:
            if self.busy:
                self._next.append(text)
            else:
                self._begin(self._ask(text))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._interrupted = False
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(self._ended)
        self._view.status_changed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Go on with what was typed meanwhile."""
        self._report(task)
        self._view.hint("")
        waiting, self._next = self._next, []
        if waiting:
            self.entered("\n".join(waiting))
        self._view.status_changed()

    def _report(self, task: asyncio.Task[None]) -> None:
        """Report what nobody foresaw in one line."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.record.note(f"{type(error).__name__}: {' '.join(str(error).split())}", error=True)

    async def _ask(self, text: str, *, said: str = "", back: Sequence[str] | None = None) -> None:
        """Let the model answer a text.

        Args:
            said: the command that stands for the text, and was shown already.
            back: what comes back into the line where the text is not said; default: the text.
        """
        back = [text] if back is None else back
        images = images_in(text, self.agent.cwd)
        if not await self._may_deny_what_waits():
            self._view.put_back(back)
            return
        if not said:
            self.record.say(text)
        session = await self.agent.open()  # before something is said nothing is kept
        await keep_folders(session, self._skills_dirs)
        if not self.books.title:
            self.books.title = shorten(self.agent.host.redact(said or text), TITLE)
            if self._kept:
                await session.append("session_info", {"title": self.books.title})
        if not await self._run(lambda: self.agent.chat(text, images=images)):
            self._view.put_back(back)

    async def _decide(self) -> None:
        """Ask about the calls that wait, and go on with them."""
        waiting = self.agent.suspension
        if waiting is not None:
            check_workspace(waiting.cwd, self.agent.cwd)
            self.record.note("the session waits for a decision", "end")
            await self._run(self.agent.resume)

    async def _may_deny_what_waits(self) -> bool:
        if self.agent.suspension is None:
            return True
        choices = {"d": "decide now", "y": "yes", "n": "no"}
        text = "Calls wait for a decision, and this message denies them. Say it?"
        answer = await self.person.put(KeyQuestion(text, choices))
        if answer == "decide now":
            await self._decide()
        return answer == "yes" or (answer == "decide now" and self.agent.suspension is None)

    async def _run(self, work: Callable[[], Awaitable[AgentResponse]]) -> bool:
        """Show a run; return whether what was said is part of the session."""
        self.books.begin_turn()
        self.record.begin_run()
        before = self.agent.session.leaf_id
        try:
            response = await work()
        except RunAborted:
            self.record.finish()
            self.record.note("interrupted", "end")
        except SkillKitError as error:
            self.record.finish()
            self._wrong(error)
            return self.agent.session.leaf_id != before
        else:
            self.record.finish()
            self._tell(response)
        finally:
            self._view.put_back(self._unread())
        return True

    def _unread(self) -> list[str]:
        """Take back what waits for the model: no run has read it, and none will."""
        queued = self.record.take_back()
        return [text for name, text in queued.items() if self.agent.cancel(name) == "cancelled"]

    def _tell(self, response: AgentResponse) -> None:
        """Show what a run says beside its answer."""
        if response.content and not self.record.main.answered:
            self.record.put(Block("text", response.content))  # a handler answered
        if response.outcome == "limit":
            self.record.note(response.reason, "end")
        elif response.outcome == "suspended":
            self.record.note("put off: another message denies what waits; --continue asks again", "end")

    def _plugin_failed(self, text: str) -> None:
        self.record.note(text, "plugin")

    def _wrong(self, error: Exception) -> None:
        self.record.note(" ".join(str(error).split()), error=True)

    def _see(self, event: Any) -> None:
        if len(event.agent_path) == 1:
            self._moved = True
