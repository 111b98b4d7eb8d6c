"""Prints the shape of the house: what stands on what in the core and in every package, and what stands twice.

    uv run python .ci/house.py [--json] [--check] [-v]

Imports are read from the sources, also those inside functions. A circle is a set of files that import one another. In plugins
those for type checkers alone (``if TYPE_CHECKING``) count for circles too, for nothing else. Floors are the files on the longest
chain of imports within a package. With ``--check`` the exit status is 1 where a figure is over its limit. ``-v`` names what is
counted.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {
    "circles": 0,
    "past_the_front_door": 0,
    "front_matter_readers": 1,
    "walks_through_proc": 0,
    "largest_folder": 30,
    "floors": 8,
    "host": 40,
    "agent_runner": 40,
    "core_lines": 22_590,  # the goal is 20,200: docs/explanation/design.md
}
LISTS = ("listdir", "scandir", "Path", "glob", "iglob")
FENCE = "---"  # what stands around front matter
HOLD_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)  # no expression holds an import
PROCESSES = (
    "skillkit_process",
    "skillkit_sandbox_attacks",
)  # the library, and what plays a program that looks for others


@dataclass(frozen=True)
class Import:
    """One import statement of a module.

    Attributes:
        importer: the module that imports.
        line: the line of the statement.
        module: the module that is named, with the package of a relative import.
        names: the names that are taken from it; empty for ``import module``.
        typing: the import is for type checkers alone.
    """

    importer: str
    line: int
    module: str
    names: tuple[str, ...]
    typing: bool = False


class Package:
    """The sources of one import package: the core, a plugin, a library."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder
        self.trees = {self._module(p): ast.parse(p.read_text("utf-8")) for p in sorted(folder.rglob("*.py"))}
        self.lines = sum(len(p.read_text("utf-8").splitlines()) for p in folder.rglob("*.py"))
        self.imports = [
            one for name, tree in self.trees.items() for one in self._imports(name, self._package(name), tree)
        ]

    def _module(self, path: Path) -> str:
        parts = path.relative_to(self.folder.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _package(self, module: str) -> list[str]:
        """Return the parts of the package that a module is in: itself, where it is one."""
        parts = module.split(".")
        is_package = (self.folder.parent / Path(*parts) / "__init__.py").is_file()
        return parts if is_package else parts[:-1]

    def _imports(self, importer: str, package: list[str], tree: ast.AST, typing: bool = False) -> Iterator[Import]:
        for node in ast.iter_child_nodes(tree):
            if not isinstance(node, HOLD_STATEMENTS):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                for one in node.body:
                    yield from self._imports(importer, package, ast.Module([one], []), True)
                for one in node.orelse:
                    yield from self._imports(importer, package, ast.Module([one], []), typing)
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(importer, node.lineno, alias.name, (), typing)
            elif isinstance(node, ast.ImportFrom):
                base = package[: len(package) - node.level + 1] if node.level else []
                module = ".".join([*base, *([node.module] if node.module else [])])
                yield Import(importer, node.lineno, module, tuple(alias.name for alias in node.names), typing)
            yield from self._imports(importer, package, node, typing)

    def edges(self, typing: bool = False) -> dict[str, set[str]]:
        """Return the modules of the package that each of its modules imports.

        Args:
            typing: imports for type checkers count, too.
        """
        found: dict[str, set[str]] = {name: set() for name in self.trees}
        for one in self.imports:
            if one.typing and not typing:
                continue
            wanted = [f"{one.module}.{name}" for name in one.names] or [one.module]
            for name in wanted:
                target = name if name in self.trees else one.module
                if target in self.trees and target != one.importer:
                    found[one.importer].add(target)
        return found

    def folders(self) -> dict[str, int]:
        """Return the number of Python files in each folder."""
        found: dict[str, int] = {}
        for path in self.folder.rglob("*.py"):
            place = str(path.parent.relative_to(self.folder.parent))
            found[place] = found.get(place, 0) + 1
        return found

    def strings(self) -> Iterator[tuple[str, int, str]]:
        """Yield the string constants that are not docstrings: module, line, text."""
        for name, tree in self.trees.items():
            docs = {
                id(node.body[0].value)
                for node in ast.walk(tree)
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
                and node.body
                and isinstance(node.body[0], ast.Expr)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                    yield name, node.lineno, node.value

    def proc_walks(self) -> Iterator[str]:
        """Yield the modules that list ``/proc``, to find processes."""
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in LISTS:
                    yield from (name for one in node.args if isinstance(one, ast.Constant) and one.value == "/proc")

    @property
    def reads_yaml(self) -> bool:
        """True when a module of the package imports ``yaml``."""
        return any(one.module.split(".")[0] == "yaml" for one in self.imports)


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import one another (strongly connected components of more than one module)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            start = stack.index(name)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for name in sorted(edges):
        if name not in index:
            visit(name)
    return found


def tallest(edges: Mapping[str, set[str]]) -> list[str]:
    """Return the longest chain of imports, the importer first; modules of a circle count once."""
    known: dict[str, list[str]] = {}

    def chain(name: str, above: frozenset[str]) -> list[str]:
        if name not in known:
            below = [chain(other, above | {name}) for other in sorted(edges[name]) if other not in above]
            known[name] = [name, *max(below, key=len, default=[])]
        return known[name]

    return max((chain(name, frozenset()) for name in sorted(edges)), key=len, default=[])


def past_the_front_door() -> list[str]:
    """Return the imports that reach inside the core or another package, by the rule that the tests hold."""
    path = ROOT / "tests" / "core" / "house" / "test_front_door.py"
    spec = importlib.util.spec_from_file_location("front_door", path)
    assert spec is not None and spec.loader is not None
    rule = importlib.util.module_from_spec(spec)
    sys.modules["front_door"] = rule
    spec.loader.exec_module(rule)
    return [f"{one.where} {one.module} ({one.name})" for one in rule.imports() if not rule.fits(one)]


def surface(cls: type) -> list[str]:
    """Return the public methods and properties of a class."""
    kinds = (property, staticmethod, classmethod)
    return sorted(
        name
        for one in cls.__mro__[:-1]
        for name, value in vars(one).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))
    )


def figures() -> dict[str, list[str]]:
    """Return what is counted, by the name of its limit."""
    from skillkit_core import AgentRunner, Host

    folders = [ROOT / "skillkit_core", *sorted(p for p in ROOT.glob("plugins/*/src/skillkit_*") if p.is_dir())]
    packages = {folder.name: Package(folder) for folder in folders if (folder / "__init__.py").is_file()}
    plugins = [package for package in packages.values() if package.name != "skillkit_core"]
    largest = max(((n, place) for p in packages.values() for place, n in p.folders().items()))
    highest = max((tallest(p.edges()) for p in plugins), key=len)
    return {
        "circles": [" <-> ".join(c) for p in packages.values() for c in circles(p.edges(p.name != "skillkit_core"))],
        "past_the_front_door": past_the_front_door(),
        "front_matter_readers": sorted(
            {n for p in packages.values() if p.reads_yaml for n, _, text in p.strings() if text == FENCE}
        ),
        "walks_through_proc": sorted({n for p in packages.values() if p.name not in PROCESSES for n in p.proc_walks()}),
        "largest_folder": [f"{largest[1]}"] * largest[0],
        "floors": highest,
        "host": surface(Host),
        "agent_runner": surface(AgentRunner),
        "core_lines": [""] * packages["skillkit_core"].lines,
    }


def main() -> int:
    """Print the figures beside their limits; return 1 where ``--check`` is given and one is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="fail where a figure is over its limit")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is counted")
    asked = parser.parse_args()
    found = figures()
    counts = {name: len(items) for name, items in found.items()}
    if asked.json:
        print(json.dumps({name: {"count": n, "limit": LIMITS[name]} for name, n in counts.items()}, indent=2))
    else:
        for name, count in counts.items():
            over = "" if count <= LIMITS[name] else "  over"
            print(f"{name.replace('_', ' '):22} {count:6} of {LIMITS[name]}{over}")
            for item in dict.fromkeys(found[name]) if asked.verbose else ():
                if item:
                    print(f"    {item}")
    return int(asked.check and any(count > LIMITS[name] for name, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
