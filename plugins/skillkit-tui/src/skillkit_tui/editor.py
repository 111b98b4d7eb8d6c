"""The person's editor: it has the terminal until it ends, while agents go on."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_frontend import run_editor

if TYPE_CHECKING:
    from textual.app import App

__all__ = ["edit"]


async def edit(app: App[Any], environ: Mapping[str, str], path: Path) -> None:
    """Open a file in the editor of the environment, and return when it has ended.

    Raises:
        UsageError: the editor does not start, or fails.
    """
    with app.batch_update(), app.suspend():  # nothing is drawn over the editor
        # Ctrl-C in the editor reaches this program, too; a handler of Python is not the child's
        interrupt = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            await run_editor(environ, path)
        finally:
            signal.signal(signal.SIGINT, interrupt)
            app.refresh(layout=True)
