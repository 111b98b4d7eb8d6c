"""The command "skillkit acme": how many skills come from where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import click
from skillkit_core import Command, hookimpl
from skillkit_core.cli.output import echo, json_option, print_json, table


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer the command: its name, where its click command is found when somebody calls it, and a line of help."""
    register(Command("acme", "skillkit_acme:acme_command", "Show how many skills come from where."))


@click.command()
@click.option("--least", type=click.IntRange(min=1), default=1, help="Leave out sources with fewer.")
@json_option
@click.pass_obj
def acme_command(state: Any, least: int, as_json: bool) -> None:
    """Show how many skills come from where."""
    counted = Counter(skill.source or "unknown" for skill in state.host.skills.list())
    rows = [(source, number) for source, number in counted.most_common() if number >= least]
    if as_json:
        print_json([{"source": source, "skills": number} for source, number in rows])
    elif rows:
        table(["source", "skills"], rows, right=[1])
    else:
        echo("No source has that many skills." if counted else "There are no skills.")
