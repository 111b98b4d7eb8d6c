"""What Tab proposes: slash commands and their arguments, and files after ``@``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from skillkit_commands import SlashCommands
from skillkit_frontend import TYPED, as_mention, paths_for

from skillkit_core.cli.output import escaped, shorten

__all__ = ["ChatCompleter"]

_SHOWN = 50
_HELP = 60  # characters


class ChatCompleter(Completer):
    """Completes the text before the cursor.

    Args:
        commands: the commands of plugins.
        own: the conversation's own, and what they do.
        cwd: where paths begin.
    """

    def __init__(self, commands: SlashCommands, own: Mapping[str, str], cwd: Path) -> None:
        self._commands, self._own, self._cwd = commands, own, cwd

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may stand there."""
        text = document.text_before_cursor
        if match := TYPED.search(text):
            typed = match[1] if match[1] is not None else match[2] or ""
            start = match.start() - len(text)
            for path in islice(paths_for(typed, self._cwd), _SHOWN):
                yield Completion(as_mention(path), start, display=escaped(path))
        elif text.startswith("/") and "\n" not in text:
            name = text[1:]
            rows = [(f"/{own}", f"/{own}", told) for own, told in self._own.items() if own.startswith(name)]
            rows += [(found.text, found.label, found.help) for found in self._commands.complete(text)]
            for whole, label, told in sorted(rows, key=lambda row: row[1]) if " " not in text else rows:
                yield Completion(whole, -len(text), display=escaped(label), display_meta=shorten(escaped(told), _HELP))
