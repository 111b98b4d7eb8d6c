"""What the fragments that search files share: tools that find, and an order by words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from skillkit_engines import Task

from skillkit_core.errors import ToolError

from .asking import call, first_tool

__all__ = ["IMAGES", "MEDIA", "by_words", "paths_in", "search"]

IMAGES = ("png", "jpg", "jpeg", "gif", "webp", "svg", "tif", "tiff", "heic")
MEDIA = (*IMAGES, "cbz", "cbr", "pdf", "epub", "mp3", "flac", "mp4", "mkv")
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    ("a", "all", "an", "and", "file", "find", "for", "from", "image", "in", "me", "my", "of", "on", "photo", "picture", "show",
     "the", "to", "with")
)  # fmt: skip


async def search(task: Task, query: str, names: tuple[str, ...], kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what was found, best first: ``path`` and ``score``.

    The first of the tools ``names`` that is there searches; else files of ``kinds`` are listed by ``glob``, and their names
    are compared with the words of the query.

    Raises:
        ToolError: there is neither.
    """
    tool = first_tool(task, *names)
    if tool is not None:
        result = await call(task, tool, query=query)
        found = paths_in(result.text, result.details, kinds)
        return [{"path": path, "score": 1.0} for path in found]
    if first_tool(task, "glob") is None:
        raise ToolError(f"missing_tools: neither {' nor '.join(names)} nor glob is here (pip install skillkit-files)")
    paths: list[str] = []
    for kind in kinds:
        paths += paths_in((await call(task, "glob", pattern=f"**/*.{kind}")).text, None, (kind,))
    return by_words(paths, query)


def by_words(paths: Iterable[str], query: str) -> list[dict[str, Any]]:
    """Return the paths that share words with a query, best first, each with the share of the words that it has."""
    wanted = {_stem(word) for word in _WORD.findall(query.lower())} - _EMPTY
    found = []
    for path in dict.fromkeys(paths):
        own = {_stem(word) for word in _WORD.findall(path.lower())}
        score = len(wanted & own) / len(wanted) if wanted else 0.0
        if score:
            found.append({"path": path, "score": round(score, 3)})
    return sorted(found, key=lambda one: (-one["score"], one["path"]))


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def paths_in(text: str, details: Any, kinds: tuple[str, ...]) -> list[str]:
    """Return the paths of files of some kinds that a result names; empty ``kinds``: of any kind."""
    if isinstance(details, Mapping):
        for rows in details.values():
            if isinstance(rows, (list, tuple)) and rows and all(isinstance(r, Mapping) and "path" in r for r in rows):
                return [str(row["path"]) for row in rows]
    ends = "|".join(kinds) if kinds else r"[A-Za-z0-9]{1,8}"
    found = re.findall(rf"[^\s:\"'`|<>()\[\]]+\.(?:{ends})\b", text, re.I)
    return list(dict.fromkeys(path.removeprefix("./") for path in found))
