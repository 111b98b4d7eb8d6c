"""The conversation: what Enter does, what interrupts, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import in_terminal
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout
from rich.table import Table
from rich.text import Text
from skillkit_commands import Edit, Invocation, Prompt, SlashCommands
from skillkit_frontend import (
    TITLE,
    KeyQuestion,
    as_before,
    config_for,
    get_ready,
    images_in,
    keep_folders,
    keeps_sessions,
    last_answer,
    offer_what_asks,
    say_missing,
    session_for,
)

from skillkit_core import AgentRunner, NoActiveRun, RunAborted, SkillKitError, UsageError
from skillkit_core.cli.output import shorten

from ..approval import approver_for
from ..options import Options
from ..waiting import check_workspace
from .completion import ChatCompleter
from .input_line import EARLY, InputLine, history_in
from .paper import hanging, markdown, note
from .person import PersonAnswers, PersonApproves
from .progress import TICK, Progress
from .recall import recall
from .screen import Screen
from .status import Status

if TYPE_CHECKING:
    from skillkit_core import AgentResponse, Host

__all__ = ["converse"]

OWN = {"help": "Show commands and keys.", "clear": "Clear the screen.", "quit": "Leave; the session is kept."}
KEYS = (
    ("Enter", "send; while a run goes on: say it to the model as soon as it reads again"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "a new line"),
    ("Tab", "complete /commands, their arguments, and files after @; images that are named so are sent"),
    ("Up, Down, Ctrl-R", "what was typed before; look for it"),
    ("Esc, Ctrl-C", "interrupt; what waited comes back into the line"),
    ("Ctrl-C twice, Ctrl-D", "leave"),
    ("Ctrl-L, Ctrl-Z", "clear the screen; suspend"),
)


OFFLINE = "offline"
_NAME = 30  # columns of the name of a command in the help


async def converse(host: Host, options: Options) -> int:
    """Hold a conversation; return the exit code."""
    kept = keeps_sessions(host, options)
    session = await session_for(host, options) if kept or options.session or options.resume else None
    person, asked = PersonAnswers(), options.approvals or "ask"
    if asked == "ask":
        offer_what_asks(host)
    approver = PersonApproves(later=kept) if asked == "ask" else approver_for(asked, kept=kept)
    config = replace(config_for(host, options), approver=approver, ui=person)
    agent = AgentRunner(config, host=host, session=session)
    try:
        if session not in ("new", None):
            opened = await agent.open()
            say_missing(host, opened)
            if before := as_before(host, options, last_answer(opened)):
                agent.configure(**before)
        talk = Conversation(agent, kept, options.skills_dirs)
        person.screen, person.progress = talk.screen, talk.progress
        if isinstance(approver, PersonApproves):
            approver.agent, approver.screen = agent, talk.screen
        host.freeze()
        code = await talk.hold(" ".join(options.words).strip())
    finally:
        await agent.aclose()
        await host.aclose()
    return code


class Conversation:
    """One agent and the person at the terminal.

    Attributes:
        screen: the terminal.
        progress: what a run shows there.
    """

    def __init__(self, agent: AgentRunner, kept: bool, skills_dirs: Sequence[Path] = ()) -> None:
        self._agent, self._kept, self._skills_dirs = agent, kept, skills_dirs
        self._commands = SlashCommands(agent)
        history = history_in(agent.host.data_dir) if kept else None
        self._line = InputLine(ChatCompleter(self._commands, OWN, agent.cwd), history, agent.cwd, self._entered)
        self._line.buffer.on_text_changed += self._typed
        self._status = Status(agent)
        self.screen = Screen(self._line, self._live, self._status.text, self._keys())
        self.progress = Progress(agent, self.screen, self._status)
        self._work: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: list[str] = []  # said when what goes on now is over
        self._interrupted = self._leaving = self._moved = False
        agent.events.observe(self._see)

    async def hold(self, request: str) -> int:
        """Talk until the person leaves; return the exit code."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name)
            loop.add_signal_handler(number, self._leave, 128 + number)
        self._greet()
        ticking = asyncio.create_task(self._tick())
        try:
            with patch_stdout(raw=True):
                return await self.screen.app.run_async(pre_run=lambda: self._start(request))
        except EOFError:
            return 0
        finally:
            ticking.cancel()
            self._keep_what_was_typed()
            self._agent.abort("the person left")
            for task in (*self._tasks, *([self._work] if self._work else [])):
                with contextlib.suppress(asyncio.CancelledError, SkillKitError):
                    await task
            if self._kept and self._agent.messages:
                self.screen.print(Text(), note(f"Go on with: skillkit chat --session {self._agent.session.id}"))

    def _start(self, request: str) -> None:
        self._line.begin()
        self._tasks.add(choosing := asyncio.create_task(self._choose_model()))
        choosing.add_done_callback(self._tasks.discard)
        if self._agent.suspension is not None:
            self._begin(self._decide())
            self._next += [request] if request else []
        elif request:
            self._entered(request)

    def _greet(self) -> None:
        from skillkit_core import __version__

        self.screen.print(
            Text.assemble((f"SkillKit {__version__}", "bold"), ("  /help shows commands and keys", "dim"))
        )
        if self._agent.open_session is not None:
            self.screen.print(*recall(self._agent.open_session, self.screen.width))

    async def _choose_model(self) -> None:
        """Find the model that answers, so that the status line names it, and say how a person gets one where none does."""
        await asyncio.sleep(EARLY)  # it imports a provider's tools, and what was typed comes first
        with contextlib.suppress(SkillKitError):  # said when it is asked
            target = self._agent.target or await self._agent.find_target()
            get_ready(target.adapter)
            if target.provider == OFFLINE:
                way_out = self._agent.host.adapters.way_out()
                self.screen.print(
                    note(f"No model is asked: skills answer. For a model {way_out}, or name a --provider.")
                )
        self.screen.refresh()

    # --- what a person types ----------------------------------------------------------------------------------

    def _typed(self, buffer: Any) -> None:
        self._leaving, self.screen.hint = False, ""

    def _entered(self, text: str) -> None:
        task = asyncio.create_task(self._enter(text))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _enter(self, text: str) -> None:
        try:
            if await self._own(text):
                return
            invocation = self._commands.match(text)
            if invocation is not None:
                await self._call(text, invocation)
            else:
                await self._say(text)
        except SkillKitError as error:
            self._wrong(error)
            self._line.put_back([text])

    async def _own(self, text: str) -> bool:
        """Do what a command of the conversation itself says; return whether ``text`` is one."""
        if text == "/help":
            self._help()
        elif text == "/clear":
            self.screen.clear()
        elif text in ("/quit", "/exit"):
            self._leave()
        else:
            return False
        return True

    async def _call(self, text: str, invocation: Invocation) -> None:
        if not self._busy:
            self._begin(self._run_command(text, invocation))
        elif invocation.command.while_running:
            await self._run_command(text, invocation)
        else:
            raise UsageError(f"/{invocation.command.name} has to wait for the end of the run", hint="Esc interrupts it")

    async def _run_command(self, text: str, invocation: Invocation) -> None:
        self.progress.say(text)
        await self._agent.open()
        self._moved = False
        try:
            answer = await self._commands.run(invocation)
        except RunAborted:
            self.screen.print(Text(), note("interrupted", "yellow"))
            return
        except SkillKitError as error:
            self._wrong(error)
            self._line.put_back([text])
            return
        if isinstance(answer, str) and answer:
            self.screen.print(*hanging(answer, self.screen.width))
        if self._moved:
            self._status.begin()
            self.screen.print(*recall(self._agent.session, self.screen.width))
        if isinstance(answer, Prompt):
            await self._ask(answer.text, typed=text)
        elif isinstance(answer, Edit):
            await self._edit(answer)

    async def _edit(self, edit: Edit) -> None:
        """Open the person's editor on a file, in place of the conversation."""
        environ = self._agent.host.environ
        words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")
        try:
            async with in_terminal():
                editor = await asyncio.create_subprocess_exec(*words, str(edit.path))
                code = await editor.wait()
        except OSError as error:
            self._wrong(UsageError(f"the editor {words[0]!r} does not start: {error.strerror}", hint="set EDITOR"))
            return
        if code:
            self._wrong(UsageError(f"the editor {words[0]!r} ended with {code}"))
        try:
            told = await edit.done()
        except SkillKitError as error:
            self._wrong(error)
            return
        if told:
            self.screen.print(*hanging(told, self.screen.width))

    async def _say(self, text: str) -> None:
        """Say a text to the model: now, into the run that goes on, or after what goes on."""
        images = images_in(text, self._agent.cwd)
        if not self._busy:
            self._begin(self._ask(text))
            return
        try:
            self.progress.wait(await self._agent.steer(text, images=images), text)
        except NoActiveRun:
            self._next.append(text)

    # --- runs -------------------------------------------------------------------------------------------------

    @property
    def _busy(self) -> bool:
        return self._work is not None and not self._work.done()

    def _begin(self, work: Any) -> None:
        self._interrupted = False
        self._work = asyncio.create_task(work)
        self._work.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Report what nobody foresaw in one line, and go on with what was typed meanwhile."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.screen.print(note(f"Error: {type(error).__name__}: {' '.join(str(error).split())}", "red"))
        self.screen.hint = ""
        waiting, self._next = self._next, []
        if waiting:
            self._entered("\n".join(waiting))
        self.screen.refresh()

    async def _ask(self, text: str, *, typed: str = "") -> None:
        """Let the model answer a text, or the one that a person's command stands for."""
        images = images_in(text, self._agent.cwd)
        if not await self._may_deny_what_waits():
            self._line.put_back([typed or text])
            return
        if not typed:
            self.progress.say(text)
        session = await self._agent.open()  # before something is said nothing is kept
        await keep_folders(session, self._skills_dirs)
        if not self._status.title:
            self._status.title = shorten(typed or text, TITLE)
            if self._kept:
                await session.append("session_info", {"title": self._status.title})
        if not await self._run(lambda: self._agent.chat(text, images=images)):
            self._line.put_back([typed or text])

    async def _decide(self) -> None:
        """Ask about the calls that wait, and go on with them."""
        waiting = self._agent.suspension
        if waiting is not None:
            check_workspace(waiting, self._agent.cwd)
            self.screen.print(note("the session waits for a decision", "yellow"))
            await self._run(lambda: self._agent.resume())

    async def _run(self, work: Callable[[], Awaitable[AgentResponse]]) -> bool:
        """Show a run; return whether what was said is part of the session."""
        self.progress.begin()
        before = self._agent.session.leaf_id
        try:
            response = await work()
        except RunAborted:
            self.progress.end()
            self.screen.print(Text(), note("interrupted", "yellow"))
        except SkillKitError as error:
            self.progress.end()
            self._wrong(error)
            return self._agent.session.leaf_id != before
        else:
            self.progress.end()
            self._tell(response)
        finally:
            self._take_back()
        return True

    def _tell(self, response: AgentResponse) -> None:
        """Print what a run says beside its answer."""
        if response.content and not self.progress.shown:
            self.screen.write("\n" + markdown(response.content, self.screen.width - 1))
        if response.outcome == "limit":
            self.screen.print(note(response.reason, "yellow"))
        elif response.outcome == "suspended":
            self.screen.print(note("put off: another message denies what waits; --continue asks again", "yellow"))

    async def _may_deny_what_waits(self) -> bool:
        if self._agent.suspension is None:
            return True
        choices = {"d": "decide now", "y": "yes", "n": "no"}
        answer = await self.screen.ask(
            KeyQuestion("Calls wait for a decision, and this message denies them. Say it?", choices)
        )
        if answer == "decide now":
            await self._decide()
        return answer == "yes" or (answer == "decide now" and self._agent.suspension is None)

    def _take_back(self) -> None:
        """Put into the line what no run has read and none will."""
        queued = self.progress.take_back()
        self._line.put_back([text for name, text in queued.items() if self._agent.cancel(name) == "cancelled"])

    # --- keys, and leaving ------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("escape")
        def _escape(event: KeyPressEvent) -> None:
            if not self.screen.decline() and self._busy:
                self._interrupt()

        @keys.add("c-c")
        @keys.add(Keys.SIGINT)
        def _stop(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d")
        def _end(event: KeyPressEvent) -> None:
            if self.screen.asking:
                self._interrupt()
            elif not self._line.buffer.text:
                self._leave()
            else:
                self._line.buffer.delete()

        return keys

    def _interrupt(self) -> None:
        """Interrupt what goes on; the second time, or where nothing goes on, leave."""
        if self._busy and not self._interrupted:
            self._interrupted = True
            queued = self.progress.take_back()
            unsaid = self._agent.abort("interrupted by the person")
            waiting, self._next = self._next, []  # what is entered from now on is said when this is over
            self._line.put_back([*(queued.get(item.id, item.text) for item in unsaid), *waiting])
            if not self._agent.running and self._work is not None:
                self._work.cancel()
            self.screen.hint = "interrupting; again leaves"
        elif self._busy or self._leaving:
            self._leave()
        elif self._line.buffer.text:
            self._line.keep()
            self.screen.hint = "the line is in the history (Up); Ctrl-C leaves"
            self._leaving = True
        else:
            self._leaving = True
            self.screen.hint = "Ctrl-C again leaves"
        self.screen.refresh()

    def _leave(self, code: int = 0) -> None:
        if self.screen.app.is_running and not self.screen.app.is_done:
            self.screen.app.exit(result=code)

    def _keep_what_was_typed(self) -> None:
        """Move what was not said into the history, where Up finds it next time."""
        self._line.put_back([*self.progress.queued.values(), *self._next])
        self._line.keep()

    # --- what is shown ----------------------------------------------------------------------------------------

    def _live(self, width: int, rows: int) -> str:
        return self.progress.live(width, rows)

    def _see(self, event: Any) -> None:
        if event.type in ("session_start", "session_tree") and len(event.agent_path) == 1:
            self._moved = True

    def _help(self) -> None:
        rows = [(f"/{name}", told) for name, told in OWN.items()]
        rows += [(f"/{c.name} {c.arguments}".rstrip(), c.help) for c in self._commands.all()]
        for title, lines, cut in (("Commands", sorted(rows), True), ("Keys", KEYS, False)):
            table = Table.grid(padding=(0, 2, 0, 2), pad_edge=True)
            table.add_column(style="cyan", width=_NAME, no_wrap=True)
            table.add_column()
            for name, told in lines:
                room = max(20, self.screen.width - _NAME - 5) if cut else len(told)
                table.add_row(Text(shorten(name, _NAME - 2)), Text(shorten(told, room)))
            self.screen.print(Text(f"\n{title}", "bold"), table)

    def _wrong(self, error: Exception) -> None:
        self.screen.print(Text.assemble(("Error: ", "bold red"), note(" ".join(str(error).split()), "")))

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            if self.progress.busy:
                self.screen.refresh()
