"""The tools: what models are told of them, and what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolOutput

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Block, ToolContext

    from .changes import Changes

__all__ = ["GUARD", "file_tools"]

GUARD = "permissions"
"""The plugin that asks before files are changed. Without it, the tools that change files must be allowed by name."""

_PATH = {"type": "string", "minLength": 1, "description": "Relative to the workspace."}
_FLAG = {"type": "boolean", "default": False}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 50, "default": 0}
_OLD = {"type": "string", "description": "The exact text to replace, without line numbers."}
_NEW = {"type": "string", "description": "The text that takes its place."}
_ALL = {**_FLAG, "description": "Replace every place."}
_MOST = 10_000_000  # characters of an argument


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _limit(most: int, default: int, what: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default, "description": f"Most {what}."}


_EDIT = _object(["old", "new"], old={"type": "string"}, new={"type": "string"}, all=_FLAG)


def file_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """Return the tools of an agent. While nothing changes, that is the same tuple."""
    guard = agent.host.plugins.get(GUARD)
    return _TOOLS[guard is None or "before_tool_call" not in guard.hooks]


def _tools(opt_in: bool) -> tuple[Tool, ...]:
    where = f"{__name__}:"
    preview = "skillkit_files.planned_changes:preview"
    remote = "skillkit_files.remote:CARRIER"
    reads = {
        "mutates": "none",
        "paths": ("path",),
        "preview": "skillkit_files.planned_changes:within_reach",
        "remote": remote,
    }
    writes = {"mutates": "files", "paths": ("path",), "preview": preview, "remote": remote}
    return (
        Tool(
            "read",
            "Read a file: text with line numbers, images, notebooks. Go on in a long file with offset.",
            f"{where}read",
            _object(["path"], path=_PATH, offset={"type": "integer", "minimum": 1, "default": 1, "description": "First line."},
                    limit=_limit(20_000, 2_000, "lines")),
            replay="safe",
            annotations=reads,
        ),
        Tool(
            "write",
            "Write a whole file; folders are made. Read an existing file first. Use edit to change a part.",
            f"{where}write",
            _object(["path", "content"], path=_PATH, content={"type": "string", "maxLength": _MOST}),
            opt_in=opt_in,
            sequential=True,
            annotations=writes,
        ),
        Tool(
            "edit",
            "Replace exact text in a file. old must be found once, unless all is set. For several changes give edits, which "
            "are looked up in the original and applied together.",
            f"{where}edit",
            _object(["path"], path=_PATH, old=_OLD, new=_NEW, all=_ALL,
                    edits={"type": "array", "items": _EDIT, "description": "Instead of old and new."}),
            opt_in=opt_in,
            sequential=True,
            annotations=writes,
        ),
        Tool(
            "apply_patch",
            "Change several files at once, all or none: '*** Begin Patch' with '*** Add File: ', '*** Update File: ', "
            "'*** Move to: ', '*** Delete File: ' and '*** End Patch', or a unified diff.",
            f"{where}apply_patch",
            _object(["patch"], patch={"type": "string", "maxLength": _MOST}),
            opt_in=opt_in,
            sequential=True,
            annotations={
                "mutates": "files", "paths": (), "paths_of": "skillkit_files.patch:paths_of", "preview": preview,
                "remote": remote,
            },
        ),
        Tool(
            "grep",
            "Search files for a regular expression (as ripgrep, without look-around). Leaves out what git ignores.",
            f"{where}grep",
            _object(
                ["pattern"],
                pattern={"type": "string"},
                path={**_PATH, "default": ".", "description": "A file or folder."},
                glob={"type": "string", "description": "Names of files, e.g. *.{ts,tsx}; a leading ! excludes."},
                ignore_case=_FLAG,
                literal={**_FLAG, "description": "The pattern is plain text."},
                multiline={**_FLAG, "description": "A match may span lines."},
                before=_COUNT,
                after=_COUNT,
                context={**_COUNT, "description": "Lines around a match."},
                output={"enum": ["content", "files", "count"], "default": "content"},
                limit=_limit(5_000, 200, "matches"),
                no_ignore={**_FLAG, "description": "Also what git ignores."},
            ),
            replay="safe",
            annotations=reads,
        ),
        Tool(
            "glob",
            "Find files by name, the newest first: **/*.py, src/{a,b}/*. Leaves out what git ignores.",
            f"{where}glob",
            _object(["pattern"], pattern={"type": "string", "minLength": 1}, path={**_PATH, "default": "."},
                    limit=_limit(2_000, 200, "files"), no_ignore={**_FLAG, "description": "Also what git ignores."}),
            replay="safe",
            annotations=reads,
        ),
        Tool(
            "ls",
            "List a folder.",
            f"{where}ls",
            _object([], path={**_PATH, "default": "."}, limit=_limit(2_000, 500, "entries")),
            replay="safe",
            annotations=reads,
        ),
    )  # fmt: skip


_TOOLS = {True: _tools(opt_in=True), False: _tools(opt_in=False)}


# --- what they share --------------------------------------------------------------------------------------------


async def _answer(work: Callable[[], ToolOutput]) -> ToolOutput:
    """Return what ``work`` says in a thread, or its failure with ``details.error``, the class of the failure."""
    from .folder import FileError

    try:
        return await asyncio.to_thread(work)
    except FileError as error:
        return failed(error)


def failed(error: Any) -> ToolOutput:
    """Return a failure as a model reads it."""
    return ToolOutput(error.text, details={"error": error.code}, is_error=True)


async def _change(args: Mapping[str, Any], ctx: ToolContext, tool: str) -> ToolOutput:
    """Plan the changes of a call, write them down, make them, and say what they are."""
    from .change_notes import write_down
    from .diff import summary
    from .folder import FileError, shown
    from .open_texts import show_changes, unsaved
    from .planned_changes import planned

    texts, late = await unsaved(ctx.agent, tool, args), ""

    def look() -> tuple[Changes, str]:
        return planned(ctx.agent, tool, args, texts)

    try:
        changes, said = await asyncio.to_thread(look)
        listed = changes.made
        files, diff = await asyncio.to_thread(summary, listed)
        if listed:
            await write_down(ctx.agent, changes.folder.root, tool, ctx.tool_call_id, listed)
            await asyncio.to_thread(changes.commit)
            late = await show_changes(ctx.agent, changes.folder.root, listed)
    except FileError as error:
        return failed(error)
    said = (said or _told(files)) + late
    if changes.in_place:
        said += (
            f"\n[Written in place, because nothing can take its place here: {', '.join(map(shown, changes.in_place))}]"
        )
    return ToolOutput(said, details={"files": files, "diff": diff})


def _told(files: list[dict[str, Any]]) -> str:
    """Return the changes of a patch, a line each."""
    from .folder import shown

    letters = {"add": "A", "change": "M", "delete": "D", "move": "R"}
    lines = []
    for fact in files:
        name = shown(fact["path"])
        name = f"{shown(fact['from'])} -> {name}" if "from" in fact else name
        lines.append(f"{letters[fact['kind']]} {name} (+{fact['added']} -{fact['removed']})")
    return "\n".join(lines) or "Nothing changed: the files were so already."


# --- the tools --------------------------------------------------------------------------------------------------


async def read(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Read a file of the workspace, or of an active skill."""
    from .open_texts import EditedFolder, unsaved

    texts = await unsaved(ctx.agent, "read", args)

    def work() -> ToolOutput:
        from .folder import FileError
        from .read import LINES, Unreadable, read_file
        from .reading_rights import place_of
        from .stand_in import seen_of

        agent, path = ctx.agent, args["path"]
        seen = seen_of(agent)
        folder, rel = place_of(agent, path)
        key = f"{folder.root}/{rel}"
        try:
            found = read_file(
                EditedFolder(folder.root, texts), rel, path, int(args.get("offset", 1)), int(args.get("limit", LINES))
            )
        except Unreadable as error:
            seen[key] = error.digest
            raise
        except FileError as error:
            if error.code == "not_found":
                seen[key] = None
            raise
        if found.digest is not None:
            seen[key] = found.digest
        if found.image is None:
            return ToolOutput(found.text, details=found.details)
        from skillkit_core import TextBlock

        content: list[Block] = [TextBlock(found.text), found.image]
        return ToolOutput(content, details=found.details)

    return await _answer(work)


async def write(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Write a whole file."""
    return await _change(args, ctx, "write")


async def edit(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Replace exact text."""
    return await _change(args, ctx, "edit")


async def apply_patch(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Apply a patch."""
    return await _change(args, ctx, "apply_patch")


async def grep(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Search files."""

    def work() -> ToolOutput:
        from .folder import Folder
        from .reading_rights import readable
        from .search import Query, search

        around = int(args.get("context", 0))
        query = Query(
            **{
                **{name: value for name, value in args.items() if name != "context"},
                "before": int(args.get("before", 0)) or around,
                "after": int(args.get("after", 0)) or around,
                "limit": int(args.get("limit", 200)),
            }
        )
        config = ctx.agent.host.config.section("files")
        folder = Folder(ctx.cwd)
        found = search(
            folder, query, allowed=readable(ctx.agent, folder.root, "grep"), ripgrep=config.ripgrep,
            stop=lambda: ctx.signal.aborted,
        )  # fmt: skip
        return ToolOutput(found.text, details={"matches": found.matches, "files": found.files, "more": found.more})

    return await _answer(work)


async def glob(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Find files by name."""

    def work() -> ToolOutput:
        from .folder import Folder
        from .listing import find
        from .reading_rights import readable

        folder = Folder(ctx.cwd)
        lines, total, more = find(
            folder, args["pattern"], args.get("path", "."), int(args.get("limit", 200)),
            ignores=not args.get("no_ignore", False), allowed=readable(ctx.agent, folder.root, "glob"),
            stop=lambda: ctx.signal.aborted,
        )  # fmt: skip
        return ToolOutput("\n".join(lines) or "No files found.", details={"files": total, "more": more})

    return await _answer(work)


async def ls(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """List a folder."""

    def work() -> ToolOutput:
        from .listing import listed
        from .reading_rights import place_of

        folder, rel = place_of(ctx.agent, args.get("path", "."))
        lines, total = listed(folder, rel, int(args.get("limit", 500)))
        return ToolOutput("\n".join(lines), details={"entries": total})

    return await _answer(work)
