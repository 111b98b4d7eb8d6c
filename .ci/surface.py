"""Keeps the public surface in files: `update` writes them, `check` says what changed and how to renew them.

What others build on stands in `.ci/surface/PACKAGE.txt`, a line for each name, signature and field: of the core what it exports
and its public modules, of every other package the names in `__all__` of its root. A change that nobody meant fails; one that is
meant is in the diff, where a reviewer sees it beside its line in the changelog.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / ".ci" / "surface"
RENEW = "python .ci/surface.py update"
OWN = ("__init__", "__call__", "__getattr__", "__aenter__", "__enter__")


def main() -> int:
    """Write the files, or compare them; 1: they differ."""
    if sys.argv[1:] not in (["update"], ["check"]):
        print(f"usage: {RENEW} | check", file=sys.stderr)
        return 2
    if sys.argv[1] == "check":
        print(changes() or "the public surface is as it was")
        return 1 if changes() else 0
    FILES.mkdir(exist_ok=True)
    wanted = surfaces()
    for file in FILES.glob("*.txt"):
        if file.stem not in wanted:
            file.unlink()
    for package, text in wanted.items():
        (FILES / f"{package}.txt").write_text(text, encoding="utf-8")
    return 0


def changes() -> str:
    """Return the lines that changed, and what to do; empty: none did."""
    out: list[str] = []
    wanted = surfaces()
    there = {file.stem: file.read_text(encoding="utf-8") for file in sorted(FILES.glob("*.txt"))}
    for package in sorted({*wanted, *there}):
        old, new = there.get(package, "").splitlines(), wanted.get(package, "").splitlines()
        out += [line for line in difflib.unified_diff(old, new, package, package, n=0, lineterm="") if line[:2] != "@@"]
    if not out:
        return ""
    shown = "\n".join(out[:60] + (["..."] if len(out) > 60 else []))
    return f"the public surface changed:\n{shown}\nif that is meant: {RENEW}, and a line in the changelog"


def surfaces() -> dict[str, str]:
    """Return the surface of every package of the workspace, as far as it has one."""
    found = {"skillkit_core": "\n".join(_core())}
    for project in sorted(ROOT.glob("plugins/*/src/*/__init__.py")):
        package = project.parent.name
        if importlib.util.find_spec(package) is None:  # tested alone, and not in the development environment
            sys.path.append(str(project.parent.parent))
        found[package] = "\n".join(_exported(package))
    return {package: text + "\n" for package, text in found.items() if text}


def _core() -> Iterator[str]:
    import skillkit_core

    for name in sorted(skillkit_core.__all__):
        value = getattr(skillkit_core, name)
        home = skillkit_core._MODULE_OF.get(name, "")
        if home in skillkit_core.PUBLIC_MODULES:
            yield f"skillkit_core.{name} = skillkit_core.{home}.{name}"
        else:
            yield from _entry(f"skillkit_core.{name}", value)
    for name in skillkit_core.PUBLIC_MODULES:
        module = importlib.import_module(f"skillkit_core.{name}")
        for one in sorted(_defined(module)):
            yield from _entry(f"skillkit_core.{name}.{one}", getattr(module, one))


def _exported(package: str) -> Iterator[str]:
    module = importlib.import_module(package)
    for name in sorted(getattr(module, "__all__", ())):
        yield from _entry(f"{package}.{name}", getattr(module, name))


def _defined(module: Any) -> set[str]:
    """The public names that a module defines, or that a package exports."""
    if hasattr(module, "__path__"):
        return set(module.__all__)
    names: set[str] = set()
    for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_") and hasattr(module, name)}


def _entry(where: str, value: Any) -> Iterator[str]:
    """The lines of one name. What has no source, such as an alias of a type, is its name alone."""
    try:
        node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    except (TypeError, OSError, SyntaxError):
        node = ast.Pass()
    if isinstance(node, ast.ClassDef):
        yield f"class {where}({', '.join(map(ast.unparse, node.bases))})"
        for item in node.body:
            yield from (f"{where}.{line}" for line in _member(item))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield f"{where}{_signature(node)}"
    else:
        yield where


def _member(item: ast.stmt) -> Iterator[str]:
    """The line of a field, a member of an enumeration, a method or a property, if it is public."""
    if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
        default = "" if item.value is None else f" = {ast.unparse(item.value)}"
        found = f"{item.target.id}: {ast.unparse(item.annotation)}{default}"
    elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
        found = ast.unparse(item)
    elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
        marks = [ast.unparse(mark) for mark in item.decorator_list]
        found = item.name + _signature(item) + "".join(f" @{mark}" for mark in marks)
    else:
        return
    if not found.startswith("_") or found.startswith(OWN):
        yield found


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    waits = " async" if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"({ast.unparse(node.args)}){returns}{waits}"


if __name__ == "__main__":
    sys.exit(main())
