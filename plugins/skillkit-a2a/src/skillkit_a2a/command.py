"""``skillkit a2a``: serve skills, call agents elsewhere, keep keys, show a card."""

from __future__ import annotations

import click


@click.group()
def a2a() -> None:
    """Work with agents of other hosts over A2A."""
