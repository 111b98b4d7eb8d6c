"""What may follow while a person types: slash commands and their arguments, and files after ``@``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from skillkit_commands import SlashCommands

from .mentions import TYPED, as_mention, paths_for

__all__ = ["propose"]

_SHOWN = 50  # files


def propose(
    text: str, commands: SlashCommands, own: Iterable[tuple[str, str]], cwd: Path
) -> list[tuple[str, str, str]]:
    """Return what may stand in place of the text before the cursor: ``(text, label, help)``.

    Args:
        text: the text before the cursor.
        commands: the commands of plugins.
        own: the front end's own commands, and what they do.
        cwd: where paths begin.
    """
    if match := TYPED.search(text):
        typed = match[1] if match[1] is not None else match[2] or ""
        paths = islice(paths_for(typed, cwd), _SHOWN)
        return [(text[: match.start()] + as_mention(path), path, "") for path in paths]
    if not text.startswith("/") or "\n" in text:
        return []
    rows = [(f"/{name}", f"/{name}", told) for name, told in own if name.startswith(text[1:])]
    taken = {label for _, label, _ in rows}
    rows += [(found.text, found.label, found.help) for found in commands.complete(text) if found.label not in taken]
    return sorted(rows, key=lambda row: row[1]) if " " not in text else rows
