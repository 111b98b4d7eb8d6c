"""The screen: what is finished stands above and is never drawn again. Below are what goes on, the input line, and the status.

Nothing asks the terminal where its cursor is, so that no answer of it can come in between what a person types.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, merge_key_bindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.processors import ConditionalProcessor, PasswordProcessor
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from rich.console import RenderableType
from skillkit_frontend import IDLE, WAITS, After, Answering, KeyQuestion, Pastes, Question, TextQuestion, after

from skillkit_core.cli.output import colourful

from .input_line import PROMPT, InputLine
from .paper import ansi

__all__ = ["Screen"]

_STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "question": "bold",
        "key": "bold ansicyan",
        "chosen": "ansicyan bold",
        "hint": "dim",
        "status": "dim",
        "completion-menu": "bg:default fg:default",
        "completion-menu.completion": "bg:default fg:default",
        "completion-menu.completion.current": "bg:default fg:ansicyan noreverse bold",
        "completion-menu.meta.completion": "bg:default fg:default dim",
        "completion-menu.meta.completion.current": "bg:default fg:ansicyan noreverse",
        "completion-menu.multi-column-meta": "bg:default fg:default",
        "scrollbar.background": "bg:default",
        "scrollbar.button": "bg:default",
    }
)
_KEYS = {
    "enter": "enter",
    "up": "up",
    "down": "down",
    "backspace": "backspace",
    "tab": "down",
    "s-tab": "up",
    " ": "space",
}
"""Keys of a terminal, and what a question calls them."""


class Screen:
    """The terminal of a conversation.

    Args:
        line: the input line.
        live: returns what goes on, for a number of columns and rows.
        status: returns the status line for a number of columns.
        keys: keys of the conversation.
        output: the terminal; default: that of the program.
        after: calls something later: whether a key answers a question is known a moment after it.

    Attributes:
        asked: the question that stands there.
    """

    def __init__(
        self,
        line: InputLine,
        live: Callable[[int, int], str],
        status: Callable[[int], str],
        keys: KeyBindings,
        output: Output | None = None,
        after: After = after,
    ) -> None:
        self.line = line
        self.hint = ""
        self.asked: Answering | None = None
        self._after = after
        self._called = False  # to the question that stands there
        self._text = Buffer(multiline=False, name="answer")
        self._pasted = Pastes(one_row=True)  # into the answer
        self._live, self._status = live, status
        if output is None:
            output = Vt100_Output.from_pty(sys.__stdout__ or sys.stdout)
            output.enable_cpr = False
        self.app: Application[int] = Application(
            layout=self._layout(),
            key_bindings=merge_key_bindings([line.keys, keys, self._keys()]),
            style=_STYLE,
            output=output,
            color_depth=None if colourful() else ColorDepth.DEPTH_1_BIT,
            erase_when_done=True,
            min_redraw_interval=0.04,
        )
        self.app.key_processor.before_key_press += self._pressed
        self.app.ttimeoutlen = 0.05
        self.app.timeoutlen = 0.2

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self.app.output.get_size().columns

    def print(self, *parts: RenderableType) -> None:
        """Print parts above what goes on, once."""
        if parts:
            self.write(ansi(*parts, width=self.width))

    def write(self, text: str) -> None:
        """Print a text for the terminal as it is above what goes on."""
        if self.app.is_running:
            self.app.renderer.erase()
        self.app.output.write_raw(text.replace("\n", "\r\n"))
        self.app.output.flush()
        self.app.invalidate()

    def clear(self) -> None:
        """Clear the terminal."""
        self.app.renderer.clear()

    def refresh(self) -> None:
        """Draw what goes on again."""
        self.app.invalidate()

    async def ask(self, question: Question) -> Any:
        """Ask; return the answer, ``None`` for none. A question that is cancelled goes away."""
        self._text.reset()
        if isinstance(question, TextQuestion):
            self._text.text = question.default
        self._called = False
        asked = self.asked = Answering(question, self.line, self._ready, self._after)
        self.refresh()
        answer = None
        try:
            answer = await question.answer
            return answer
        finally:
            asked.end()
            self.app.output.set_title(IDLE)
            self.asked = None
            if answer is None and (typed := self._typed_at(question)):
                self.line.put_back([typed])
            self._text.reset()
            self.app.layout.focus(self.line.buffer)
            self.refresh()

    def _typed_at(self, question: Question) -> str:
        """Return what was typed at a question in place of the line; nothing of a secret."""
        if not isinstance(question, TextQuestion):
            return question.typed
        text = self._pasted.whole(self._text.text)
        return "" if question.secret or text == question.default else text

    @property
    def asking(self) -> bool:
        """Whether a question stands there."""
        return self.asked is not None

    def decline(self) -> bool:
        """Take a question back; return whether there was one."""
        if self.asked is not None:
            self.asked.question.say(None)
        return self.asked is not None

    def _pressed(self, keys: object) -> None:
        if self.asked is not None:
            self.asked.pressed()

    def _ready(self) -> None:
        """Call the person, and let a question that is not answered by one key have all of them."""
        if self.asked is not None and not self._called:
            self._called = True
            self.app.output.bell()
            self.app.output.set_title(WAITS)
        if self.asked is not None and not isinstance(self.asked.question, KeyQuestion):
            self.app.layout.focus(self._text if isinstance(self.asked.question, TextQuestion) else self._question)
        self.refresh()

    def _layout(self) -> Layout:
        text = has_focus(self._text)
        secret = Condition(lambda: isinstance(q := self.asked and self.asked.question, TextQuestion) and q.secret)
        typed = Condition(lambda: bool(self.line.buffer.text))
        live = FormattedTextControl(self._live_text)
        self._question = Window(
            FormattedTextControl(self._question_text, focusable=True, show_cursor=False),
            dont_extend_height=True,
            wrap_lines=True,
        )
        answer = Window(
            BufferControl(self._text, input_processors=[ConditionalProcessor(PasswordProcessor(), secret)]),
            height=1,
            get_line_prefix=lambda number, wrapped: [("class:prompt", PROMPT)],
        )
        rows: list[AnyContainer] = [
            ConditionalContainer(Window(live, dont_extend_height=True), Condition(lambda: bool(self._live_text()))),
            Window(height=1),
            ConditionalContainer(self._question, Condition(lambda: self.asking)),
            ConditionalContainer(answer, text),
            ConditionalContainer(self.line.window, ~text & (~has_focus(self._question) | typed)),
            self.line.search,
            CompletionsMenu(max_height=8),
            Window(FormattedTextControl(self._status_text), height=1, style="class:status"),
        ]
        return Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=self.line.window)

    def _live_text(self) -> StyleAndTextTuples:
        size = self.app.output.get_size()
        lines = self._live(size.columns, max(3, size.rows // 2 - 3))
        return ANSI(lines).__pt_formatted_text__() if lines else []

    def _question_text(self) -> StyleAndTextTuples:
        if self.asked is None:
            return []
        if not self.asked.shown:
            return [("class:hint", "…")]
        shown = [*self.asked.question.lines(self.width)]
        if self.asked.aside:
            shown.append(("hint", f"\n  {self.asked.aside}"))
        return [(f"class:{look}" if look else "", text) for look, text in shown]

    def _status_text(self) -> StyleAndTextTuples:
        return [("bold", self.hint)] if self.hint else [("", self._status(self.width))]

    def _keys(self) -> KeyBindings:
        """Return the keys of questions, and those that change nothing but the screen."""
        keys = KeyBindings()
        asking = Condition(lambda: self.asking)
        text = has_focus(self._text)

        def press(event: KeyPressEvent, key: str) -> None:
            if self.asked is not None:
                self.asked.question.press(key, event.data)

        for key in (Keys.Any, *_KEYS):
            keys.add(key, filter=has_focus(self._question))(functools.partial(press, key=_KEYS.get(key, "")))

        @keys.add(Keys.Any, filter=asking & has_focus(self.line.buffer))
        def _typed(event: KeyPressEvent) -> None:
            self.line.type(event.data if event.data.isprintable() else "")
            if self.asked is not None:
                self.asked.typed(event.data)

        @keys.add("enter", filter=Condition(lambda: self.asked is not None and self.asked.answers))
        def _entered(event: KeyPressEvent) -> None:
            if self.asked is not None:
                self.asked.entered()

        @keys.add("enter", filter=text)
        def _done(event: KeyPressEvent) -> None:
            if self.asked is not None:
                self.asked.question.say(self._pasted.whole(self._text.text))

        @keys.add(Keys.BracketedPaste, filter=text)
        def _paste(event: KeyPressEvent) -> None:
            self._text.insert_text(self._pasted.taken(event.data))

        @keys.add(Keys.BracketedPaste, filter=has_focus(self._question))
        def _aside(event: KeyPressEvent) -> None:
            self.line.paste(event.data)

        @keys.add("c-z", filter=~asking)
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        @keys.add("c-l")
        def _clear(event: KeyPressEvent) -> None:
            self.clear()

        return keys
