"""The UI: a transcript, the line that a person types into, a status line; the modes, and what keys mean in each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.terminal_theme import TerminalTheme
from rich.text import Text
from skillkit_frontend import (
    IDLE,
    WAITS,
    After,
    Answering,
    Block,
    Choices,
    Conversation,
    KeyQuestion,
    ListQuestion,
    Log,
    Question,
    after,
    propose,
)
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import OptionList, Static

from skillkit_core import AgentRunner, UserInterface
from skillkit_core.cli.output import escaped

from .agents import Agents, read_session
from .asking import Box
from .chords import TIMEOUT
from .editor import edit
from .help import OWN, help_text
from .leading import Leading
from .line import Completions, Line
from .status import Status
from .transcript import Transcript

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.widget import Widget

__all__ = ["TerminalUI"]

FRAMES = 30
"""Repaints a second, at most."""
_LIGHT = TerminalTheme(  # the terminal's colours in the themes "light" and "dark": all of them can be read there
    (255, 255, 255), (30, 30, 30),
    [(0, 0, 0), (176, 32, 32), (28, 105, 28), (122, 84, 0), (34, 68, 170), (120, 40, 130), (0, 100, 115), (90, 90, 90)],
)  # fmt: skip
_DARK = TerminalTheme(
    (18, 18, 18), (224, 224, 224),
    [(90, 90, 90), (240, 113, 120), (138, 201, 110), (240, 190, 100), (110, 165, 240), (200, 146, 234), (100, 200, 215),
     (224, 224, 224)],
)  # fmt: skip
_THEMES = {"terminal": "ansi-dark", "dark": "textual-dark", "light": "textual-light"}


class TerminalUI(App[int]):
    """The terminal UI of one agent.

    Attributes:
        agent: the agent.
        talk: the conversation.
        record: what happened, as blocks.
        status: the status line.
        asked: the question that stands there.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layers: base overlay; align: center middle; background: $background; color: $foreground; }
    #middle { height: 1fr; }
    #queued { display: none; height: auto; max-height: 4; color: $text-warning; padding: 0 1; }
    #rule { height: 1; color: $primary; }
    #rule.off { color: $foreground-muted; }
    #typing { height: auto; padding: 0 1; }
    #prompt { width: 2; height: 1; text-style: bold; }
    #status { height: 1; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "leave", show=False, priority=True),
        Binding("shift+tab", "change_mode", show=False, priority=True),
        Binding("alt+up", "take_back", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        agent: AgentRunner,
        *,
        kept: bool,
        options: Choices | None = None,
        theme: str = "terminal",
        after: After = after,
        greeting: Callable[[], str] | None = None,
    ) -> None:
        super().__init__()
        self.agent, self._options = agent, options or Choices()
        self._theme = _THEMES.get(theme, theme)
        self.ansi_theme_light, self.ansi_theme_dark = _LIGHT, _DARK
        approvals, skills_dirs = self._options.approvals or "ask", self._options.skills_dirs
        self.talk = Conversation(agent, self, kept=kept, skills_dirs=skills_dirs, approvals=approvals)
        self.record = self.talk.record
        self.status = Status(self.talk.books)
        self.transcript = Transcript(self._pressed, id="transcript")
        self.agents = Agents(agent, self.redraw, self.close_agents)
        self.box = Box(self.scroll_by)
        self.completions = Completions()
        self.line = Line(self.completions, self._propose, self._entered, self._normal, id="line")
        self._queued, self._typing, self._prompt = (
            Static(id="queued"),
            Horizontal(id="typing"),
            Static("› ", id="prompt"),
        )
        self._rule, self._bar = Static(id="rule"), Static(id="status")
        section = agent.host.config.section("tui")
        self.leading = Leading(self, getattr(section, "leader_timeout", TIMEOUT))
        self._greeting = greeting
        self._after = after  # tests say themselves when a moment has passed
        self.asked: Answering | None = None
        self._hint = ""
        self._hint_until = 0.0
        self._shown: Log | None = self.record.main  # None: a kept session
        self._draft = ""  # what was typed before the mode COMMAND
        self._dirty = True
        self._drawn: Any = None

    def get_driver_class(self) -> type[Driver]:
        """Return a driver that loses no key that was typed before it began."""
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from .typed import EarlyDriver

        return EarlyDriver

    # --- layout -----------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the parts."""
        with Horizontal(id="middle"):
            yield self.transcript
            yield self.agents
        yield self.box
        yield self._queued
        yield self.completions
        yield self._rule
        with self._typing:
            yield self._prompt
            yield self.line
        yield self._bar
        yield self.leading

    async def on_mount(self) -> None:
        """Begin."""
        try:
            self.theme = self._theme
        except Exception as error:  # noqa: BLE001 - Textual names no narrower one
            self.record.note(f"tui.theme: {error}", error=True)
        self.screen.set_focus(self.line)  # at once: keys that were typed before wait behind this event
        self.set_interval(1 / FRAMES, self._frame)
        self.talk.begin(" ".join(self._options.words).strip())
        self.talk.spawn(self._greet())

    async def _greet(self) -> None:
        """Say where a person is, and find the model that answers."""
        greeting = self._greeting
        if greeting is None:
            await self.talk.choose_model()
            return
        block = Block("note", greeting(), about="message")
        self.record.main.blocks.insert(0, block)
        await self.talk.choose_model()
        block.text = greeting()  # now the model has a name
        self.redraw()

    def show_session(self) -> None:
        """Show the session that is open now."""
        for block in self.record.main.blocks:
            if block.kind == "user":
                self.line.remember(block.text)
        self.show_log(self.record.main)

    # --- what is drawn ----------------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """The mode: what keys mean now."""
        if self.leading.waiting:
            return "LEADER"
        if self.box.display:
            return "ASK"
        if self._shown is not self.record.main:
            return "REPLAY"
        if self.line.has_focus:
            return "COMMAND" if self.line.command else "INSERT"
        return "NORMAL"

    def redraw(self) -> None:
        """Draw with the next frame."""
        self._dirty = True
        self.transcript.changed()

    def status_changed(self) -> None:
        """Draw the status with the next frame."""
        self._dirty = True

    def changed(self, log: Log, block: Block | None) -> None:
        """Draw a log with the next frame, and go where a person is asked something, or something went wrong."""
        self._dirty = True
        if log is self._shown:
            self.transcript.changed()
        if log is self.record.main and block is not None and self.is_running and _needs_a_look(block):
            self.follow()

    def _frame(self) -> None:
        """Draw what changed since the last frame."""
        now = time.monotonic()
        self.leading.pass_time(now)
        if self._hint and now > self._hint_until:
            self._hint = ""
        if self._shown is self.record.main and self.transcript._blocks is not self.record.main.blocks:
            self.transcript.show(self.record.main.blocks)
        self.transcript.flush()
        self._draw_status()
        if self._dirty:
            self._dirty = False
            self._draw_queued()
            if self.agents.display:
                self.agents.draw(self.record.logs.values())

    def _draw_status(self) -> None:
        hint = self.asked.aside if self.asked is not None and self.asked.shown else self._hint
        if not hint and self.talk.busy and not self.box.display:
            hint = f"{'◐◓◑◒'[int(time.monotonic() * 4) % 4]} {escaped(self.record.main.doing or 'working')}"
        if not hint and not self.transcript.at_end and self.record.main.state == "running":
            hint = "G: follow"
        rule, line = drawn = self.status.draw(self.mode, hint, max(20, self.size.width))
        if self._drawn != drawn:
            self._drawn = drawn
            self._bar.update(line)
            self._rule.update(rule)
            self._rule.set_class(not self.line.has_focus, "off")
            self._prompt.update(Text(": " if self.line.command else "› "))

    def _draw_queued(self) -> None:
        rows = [f"↳ queued: {' '.join(escaped(text).split())}" for text in self.record.queued.values()]
        self._queued.display = bool(rows)
        width = max(20, self.size.width - 2)
        self._queued.update(Text("\n".join(row if len(row) <= width else f"{row[: width - 1]}…" for row in rows[:4])))

    def hint(self, text: str) -> None:
        """Show a few words in the status line for a while."""
        self._hint, self._hint_until = text, time.monotonic() + 3

    def tell(self, text: str, *, error: bool = False) -> None:
        """Add a line to the conversation, and go there."""
        self.record.note(text, error=error)
        self.follow()

    def follow(self) -> None:
        """Show the end of the conversation, and what comes."""
        if self._shown is self.record.main:
            self.transcript.end()

    def show_log(self, log: Log) -> None:
        """Show what an agent did."""
        self._shown = log
        self.transcript.show(log.blocks)

    def put_back(self, texts: Sequence[str]) -> None:
        """Put texts that nobody read back into the line."""
        self.line.put_back(texts)

    def keep_line(self) -> bool:
        """Move what is typed into the history; return whether there was something."""
        typed = bool(self.line.text) and self.line.has_focus
        if typed:
            self.line.remember(self.line.text)
            self.line.put("")
        return typed

    async def ask(self, question: Question) -> Any:
        """Put a question once nobody types."""
        back = self.focused
        asked = self.asked = Answering(question, self.line, self._put, self._after)
        answer = None
        try:
            answer = await question.answer
            return answer
        finally:
            asked.end()
            self.asked = None
            self._entitle(IDLE)
            if self.is_running and self.box.is_attached:
                self.line.disabled = False
                if answer is None and self.box.question is question and (typed := self.box.typed):
                    self.line.put_back([typed])
                self.box.put(None)
                self.screen.set_focus(back if back is self.transcript else self.line)

    def _entitle(self, title: str) -> None:
        """Give the terminal a title."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(f"\x1b]2;{title}\x07")

    def _put(self) -> None:
        """Show the question, which takes the keys if more than one of them answers it."""
        question = self.asked.question if self.asked is not None else None
        if question is None or question is self.box.question or not self.is_running or not self.box.is_attached:
            return
        self.leading.cancel()
        self.bell()
        self._entitle(WAITS)
        if isinstance(question, KeyQuestion):
            self.screen.set_focus(self.line)
        else:
            self.line.disabled = True
        self.box.put(question)

    # --- what a person does -----------------------------------------------------------------------------------

    @property
    def ui(self) -> UserInterface:
        """How a person is asked and told."""
        return self.talk.person

    async def command(self, line: str) -> None:
        """Run a line that a person could have typed."""
        await self.talk.enter(line, typed=False)

    async def edit(self, path: Path) -> None:
        """Open a file in the editor of the environment, and return when it has ended. Agents go on meanwhile.

        Raises:
            UsageError: the editor does not start, or fails.
        """
        await edit(self, self.agent.host.environ, path)

    def own(self, text: str) -> bool:
        """Do what a command of the UI itself says; return whether ``text`` is one."""
        name = text.strip().removeprefix("/") if text.startswith("/") else ""
        if name == "help":
            self._help()
        elif name == "clear":
            self.record.clear()
        elif name in ("quit", "exit", "q"):
            self.leave()
        elif name == "agents":
            self.talk.spawn(self.open_agents())
        else:
            return False
        return True

    def _propose(self, text: str) -> list[tuple[str, str, str]]:
        return propose(text, self.talk.commands, OWN.items(), self.agent.cwd)

    def _entered(self, text: str, command: bool) -> None:
        """Take what was entered."""
        self.follow()
        if command:
            self._normal()
            if text:
                self.talk.entered(f"/{text.removeprefix('/')}")
        else:
            self.talk.entered(text)

    def _normal(self) -> None:
        """Go to the mode NORMAL."""
        if self.line.command:
            self.line.command = False
            self.line.put(self._draft)
        self.completions.put([])
        self.screen.set_focus(self.transcript)

    def _insert(self, text: str = "", *, command: bool = False) -> None:
        if command:
            self._draft = self.line.text
        self.line.command = command
        self.screen.set_focus(self.line)
        if text or command:
            self.line.put(text)

    def _pressed(self, key: str, character: str) -> None:
        """Do what a key means in the mode NORMAL, or behind the leader key."""
        if self.leading.waiting:
            self.leading.press(key, character)
            return
        replaying = self._shown is not self.record.main
        if self.scroll_by(key):
            return
        if key in ("left_square_bracket", "right_square_bracket"):
            self.transcript.choose(-1 if key == "left_square_bracket" else 1)
        elif key == "enter" or (key == "space" and self.transcript.chosen is not None):
            self.transcript.toggle()
        elif key == "space":
            self.leading.begin(time.monotonic())
        elif key == "escape" or (replaying and key == "q"):
            self._back(replaying)
        elif replaying:
            self.hint("this is only read; Esc goes back")
        elif character in ("i", "a", "o"):
            self._insert()
        elif character == ":":
            self._insert(command=True)
        elif character == "/":
            self._insert("/" if not self.line.text else "")
        elif key == "ctrl+d":
            self.leave()

    def _back(self, replaying: bool) -> None:
        if self.transcript.chosen is not None:
            self.transcript.unchoose()
        elif replaying:
            self.show_log(self.record.main)
            if self.agents.display:
                self.screen.set_focus(self.agents)
        elif self.talk.busy:
            self.action_interrupt()

    def scroll_by(self, key: str) -> bool:
        """Scroll the transcript if that is what the key means; return whether it is."""
        page = max(1, self.transcript.size.height - 2)
        steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pagedown": page, "pageup": -page}
        steps |= {"ctrl+f": page, "ctrl+b": -page, "ctrl+u": -(page // 2), "ctrl+d": page // 2}
        if key in steps:
            self.transcript.move(steps[key])
        elif key in ("g", "home"):
            self.transcript.move_to(0)
        elif key in ("G", "upper_g", "end"):
            self.transcript.end()
        else:
            return False
        return True

    def action_page(self, by: int) -> None:
        """Scroll a page."""
        self.scroll_by("pagedown" if by > 0 else "pageup")

    async def on_event(self, event: events.Event) -> None:
        """Let the widget that has the focus finish with what is typed before the next key is taken: keys may come fast."""
        typed = isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded
        if typed and (widget := self.focused) is not None:
            if self.asked is not None:
                self.asked.pressed()
                widget = self._line_for(event, self.asked) or widget
            if not (isinstance(event, events.Key) and await self._takes(event, widget)):
                event._set_forwarded()
                event.bubble = False  # type: ignore[misc]
                await widget._dispatch_message(event)
                if isinstance(event, events.Key) and not event._stop_propagation:
                    await self._check_bindings(event.key)
            if self.asked is not None and isinstance(event, events.Key) and event.character and widget is self.line:
                self.asked.typed(event.character)
        else:
            await super().on_event(event)

    def _line_for(self, event: events.Event, asked: Answering) -> Line | None:
        """Return the line where letters are its own, whatever has the focus: at a question that a key answers.

        What is pasted at a list is for the line, too.
        """
        if isinstance(event, events.Paste) and isinstance(asked.question, ListQuestion):
            return self.line
        if not asked.shown or not isinstance(asked.question, KeyQuestion):
            return None
        if isinstance(event, events.Key) and not event.is_printable:
            return None
        self.screen.set_focus(self.line)
        return self.line

    async def _takes(self, key: events.Key, widget: Widget) -> bool:
        """Do what a key means wherever it is pressed; return whether it means something there."""
        if key.key != "ctrl+c":
            self.talk.typed()
        if self.asked is not None and self._takes_at_question(key, widget, self.asked):
            return True
        if key.key == "ctrl+d" and widget is self.line and not self.line.text:
            self.leave()
            return True
        return await self._check_bindings(key.key, priority=True)

    def _takes_at_question(self, key: events.Key, widget: Widget, asked: Answering) -> bool:
        """Take Esc, Enter and Ctrl-D at a question; return whether they mean something there."""
        if key.key == "escape" and not (widget is self.line and self.completions.rows):
            asked.question.say(None)
        elif key.key == "enter" and widget is self.line and asked.answers:
            asked.entered()
        elif key.key == "ctrl+d" and widget is self.line and not self.line.text:
            self.talk.stop()
        else:
            return False
        return True

    def _help(self) -> None:
        shown = self.record.put(Block("note", help_text(self.leading.bound(), self.talk.commands.all())))
        if self._shown is self.record.main:
            self._frame()
            self.transcript.move_to(self.record.main.blocks.index(shown))

    # --- agents -----------------------------------------------------------------------------------------------

    async def open_agents(self) -> None:
        """Show the tree of agents, and go there."""
        await self.agents.open(self.record.logs.values())

    def close_agents(self) -> None:
        """Hide the tree, and show the conversation."""
        self.agents.display = False
        if self._shown is not self.record.main:
            self.show_log(self.record.main)
        self.screen.set_focus(self.transcript)

    async def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Show what the chosen agent did."""
        name = str(message.option.id or "")
        if name.startswith("session:"):
            self._shown = None
            self.transcript.show(await read_session(self.agent.host, name.removeprefix("session:")))
        elif (log := self.record.logs.get(tuple(name.split("/")))) is not None:
            self.show_log(log)
        self.screen.set_focus(self.transcript)

    # --- leaving ----------------------------------------------------------------------------------------------

    def action_interrupt(self) -> None:
        """Interrupt what goes on; the second time, or where nothing goes on, leave."""
        self.talk.stop()

    def action_change_mode(self) -> None:
        """Go to the next mode of permissions."""
        self.talk.change_mode()

    def action_take_back(self) -> None:
        """Take back into the line what waits for the model."""
        self.talk.unqueue()

    def action_leave(self) -> None:
        """Leave."""
        self.leave()

    def leave(self, code: int = 0) -> None:
        """Leave with an exit code."""
        if self.is_running:
            self.talk.spawn(self._end(code))

    async def _end(self, code: int) -> None:
        await self.talk.close()
        self.exit(code)


def _needs_a_look(block: Block) -> bool:
    return block.kind == "error" or (block.kind == "asked" and not block.done)
