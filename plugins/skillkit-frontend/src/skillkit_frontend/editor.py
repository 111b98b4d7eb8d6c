"""The person's editor, which has the terminal until it ends."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from pathlib import Path

from skillkit_core.errors import UsageError

__all__ = ["run_editor"]


async def run_editor(environ: Mapping[str, str], path: Path) -> None:
    """Open a file in the editor that the environment names, ``vi`` where it names none, and wait for the editor's end.

    Raises:
        UsageError: the editor does not start, or fails.
    """
    words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")
    try:
        process = await asyncio.create_subprocess_exec(*words, str(path))
        status = await process.wait()
    except OSError as error:
        hint = "set VISUAL or EDITOR"
        raise UsageError(f"the editor {words[0]!r} does not start: {error.strerror}", hint=hint) from None
    if status:
        raise UsageError(f"the editor {words[0]!r} ended with {status}")
