"""The tools of org files: one that captures, four that read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput

from . import reading, writing
from .reading import Heading
from .writing import FOLDER, INBOX, TODO

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

    from .config import OrgConfig

__all__ = ["add_inbox_item", "list_todos", "org_tools", "parse_structure", "search_headings", "statistics"]

_DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100, "description": "Most headings."}
_QUERY = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"\S"}
_TAGS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 50}, "maxItems": 20}


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def org_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Guards judge the files."""
    config = host.config.section("org", None)
    inbox, folder, todo = (INBOX, FOLDER, TODO) if config is None else (config.inbox, config.folder, config.todo)
    path = {
        "type": "string",
        "maxLength": 1000,
        "minLength": 1,
        "default": folder,
        "description": "An org file, or a folder of them.",
    }
    reads = {"mutates": "none", "paths": {"path": folder}}
    here = f"{__name__}:"
    return (
        Tool("add_org_inbox_item_tool", "Capture a note or task: a heading at the end of the inbox.", f"{here}add_inbox_item",
             _object(["title"], title={"type": "string", "minLength": 1, "maxLength": 500},
                     body={"type": "string", "maxLength": 50_000, "description": "Text below it."}, tags=_TAGS,
                     todo={"enum": ["", *todo], "default": todo[0] if todo else "",
                           "description": "The state; empty: a note."},
                     scheduled={**_DATE, "description": "When to begin."}, deadline={**_DATE, "description": "When it is due."},
                     path={"type": "string", "minLength": 1, "maxLength": 1000, "default": inbox, "description": "The file."}),
             opt_in="permissions" not in host.plugins, sequential=True,
             annotations={"mutates": "files", "paths": {"path": inbox}}),
        Tool("parse_org_structure_tool", "Return the headings of org files as an outline.", f"{here}parse_structure",
             _object([], path=path, limit=_LIMIT), replay="safe", annotations=reads),
        Tool("list_org_todos_tool", "List the tasks of org files, the open ones unless others are asked for.",
             f"{here}list_todos",
             _object([], path=path, limit=_LIMIT, tag={"type": "string", "maxLength": 50, "description": "Only with this tag."},
                     state={"type": "string", "maxLength": 50, "description": "Only in this state, such as WAITING or DONE."},
                     due_before={**_DATE, "description": "Only with a schedule or deadline before this day."}),
             replay="safe", annotations=reads),
        Tool("search_org_headings_tool", "Find headings by words of their titles, tags and texts.", f"{here}search_headings",
             _object(["query"], query=_QUERY, path=path, limit=_LIMIT),
             replay="safe", annotations=reads),
        Tool("get_org_statistics_tool", "Count the headings, tasks and tags of org files.", f"{here}statistics",
             _object([], path=path), replay="safe", annotations=reads),
    )  # fmt: skip


def _config(ctx: ToolContext) -> OrgConfig:
    config: OrgConfig = ctx.agent.host.config.section("org")
    return config


def _place(name: str, ctx: ToolContext) -> Path:
    if "\0" in name:
        raise ToolError("a path holds no null character")
    return ctx.cwd / Path(name).expanduser()


async def _headings(
    args: Mapping[str, Any], ctx: ToolContext, wanted: Callable[[Heading], bool] = lambda one: True
) -> list[Heading]:
    config = _config(ctx)
    place = _place(args.get("path", config.folder), ctx)

    def read() -> list[Heading]:
        return [one for one in reading.headings(reading.files_of(place), ctx.cwd, config) if wanted(one)]

    return await asyncio.to_thread(read)


def _told(found: Sequence[Heading], limit: int, nothing: str, line: Callable[[Heading], str]) -> ToolOutput:
    lines = [line(one) for one in found[:limit]]
    lines += [f"[{len(found) - limit} more]"] if len(found) > limit else []
    return ToolOutput("\n".join(lines) or nothing, details=[asdict(one) for one in found[:limit]])


def _line(one: Heading) -> str:
    """Return a heading with where it is and what is known of it."""
    head = " ".join(part for part in (one.todo, f"[#{one.priority}]" if one.priority else "", one.title) if part)
    tags = f" :{':'.join(one.tags)}:" if one.tags else ""
    plans = [f"{name} {day}" for name, day in (("scheduled", one.scheduled), ("due", one.deadline)) if day]
    when = f" ({', '.join(plans)})" if plans else ""
    return f"{one.file}:{one.line}: {head}{tags}{when}"


async def add_inbox_item(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Append a heading."""
    config = _config(ctx)
    days = {}
    for name in ("scheduled", "deadline"):
        try:
            days[name] = date.fromisoformat(args[name]) if args.get(name) else None
        except ValueError as error:
            raise ToolError(f"{name} is no date: {error}") from None
    todo = args.get("todo", config.todo[0] if config.todo else "")
    text = writing.heading(args["title"], todo=todo, tags=args.get("tags", ()), body=args.get("body", ""), **days)
    name = args.get("path", config.inbox)
    await asyncio.to_thread(writing.append, _place(name, ctx), text)
    return f"Captured in {name}: {text.splitlines()[0][2:]}"


async def parse_structure(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say how files are made up."""
    found = await _headings(args, ctx)

    def outline(one: Heading) -> str:
        return f"{'  ' * (one.level - 1)}{_line(one)}"

    return _told(found, args.get("limit", 100), "There are no headings.", outline)


async def list_todos(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say what is to do."""
    state, tag, before = args.get("state"), args.get("tag"), args.get("due_before")

    def wanted(one: Heading) -> bool:
        in_state = one.todo.casefold() == state.casefold() if state else bool(one.todo) and not one.done
        days = [day[:10] for day in (one.scheduled, one.deadline) if day]
        return in_state and (not tag or tag in one.tags) and (not before or any(day < before for day in days))

    return _told(await _headings(args, ctx, wanted), args.get("limit", 100), "No task fits.", _line)


async def search_headings(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say where words occur."""
    words = args["query"].casefold().split()

    def wanted(one: Heading) -> bool:
        text = f"{one.title} {' '.join(one.tags)} {one.body}".casefold()
        return all(word in text for word in words)

    return _told(await _headings(args, ctx, wanted), args.get("limit", 100), "No heading has these words.", _line)


async def statistics(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Say how much there is."""
    counts = reading.statistics(await _headings(args, ctx))
    lines = [f"{name}: {value}" for name, value in counts.items() if not isinstance(value, dict)]
    for name in ("states", "tags"):
        lines += (
            [f"{name}: {', '.join(f'{key} {count}' for key, count in counts[name].items())}"] if counts[name] else []
        )
    return ToolOutput("\n".join(lines), details=counts)
