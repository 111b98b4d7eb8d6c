"""``collection_search``: items of a person's media collection (comics, photos, books, music) that fit some words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from skillkit_engines import Fragment, Task

from .asking import text_of
from .schemas import TEXT, listed, record
from .searching import MEDIA, search

__all__ = ["FRAGMENT", "run"]

MOST = 50


async def run(values: Mapping[str, Any], task: Task) -> Mapping[str, Any]:
    """Return ``items`` by folder, best first, and a text."""
    query, folder = text_of(values["query"]), str(values.get("folder") or "")
    found = await search(task, query, ("search_collection_tool",), MEDIA)
    inside = [one for one in found if not folder or PurePosixPath(one["path"]).is_relative_to(folder)][:MOST]
    items = [{**one, "title": PurePosixPath(one["path"]).stem.replace("_", " ").replace("-", " ")} for one in inside]
    folders: dict[str, list[str]] = {}
    for one in items:
        folders.setdefault(str(PurePosixPath(one["path"]).parent), []).append(f"  - {one['title']} ({one['path']})")
    lines = [line for name, rows in folders.items() for line in (f"{name}:", *rows)]
    return {"items": items, "text": "\n".join(lines) or f"Nothing of the collection fits {query!r}."}


_ITEM = record("path title", path=TEXT, title=TEXT, score={"type": "number"})
FRAGMENT = Fragment(
    "collection_search",
    "Find comics, photos, books and music of a collection by words.",
    f"{__name__}:run",
    record("query", query=TEXT, folder=TEXT),
    record(items=listed(_ITEM), text=TEXT),
    {"sub_query": "query"},
    {"text": "response_text"},
    ("search_collection_tool", "glob"),
)
