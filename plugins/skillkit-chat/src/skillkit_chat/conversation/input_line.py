"""The line that a person types: its history, its completions, and the keys that make it longer or send it."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, ThreadedCompleter
from prompt_toolkit.filters import Condition, has_completions, has_focus
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.bindings.named_commands import get_by_name
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import BufferControl, Window
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import HighlightIncrementalSearchProcessor
from prompt_toolkit.widgets import SearchToolbar
from skillkit_frontend import Pastes, pasted_file

from skillkit_core.errors import UsageError

__all__ = ["EARLY", "InputLine", "history_in"]

PROMPT = "› "
EARLY = 1.0  # seconds; what is read so soon was typed before the conversation began
_ROWS = 12  # of a long text; more of them scroll


def history_in(folder: Path) -> History:
    """Return the lines that were typed before, in a file that nobody else reads.

    Raises:
        UsageError: the file cannot be made.
    """
    path = folder / "chat_history"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="what you type is kept there") from None
    return FileHistory(str(path))


class InputLine:
    """The line that a person types.

    Attributes:
        buffer: the text.
        window: where the text stands.
        search: the line that shows what Ctrl-R looks for.
        keys: its keys.
    """

    def __init__(self, completer: Completer, history: History | None, cwd: Path, send: Callable[[str], None]) -> None:
        self.buffer = Buffer(
            completer=ThreadedCompleter(completer),
            complete_while_typing=True,
            history=history or InMemoryHistory(),
            multiline=True,
            name="line",
        )
        self._completer, self._cwd, self._send = completer, cwd, send
        self._pastes = Pastes()
        self._early_until = 0.0
        self.search = SearchToolbar(ignore_case=True)
        control = BufferControl(
            self.buffer,
            search_buffer_control=self.search.control,
            input_processors=[HighlightIncrementalSearchProcessor()],
        )
        self.window = Window(
            control,
            height=Dimension(min=1, max=_ROWS),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=lambda number, wrapped: [("class:prompt", "  " if number or wrapped else PROMPT)],
        )
        self.keys = self._bind()

    def begin(self) -> None:
        """Note whether something was typed before anybody read."""
        if select.select([get_app().input.fileno()], [], [], 0)[0]:
            self._early_until = time.monotonic() + EARLY

    def typed_text(self) -> str:
        """Return what stands there."""
        return self.buffer.text

    def type(self, text: str) -> None:
        """Insert a text where the cursor is; ``""``: empty the line."""
        if text:
            self.buffer.insert_text(text)
        else:
            self.buffer.reset()

    def paste(self, text: str) -> None:
        """Insert what is pasted: a file by its name, a long text as a few words."""
        mention = pasted_file(text, self._cwd)
        self.buffer.insert_text(f"{mention} " if mention else self._pastes.taken(text))

    def put_back(self, texts: list[str]) -> None:
        """Put texts that were not said before what stands there now."""
        now = [self.buffer.text] if self.buffer.text else []
        self.buffer.text = "\n".join([*map(self._pastes.short, texts), *now])
        self.buffer.cursor_position = len(self.buffer.text)

    def keep(self) -> None:
        """Move what stands there into the history."""
        if self.buffer.text.strip():
            self.open_pastes()
            self.buffer.append_to_history()
        self.buffer.reset()

    def open_pastes(self) -> None:
        """Put the text of long pastes in the place of the words that stand for them."""
        whole = self._pastes.whole(self.buffer.text)
        if whole != self.buffer.text:
            self.buffer.text = whole
            self.buffer.cursor_position = len(whole)

    def _bind(self) -> KeyBindings:
        keys = KeyBindings()
        here = has_focus(self.buffer)
        chosen = has_completions & Condition(
            lambda: self.buffer.complete_state is not None and self.buffer.complete_state.current_completion is not None
        )

        # before the terminal is ours, its driver makes a line feed of Enter
        early = Condition(lambda: time.monotonic() < self._early_until)

        @keys.add("c-j", filter=here & early)
        @keys.add("enter", filter=here & ~chosen)
        def _send(event: KeyPressEvent) -> None:
            text = self._pastes.whole(self.buffer.text)
            if self.buffer.document.text_before_cursor.endswith("\\"):
                self.buffer.delete_before_cursor()
                self.buffer.insert_text("\n")
            elif text.strip():
                self.keep()
                self._send(text.strip())

        @keys.add("enter", filter=here & chosen)
        def _take(event: KeyPressEvent) -> None:
            self.buffer.complete_state = None
            if self.buffer.text.endswith("/"):
                self.buffer.start_completion()

        @keys.add("tab", filter=here & ~chosen)
        def _complete(event: KeyPressEvent) -> None:
            asked = CompleteEvent(completion_requested=True)
            found = list(islice(self._completer.get_completions(self.buffer.document, asked), 2))
            if len(found) == 1:
                self.buffer.apply_completion(found[0])
            else:
                get_by_name("menu-complete").call(event)

        @keys.add("escape", "enter", filter=here)
        @keys.add("c-j", filter=here & ~early)
        def _newline(event: KeyPressEvent) -> None:
            self.buffer.insert_text("\n")

        @keys.add("escape", filter=here & has_completions)
        def _close(event: KeyPressEvent) -> None:
            self.buffer.cancel_completion()

        @keys.add(Keys.BracketedPaste, filter=here)
        def _paste(event: KeyPressEvent) -> None:
            self.paste(event.data)

        @keys.add("c-o", filter=here)
        def _open(event: KeyPressEvent) -> None:
            self.open_pastes()

        pasted = Condition(lambda: bool(self._pastes.before(self.buffer.document.text_before_cursor)))

        @keys.add("backspace", filter=here & pasted)
        def _rub(event: KeyPressEvent) -> None:
            self.buffer.delete_before_cursor(self._pastes.before(self.buffer.document.text_before_cursor))

        return keys
