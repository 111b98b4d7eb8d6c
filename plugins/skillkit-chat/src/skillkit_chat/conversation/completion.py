"""What Tab proposes: slash commands and their arguments, and files after ``@``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from skillkit_commands import SlashCommands
from skillkit_frontend import TYPED, propose

from skillkit_core.cli.output import escaped, shorten

__all__ = ["ChatCompleter"]

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
        mention = TYPED.search(text)
        start = mention.start() if mention is not None else 0
        for whole, label, told in propose(text, self._commands, self._own.items(), self._cwd):
            help_ = shorten(escaped(told), _HELP)
            yield Completion(whole[start:], start - len(text), display=escaped(label), display_meta=help_)
