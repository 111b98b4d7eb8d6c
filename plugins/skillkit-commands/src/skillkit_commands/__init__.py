"""Slash commands: what a person types as ``/name`` in a front end, whoever brings it.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .command import Edit, Prompt, SlashCommand, SlashCommandSet
    from .dispatch import Completion, Invocation, SlashCommands
    from .indicators import USUAL, Indicator, Indicators
    from .trusting import changes_of
    from .usage import context_tokens

__all__ = [
    "USUAL", "Completion", "Edit", "Indicator", "Indicators", "Invocation", "Prompt", "SlashCommand", "SlashCommandSet",
    "SlashCommands", "changes_of", "context_tokens",
]  # fmt: skip

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = {**dict.fromkeys(("Completion", "Invocation", "SlashCommands"), "dispatch"), "context_tokens": "usage"}
    where["changes_of"] = "trusting"
    where |= dict.fromkeys(("USUAL", "Indicator", "Indicators"), "indicators")
    return getattr(import_module(f"{__name__}.{where.get(name, 'command')}"), name)
