"""The command "skillkit acme": which plugins run, and how many hooks each implements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from skillkit_core import Command, hookimpl
from skillkit_core.cli.output import echo, json_option, print_json, table


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer the command: its name, where its click command is found when somebody calls it, and a line of help."""
    register(Command("acme", "skillkit_acme:acme_command", "Count the hooks of each plugin."))


@click.command()
@click.option("--least", type=click.IntRange(min=0), default=0, help="Leave out plugins with fewer.")
@json_option
@click.pass_obj
def acme_command(state: Any, least: int, as_json: bool) -> None:
    """Count the hooks of each plugin that runs. ``state.host`` is what the options of ``skillkit`` ask for."""
    rows = [(name, len(plugin.hooks)) for name, plugin in state.host.plugins.items() if len(plugin.hooks) >= least]
    if as_json:
        print_json([{"plugin": name, "hooks": number} for name, number in rows])
    elif rows:
        table(["plugin", "hooks"], rows, right=[1])
    else:
        echo(f"No plugin implements {least} hooks.")
