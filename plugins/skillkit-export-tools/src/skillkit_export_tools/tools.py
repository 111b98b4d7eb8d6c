"""The tools ``export_to_format_tool`` and ``bookmark_url_tool``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput

from .bookmarks import BOOKMARKS

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["bookmark_url", "export_to_format", "export_tools"]

FORMATS = ("html", "docx", "pdf", "txt", "md", "csv", "json")


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def export_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Guards judge the file that each writes."""
    config, alone = host.config.section("export", None), "permissions" not in host.plugins
    file = BOOKMARKS if config is None else config.bookmarks
    path = {"type": "string", "minLength": 1, "maxLength": 1000}
    return (
        Tool("export_to_format_tool", "Make a file for people of a Markdown text: HTML, DOCX, PDF, plain text; CSV or JSON of "
             "its first table.", f"{__name__}:export_to_format",
             _object(["content", "path"], content={"type": "string", "maxLength": 1_000_000, "description": "Markdown."},
                     path={**path, "description": "The new file; its ending is the format. Nothing is overwritten."},
                     format={"enum": list(FORMATS), "description": "Default: the ending of path."},
                     title={"type": "string", "maxLength": 300}),
             opt_in=alone, sequential=True, annotations={"mutates": "files", "paths": ("path",)}),
        Tool("bookmark_url_tool", "Keep a web address with title, tags and a note; one that is kept already is replaced.",
             f"{__name__}:bookmark_url",
             _object(["url"], url={"type": "string", "minLength": 1, "maxLength": 4000, "pattern": "^https?://[^\\s<>]+$"},
                     title={"type": "string", "maxLength": 300},
                     tags={"type": "array", "items": {"type": "string", "pattern": "^[\\w-]{1,60}$"}, "maxItems": 20},
                     note={"type": "string", "maxLength": 2000},
                     file={**path, "default": file, "description": "The file of bookmarks."}),
             opt_in=alone, sequential=True, replay="safe", annotations={"mutates": "files", "paths": {"file": file}}),
    )  # fmt: skip


async def export_to_format(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Make a file of a text; the file is new."""
    from .writing import WRITERS

    name, text, title = args["path"], args["content"], " ".join(args.get("title", "").split())
    kind = args.get("format") or name.rpartition(".")[2].lower()
    if kind not in WRITERS:
        raise ToolError(f"{name} has no ending of a known format: {', '.join(FORMATS)}; or give format")
    if not text.strip():
        raise ToolError("there is nothing to export: the content is empty")
    file, font = _file(name, ctx), ctx.agent.host.config.section("export").font

    def work() -> int:
        data = WRITERS[kind](text, title, font)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as out:
                out.write(data)
                return len(data)
        except OSError as error:
            if file.exists():
                raise ToolError(f"{name} is there already; nothing is overwritten") from None
            raise ToolError(f"{name} could not be written: {error.strerror}") from None

    size = await asyncio.to_thread(work)
    return ToolOutput(f"Made {name}: {kind}, {size} bytes.", details={"path": name, "format": kind, "bytes": size})


async def bookmark_url(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Keep an address, as one line of a Markdown list."""
    from .bookmarks import Bookmark, keep

    name = args.get("file", ctx.agent.host.config.section("export").bookmarks)
    title = " ".join(args.get("title", "").split())
    day = datetime.fromtimestamp(ctx.agent.clock.time(), UTC).date().isoformat()
    mark = Bookmark(args["url"], title, tuple(args.get("tags", ())), " ".join(args.get("note", "").split()), day)
    replaced = await asyncio.to_thread(keep, _file(name, ctx), mark)
    return ToolOutput(
        f"{'Replaced' if replaced else 'Kept'} {mark.url} in {name}.", details={"file": name, "url": mark.url}
    )


def _file(name: str, ctx: ToolContext) -> Path:
    if "\0" in name:
        raise ToolError("a path holds no null character")
    return ctx.cwd / Path(name).expanduser()
