"""The manifests of bundles: their names, and the types of their fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .tree import Tree

__all__ = ["CLAUDE", "FREE", "NAME", "check_fields"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
"""What a bundle's name must match: one visible part of a path, which may stand before a colon."""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _paths(value: Any) -> bool:
    return isinstance(value, str) or _texts(value)


def _parts(value: Any) -> bool:
    return isinstance(value, (str, dict)) or (
        isinstance(value, list) and all(isinstance(one, (str, dict)) for one in value)
    )


CLAUDE: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("name", "displayName", "description", "homepage", "license", "version", "$schema", "repository"), _text
    ),
    "author": _object,
    "keywords": _texts,
    "defaultEnabled": lambda value: isinstance(value, bool),
    **dict.fromkeys(("skills", "agents", "workflows", "outputStyles"), _paths),
    "commands": lambda value: _paths(value) or _object(value),
    **dict.fromkeys(("hooks", "mcpServers", "lspServers"), _parts),
    "userConfig": _object,
    "channels": lambda value: isinstance(value, list),
    "dependencies": lambda value: isinstance(value, list) and all(isinstance(one, (str, dict)) for one in value),
}
"""The fields of a manifest of Claude Code whose type is checked."""
FREE = frozenset(("metadata", "experimental", "themes", "monitors"))
"""Fields of it that may have any type: one that is wrong has no effect."""


def check_fields(
    tree: Tree, where: str, data: Mapping[str, Any], types: Mapping[str, Callable[[Any], bool]], free: frozenset[str]
) -> bool:
    """Return whether the types of the known fields are right; what is wrong is fatal, what is unknown is said."""
    good = True
    for key, value in data.items():
        if key in types:
            if not types[key](value):
                tree.complain("field-type", where, f"the field {key!r} has a wrong type", fatal=True)
                good = False
        elif key not in free:
            tree.complain("unknown-field", where, f"the field {key!r} has no effect here")
    return good
