"""The changes that a call would make: what ``write``, ``edit`` and ``apply_patch`` do before anything is on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .changes import Changes
from .edit import Edit, apply_edits
from .folder import FileError, shown
from .patch import apply_patch
from .text import decode, require_text

__all__ = ["PLANS"]


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
