"""A folder is read as a bundle: which format it is in, and what one of a host makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..model import Bundle, Dialect, Reading
from . import agent_plugins, claude, codex, copilot
from .tree import Tree

__all__ = ["dialect_of", "read_bundle"]


def read_bundle(
    root: Path, dialect: Dialect | None = None, *, name: str = "", entry: Mapping[str, Any] | None = None
) -> Reading:
    """Read a folder as a bundle. Nothing in it runs, and nothing outside of it is read, links included.

    Args:
        root: the folder.
        dialect: the host as which it is read; default: the one that it is written for.
        name: what it is called if neither manifest nor entry says so; default: its folder's name.
        entry: its entry in a marketplace, which may complete or replace the manifest.

    Returns:
        The bundle, and everything that was noticed; no bundle where a problem is fatal.
    """
    tree = Tree(root)
    if not tree.root.is_dir():
        tree.complain("missing", str(root), "there is no such folder", fatal=True)
        return Reading(None, tuple(tree.problems))
    found = _read(tree, dialect or dialect_of(tree), name or tree.root.name, entry)
    problems = tuple(tree.problems)
    return Reading(replace(found, problems=problems) if found is not None else None, problems)


def _read(tree: Tree, dialect: Dialect, name: str, entry: Mapping[str, Any] | None) -> Bundle | None:
    if dialect == "agent-plugins":
        return agent_plugins.read_agent_plugin(tree)
    if dialect == "codex":
        return codex.read_codex(tree, name)
    if dialect == "copilot":
        return copilot.read_copilot(tree, name)
    return claude.read_claude(tree, name, entry)


def dialect_of(tree: Tree) -> Dialect:
    """Return the format that a folder is in: that of its richest manifest, Claude Code's where it has none."""
    if (tree.root / claude.MANIFEST).exists():
        return "claude"
    if tree.is_file(agent_plugins.MANIFEST):
        data = Tree(tree.root).json(agent_plugins.MANIFEST, "manifest-json")
        return "agent-plugins" if agent_plugins.version_of(data) is not None else "copilot"
    if any((tree.root / one).exists() for one in codex.MANIFESTS):
        return "codex"
    if any((tree.root / one).exists() for one in copilot.MANIFESTS) or (tree.root / "hooks.json").exists():
        return "copilot"
    return "claude"
