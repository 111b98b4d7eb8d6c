"""``skillkit a2a``: serve skills, call agents elsewhere, keep keys, show a card."""

from __future__ import annotations

import click

from .calling.cli import call
from .serving.command import card, keys, serve


@click.group()
def a2a() -> None:
    """Work with agents of other hosts over A2A."""


a2a.add_command(serve)
a2a.add_command(call)
a2a.add_command(keys)
a2a.add_command(card)
