"""The changes that a call would make: what ``write``, ``edit`` and ``apply_patch`` do before anything is on the disk.

Front ends show them as a diff where they ask for approval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

from .changes import Changes
from .diff import summary
from .edit import Edit, apply_edits
from .folder import FileError, Folder, shown
from .listing import beginning
from .open_texts import EditedFolder, unsaved
from .patch import apply_patch
from .reading_rights import place_of
from .stand_in import seen_of
from .text import decode, require_text

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

    from .stand_in import AgentStandIn

__all__ = ["planned", "preview", "within_reach"]


def _write(changes: Changes, args: Mapping[str, Any]) -> str:
    path, content = args["path"], args["content"]
    require_text(content, "the content")
    if path.endswith("/"):
        raise FileError("is_directory", f"{shown(path)} names a folder; name the file in it")
    rel, found = changes.look(path)
    if found is None:
        changes.put(rel, content.encode())
        return f"Wrote {shown(rel)}, a new file."
    if changes.key(rel) not in changes.seen and found.data != b"":
        raise FileError("conflict", f"{shown(path)} exists, and you have not read it; read it first, or use edit")
    data = found.data
    try:
        text = decode(data, path) if data is not None else None
    except FileError:
        text = None  # what is no text is replaced as a whole
    if text is None:
        changes.put(rel, content.encode())
        return f"Wrote {shown(rel)}."
    body = content.removeprefix("\ufeff") if text.mark else content
    if text.crlf and "\r\n" not in body:
        body = body.replace("\n", "\r\n")
    changes.put(rel, text.encode(body, path))
    return f"Wrote {shown(rel)}."


def _edit(changes: Changes, args: Mapping[str, Any]) -> str:
    path, several = args["path"], args.get("edits")
    one = {name: args[name] for name in ("old", "new", "all") if name in args}
    if (several is None) == ("old" not in one and "new" not in one):
        raise FileError("invalid", "give old and new, or edits, not both" if one else "give old and new, or edits")
    if several is None and len(one.keys() & {"old", "new"}) < 2:
        raise FileError("invalid", "give both old and new")
    edits = [
        Edit(item["old"], item["new"], bool(item.get("all", False))) for item in ([one] if several is None else several)
    ]
    rel, text = changes.text(path)
    new, count, line = apply_edits(text, edits, path)
    changes.put(rel, text.encode(new, path))
    return f"Edited {shown(rel)}: {count} {'places' if count > 1 else 'place'}, from line {line} on."


def _patch(changes: Changes, args: Mapping[str, Any]) -> str:
    apply_patch(args["patch"], changes)
    return ""


PLANS: Mapping[str, Callable[[Changes, Mapping[str, Any]], str]] = {
    "write": _write,
    "edit": _edit,
    "apply_patch": _patch,
}


def planned(
    agent: AgentRunner | AgentStandIn, tool: str, args: Mapping[str, Any], texts: Mapping[str, bytes]
) -> tuple[Changes, str]:
    """Return the changes that a call of ``write``, ``edit`` or ``apply_patch`` would make, and what it would say.

    Args:
        texts: what an editor has of the files (:func:`~skillkit_files.open_texts.unsaved`).

    Raises:
        FileError: the call would fail.
    """
    changes = Changes(EditedFolder(agent.cwd, texts), seen_of(agent))
    return changes, PLANS[tool](changes, args)


async def preview(agent: AgentRunner, tool_name: str, args: Mapping[str, Any]) -> str:
    """Return the unified diff of a call of ``write``, ``edit`` or ``apply_patch``, without a change of any file.

    Raises:
        ToolError: the call would fail. The error says why, and shows nothing of the file, about which nobody was asked.
    """

    texts = await unsaved(agent, tool_name, args)

    def look() -> str:
        try:
            changes, _ = planned(agent, tool_name, args, texts)
        except FileError as error:
            raise ToolError(error.text.partition(". ")[0].rstrip(".")) from None
        except KeyError as error:
            raise ToolError(f"{error.args[0]} is missing") from None
        return summary(changes.made)[1] or "Nothing would change."

    return await asyncio.to_thread(look)


async def within_reach(agent: AgentRunner, tool_name: str, args: Mapping[str, Any]) -> None:
    """Say nothing of a call that only reads, which its arguments tell.

    Raises:
        ToolError: the path is where the tool does not read, whoever agrees to it. Whether something is there, is not said.
    """

    def look() -> None:
        try:
            path = args.get("path", ".")
            if tool_name in ("read", "ls"):
                place_of(agent, path)
            else:
                beginning(Folder(agent.cwd), args["pattern"] if tool_name == "glob" else "*", path)
        except FileError as error:
            if error.code == "outside_root":
                raise ToolError(error.text) from None

    await asyncio.to_thread(look)
