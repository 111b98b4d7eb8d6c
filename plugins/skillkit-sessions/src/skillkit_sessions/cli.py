"""``skillkit sessions``: the group of commands."""

from __future__ import annotations

import click

from .commands.change import fork, label
from .commands.look import list_, path, search, show, tree
from .commands.resume import resume
from .commands.transfer import export, import_

__all__ = ["sessions"]


@click.group(help="List, show, branch, export and search sessions.")
def sessions() -> None:
    """The group of commands."""


for _command in (list_, show, tree, resume, fork, label, export, import_, search, path):
    sessions.add_command(_command)
