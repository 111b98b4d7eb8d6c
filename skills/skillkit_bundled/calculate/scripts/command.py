# Generated from skills/command.py by skills/generate.py: change that file, and run it again.
"""What every action does alike: read arguments, print one JSON object, say a problem in one line.

Each skill carries a generated copy, because a skill's folder works wherever it is copied, also where skillkit-bundled is not
installed.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence

TYPE_CHECKING = False  # what only type checkers need costs an action a third of its time
if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeVar

    Item = TypeVar("Item")

Result = dict[str, object]

LONGEST_ANSWER = 20_000  # characters; the host keeps 256 KiB of output, the data below takes the rest
MOST_BYTES = 100_000


class Problem(Exception):
    """Something the person can put right, said in one line."""


def run(
    action: Callable[[Mapping[str, str]], Result],
    positional: Sequence[str] = (),
    options: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> int:
    """Call `action` with the arguments of the command line and return the exit status: 0, or 2 after a problem."""
    try:
        result = action(arguments(sys.argv[1:], positional, options, flags))
        answer = str(result["answer"])
        if len(answer) > LONGEST_ANSWER:
            result["answer"] = answer[:LONGEST_ANSWER] + "\n... (cut)"
        sys.stdout.buffer.write(_encoded(result) + b"\n")
    except Problem as problem:
        return _failed(str(problem))
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (MemoryError, RecursionError):
        return _failed("the input is too large or too deeply nested")
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the boundary: a person sees one line, never a traceback
        return _failed(f"this is a mistake in the skill, please report it: {type(error).__name__}: {error}")
    return 0


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")  # half a surrogate: \\ud800


def _failed(message: str) -> int:
    print(shown(message), file=sys.stderr)
    return 2


def arguments(
    argv: Sequence[str], positional: Sequence[str], options: Sequence[str], flags: Sequence[str]
) -> dict[str, str]:
    """Return the values by name: the positional ones come first, then ``--name value``; a value may begin with "-"."""
    if len(argv) < len(positional):
        raise Problem(f"missing argument: {positional[len(argv)]}")
    values = dict(zip(positional, argv, strict=False))
    words = iter(argv[len(positional) :])
    for word in words:
        name = word.removeprefix("--")
        if name == word or name not in (*options, *flags):
            known = ", ".join(f"--{known}" for known in (*options, *flags)) or "none"
            raise Problem(f"unknown argument {word!r}; options: {known}")
        value = "true" if name in flags else next(words, None)
        if value is None:
            raise Problem(f"--{name} needs a value")
        values[name] = value
    return values


def whole(values: Mapping[str, str], name: str, default: int, minimum: int = 1) -> int:
    """Return the argument as a whole number of at least `minimum`."""
    text = values.get(name, str(default))
    try:
        number = int(text)
    except ValueError:
        raise Problem(f"{name} must be a whole number, not {text!r}") from None
    if number < minimum:
        raise Problem(f"{name} must be at least {minimum}, not {number}")
    return number


def regular_file(name: str) -> Path:
    """Return the path of a file that can be read; a folder, a pipe or a missing file is a problem."""
    path = _existing(name)
    if path.is_dir():
        raise Problem(f"{name} is a folder; give a file in it")
    if not path.is_file():
        raise Problem(f"{name} is not a regular file")
    return path


def folder(name: str) -> Path:
    """Return the path of an existing folder."""
    path = _existing(name)
    if not path.is_dir():
        raise Problem(f"{name} is not a folder")
    return path


def _existing(name: str) -> Path:
    from pathlib import Path

    path = Path(name)
    try:
        path.stat()
    except FileNotFoundError:
        raise Problem(f"there is no {name!r} in {Path.cwd()}") from None
    except ValueError:
        raise Problem(f"{name!r} cannot be the name of a file") from None
    return path


def fitting(items: Sequence[Item], room: int = MOST_BYTES) -> list[Item]:
    """Return the first items, as many as fit into `room` bytes of JSON."""
    kept = []
    for item in items:
        room -= len(_encoded(item)) + 2
        if room < 0:
            break
        kept.append(item)
    return kept


def shown(text: str) -> str:
    """Return `text` fit for a terminal and one line: control characters and undecodable bytes are written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = (), widest: int = 44) -> str:
    """Return aligned plain text; columns named in `numeric` are aligned to the right."""
    lines = [[_clipped(shown(cell), widest) for cell in row] for row in (header, *rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    text = []
    for line in lines:
        cells = []
        for title, cell, width in zip(header, line, widths, strict=True):
            space = " " * (width - _width(cell))
            cells.append(space + cell if title in numeric else cell + space)
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def _clipped(text: str, widest: int) -> str:
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
