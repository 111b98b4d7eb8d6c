"""Every member declares what it imports: its dependencies hold what its package imports, its group ``test`` what its tests do.

Files are read, not imported. What a module imports as it is imported counts; not what stands in a function, below
``TYPE_CHECKING``, in a ``try`` that expects that it is missing, or below ``importorskip``. A dependency of a dependency is
declared. That a wheel works alone is tried by wheels.py, which takes minutes: this is why it need not try each one for each
change.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain

from wheels import ROOT, Member, members, project

NAME = re.compile(r"[\w.-]+")
LATE = {
    "pytest_plugin.py": "pytest",
    "slash.py": "skillkit-commands",
}  # files that are imported by this one, if it is there


def normal(requirement: str) -> str:
    """Return the name of a distribution that is required, as indexes spell it."""
    match = NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", match[0] if match else requirement).lower()


@cache
def own() -> dict[str, list[str]]:
    """Return what each distribution of the project requires, with its extras."""
    tables = [
        project(folder)["project"] for folder in {member.folder for member in members()} | set(ROOT.glob("plugins/*"))
    ]
    return {
        t["name"]: [*t.get("dependencies", ()), *chain(*t.get("optional-dependencies", {}).values())] for t in tables
    }


@cache
def needs(distribution: str) -> frozenset[str]:
    """Return the distributions that one brings, itself among them. Extras count: what they bring may be there."""
    found, waiting = set[str](), [distribution]
    while waiting:
        name = normal(waiting.pop())
        if name not in found:
            found.add(name)
            try:
                waiting += own()[name] if name in own() else requires(name) or ()
            except PackageNotFoundError:  # of another platform
                continue
    return frozenset(found)


@cache
def brought_by() -> dict[str, set[str]]:
    """Return which distributions bring a module, by the first part of its name; the project's own are told by their folders."""
    found = {module: {*map(normal, names)} for module, names in packages_distributions().items()}
    for file in ROOT.glob("plugins/*/pyproject.toml"):
        found |= {package.name: {project(file.parent)["project"]["name"]} for package in file.parent.glob("src/*")}
    return found | {"skillkit_core": {"skillkit-core"}, "skillkit_bundled": {"skillkit-bundled"}}


def optional(node: ast.AST) -> bool:
    """Return whether what stands in a statement need not be there."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test) or "find_spec" in ast.unparse(node.test)
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Try))


def imported(body: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the first part of the name of each module that statements import."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]
        elif not optional(node):
            yield from imported(ast.iter_child_nodes(node))


def undeclared(member: Member) -> Iterator[str]:
    """Yield a line for each import of a member that nothing declares."""
    sources = (ROOT / "skillkit_core").rglob("*.py") if member.folder == ROOT else member.folder.rglob("src/**/*.py")
    declared = needs(member.name)
    for files, more in (
        (sources, frozenset[str]()),
        (member.tests.rglob("*.py"), frozenset().union(*map(needs, member.needs))),
    ):
        for path in sorted(files):
            if "templates" in path.parts:  # packages of their own
                continue
            text = path.read_text(encoding="utf-8")
            skips = re.search(r"^(\w+ = )?pytest\.importorskip", text, re.M)
            end = text.count("\n", 0, skips.start()) if skips else len(text)
            allowed = declared | more | {LATE.get(path.name, "")}
            for line, module in imported(ast.parse(text).body):
                found = brought_by().get(module, set())
                if found and not found & allowed and line <= end:
                    where = f"{path.relative_to(ROOT)}:{line}"
                    yield f"{where}: {module} is of no dependency of {member.name}: declare {' or '.join(sorted(found))}"


def main() -> int:
    """Print what is undeclared; return 1 where there is something."""
    wrong = [line for member in members() for line in undeclared(member)]
    print("\n".join(wrong) or "every import is declared")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
