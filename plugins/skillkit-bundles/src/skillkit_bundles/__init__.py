"""Bundles of other hosts: plugins and marketplaces of Claude Code, Codex, Copilot and Agent Plugins, read and run unchanged.

Public names are imported when they are first used (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .agents import agent_fields as agent_fields
    from .formats.marketplace import (
        Listing as Listing,
        Marketplace as Marketplace,
        read_marketplace as read_marketplace,
    )
    from .formats.reading import read_bundle as read_bundle
    from .model import (
        DIALECTS as DIALECTS,
        Bundle as Bundle,
        Component as Component,
        Dialect as Dialect,
        Hook as Hook,
        Part as Part,
        Problem as Problem,
        Reading as Reading,
        Server as Server,
    )
    from .prompts import (
        Command as Command,
        Expansion as Expansion,
        command_named as command_named,
        expand as expand,
        variables_of as variables_of,
    )

_WHERE = {
    "agent_fields": "agents",
    "Listing": "formats.marketplace",
    "Marketplace": "formats.marketplace",
    "read_marketplace": "formats.marketplace",
    **dict.fromkeys(
        ("DIALECTS", "Bundle", "Component", "Dialect", "Hook", "Part", "Problem", "Reading", "Server"), "model"
    ),
    **dict.fromkeys(("Command", "Expansion", "command_named", "expand", "variables_of"), "prompts"),
    "read_bundle": "formats.reading",
}
__all__ = [
    "DIALECTS",
    "Bundle",
    "Command",
    "Component",
    "Dialect",
    "Expansion",
    "Hook",
    "Listing",
    "Marketplace",
    "Part",
    "Problem",
    "Reading",
    "Server",
    "agent_fields",
    "command_named",
    "expand",
    "read_bundle",
    "read_marketplace",
    "variables_of",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
