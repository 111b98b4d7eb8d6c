"""The person's editor: it has the terminal until it ends, while agents go on."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import UsageError

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["edit"]


async def edit(app: App[Any], environ: Mapping[str, str], path: Path) -> str | None:
    """Open a file in the editor of the environment; when it has ended return what went wrong, ``None`` for nothing.

    Raises:
        UsageError: there is no editor, or it does not start.
    """
    editor = environ.get("VISUAL") or environ.get("EDITOR")
    if not editor:
        raise UsageError("no editor is chosen", hint="set VISUAL or EDITOR")
    with app.batch_update(), app.suspend():  # nothing is drawn over the editor
        # Ctrl-C in the editor reaches this program, too; a handler of Python is not the child's
        interrupt = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
            status = await process.wait()
        except OSError as error:
            raise UsageError(f"the editor {editor!r} does not start: {error.strerror}", hint="set EDITOR") from error
        finally:
            signal.signal(signal.SIGINT, interrupt)
    app.refresh(layout=True)
    return f"{editor} ended with status {status}" if status else None
