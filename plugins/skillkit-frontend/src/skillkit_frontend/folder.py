"""The folder that a conversation begins in: whether what it brings counts is asked before the first request."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_commands import changes_of

from skillkit_core.cli.output import echo, escaped, short_path, warning
from skillkit_core.settings.trust import Trust

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["ask_about_folder"]

_CONFIG = ".skillkit/config.yaml"


def ask_about_folder(state: Any, *, asks: bool = True) -> None:
    """Ask whether what the folder brings counts, and let it count after a yes: the command has a new host then.

    Nothing is asked where nobody is at a terminal, or where the person does not want to be asked: one line says what does not
    count.

    Args:
        state: the state of the root command, whose ``host`` and ``renew()`` are used.
        asks: the command may ask.
    """
    host: Host = state.host
    asks = asks and sys.stdin.isatty() and sys.stdout.isatty()
    unasked = _Unasked(host)
    renewed = False
    for folder in changes_of(host):
        if not asks or folder in unasked:
            _tell(host, folder)
        elif _ask(host, folder, unasked):
            renewed = True
    if renewed:
        state.renew()


def _tell(host: Host, folder: Path) -> None:
    """Say in one line what of a folder that is not trusted does not count; the host says it of what changed."""
    from skillkit_core import project_content

    if Trust(host.data_dir).changed(folder) is not None:
        return
    told = (part for part in project_content(host, str(folder)) if part != _CONFIG and (folder / part).exists())
    if names := ", ".join(sorted(told)):
        place = short_path(str(folder))
        warning(f"what {place} brings does not count: {escaped(names)}; 'skillkit config trust' shows and trusts it")


def _ask(host: Host, folder: Path, unasked: _Unasked) -> bool:
    """Show what a folder brings, or what changed in it, and ask; return whether more counts now."""
    import asyncio

    from skillkit_core.cli.trusting import Review

    from .terminal import answer_to

    review = Review(host, folder)

    def confirm(question: str) -> bool:
        if folder in unasked:
            return False
        answer = asyncio.run(answer_to(f"{escaped(question)} [y]es, [N]o for now, ne[v]er ask here: ")).casefold()
        if answer in ("v", "never"):
            unasked.add(folder)
        return answer in ("y", "yes")

    steps = [file for file, _, _ in review.steps()]
    if steps:
        echo(f"{escaped(short_path(str(folder)))} brings what does not count before you have seen it:", err=True)
    refused = review.ask(confirm, lambda text: echo(text, err=True))
    if len(refused) == len(steps):
        return False
    review.keep(refused)
    return True


class _Unasked:
    """The folders about which a person does not want to be asked at the start, a list of JSON in the data directory."""

    def __init__(self, host: Host) -> None:
        self._path = host.data_dir / "unasked.json"
        self._folders: list[str] = []
        import json

        with suppress(OSError, ValueError):
            self._folders = [str(folder) for folder in json.loads(self._path.read_text("utf-8"))]

    def __contains__(self, folder: Path) -> bool:
        return str(folder) in self._folders

    def add(self, folder: Path) -> None:
        """Ask no more about a folder."""
        import json

        from skillkit_core.settings.documents import write_whole

        self._folders.append(str(folder))
        write_whole(str(self._path), json.dumps(self._folders, indent=1) + "\n")
