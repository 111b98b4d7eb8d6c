"""Skills as slash commands: ``/skills`` lists them, and ``/NAME`` calls one that people may call.

Imported only by hosts with the plugin ``commands``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkit_commands import Prompt, SlashCommand

from skillkit_core.errors import UsageError

from .cli.printing import safe
from .listed import Listed, listing

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

__all__ = ["list_skills", "skill_commands"]

_HELP = 100  # characters


async def list_skills(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str:
    """List the skills, and why some cannot be used."""
    rows = [(row.name, "; ".join(row.reasons) or _short(row)) for row in listing(agent.host)]
    return "\n".join(safe(f"{name}: {text}") for name, text in sorted(rows)) or "There are no skills."


def skill_commands(agent: AgentRunner) -> Sequence[SlashCommand]:
    """Return a slash command for every skill that a person may call here."""
    found = []
    for row in listing(agent.host):
        if row.eligible and row.wins and row.skill.user_invocable:
            try:
                found.append(_command(row))
            except UsageError:  # nobody can type such a name; /skill:NAME calls it
                continue
    return found


def _command(row: Listed) -> SlashCommand:
    async def call(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
        return Prompt(f"/skill:{row.name} {arguments}".strip())

    return SlashCommand(
        row.name, _short(row), call, safe(row.skill.argument_hint or "[TEXT]"), origin=f"skill:{row.kind}"
    )


def _short(row: Listed) -> str:
    """Return the description on one line."""
    text = safe(" ".join(row.skill.description.split())) or "A skill without a description."
    return text if len(text) <= _HELP else text[: _HELP - 1] + "…"
