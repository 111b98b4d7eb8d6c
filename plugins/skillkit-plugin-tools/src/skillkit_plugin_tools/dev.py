"""``skillkit dev``: SkillKit with the plugin of the current folder, not installed, and reloaded when it is saved."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from skillkit_core.cli.output import echo, error_line, style
from skillkit_core.errors import UsageError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["dev"]


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.pass_context
def dev(ctx: click.Context, words: tuple[str, ...]) -> Any:
    """Run SkillKit with the plugin of this folder, and reload the plugin when one of its files is saved.

    ARGS are a command and its words; without them a conversation begins. The plugin need not be installed: its entry points
    stand in pyproject.toml. It is reloaded between two turns of a conversation. An error in it is one line, and the last good
    version stays.

    \b
    skillkit dev
    skillkit dev run "what is 15% of 80"
    skillkit dev plugins doctor
    """
    from .project import Project
    from .reloading import Reloading

    project = Project.around(Path.cwd())
    root = ctx.find_root()
    folder = Path(tempfile.mkdtemp(prefix="skillkit-dev-"))
    ctx.call_on_close(lambda: shutil.rmtree(folder, ignore_errors=True))
    project.offer(folder)
    options = root.obj.options
    options["switch"] = (*(options.get("switch") or ()), *project.plugins)
    root.obj.renew()
    host: Host = root.obj.host
    if sys.stderr.isatty():
        told = f"{project.name}: what you save below {os.path.relpath(project.source)} is reloaded"
        echo(style(told, dim=True, stream=sys.stderr), err=True)
    host.load()
    for problem in host.problems:
        if problem.plugin in project.plugins and problem.severity == "error":
            error_line(f"{problem.plugin}: {problem.message}")
    host.add_plugin(Reloading(host, project))
    command, *rest = words or (_opening(root),)
    group = cast(click.Group, root.command)
    found = group.get_command(root, command)
    if found is None or found.name == ctx.command.name:
        raise UsageError(f"{command!r} is no command that can be run here", hint="try: skillkit dev run ...")
    with found.make_context(command, list(rest), parent=root) as below:
        return found.invoke(below)


def _opening(root: click.Context) -> str:
    """Return the command that a bare ``skillkit`` opens."""
    name: str | None = next((entry.name for entry in root.obj.listing.entries() if entry.item.opens), None)
    if name is None:
        raise UsageError("no front end is installed", hint="say what to run: skillkit dev plugins doctor")
    return name
