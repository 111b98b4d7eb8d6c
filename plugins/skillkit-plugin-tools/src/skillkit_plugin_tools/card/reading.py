"""Checks of the sources, which are read and not imported: docstrings, marks of hooks, and names that are not public."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import skillkit_core

from .checks import Check, verdict
from .subject import Subject

__all__ = ["source_checks"]

KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Source(NamedTuple):
    """A file with code, and its name as people know it."""

    shown: str
    package: str
    tree: ast.Module


def source_checks(subject: Subject) -> Iterator[Check]:
    """Yield the checks of the package's own files."""
    sources = [
        Source(str(path), path.parts[0].removesuffix(".py"), ast.parse((subject.site / path).read_text("utf-8")))
        for path in subject.modules
        if ".dist-info" not in path.parts[0]
    ]
    yield verdict("hooks", HOOKS, (line for one in sources for line in _unmarked(one)))
    yield verdict("docs", DOCS, (line for one in sources for line in _undocumented(one)))
    yield verdict("public", PUBLIC, (line for one in sources for line in _past_the_door(one)))


HOOKS = "each function that is called like a hook is marked as one"
DOCS = "each module, public class and public function says what it is"
PUBLIC = "it imports public names alone"


def _unmarked(source: Source) -> Iterator[str]:
    known = _hooks()
    for node in source.tree.body:
        body = node.body if isinstance(node, ast.ClassDef) else [node]
        for one in body:
            if (
                isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
                and one.name in known
                and not one.decorator_list
            ):
                yield f"{source.shown}:{one.lineno}: {one.name} has no @hookimpl, so nobody calls it"


@cache
def _hooks() -> frozenset[str]:
    from skillkit_core.hookspecs import host, lifecycle, registration, resolution

    modules = (host, lifecycle, registration, resolution)
    # Of contracts and classes with methods of these names, only long ones are surely hooks.
    return frozenset(name for module in modules for name in vars(module) if "_" in name.strip("_"))


def _undocumented(source: Source) -> Iterator[str]:
    if source.tree.body and not ast.get_docstring(source.tree):
        yield f"{source.shown}:1: the module has no docstring"
    for node in source.tree.body:
        if not isinstance(node, KINDS) or node.name.startswith("_") or ast.get_docstring(node):
            continue
        if not any("hookimpl" in ast.unparse(mark) for mark in node.decorator_list):
            yield f"{source.shown}:{node.lineno}: {node.name} has no docstring"


def _past_the_door(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            wanted = [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            wanted = [(alias.name, "") for alias in node.names]
        else:
            continue
        for module, name in wanted:
            head = module.partition(".")[0]
            if head.startswith("skillkit_") and head != source.package and not _public(head, module, name):
                what = f"from {module} import {name}" if name else f"import {module}"
                yield f"{source.shown}:{node.lineno}: {what} may change with any version"


def _public(head: str, module: str, name: str) -> bool:
    """Return whether an import takes a name that stays: of the core its public modules, of others ``__all__`` of the root."""
    if head != "skillkit_core":
        return (module == head and (not name or name in _names(head, True))) or module == f"{head}.conformance"
    public = skillkit_core.PUBLIC_MODULES
    if module == head:
        return not name or name in skillkit_core.__all__ or name in public
    inside = module.removeprefix("skillkit_core.")
    if inside not in public:
        return f"{inside}.{name}" in public
    return not name or name in _names(module, False)


@cache
def _names(module: str, listed: bool) -> frozenset[str]:
    """Return the names that a module makes public: those in ``__all__``, or unless ``listed`` those that it defines."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(Path(spec.origin).read_text("utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        if "__all__" in names and isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            value = node.value
            if isinstance(value, (ast.List, ast.Tuple)) and (listed or spec.submodule_search_locations is not None):
                return frozenset(str(one.value) for one in value.elts if isinstance(one, ast.Constant))
        found |= {node.name} if isinstance(node, KINDS) else names
    return frozenset() if listed else frozenset(name for name in found if not name.startswith("_"))
