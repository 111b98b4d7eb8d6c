"""The front door: what plugins, ours included, import from the core and from one another is public.

A plugin may import what ``skillkit_core.__all__`` has, and what the modules in ``skillkit_core.PUBLIC_MODULES`` define without
an underscore in front; of other plugins the names in ``__all__`` of the root package, nothing else. Files are read, not
imported, because the core's tests run with no plugin installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import skillkit_core

CORE = Path(skillkit_core.__file__).parent
ROOT = Path(__file__).resolve().parents[3]


class Import(NamedTuple):
    """``from module import name`` in a file; ``name`` is empty for ``import module``."""

    package: str
    where: str
    module: str
    name: str

    @property
    def head(self) -> str:
        return self.module.partition(".")[0]


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the import package and the path of every Python file that plugins and bundled skills ship."""
    if not (ROOT / "plugins").is_dir():
        pytest.skip("the plugins are not here: this runs in a checkout")
    for path in sorted(ROOT.glob("plugins/*/src/*/**/*.py")):
        if "templates" not in path.parts:  # they are packages of their own, and their report cards look at imports
            yield path.relative_to(ROOT).parts[3], path
    for path in sorted(ROOT.glob("skills/skillkit_bundled/**/*.py")):
        yield "skillkit_bundled", path


def imports() -> Iterator[Import]:
    """Yield what the files import of SkillKit, outside of their own package; ``if TYPE_CHECKING`` counts, too."""
    for package, path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found = [(node.module, alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                found = [(alias.name, "") for alias in node.names]
            else:
                continue
            for module, name in found:
                one = Import(package, f"{path.relative_to(ROOT)}:{node.lineno}", module, name)
                if one.head.startswith("skillkit_") and one.head != package:
                    yield one


@cache
def all_of(path: Path) -> frozenset[str]:
    """Return ``__all__`` of a root package, which must be written as a list of strings; without it nothing is public."""
    for node in ast.parse(path.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "__all__" and isinstance(node, (ast.Assign, ast.AnnAssign)):
            assert isinstance(node.value, (ast.List, ast.Tuple)), f"{path}: write __all__ as a list of names"
            return frozenset(e.value for e in node.value.elts if isinstance(e, ast.Constant))
    return frozenset()


@cache
def defined_in(path: Path) -> frozenset[str]:
    """Return the names without an underscore in front that a module defines itself."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {name.id for t in targets for name in ast.walk(t) if isinstance(name, ast.Name)}
    return frozenset(name for name in names if not name.startswith("_"))


def fits(one: Import) -> bool:
    """Return whether an import goes through the front door."""
    if one.head == "skillkit_core":
        return _fits_core(one)
    root = next(ROOT.glob(f"plugins/*/src/{one.head}/__init__.py"), None)
    if one.module != one.head or root is None:
        return False
    return not one.name or one.name in all_of(root)


def _fits_core(one: Import) -> bool:
    if one.module == "skillkit_core":
        return not one.name or one.name in skillkit_core.__all__ or one.name in skillkit_core.PUBLIC_MODULES
    inside = one.module.removeprefix("skillkit_core.")
    if inside not in skillkit_core.PUBLIC_MODULES:
        return f"{inside}.{one.name}" in skillkit_core.PUBLIC_MODULES
    home = CORE.joinpath(*inside.split("."))
    names = all_of(home / "__init__.py") if home.is_dir() else defined_in(home.with_suffix(".py"))
    return not one.name or one.name in names


def test_every_public_module_exists_and_imports() -> None:
    from importlib import import_module

    for name in skillkit_core.PUBLIC_MODULES:
        import_module(f"skillkit_core.{name}")


def test_plugins_come_in_by_the_front_door() -> None:
    past = [f"{one.where} from {one.module} import {one.name}" for one in imports() if not fits(one)]
    assert not past, "imports past the front door:\n" + "\n".join(past)
