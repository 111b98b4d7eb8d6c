"""How a block looks: rows of a terminal, in the colours of the theme. Markdown where a text is complete, plain until then."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.text import Text
from skillkit_frontend import THEME, WIDEST, Block, Kind, markdown, prose
from textual.strip import Strip

from skillkit_core.cli.output import escaped

__all__ = ["INDENT", "Growing", "estimate", "rows"]

INDENT = 2
"""Columns before every row: the mark of the focus, and a space."""
_MOST = 4_000  # rows of one open block
_LONGEST = 200_000  # characters that are formatted as Markdown; a longer text stays plain

_STYLES: dict[Kind, str] = {"thinking": "dim italic", "error": "red", "note": "", "user": "bold"}


class Growing:
    """The rows of a text that arrives: its complete lines are wrapped once.

    Args:
        width: columns.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows: list[Strip] = []
        self._taken = 0

    def rows(self, text: str) -> list[Strip]:
        """Return the rows of ``text``, which begins with the text of the call before."""
        end = text.rfind("\n") + 1
        if end > self._taken:
            self._rows += map(
                _strip, _wrapped(text[self._taken : end].removesuffix("\n").removesuffix("\r"), self.width)
            )
            self._taken = end
        return [*self._rows, *map(_strip, _wrapped(text[end:], self.width))]


def rows(block: Block, width: int, growing: dict[int, Growing] | None = None) -> list[Strip]:
    """Return the block as it looks on ``width`` columns, a blank row behind an open one included.

    Args:
        growing: what is known of texts that arrive, by the block's ``id``.
    """
    room = max(10, width - INDENT)
    if growing is not None and block.kind == "text" and block.open:
        narrow = min(room, WIDEST)
        if block.done:
            growing.pop(id(block), None)
        else:
            known = growing.get(id(block))
            if known is None or known.width != narrow:
                known = growing[id(block)] = Growing(narrow)
            return [*known.rows(block.text), _strip(Text())]
    shown = _whole(block, room) if block.open else [_head(block, room)]
    blank = [Text()] if block.open else []
    strips = [*(part if isinstance(part, Strip) else _strip(part) for part in shown), *map(_strip, blank)]
    return strips


def estimate(block: Block, width: int) -> int:
    """Return about how many rows :func:`rows` returns, without making them; exact for one that is not open."""
    if not block.open:
        return 1
    room, text = max(10, min(width - INDENT, WIDEST) - 2), block.diff + block.text
    return 2 + min(_MOST, sum(1 + len(line) // room for line in text.split("\n")))


def _head(block: Block, width: int) -> Text:
    """Return the line of a block."""
    mark, style = _mark(block)
    arrow = "▾" if block.open else "▸"
    text = Text.assemble((f"{arrow} ", "dim"), (f"{mark} " if mark else "", style), no_wrap=True)
    text.append(block.summary(width - text.cell_len), _STYLES.get(block.kind, ""))
    text.truncate(width, overflow="ellipsis")
    return text


def _mark(block: Block) -> tuple[str, str]:
    if block.kind in ("tool", "asked"):
        if block.good is None:
            return ("?" if block.kind == "asked" else "…", "yellow")
        return ("●", "green") if block.good else ("✗", "red")
    return {"error": ("✗", "red"), "user": ("›", "bold cyan"), "note": ("!", "yellow")}.get(block.kind, ("", ""))


def _whole(block: Block, width: int) -> Iterator[Text | Strip]:
    """Yield the rows of an open block."""
    if block.kind == "text":
        narrow = min(width, WIDEST)
        if block.done and len(block.text) <= _LONGEST:
            yield from _cut(_formatted(prose(block.text), narrow), narrow)
        else:
            yield from _cut(_wrapped(block.text, narrow), narrow)
        return
    if block.kind in ("user", "note", "error"):
        mark, style = _mark(block)
        for place, row in enumerate(_wrapped(block.text or " ", min(width, WIDEST) - 2)):
            row.style = _STYLES[block.kind]
            yield Text.assemble((f"{mark} " if not place else "  ", style), row)
        return
    yield _head(block, width)
    parts: list[Iterable[Text]] = []
    if block.args is not None:
        parts.append(_arguments(block.args, width - 4))
    if block.diff:
        parts.append(_difference(block.diff.rstrip("\n"), width - 4))
    if block.text.strip():
        parts.append(_wrapped(_overwritten(block), width - 4))
    for number, part in enumerate(parts):
        bar = "  │ " if block.kind != "thinking" else "    "
        if number:
            yield Text(bar.rstrip(), "dim")
        for row in _cut(part, width):
            if block.kind == "thinking" or (block.kind == "tool" and number):
                row.stylize("dim")
            yield Text.assemble((bar, "dim"), row)


def _overwritten(block: Block) -> str:
    """Return the text of a block, of a tool's lines what a terminal would show last: progress overwrites itself."""
    text = block.text.rstrip()
    if block.kind != "tool" or "\r" not in text:
        return text
    return "\n".join(line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").split("\n"))


def _arguments(args: Any, width: int) -> Iterator[Text]:
    """Yield the arguments of a call, each on lines of its own, with whatever nobody sees escaped."""
    for name, value in args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        first, *more = text.split("\n")
        lead = f"{escaped(str(name))}: "
        if not more:
            yield from _rows(Text.assemble((lead, "cyan"), escaped(first)), width)
            continue
        yield Text(lead, "cyan")
        for line in text.split("\n"):
            yield from _rows(Text("  " + escaped(line.expandtabs(4))), width)


def _difference(text: str, width: int) -> Iterator[Text]:
    """Yield the rows of a preview, those of a difference in colours, with whatever nobody sees escaped."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in text.split("\n"):
        style = "bold" if line[:3] in ("+++", "---") else styles.get(line[:1], "")
        yield from _rows(Text(escaped(line.expandtabs(4)), style), width)


def _wrapped(text: str, width: int) -> Iterator[Text]:
    """Yield the rows of plain text."""
    for line in prose(text).split("\n"):
        yield from _rows(Text(line), width)


_CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="standard", theme=THEME, width=80)


def _rows(line: Text, width: int) -> Iterable[Text]:
    if len(line.plain) * 2 < width or (line.cell_len <= width):
        return (line,)
    return line.wrap(_CONSOLE, max(4, width), tab_size=4)


def _cut(parts: Iterable[Any], width: int) -> Iterator[Any]:
    """Yield at most so many rows as anybody scrolls through, and then how many are left out."""
    left_out = 0
    for number, part in enumerate(parts):
        if number < _MOST:
            yield part
        else:
            left_out += 1
    if left_out:
        yield Text(f"… {left_out:,} more rows", "yellow")


def _formatted(text: str, width: int) -> Iterator[Strip]:
    """Yield the rows of Markdown."""
    options = _CONSOLE.options.update(width=width, height=None)
    lines = _CONSOLE.render_lines(markdown(text), options, pad=False)
    while lines and not "".join(segment.text for segment in lines[-1]).strip():
        lines.pop()
    blank = True
    for line in lines:
        was, blank = blank, not "".join(segment.text for segment in line).strip()
        if not (was and blank):
            yield Strip(line)


def _strip(text: Text) -> Strip:
    """Return a row of text as Textual draws it."""
    text = Text.assemble(text) if text.style else text  # a style of the whole is drawn only as that of a part
    segments = [Segment(part.text, part.style) for part in text.render(_CONSOLE) if part.text != "\n"]
    return Strip(segments)
