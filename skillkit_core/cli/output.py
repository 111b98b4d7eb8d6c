"""One way to print: aligned tables, JSON, colours on a terminal and plain text everywhere else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO, TypeVar

import click

from ..program import as_typed

F = TypeVar("F", bound=Callable[..., Any])
# A terminal obeys these, or they turn text around or hide it. The marks and joiners that scripts and emoji need stay.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]|\r(?!\n)"
)
# Colours may pass, because SkillKit itself writes them.
_NOT_COLOUR = re.compile(r"[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\r(?!\n)|\x1b(?!\[[0-9;]*m)")
# Fillers, joiners and variation selectors, which nobody sees although ``str.isprintable`` is true for them.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def colourful(stream: TextIO | None = None) -> bool:
    """Return whether ``stream`` (default: stdout) gets colours: a terminal without ``NO_COLOR``, or ``FORCE_COLOR``."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (stream or stdout()).isatty() and os.environ.get("TERM") != "dumb"


def style(text: str, *, stream: TextIO | None = None, **how: Any) -> str:
    """Return ``text`` in colour if ``stream`` gets colours; ``how`` is as for :func:`click.style`."""
    return click.style(text, **how) if colourful(stream) else text


def printable(text: str) -> str:
    """Return ``text`` with an escape sequence of Python for whatever a terminal obeys or turns text around; lines stay lines."""
    return _UNSAFE.sub(lambda match: escaped(match[0]), text)


def escaped(text: str) -> str:
    """Return ``text`` on one line, with an escape sequence of Python for whatever is invisible or turns text around."""
    hidden = (c for c in set(text) if not c.isprintable() or _BLANK.match(c))
    return text.translate({ord(c): c.encode("unicode_escape").decode() for c in hidden})


def stdout() -> TextIO:
    """Return the stdout of the command, also where what plugins print goes to stderr."""
    own: TextIO = getattr(sys.stdout, "own", sys.stdout)
    return own


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, with ``?`` for characters that the encoding lacks.

    Of escape sequences only colours reach a terminal, whoever wrote the text, and none reach a pipe.
    """
    stream = sys.stderr if err else stdout()
    if stream.isatty():
        text = _NOT_COLOUR.sub("\N{REPLACEMENT CHARACTER}", text)
    encoding = stream.encoding or "utf-8"
    safe = text.encode(encoding, "replace").decode(encoding)
    click.echo(safe, file=stream, nl=nl, color=colourful(stream))


# Some terminals take the first of these characters for escape sequences, and the others turn text around.
_C1 = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def print_json(value: Any) -> None:
    """Print a value as JSON: indented on a terminal, one line when piped."""
    import json

    indent = 2 if stdout().isatty() else None
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    click.echo(text.translate(_C1).encode("utf-8", "replace"), file=stdout())


def json_option(function: F) -> F:
    """Add the ``--json`` flag that every listing takes, as parameter ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def terminal_width() -> int | None:
    """Return the columns of the terminal, ``None`` when stdout is no terminal."""
    return columns() if stdout().isatty() else None


def columns() -> int:
    """Return the columns that a text may take: ``COLUMNS``, else those of the terminal, else 80."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stdout().fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def shorten(text: str, width: int) -> str:
    """Return ``text`` on one line, in at most ``width`` characters."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(1, width - 1)].rstrip() + "…"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Sequence[int] = (),
    styles: Callable[[int, str], dict[str, Any]] | None = None,
) -> None:
    """Print rows in aligned columns.

    On a terminal the headers are dim, and the widest columns are cut until the table fits, the first column last. A piped
    table is not cut.

    Args:
        right: indexes of columns that are aligned to the right.
        styles: returns the style of a cell for its column and text.
    """
    cells = [["" if c is None else printable(" ".join(str(c).split())) for c in row] for row in rows]
    if not cells:
        return
    widths = [max(len(h), *(len(r[i]) for r in cells)) for i, h in enumerate(headers)]
    width = terminal_width()
    if width is not None:
        _fit(widths, width - 2 * (len(widths) - 1))

    def line(row: Sequence[str], head: bool) -> str:
        out = []
        for i, cell in enumerate(row):
            last = i == len(row) - 1
            text = shorten(cell, widths[i]) if width is not None else cell
            padded = text.rjust(widths[i]) if i in right else (text if last else text.ljust(widths[i]))
            how = {"dim": True} if head else (styles(i, cell) if styles else {})
            out.append(style(padded, **how) if how else padded)
        return "  ".join(out).rstrip()

    echo(line(headers, True))
    for row in cells:
        echo(line(row, False))


def _fit(widths: list[int], room: int) -> None:
    """Narrow the widest columns until all fit. The first column, which people copy, is cut last."""
    for columns, least in ((range(1, len(widths)), 12), (range(1, len(widths)), 6), (range(len(widths)), 12)):
        while sum(widths) > room and any(widths[i] > least for i in columns):
            widest = max(columns, key=lambda i: (widths[i], i))
            widths[widest] -= 1


def fields(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values below each other, without empty values. A list takes one line for each item.

    On a terminal a long value goes on below its beginning.
    """
    shown = [(name, value) for name, value in pairs if value not in (None, "", [], (), {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        lines = [str(v) for v in value] if isinstance(value, (list, tuple)) else [str(value)]
        lines = [piece for line in lines for piece in wrap(line, width + 2)]
        for i, text in enumerate(lines):
            label = name.ljust(width) if i == 0 else " " * width
            echo(f"{style(label, dim=True)}  {text}")


def wrap(text: str, used: int) -> list[str]:
    """Return ``text`` in lines that fit the terminal beside ``used`` columns, in one line when piped."""
    width = terminal_width()
    if width is None or len(text) <= width - used or "\x1b" in text:
        return [text]
    from textwrap import wrap as fill

    return fill(text, max(20, width - used), break_long_words=False, break_on_hyphens=False)


def short_path(text: str) -> str:
    """Return ``text`` with ``~`` for the home directory on a terminal, unchanged when piped."""
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib is not imported for this
    if terminal_width() is None or len(home) < 2:
        return text
    return f"~{text[len(home) :]}" if text.startswith(home + os.sep) else text


def error_line(text: str) -> None:
    """Print an error: one line on stderr."""
    echo(f"{style('Error:', fg='red', bold=True, stream=sys.stderr)} {as_typed(text)}", err=True)


def warning(text: str) -> None:
    """Print a warning: one line on stderr."""
    echo(style(f"Warning: {printable(as_typed(text))}", fg="yellow", stream=sys.stderr), err=True)
