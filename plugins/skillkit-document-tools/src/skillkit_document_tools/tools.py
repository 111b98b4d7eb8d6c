"""The tools: what models are told of them, and what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput

from . import documents
from .folder import ROOT, DocumentFolder

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["document_tools"]

_LENGTH = 40_000  # characters of a document in one answer
_LINE = 300  # characters of a line that was found
_PATH = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1000,
    "pattern": r"\S",
    "description": "The document, relative to the workspace.",
}
_TEXT = {"type": "string", "maxLength": 1_000_000, "description": "Markdown."}
_WORDS = {"type": "string", "minLength": 1, "maxLength": 300, "pattern": r"\S", "description": "Words that all occur."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
_TYPE = {
    "type": "string",
    "maxLength": 60,
    "description": "The type in the front matter: note, reference, outline, ...",
}
_TAGS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 60}, "maxItems": 50}


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def document_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. Guards judge the paths of their arguments; nothing outside of ``documents.root`` is touched."""
    config = host.config.section("documents", None)
    root = ROOT if config is None else config.root
    folder = {"type": "string", "minLength": 1, "maxLength": 1000, "default": root, "description": "The folder."}
    alone = "permissions" not in host.plugins

    def reads(name: str, about: str, function: Callable[..., Any], schema: dict[str, Any], *paths: str) -> Tool:
        facts = {"mutates": "none", "paths": dict.fromkeys(paths, root) if "folder" in paths else paths}
        return Tool(name, about, f"{__name__}:{function.__name__}", schema, replay="safe", annotations=facts)

    def writes(name: str, about: str, function: Callable[..., Any], schema: dict[str, Any], *paths: str) -> Tool:
        facts = {"mutates": "files", "paths": dict.fromkeys(paths, root) if paths == ("folder",) else paths}
        where = f"{__name__}:{function.__name__}"
        return Tool(name, about, where, schema, opt_in=alone, sequential=True, annotations=facts)

    title = {"type": "string", "minLength": 1, "maxLength": 300}
    return (
        writes("create_document_tool", "Make a document: title, type and tags go into its front matter, its name is made of the "
               "title.", create_document,
               _object(["title", "content"], title=title, content=_TEXT, type=_TYPE, tags=_TAGS, folder=folder), "folder"),
        writes("append_to_document_tool", "Add a text at the end of a document.", append_to_document,
               _object(["path", "content"], path=_PATH, content={**_TEXT, "minLength": 1},
                       heading={"type": "string", "maxLength": 300, "description": "A heading above it."}), "path"),
        reads("list_documents_by_type_tool", "List documents with type, tags and title; only of a type or with a tag.",
              list_documents, _object([], type=_TYPE, tag={"type": "string", "maxLength": 60}, folder=folder, limit=_LIMIT),
              "folder"),
        reads("get_document_metadata_tool", "Return the front matter, size and headings of a document, without its text.",
              get_metadata, _object(["path"], path=_PATH), "path"),
        writes("tag_document_tool", "Add tags to a document, or take them away; the rest stays as it is.", tag_document,
               _object(["path"], path=_PATH, add=_TAGS, remove=_TAGS), "path"),
        writes("move_document_tool", "Move a document into another folder, which is made; nothing is overwritten.", move_document,
               _object(["path", "folder"], path=_PATH, folder={**folder, "description": "Where to."}), "path", "folder"),
        reads("list_folders_tool", "List the folders of documents.", list_folders, _object([], folder=folder), "folder"),
        writes("create_user_file_tool", "Make a text file with exactly this content; nothing is overwritten.", create_file,
               _object(["path", "content"], path={**_PATH, "description": "The file, with its ending."}, content=_TEXT), "path"),
        writes("create_user_folder_tool", "Make a folder.", create_folder,
               _object(["path"], path={**_PATH, "description": "The folder."}), "path"),
        reads("get_document_content_tool", "Return the text of a document; go on in a long one with offset.", get_content,
              _object(["path"], path=_PATH, offset={"type": "integer", "minimum": 0, "default": 0, "description": "Characters."}),
              "path"),
        reads("search_within_document_tool", "Find the lines of a document in which words occur.", search_within,
              _object(["path", "query"], path=_PATH, query=_WORDS, limit=_LIMIT), "path"),
        reads("search_documents_tool", "Find the documents in whose title, tags and text all words occur, best first.", search,
              _object(["query"], query=_WORDS, folder=folder, type=_TYPE, limit={**_LIMIT, "default": 20}), "folder"),
    )  # fmt: skip


async def _do(ctx: ToolContext, work: Callable[[DocumentFolder], ToolOutput | str]) -> ToolOutput | str:
    """Do the work in a thread, with the folder of documents."""
    return await asyncio.to_thread(lambda: work(DocumentFolder(ctx)))


def _root(args: Mapping[str, Any], folder: DocumentFolder) -> Path:
    found = folder.inside(args["folder"]) if "folder" in args else folder.root
    if not found.is_dir():
        raise ToolError(f"there is no folder {args.get('folder', folder.shown(folder.root))}")
    return found


# --- new documents ----------------------------------------------------------------------------------------------


async def create_document(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Make a document."""

    def work(folder: DocumentFolder) -> ToolOutput:
        title = " ".join(args["title"].split())
        name = documents.slug(title)
        if not name:
            raise ToolError(f"no name of a file can be made of the title {args['title']!r}")
        where = folder.inside(args["folder"]) if "folder" in args else folder.root
        file = folder.inside(str(where / f"{name}.md"))
        head = {"title": title} | ({"type": args["type"]} if args.get("type") else {})
        head |= {"tags": list(args["tags"])} if args.get("tags") else {}
        documents.write_new(file, documents.composed(head, args["content"]))
        return ToolOutput(f"Made {folder.shown(file)}.", details={"path": folder.shown(file)})

    return await _do(ctx, work)


async def create_file(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Make a file."""

    def work(folder: DocumentFolder) -> ToolOutput:
        file = folder.inside(args["path"])
        documents.write_new(file, args["content"])
        return ToolOutput(f"Made {folder.shown(file)}.", details={"path": folder.shown(file)})

    return await _do(ctx, work)


async def create_folder(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Make a folder."""

    def work(folder: DocumentFolder) -> str:
        made = folder.inside(args["path"])
        if made.is_dir():
            return f"{folder.shown(made)} is there already."
        try:
            made.mkdir(parents=True)
        except OSError as error:
            raise ToolError(f"the folder could not be made: {error.strerror}") from None
        return f"Made the folder {folder.shown(made)}."

    return await _do(ctx, work)


# --- changes ----------------------------------------------------------------------------------------------------


async def append_to_document(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Add to a document."""

    def work(folder: DocumentFolder) -> str:
        file = folder.document(args["path"])
        old = documents.read(file).raw
        heading = f"## {' '.join(args['heading'].split())}\n\n" if args.get("heading") else ""
        between = "" if not old else "\n" if old.endswith("\n") else "\n\n"
        documents.replace(file, f"{old}{between}{heading}{args['content'].strip()}\n")
        return f"Added {len(args['content'])} characters to {folder.shown(file)}."

    return await _do(ctx, work)


async def tag_document(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Change the tags of a document."""

    def work(folder: DocumentFolder) -> ToolOutput:
        file = folder.document(args["path"])
        document = documents.read(file)
        away = {tag.casefold() for tag in args.get("remove", ())}
        tags = [tag for tag in dict.fromkeys((*document.tags, *args.get("add", ()))) if tag.casefold() not in away]
        if tuple(tags) != document.tags:
            documents.replace(file, documents.retagged(document, tags))
        return ToolOutput(f"{folder.shown(file)} has the tags: {', '.join(tags) or 'none'}.", details={"tags": tags})

    return await _do(ctx, work)


async def move_document(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Move a document."""

    def work(folder: DocumentFolder) -> ToolOutput:
        file, where = folder.document(args["path"]), folder.inside(args["folder"])
        target = where / file.name
        try:
            where.mkdir(parents=True, exist_ok=True)
            # a link fails where something is there; a rename would overwrite it
            target.hardlink_to(file)
            file.unlink()
        except FileExistsError:
            raise ToolError(f"{folder.shown(target)} is there already") from None
        except OSError as error:
            raise ToolError(f"{folder.shown(file)} could not be moved: {error.strerror}") from None
        return ToolOutput(f"Moved to {folder.shown(target)}.", details={"path": folder.shown(target)})

    return await _do(ctx, work)


# --- looking ----------------------------------------------------------------------------------------------------


async def list_documents(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """List documents."""

    def work(folder: DocumentFolder) -> ToolOutput:
        kind, tag = args.get("type", "").casefold(), args.get("tag", "").casefold()
        rows = []
        for file in folder.documents(_root(args, folder)):
            try:
                one = documents.read(file)
            except ToolError:
                continue
            if (not kind or one.kind.casefold() == kind) and (not tag or tag in map(str.casefold, one.tags)):
                rows.append({"path": folder.shown(file), "type": one.kind, "tags": list(one.tags), "title": one.title})
        limit = args.get("limit", 50)
        lines = [
            f"{r['path']}: {r['title'] or '(no title)'}" + (f" [{r['type']}]" if r["type"] else "")
            for r in rows[:limit]
        ]
        lines += [f"[{len(rows) - limit} more documents]"] if len(rows) > limit else []
        return ToolOutput("\n".join(lines) or "No document fits.", details=rows[:limit])

    return await _do(ctx, work)


async def get_metadata(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Say what a document is."""

    def work(folder: DocumentFolder) -> ToolOutput:
        file = folder.document(args["path"])
        one, stat = documents.read(file), file.stat()
        headings = [line.rstrip() for line in one.body.splitlines() if line.startswith("#")][:100]
        changed = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds")
        facts = {
            "path": folder.shown(file), "title": one.title, "front_matter": dict(one.head), "bytes": stat.st_size,
            "words": len(one.body.split()), "changed": changed, "headings": headings,
        }  # fmt: skip
        lines = [f"{name}: {value}" for name, value in facts.items() if not isinstance(value, (list, dict))]
        lines += [f"{name}: {value}" for name, value in one.head.items() if name != "title"]
        return ToolOutput("\n".join([*lines, *headings]), details=facts)

    return await _do(ctx, work)


async def list_folders(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """List folders."""

    def work(folder: DocumentFolder) -> ToolOutput:
        found = [folder.shown(path) for path in folder.folders(_root(args, folder))]
        return ToolOutput("\n".join(found) or "There are no folders.", details=found)

    return await _do(ctx, work)


async def get_content(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Return the text of a document."""

    def work(folder: DocumentFolder) -> str:
        text, offset = documents.read(folder.document(args["path"])).raw, args.get("offset", 0)
        end = offset + _LENGTH
        if offset and offset >= len(text):
            raise ToolError(f"the text of {args['path']} ends at {len(text)}")
        rest = f"\n\n[characters {offset} to {end} of {len(text)}; go on with offset {end}]" if end < len(text) else ""
        return f"{text[offset:end]}{rest}" or "[the document is empty]"

    return await _do(ctx, work)


async def search_within(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Find lines."""

    def work(folder: DocumentFolder) -> ToolOutput:
        lines = documents.read(folder.document(args["path"])).raw.splitlines()
        words = args["query"].casefold().split()
        hits = [n for n, line in enumerate(lines, 1) if all(word in line.casefold() for word in words)]
        limit = args.get("limit", 50)
        told = [f"{n}: {lines[n - 1][:_LINE]}" for n in hits[:limit]]
        told += [f"[{len(hits) - limit} more lines]"] if len(hits) > limit else []
        return ToolOutput("\n".join(told) or "The words occur in no line.", details={"lines": hits[:limit]})

    return await _do(ctx, work)


async def search(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput | str:
    """Find documents: words of title and tags count more than those of the text."""

    def work(folder: DocumentFolder) -> ToolOutput:
        words, kind = args["query"].casefold().split(), args.get("type", "").casefold()
        hits: list[tuple[int, str, str, str]] = []
        for file in folder.documents(_root(args, folder)):
            try:
                one = documents.read(file)
            except ToolError:
                continue
            head = f"{one.title} {' '.join(one.tags)} {file.stem}".casefold()
            text = one.body.casefold()
            if (kind and one.kind.casefold() != kind) or not all(word in head or word in text for word in words):
                continue
            score = sum(10 * (word in head) + min(text.count(word), 9) for word in words)
            line = next((x for x in one.body.splitlines() if any(word in x.casefold() for word in words)), "")
            hits.append((-score, folder.shown(file), one.title, " ".join(line.split())[:_LINE]))
        hits.sort()
        limit = args.get("limit", 20)
        told = [
            f"{path}: {title or '(no title)'}" + f"\n  {line}" * bool(line) for _, path, title, line in hits[:limit]
        ]
        told += [f"[{len(hits) - limit} more documents]"] if len(hits) > limit else []
        rows = [{"path": path, "title": title, "score": -score} for score, path, title, _ in hits[:limit]]
        return ToolOutput("\n".join(told) or "No document has all these words.", details=rows)

    return await _do(ctx, work)
