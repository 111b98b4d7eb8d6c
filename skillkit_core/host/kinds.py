"""The kinds of things that plugins bring: for each one there is a hook ``register_<kind>`` and a registry."""

from __future__ import annotations

__all__ = ["CORE_COMMANDS", "KINDS", "singular"]

KINDS = (
    "adapters",
    "models",
    "runtimes",
    "compactors",
    "tools",
    "skill_sources",
    "skill_loaders",
    "session_stores",
    "token_estimators",
    "context_providers",
    "credentials",
    "commands",
    "config",
)


CORE_COMMANDS = ("config", "doctor", "plugins")
"""Commands whose bare names mean the core's, whatever plugins offer."""


def singular(kind: str) -> str:
    """One of a kind in the words of an error."""
    special = {"credentials": "credential source", "config": "section", "adapters": "provider"}
    return special.get(kind) or kind.removesuffix("s").replace("_", " ")
