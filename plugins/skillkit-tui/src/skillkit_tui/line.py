"""The input line: several rows of text with history, completion of commands and files, and the keys that end it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rich.text import Text
from skillkit_frontend import Pastes, pasted_file
from textual import events
from textual.widgets import Static, TextArea

from skillkit_core.cli.output import escaped, shorten

__all__ = ["Completions", "Line"]

_SHOWN = 8


class Completions(Static):
    """What may be completed, in rows; one of them is chosen."""

    DEFAULT_CSS = "Completions { display: none; height: auto; padding: 0 2; }"

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, str, str]] = []
        self.place = 0

    def put(self, rows: list[tuple[str, str, str]]) -> None:
        """Show these."""
        self.rows, self.place = rows, 0
        self.draw()

    def step(self, by: int) -> None:
        """Choose the next or previous one."""
        if self.rows:
            self.place = (self.place + by) % len(self.rows)
            self.draw()

    def draw(self) -> None:
        """Show the rows around the chosen one."""
        self.display = bool(self.rows)
        top = max(0, min(self.place - _SHOWN // 2, len(self.rows) - _SHOWN))
        width = max(20, self.app.size.width - 4)
        shown = self.rows[top : top + _SHOWN]
        name = min(max((len(row[1]) for row in shown), default=0), width // 2) + 2
        text = Text(no_wrap=True)
        for number, (_, label, told) in enumerate(shown, top):
            here = number == self.place
            text.append("\n" if number > top else "")
            text.append(
                f"{'❯ ' if here else '  '}{shorten(escaped(label), name - 2):<{name}}", "bold cyan" if here else ""
            )
            text.append(shorten(escaped(told), max(8, width - name - 2)), "dim")
        self.update(text)


class Line(TextArea):
    """The line that a person types into.

    Args:
        completions: where what may follow is shown.
        propose: returns what may stand in place of the text before the cursor.
        entered: called with a text that was entered, and whether it is a command.
        left: called when the line is left with Esc.

    Attributes:
        command: what is typed is a command of the mode ``COMMAND``: one row, without its colon.
    """

    DEFAULT_CSS = """
    Line { height: auto; max-height: 8; border: none; padding: 0; background: $background; width: 1fr; }
    Line:focus { border: none; }
    """

    def __init__(
        self,
        completions: Completions,
        propose: Callable[[str], list[tuple[str, str, str]]],
        entered: Callable[[str, bool], None],
        left: Callable[[], None],
        **options: Any,
    ) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            tab_behavior="focus",
            **options,
        )
        self._completions, self._propose, self._entered, self._left = completions, propose, entered, left
        self.command = False
        self._pastes = Pastes()
        self._history: list[str] = []
        self._at: int | None = None
        self._draft = ""

    def remember(self, text: str) -> None:
        """Put a text into the history."""
        if text.strip() and (not self._history or self._history[-1] != text):
            self._history.append(self._pastes.whole(text))
        self._at = None

    def typed_text(self) -> str:
        """Return what is typed."""
        return self.text

    def type(self, text: str) -> None:
        """Insert a text where the cursor is; ``""``: empty the line."""
        if text:
            self.insert(text)
        else:
            self.put("")

    def put_back(self, texts: Iterable[str]) -> None:
        """Put texts before what is typed now."""
        parts = [self._pastes.short(text) for text in texts if text.strip()]
        if parts:
            now = [self.text] if self.text.strip() else []
            self.put("\n".join([*parts, *now]))

    def put(self, text: str) -> None:
        """Replace what is typed."""
        self.load_text(text)
        self.move_cursor(self.document.end)
        self._propose_now()

    @property
    def before_cursor(self) -> str:
        """The text before the cursor."""
        return self.get_text_range((0, 0), self.cursor_location)

    def _propose_now(self) -> None:
        text = self.before_cursor
        self._completions.put(self._propose(f"/{text}" if self.command else text) if text or self.command else [])

    def _complete(self) -> None:
        if not self._completions.rows:
            return
        text = self._completions.rows[self._completions.place][0]
        before = self.before_cursor
        rest = self.text[len(before) :]
        if self.command:
            text = text.removeprefix("/")
        self.load_text(text + rest)
        lines = text.split("\n")
        self.move_cursor((len(lines) - 1, len(lines[-1])))
        self._propose_now()

    async def _on_paste(self, event: events.Paste) -> None:
        path = pasted_file(event.text, Path.cwd())
        event.text = path or (event.text if self.command else self._pastes.taken(event.text))
        await super()._on_paste(event)
        event.prevent_default()  # the handler of the class above would paste once more
        self._propose_now()

    async def _on_key(self, event: events.Key) -> None:
        """Take the keys that end a text or move in the history; all others are the text's, at once."""
        handler = {
            "enter": self._enter, "tab": self._complete, "up": self._up, "down": self._down, "escape": self._escape,
            "alt+enter": self._newline, "ctrl+j": self._newline, "shift+enter": self._newline, "backspace": self._rub,
            "ctrl+o": self._open,
        }.get(event.key)  # fmt: skip
        if handler is not None and handler() is not False:
            event.stop()
            event.prevent_default()
            return
        before = self.text
        for binding in self._bindings.key_to_bindings.get(event.key, ())[:1]:
            event.stop()
            event.prevent_default()
            await self.run_action(binding.action)
        if not event._stop_propagation:
            await super()._on_key(event)
            event.prevent_default()
        if self.text != before:
            self._propose_now()

    def _newline(self) -> None:
        if not self.command:
            self.insert("\n")

    def _enter(self) -> None:
        if not self.command and self.text.endswith("\\"):
            self.put(self.text[:-1] + "\n")
            return
        if self.command and self._completions.rows and " " not in self.text:
            names = [row[0].strip() for row in self._completions.rows]
            if f"/{self.text.strip()}" not in names:
                self._complete()
        text = self._pastes.whole(self.text).strip()
        self.load_text("")
        self._completions.put([])
        if text or self.command:
            if text and not self.command:
                self.remember(text)
            self._entered(text, self.command)

    def _escape(self) -> None:
        if self._completions.rows and not self.command:
            self._completions.put([])
        else:
            self._completions.put([])
            self._left()

    def _rub(self) -> bool:
        if self.command and not self.text:
            self._left()
            return True
        pasted = self._pastes.before(self.before_cursor) if self.selection.is_empty else 0
        if pasted:
            row, column = self.cursor_location
            self.delete((row, column - pasted), (row, column))
        return bool(pasted)

    def _open(self) -> None:
        """Put the text of long pastes in the place of the words that stand for them."""
        self.put(self._pastes.whole(self.text))

    def _up(self) -> bool:
        if self._completions.rows:
            self._completions.step(-1)
            return True
        if self.cursor_location[0] or not self._history or self._at == 0:
            return False
        self._draft = self.text if self._at is None else self._draft
        self._at = len(self._history) - 1 if self._at is None else self._at - 1
        self._recall(self._history[self._at])
        return True

    def _down(self) -> bool:
        if self._completions.rows:
            self._completions.step(1)
            return True
        if self._at is None or self.cursor_location[0] < self.document.line_count - 1:
            return False
        self._at = self._at + 1 if self._at + 1 < len(self._history) else None
        self._recall(self._draft if self._at is None else self._history[self._at])
        return True

    def _recall(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)
        self._completions.put([])
