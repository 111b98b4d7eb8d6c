"""How texts look on the terminal: Markdown in whole blocks, diffs, and notes, in the colours that the terminal has."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from markdown_it import MarkdownIt
from rich.cells import chop_cells
from rich.console import Console, RenderableType
from rich.text import Text
from skillkit_frontend import THEME, WIDEST, markdown as formatted

from skillkit_core.cli.output import colourful, escaped, printable

__all__ = ["WIDEST", "ansi", "command", "diff", "fold", "hanging", "markdown", "note", "split"]

_FILL = re.compile(r"(?:\s|\x1b\[[0-9;]*m)+\Z")
_BLOCKS = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def ansi(*parts: RenderableType, width: int) -> str:
    """Return what the terminal gets for these parts."""
    out = io.StringIO()
    console = Console(
        file=out, width=max(20, width), force_terminal=True, color_system="standard" if colourful() else None,
        no_color=not colourful(), theme=THEME, highlight=False, emoji=False, markup=False, legacy_windows=False,
    )  # fmt: skip
    console.print(*parts, sep="\n")
    return out.getvalue()


def markdown(text: str, width: int) -> str:
    """Return Markdown as it looks on the terminal; nothing in it is obeyed."""
    lines = [_bare(line) for line in ansi(formatted(printable(text)), width=min(width, WIDEST)).split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def _bare(line: str) -> str:
    """Return a line without the spaces that fill it up, which would be copied and would wrap on a narrower terminal."""
    text = _FILL.sub("", line)
    return f"{text}\x1b[0m" if "\x1b" in text else text


def split(text: str) -> tuple[str, str]:
    """Return the blocks of a Markdown text that no further text can change, and the rest."""
    starts = [token.map[0] for token in _BLOCKS.parse(text) if token.level == 0 and token.map and token.nesting >= 0]
    if len(starts) < 2:
        return "", text
    lines = text.splitlines(keepends=True)
    return "".join(lines[: starts[-1]]), "".join(lines[starts[-1] :])


def diff(text: str, width: int) -> list[Text]:
    """Return the rows of a preview, those of a diff in colours, and what nobody sees escaped."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    rows: list[Text] = []
    for line in text.splitlines():
        style = "bold" if line[:3] in ("+++", "---") else styles.get(line[:1], "")
        rows += _rows("  ", line.expandtabs(4), width, style)
    return rows


def command(args: Mapping[str, Any], name: str | None, width: int) -> list[Text] | None:
    """Return the rows of the shell command in the argument ``name``, then the other arguments; ``None`` without one."""
    line = args.get(name) if name is not None else None
    if not isinstance(line, str):
        return None
    rows: list[Text] = []
    for part in line.split("\n"):
        rows += _rows("    " if rows else "  $ ", part, width)
    for other, value in args.items():
        if other != name:
            rows += _rows("  ", f"{other}: {json.dumps(value, ensure_ascii=False)}", width, "dim")
    return rows


def _rows(indent: str, line: str, width: int, style: str = "") -> list[Text]:
    """Return a line in rows of the terminal, of which none begins where those of SkillKit begin."""
    room = max(20, width - 8)
    parts = chop_cells(escaped(line), room) or [""]
    return [Text((" " * 6 if place else indent) + part, style) for place, part in enumerate(parts)]


def hanging(text: str, width: int, indent: str = "    ", style: str = "") -> Iterator[Text]:
    """Yield the lines of a text; what does not fit into one goes on below it, further to the right."""
    console = Console(width=width)
    for line in printable(text).split("\n"):
        whole = Text(line, style)
        fits = whole.cell_len < width
        first, *more = [whole] if fits else whole.wrap(console, max(20, width - len(indent) - 1)) or [Text()]
        yield first
        yield from (Text(indent, style) + part for part in more)


def note(text: str, style: str = "dim") -> Text:
    """Return a line about what happens."""
    return Text(printable(text), style)


def fold(text: str, width: int, head: int = 2, tail: int = 3) -> Iterator[Text]:
    """Yield the first and last lines of an output, and between them how many are left out."""
    lines = [line.rsplit("\r", 1)[-1] for line in text.rstrip().replace("\r\n", "\n").split("\n")]
    left_out = len(lines) - head - tail
    if left_out > 1:
        lines[head : len(lines) - tail] = [f"… {left_out:,} more lines"]
    for line in lines:
        shown = printable(line.expandtabs(4))
        yield Text(f"  │ {shown[: width - 5] + '…' if len(shown) > width - 4 else shown}", "dim")
