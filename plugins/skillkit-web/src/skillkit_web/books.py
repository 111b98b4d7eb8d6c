"""What the commands of other plugins tell as JSON: usage, budgets, why, skills, plugins, servers."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core import SkillKitError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from skillkit_core import Host

__all__ = ["read"]

_PATIENCE = 60.0  # seconds for a command


class Book(NamedTuple):
    """A page made of what commands print.

    Attributes:
        plugin: what brings the commands; empty: the core does.
        parts: by name, the words of each command; ``{session}`` and ``{turn}`` are filled in.
    """

    plugin: str
    parts: Mapping[str, Sequence[str]]


BOOKS = {
    "usage": Book(
        "usage",
        {
            "day": ("usage", "--by", "day", "--since", "30d", "--json"),
            "model": ("usage", "--by", "model", "--json"),
            "budgets": ("usage", "budgets", "--json"),
        },
    ),
    "why": Book("why", {"turn": ("why", "{session}", "{turn}", "--json")}),
    "turns": Book("why", {"turns": ("why", "{session}", "--list", "--json")}),
    "skills": Book("skills", {"skills": ("skills", "list", "--json")}),
    "plugins": Book("", {"plugins": ("plugins", "list", "--json")}),
    "servers": Book("mcp", {"servers": ("mcp", "list", "--json")}),
}


async def read(host: Host, folder: Path, name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the commands of a page tell in a folder, by the names of its parts.

    Raises:
        UsageError: there is no such page, or the plugin for it is missing. SkillKitError: a command failed.
    """
    book = BOOKS.get(name)
    if book is None:
        raise UsageError(f"there is no page {name!r}")
    if book.plugin and book.plugin not in host.load().loaded:
        raise UsageError(f"the plugin {book.plugin!r} does not run here", hint=f"install skillkit-{book.plugin}")
    try:
        lines = [[word.format_map(given) for word in words] for words in book.parts.values()]
    except KeyError as missing:
        raise UsageError(f"page {name!r} needs {missing.args[0]!r}") from None
    found = await asyncio.gather(*(_told(host, folder, line) for line in lines))
    return dict(zip(book.parts, found, strict=True))


async def _told(host: Host, folder: Path, words: Sequence[str]) -> Any:
    """Return what a command prints, in a process of its own: commands print and end as they like."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "skillkit_core", *_same(host), *words,
        cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE):
            out, err = await process.communicate()
    except TimeoutError:
        raise SkillKitError(f"'skillkit {' '.join(words)}' told nothing for {_PATIENCE:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last = err.decode(errors="replace").strip().splitlines()
        raise SkillKitError(last[-1].removeprefix("Error: ") if last else f"'skillkit {' '.join(words)}' failed")
    return json.loads(out)


def _same(host: Host) -> list[str]:
    """Return the global options of a command that chooses the same plugins as a host."""
    chosen = host.plan.selection
    options = ["--distribution", host.plan.wanted] if host.plan.wanted else []
    options += ["--plugins", ",".join(chosen.only)] if chosen.only is not None else []
    options += [word for name in chosen.enable for word in ("-P", name)]
    options += [word for name in chosen.disable for word in ("-P", f"no:{name}")]
    return [*options, *(["--only-default-plugins"] if chosen.only_default else [])]
