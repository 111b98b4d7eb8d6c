"""The conversation at the terminal: the screen, what keys mean, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import in_terminal
from prompt_toolkit.filters import has_completions, has_focus
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from skillkit_frontend import (
    After,
    Block,
    Choices,
    Conversation,
    Log,
    Look,
    Question,
    after,
    ends_in_time,
    opened,
    run_editor,
)
from skillkit_live import address_for, shared

from skillkit_core.cli.output import printable, shorten
from skillkit_core.program import as_typed, program

from .completion import ChatCompleter
from .input_line import EARLY, InputLine, history_in
from .paper import note
from .progress import TICK, Progress
from .screen import Screen
from .status import status_line

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

    from skillkit_core import AgentRunner, Host

__all__ = ["Chat", "converse"]

OWN = {"help": "Show commands and keys.", "clear": "Clear the screen.", "quit": "Leave; the session is kept."}
KEYS = (
    ("Enter", "send; while a run goes on: say it to the model as soon as it reads again"),
    ("Alt-Enter, Ctrl-J, \\ Enter", "a new line"),
    ("!command", "run a shell line; the model reads its output with the next message"),
    ("Alt-Up", "take back what waits for the model, to change it"),
    ("Tab", "complete /commands, their arguments, and files after @; images that are named so are sent"),
    ("Ctrl-O", "open a long paste, which stands in the line as [pasted 500 lines]"),
    ("Up, Down, Ctrl-R", "what was typed before; look for it"),
    ("Esc, Ctrl-C", "interrupt; what waited comes back into the line"),
    ("at a question", "its key alone, or with Enter; a text answers nothing; Esc says no"),
    ("Shift-Tab", "the next mode of permissions, which the last line shows"),
    ("Ctrl-C twice, Ctrl-D", "leave"),
    ("Ctrl-L, Ctrl-Z", "clear the screen; suspend"),
)
_NAME = 30  # columns of the name of a command in the help
_LOOKS: dict[Look, str] = {"question": "bold", "warning": "yellow"}


async def converse(host: Host, options: Choices) -> int:
    """Hold a conversation; return the exit code."""
    async with opened(host, options, address_for(host)) as (agent, kept):
        chat = Chat(agent, kept, options)
        async with shared(agent) if kept else nullcontext():
            code = await chat.hold(" ".join(options.words).strip())
        if (session := chat.talk.going_on) is not None:
            chat.screen.print(Text(), note(as_typed(f"Go on with: skillkit chat --session {session}")))
    return code


class Chat:
    """The view of a conversation at the terminal.

    Args:
        agent: the agent.
        kept: the session outlives the process.
        options: what the command line says.
        output: the terminal; default: that of the program.
        after: calls something later; tests say themselves when a moment has passed.

    Attributes:
        talk: the conversation.
        screen: the terminal.
    """

    def __init__(
        self, agent: AgentRunner, kept: bool, options: Choices, output: Output | None = None, after: After = after
    ) -> None:
        approvals = options.approvals or "ask"
        self.talk = Conversation(agent, self, kept=kept, skills_dirs=options.skills_dirs, approvals=approvals)
        history = history_in(agent.host.data_dir) if kept else None
        self._line = InputLine(ChatCompleter(self.talk.commands, OWN, agent.cwd), history, agent.cwd, self.talk.entered)
        self._line.buffer.on_text_changed += lambda buffer: self.talk.typed()
        self.screen = Screen(self._line, self._live, self._status, self._keys(), output, after)
        self._progress = Progress(self.screen)
        self._progress.record = self.talk.record

    async def hold(self, request: str) -> int:
        """Talk until the person leaves; return the exit code."""
        from skillkit_core import __version__

        hint = "  /help shows commands and keys"
        with (
            self.screen.app.input.raw_mode()
        ):  # who types at once, before the line stands, types keys: Enter is no new line
            self.screen.print(Text.assemble((program().title or f"SkillKit {__version__}", "bold"), (hint, "dim")))
            beside = [asyncio.create_task(work) for work in (self._tick(), self._choose_model())]
            try:
                with patch_stdout(raw=True), ends_in_time(self.leave):
                    return await self.screen.app.run_async(pre_run=lambda: self._start(request))
            except EOFError:
                return 0
            finally:
                for task in beside:
                    task.cancel()
                await self.talk.close()

    def _start(self, request: str) -> None:
        self._line.begin()
        self.talk.begin(request)

    async def _choose_model(self) -> None:
        await asyncio.sleep(EARLY)  # it imports a provider's tools, and what was typed comes first
        await self.talk.choose_model()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            if self.talk.busy:
                self.screen.refresh()

    def _live(self, width: int, rows: int) -> str:
        return self._progress.live(width, rows)

    def _status(self, width: int) -> str:
        return status_line(self.talk.books, width)

    # --- what the conversation asks of its view ---------------------------------------------------------------

    def show_session(self) -> None:
        """Print the last messages of the session."""
        if self.talk.record.main.blocks:
            self._progress.recall(self.talk.agent.session.id)

    def changed(self, log: Log, block: Block | None) -> None:
        """Show a block."""
        self._progress.changed(log, block)

    def status_changed(self) -> None:
        """Draw the status line."""
        self.screen.refresh()

    def hint(self, text: str) -> None:
        """Show a few words in place of the status line."""
        self.screen.hint = text
        self.screen.refresh()

    async def ask(self, question: Question) -> Any:
        """Print what stands above a question, and ask it."""
        for look, text in question.lead:
            shown = Text(printable(text), _LOOKS.get(look, ""))
            self.screen.print(shown if look == "question" else Padding(shown, (0, 0, 0, 2)))
        question.lead = []
        return await self.screen.ask(question)

    def put_back(self, texts: Sequence[str]) -> None:
        """Put texts before what stands in the line."""
        if texts:
            self._line.put_back(list(texts))

    def keep_line(self) -> bool:
        """Move the line into the history."""
        typed = bool(self._line.buffer.text)
        self._line.keep()
        return typed

    def own(self, text: str) -> bool:
        """Do what a command of the conversation itself says."""
        if text == "/help":
            self._help()
        elif text == "/clear":
            self.screen.clear()
        elif text in ("/quit", "/exit"):
            self.leave()
        else:
            return False
        return True

    async def edit(self, path: Path) -> None:
        """Open a file in the person's editor, in place of the conversation."""
        async with in_terminal():
            await run_editor(self.talk.agent.host.environ, path)

    def leave(self, code: int = 0) -> None:
        """End the conversation."""
        if self.screen.app.is_running and not self.screen.app.is_done:
            self.screen.app.exit(result=code)

    # --- keys -------------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("escape")
        def _escape(event: KeyPressEvent) -> None:
            if self._line.buffer.complete_state is not None:
                self._line.buffer.cancel_completion()
            elif not self.screen.decline() and self.talk.busy:
                self.talk.stop()

        @keys.add("escape", "up")
        def _take_back(event: KeyPressEvent) -> None:
            self.talk.unqueue()

        @keys.add("s-tab", filter=has_focus(self._line.buffer) & ~has_completions)
        def _mode(event: KeyPressEvent) -> None:
            self.talk.change_mode()

        @keys.add("c-c")
        @keys.add(Keys.SIGINT)
        def _stop(event: KeyPressEvent) -> None:
            self.talk.stop()

        @keys.add("c-d")
        def _end(event: KeyPressEvent) -> None:
            if self.screen.asking:
                self.talk.stop()
            elif not self._line.buffer.text:
                self.leave()
            else:
                self._line.buffer.delete()

        return keys

    def _help(self) -> None:
        rows = [(f"/{name}", told) for name, told in OWN.items()]
        rows += [(f"/{c.name} {c.arguments}".rstrip(), c.help) for c in self.talk.commands.all()]
        for title, lines, cut in (("Commands", sorted(rows), True), ("Keys", KEYS, False)):
            table = Table.grid(padding=(0, 2, 0, 2), pad_edge=True)
            table.add_column(style="cyan", width=_NAME, no_wrap=True)
            table.add_column()
            for name, told in lines:
                room = max(20, self.screen.width - _NAME - 5) if cut else len(told)
                table.add_row(Text(shorten(name, _NAME - 2)), Text(shorten(told, room)))
            self.screen.print(Text(f"\n{title}", "bold"), table)
