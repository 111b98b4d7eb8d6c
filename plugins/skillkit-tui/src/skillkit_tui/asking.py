"""Where a person is asked: a box above the input line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.text import Text
from skillkit_frontend import KeyQuestion, Look, Pastes, Question, TextQuestion
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

__all__ = ["Box"]

_LOOKS: Mapping[Look, str] = {
    "": "", "question": "bold", "key": "bold cyan", "chosen": "bold cyan", "hint": "dim", "warning": "yellow",
}  # fmt: skip


class Answer(Input):
    """The line for an answer that is typed, of one row: several lines that are pasted stand there as a few words."""

    def __init__(self) -> None:
        super().__init__(id="answer", compact=True, select_on_focus=False)
        self._pastes = Pastes(one_row=True)

    @property
    def whole(self) -> str:
        """What is typed and pasted."""
        return self._pastes.whole(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        event.text = self._pastes.taken(event.text)
        super()._on_paste(event)
        event.prevent_default()  # the handler of the class above would paste once more


class Box(Vertical, can_focus=True):
    """Where a question stands.

    Args:
        other: takes the keys that the question does not know; returns whether it did something.
    """

    DEFAULT_CSS = """
    Box { display: none; height: auto; max-height: 60%; padding: 0 1; border-top: solid $warning; }
    Box Input { display: none; border: none; height: 1; padding: 0; }
    Box Static { height: auto; }
    """

    def __init__(self, other: Callable[[str], bool]) -> None:
        super().__init__()
        self._other = other
        self.question: Question | None = None

    def compose(self) -> ComposeResult:
        """Make the question and the line for its answer."""
        yield Static(id="question")
        yield Answer()

    def put(self, question: Question | None) -> None:
        """Show a question; ``None``: no one."""
        self.question = question
        self.display = question is not None
        line = self.query_one(Answer)
        line.display = isinstance(question, TextQuestion)
        line.password, line.value = False, ""
        if isinstance(question, TextQuestion):
            line.password, line.value = question.secret, question.default
            line.cursor_position = len(question.default)
        if question is not None and not isinstance(question, KeyQuestion):
            self.screen.set_focus(line if line.display else self)  # at once: the next key is for the question
        self.draw()

    @property
    def typed(self) -> str:
        """What was typed at the question; nothing of a secret."""
        question = self.question
        if not isinstance(question, TextQuestion):
            return question.typed if question is not None else ""
        text = self.query_one(Answer).whole
        return "" if question.secret or text == question.default else text

    def draw(self) -> None:
        """Show where the question stands."""
        if self.question is not None:
            parts = self.question.lines(max(20, self.app.size.width - 2))
            self.query_one("#question", Static).update(Text.assemble(*((text, _LOOKS[look]) for look, text in parts)))

    def on_resize(self) -> None:
        """Use the new width."""
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a text that was typed."""
        event.stop()
        if self.question is not None:
            self.question.say(self.query_one(Answer).whole)

    def on_key(self, event: events.Key) -> None:
        """Take a key, unless it is one of the line of an answer."""
        question = self.question
        if question is None or isinstance(question, TextQuestion):
            return
        if question.press(event.key, event.character or ""):
            self.draw()
        elif not self._other(event.key):
            return
        event.stop()
        event.prevent_default()
