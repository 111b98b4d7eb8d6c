"""``skillkit commands``: lists slash commands and prompt files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillkit_core import AgentRunner
from skillkit_core.cli.output import echo, json_option, print_json, short_path, table, warning
from skillkit_core.program import as_typed

from .dispatch import SlashCommands
from .prompts import prompt_files

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["commands"]


@click.group(invoke_without_command=True)
@click.pass_context
def commands(ctx: click.Context) -> None:
    """List slash commands and prompt files."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@commands.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool = False) -> None:
    """List the slash commands, and the prompt files that are none."""
    host: Host = ctx.obj.host
    found = SlashCommands(AgentRunner(host=host)).all()
    files = {file.path: file for file in prompt_files(host)}
    problems = [f for f in files.values() if f.problems]
    if as_json:
        print_json(
            {
                "commands": [
                    {"name": c.name, "arguments": c.arguments, "help": c.help, "origin": c.origin} for c in found
                ],
                "problems": [
                    {"name": f.name, "path": str(f.path), "usable": not f.broken, "problems": list(f.problems)}
                    for f in problems
                ],
            }
        )
        return
    table(
        ["command", "arguments", "from", "what it does"],
        [[f"/{c.name}", c.arguments, c.origin, c.help] for c in found],
    )
    for file in problems:
        warning(f"{short_path(str(file.path))}: {'; '.join(file.problems)}")
    if host.withheld is None and any((host.cwd / name / "commands").is_dir() for name in (".skillkit", ".claude")):
        echo(
            as_typed("The prompt files of this folder do not count: it is not trusted. Try: skillkit config trust"),
            err=True,
        )
