"""The tool that applies operations to a file, the difference that a person sees before, and the way back."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError, UsageError
from skillkit_core.frozen import thaw
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .operations import Edited, edit

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["APPLY", "TOOLS", "difference", "locate", "preview", "told", "undo"]

APPLY = "apply_operations"


def locate(cwd: Path, path: str) -> Path:
    """Return the file of a path, which must be inside the workspace once links are followed.

    Raises:
        ToolError: it is outside, or no regular file.
    """
    try:
        root, found = cwd.resolve(), (cwd / path).resolve()
    except (OSError, ValueError, RuntimeError) as error:  # a null byte, a lone surrogate, a circle of links
        raise ToolError(f"{path!a} is no path: {error}") from None
    if not found.is_relative_to(root):
        raise ToolError(f"{path} is outside of the workspace {root}")
    if not found.is_file():
        raise ToolError(f"{path} is no file")
    return found


def _read(file: Path) -> tuple[bytes, str]:
    data = file.read_bytes()
    try:
        return data, data.decode()
    except UnicodeDecodeError as error:
        raise ToolError(f"{file.name} is no UTF-8 text: {error.reason} at byte {error.start}") from None


async def apply(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Apply operations to a file, all or none, and keep what was there."""
    file = locate(ctx.cwd, args["path"])
    before, text = _read(file)
    done = edit(text, thaw(args["operations"]), args.get("pre_hash"))
    if done.status != "applied":
        raise ToolError(told(done, args["path"]))
    after = done.document.encode()
    if ctx.agent is not None and after != before:
        _keep(ctx.agent.host, file, before, after)
    _write(file, after)
    count = len(args["operations"])
    said = f"{count} operation{'' if count == 1 else 's'} applied to {args['path']}"
    details = {"path": args["path"], "before": sha256(before).hexdigest(), "after": sha256(after).hexdigest()}
    return ToolOutput(said, {**details, "diff": difference(text, done.document, args["path"])})


async def preview(agent: AgentRunner, name: str, args: Mapping[str, Any]) -> str | None:
    """Return the difference that a call would make, for the question to a person."""
    _, text = _read(locate(agent.cwd, args["path"]))
    done = edit(text, thaw(args["operations"]), args.get("pre_hash"))
    return difference(text, done.document, args["path"]) if done.status == "applied" else told(done, args["path"])


def difference(before: str, after: str, path: str) -> str:
    """Return a unified difference."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    return "\n".join(lines)


def told(done: Edited, path: str) -> str:
    """Return in words why operations were not applied; the file is as it was."""
    if done.status == "conflict":
        return f"conflict: {path} has changed since the edit was made; nothing was applied"
    if done.status == "overlap":
        return "overlap: two operations change the same characters; nothing was applied"
    lines = []
    for number, (code, near) in enumerate(zip(done.operations, done.candidates, strict=True), 1):
        more = f" ({'; '.join(near)})" if near else ""
        lines.append(f"operation {number}: {code}{more}")
    return "rejected, nothing was applied: " + ", ".join(lines)


# --- the way back -------------------------------------------------------------------------------------------------


def _folder(host: Host) -> Path:
    return host.data_dir / "engine-editor"


def _log(host: Host, file: Path) -> Path:
    return _folder(host) / f"{sha256(str(file).encode()).hexdigest()[:32]}.jsonl"


def _keep(host: Host, file: Path, before: bytes, after: bytes) -> None:
    """Keep what was in a file, by its digest, and which edit replaced it."""
    folder = _folder(host)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    old, new = sha256(before).hexdigest(), sha256(after).hexdigest()
    kept = folder / old
    if not kept.exists():
        _write(kept, before)
    with _log(host, file).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"before": old, "after": new}) + "\n")


def undo(host: Host, file: Path) -> str:
    """Take the last edit of a file back, byte for byte; return what was done.

    Raises:
        UsageError: there is none, or the file has changed since.
    """
    log = _log(host, file)
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    if not rows:
        raise UsageError(f"no edit of {file} is kept", hint="'skillkit edit FILE REQUEST' makes one")
    last = rows[-1]
    if sha256(file.read_bytes()).hexdigest() != last["after"]:
        raise UsageError(f"{file} has changed since its last edit", hint="undo that change first")
    _write(file, (_folder(host) / last["before"]).read_bytes())
    _write(log, "".join(json.dumps(row) + "\n" for row in rows[:-1]).encode())
    return f"The last edit of {file.name} is taken back; {len(rows) - 1} more can be."


def _write(file: Path, data: bytes) -> None:
    """Write a file as a whole, so that nobody reads half of it; its rights stay."""
    mode = file.stat().st_mode if file.exists() else None
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".skillkit-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if mode is not None:
            Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the workspace."},
        "operations": {"type": "array", "items": {"type": "object"}},
        "pre_hash": {"type": "string", "description": "The revision that the operations are about."},
    },
    "required": ["path", "operations"],
    "additionalProperties": False,
}
TOOLS = (
    Tool(
        APPLY,
        "Apply operations to a file, all or none.",
        f"{__name__}:apply",
        _PARAMETERS,
        sequential=True,
        annotations={"mutates": "files", "paths": ("path",), "preview": f"{__name__}:preview"},
    ),
)
