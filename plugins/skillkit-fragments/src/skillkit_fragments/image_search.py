"""``image_search``: images of the workspace that fit some words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillkit_engines import Fragment, Task

from .asking import text_of
from .schemas import TEXT, listed, record
from .searching import IMAGES, search

__all__ = ["FRAGMENT", "run"]

MOST = 20


async def run(values: Mapping[str, Any], task: Task) -> Mapping[str, Any]:
    """Return ``images``, best first, and a text."""
    query = text_of(values["query"])
    images = (await search(task, query, ("search_images_tool",), IMAGES))[:MOST]
    text = "\n".join(f"- {one['path']}" for one in images) or f"No image fits {query!r}."
    return {"images": images, "text": text}


FRAGMENT = Fragment(
    "image_search",
    "Find images of the workspace by words.",
    f"{__name__}:run",
    record("query", query=TEXT),
    record(images=listed(record("path", path=TEXT, score={"type": "number"})), text=TEXT),
    {"sub_query": "query"},
    {"text": "response_text"},
    ("search_images_tool", "glob"),
)
