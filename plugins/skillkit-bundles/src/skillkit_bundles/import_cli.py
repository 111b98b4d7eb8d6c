"""``skillkit import``: the settings of another host are shown with what each would become, and taken over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from skillkit_core.cli.output import echo, escaped, json_option, print_json, short_path, table
from skillkit_core.errors import SkillKitError, UsageError

from .importing import HOSTS

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["import_"]

_WORDS = {"taken": "taken over", "read": "counts already", "left": "not taken"}


@click.command("import")
@click.argument("host_name", metavar="claude|codex|copilot", type=click.Choice(HOSTS))
@click.option("--project", is_flag=True, help="The settings of this folder, into .skillkit; default: your own.")
@click.option("--dry-run", is_flag=True, help="Show the table, and write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def import_(ctx: click.Context, host_name: str, project: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Take over permissions, hooks, MCP servers and plugins of another host, as they are.

    A table says what each setting becomes, and why another one has no effect here. The files of the other host are read only, and
    what stands in your own settings already stays.
    """
    from .importing import carry_out, plan_for

    host: Host = ctx.obj.host
    plan = plan_for(host, host_name, project=project)
    if not as_json:
        rows = [
            [escaped(row.what), _WORDS[row.outcome], escaped(row.became), short_path(row.file)] for row in plan.rows
        ]
        colours = {"taken over": "green", "counts already": "cyan", "not taken": "yellow"}
        table(
            ["setting", "outcome", "here", "file"], rows,
            styles=lambda i, cell: {"fg": colours[cell]} if i == 1 and cell in colours else {},
        )  # fmt: skip
        if not rows:
            echo("There is nothing to import.")
    wanted = bool(plan.permissions or plan.hooks or plan.servers or plan.bundles or plan.marketplaces)
    lines: list[str] = []
    if wanted and not dry_run:
        if not yes:
            if as_json or not sys.stdin.isatty():
                raise UsageError("nobody can be asked here", hint="look with --dry-run, then import with --yes")
            if not click.confirm("Take this over?"):
                raise SkillKitError("nothing was changed")
        lines = list(carry_out(host, plan, project=project))
    if as_json:
        data = [{"setting": r.what, "file": r.file, "outcome": r.outcome, "here": r.became} for r in plan.rows]
        print_json({"host": host_name, "dry_run": dry_run, "rows": data, "written": lines})
    for line in lines if not as_json else ():
        echo(line)
