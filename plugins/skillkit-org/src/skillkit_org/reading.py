"""What org files hold, as ``orgparse`` reads them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

if TYPE_CHECKING:
    from .config import OrgConfig

__all__ = ["Heading", "files_of", "headings", "statistics"]

_MOST_BYTES = 20_000_000
_MOST_FILES = 2_000


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        file: relative to the folder that was asked for.
        line: of the file, from 1.
        level: from 1.
        title: without marks.
        todo: the word of its state; empty: it is no task.
        done: whether that word means that it is done.
        priority: a letter, or empty.
        tags: its own.
        scheduled, deadline: dates or times, ISO 8601, or empty.
        body: the text below it, before the next heading.
    """

    file: str
    line: int
    level: int
    title: str
    todo: str
    done: bool
    priority: str
    tags: tuple[str, ...]
    scheduled: str
    deadline: str
    body: str


def files_of(place: Path) -> list[Path]:
    """Return the org files of a folder and below, or the one file that is named.

    Raises:
        ToolError: there is nothing of that name.
    """
    try:
        if place.is_file():
            return [place]
        if not place.is_dir():
            raise ToolError(f"there is no file or folder {place}")
    except OSError as error:
        raise ToolError(f"{place.name[:100]!r} is no path: {error.strerror}") from None
    found: list[Path] = []
    for where, folders, files in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(where, name) for name in sorted(files) if name.endswith(".org") and not name.startswith(".")]
        if len(found) > _MOST_FILES:
            raise ToolError(f"{place} holds more than {_MOST_FILES} org files: name one of its folders")
    return [file for file in found if not file.is_symlink()]


def headings(files: Sequence[Path], base: Path, config: OrgConfig) -> Iterator[Heading]:
    """Yield the headings of files, in their order.

    Raises:
        ToolError: a file cannot be read.
    """
    from orgparse import loads
    from orgparse.node import OrgEnv

    for file in files:
        name = str(file.relative_to(base)) if file.is_relative_to(base) else str(file)
        try:
            if file.stat().st_size > _MOST_BYTES:
                raise ToolError(f"{name} is larger than {_MOST_BYTES} bytes")
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ToolError(f"{name} cannot be read: {error}") from None
        env = OrgEnv(todos=list(config.todo), dones=list(config.done), filename=name)
        root = loads(text, filename=name, env=env)
        yield from (_heading(node, name, env) for node in root[1:])


def _heading(node: Any, file: str, env: Any) -> Heading:
    return Heading(
        file=file,
        line=node.linenumber,
        level=node.level,
        title=node.heading,
        todo=node.todo or "",
        done=bool(node.todo) and node.todo in env.done_keys,
        priority=node.priority or "",
        tags=tuple(sorted(node.shallow_tags)),
        scheduled=_moment(node.scheduled),
        deadline=_moment(node.deadline),
        body=node.body.strip(),
    )


def _moment(value: Any) -> str:
    return value.start.isoformat() if value else ""


def statistics(found: Sequence[Heading]) -> dict[str, Any]:
    """Return how many headings, tasks and tags there are."""
    return {
        "files": len({one.file for one in found}),
        "headings": len(found),
        "open": sum(bool(one.todo) and not one.done for one in found),
        "done": sum(one.done for one in found),
        "states": dict(Counter(one.todo for one in found if one.todo).most_common()),
        "tags": dict(Counter(tag for one in found for tag in one.tags).most_common(20)),
    }
