"""The manifests of bundles: the types of their fields, and the paths that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .tree import Tree

__all__ = ["NAME", "check_fields", "named_paths", "paths_of", "text_of"]

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


def text_of(data: Mapping[str, Any], key: str) -> str | None:
    """Return a text field, ``None`` where there is none."""
    value = data.get(key)
    return value if isinstance(value, str) else None


def paths_of(value: Any) -> list[str]:
    """Return the paths of a field that is one or a list; what is inline is left out."""
    every = value if isinstance(value, list) else [value]
    return [one for one in every if isinstance(one, str)]


def named_paths(tree: Tree, value: Any, *, dotted: bool = True) -> Iterator[tuple[str, Path]]:
    """Yield each path that a manifest names, as written and absolute; one that must not be is a fatal problem.

    Args:
        dotted: paths must begin with ``./``.
    """
    for text in paths_of(value):
        path = inside(tree, text, dotted=dotted)
        if path is None:
            continue
        if not path.exists():
            tree.complain("path-missing", text, "there is no such file or folder in the bundle")
        elif not tree.holds(path):
            tree.complain("path-outside", text, "a link out of the bundle is not followed")
        else:
            yield text, path


def inside(tree: Tree, text: str, *, dotted: bool) -> Path | None:
    """Return the path that a text names below the root; ``None`` with a fatal problem where it leaves it."""
    plain = text.replace("\\", "/")
    if "\0" in text or plain.startswith(("/", "~")) or re.match(r"[A-Za-z]:", plain):
        tree.complain("path-form", text, "a path must begin with './' and stay in the bundle", fatal=True)
        return None
    if ".." in plain.split("/"):
        tree.complain("path-outside", text, "the path leaves the bundle", fatal=True)
        return None
    if dotted and plain not in (".", "./") and not plain.startswith("./"):
        tree.complain("path-form", text, "a path must begin with './'", fatal=True)
        return None
    return tree.root / plain
