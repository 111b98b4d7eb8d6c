"""Commands that go on with a session, so that they work when they are pasted into a shell."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from skillkit_core.cli.sessions import typed_options
from skillkit_core.host.skills import unused_folders

from ..branches import Branches

__all__ = ["Proposal"]

_STORE = "SKILLKIT_SESSION__STORE"  # for commands without --store


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the session needs again: of the command line, and of what it was made with.

    Attributes:
        before: options of ``skillkit`` itself. store: the store, where another one than the configured was named.
        folders: folders of skills that are there, and that nobody reads without being told.
        workspace: the folder in which the calls that wait would run, unless it is this one.
    """

    session: str
    before: tuple[str, ...]
    store: str | None
    folders: tuple[str, ...]
    workspace: str | None

    @classmethod
    def of(cls, ctx: click.Context, store: str | None, session_id: str, branches: Branches) -> Proposal:
        """The proposal for a session as it stands."""
        host = ctx.obj.host
        folders = tuple(f for f in unused_folders(host, branches.entries) if Path(f).is_dir())
        made_in = branches.workspace()
        elsewhere = made_in is not None and Path(made_in).resolve() != Path(host.cwd).resolve()
        before = tuple(typed_options(ctx.find_root(), {"debug"}))
        return cls(session_id, before, store, folders, made_in if elsewhere else None)

    def go_on(self) -> str:
        """The command that goes on with what waits or was cut off."""
        store = () if self.store is None else ("--store", self.store)
        words = ["skillkit", *self.before, "sessions", "resume", self.session, *store, *self._folders()]
        there = f"cd {shlex.quote(self.workspace)} && " if self.workspace is not None else ""
        return there + shlex.join(words)

    def say(self) -> str:
        """The command that says something in the session."""
        words = ["skillkit", *self.before, "run", "--session", self.session, *self._folders()]
        store = f"{_STORE}={shlex.quote(self.store)} " if self.store is not None else ""
        return f'{store}{shlex.join(words)} "..."'

    def _folders(self) -> list[str]:
        return [word for folder in self.folders for word in ("--skills-dir", folder)]
