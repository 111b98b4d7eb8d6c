"""What can be imported from the top: the same for programs and type checkers, and every name that a signature mentions."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import skillkit_core
from skillkit_core.hookspecs import host, lifecycle, registration, resolution

ROOT = Path(skillkit_core.__file__).parent
INTERNAL = {
    # abbreviations of what the signature says otherwise
    "Answer", "Converter", "HandlerFunction", "Item", "Kind", "Models", "Names", "Observed", "Schema", "Seconds",
    # parts of a host, for those who look into it
    "Config", "Decision", "Distribution", "EntryPoint", "FactoryRegistry", "HookProbe",
    "LoadedPlugin", "Plugins", "Secrets", "Selection", "CallContext", "Resumption",
    # parts of a run, behind methods that the core itself calls
    "ContextView", "HandlerRecord", "Run", "Scheduler", "Target",
}  # fmt: skip


def defined() -> set[str]:
    """The classes and type aliases of the core."""
    found: set[str] = set()
    for file in ROOT.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                found.add(ast.unparse(node.target))
            elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
                found.add(ast.unparse(node.targets[0]))
    return found


def annotations(public: Any) -> Iterator[str]:
    """The annotations of a function, or of the public fields, methods and properties of a class."""
    if inspect.isclass(public):
        yield from (str(a) for n, a in vars(public).get("__annotations__", {}).items() if not n.startswith("_"))
        for name, member in vars(public).items():
            if name == "__init__" or not name.startswith("_"):
                function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                yield from annotations(function) if inspect.isfunction(function) else ()
    elif inspect.isfunction(public):
        yield from map(str, public.__annotations__.values())


def test_every_class_that_a_public_signature_names_can_be_imported_from_the_top() -> None:
    known = defined()
    public = {name: getattr(skillkit_core, name) for name in skillkit_core.__all__}
    for module in (host, lifecycle, registration, resolution):
        hooks = vars(module).items()
        public.update({f"hook {n}": f for n, f in hooks if inspect.isfunction(f) and f.__module__ == module.__name__})
    assert "hook turn_start" in public
    missing: set[tuple[str, str]] = set()
    for where, value in public.items():
        for text in annotations(value):
            names = set(re.findall(r"\b[A-Z]\w+", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))
            missing |= {(name, where) for name in (names & known) - public.keys() - INTERNAL}
    assert not missing, "add them to skillkit_core/__init__.py"


def test_type_checkers_see_the_names_that_programs_can_import() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    seen: dict[str, str] = {}
    for line in block.body:
        assert isinstance(line, ast.ImportFrom) and line.module is not None
        module = importlib.import_module(f"skillkit_core.{line.module}")
        for alias in line.names:
            assert alias.name == "*" or alias.asname == alias.name, "type checkers take no other form for a public name"
            seen |= dict.fromkeys(module.__all__ if alias.name == "*" else [alias.name], line.module)
    assert seen == skillkit_core._MODULE_OF
    assert set(skillkit_core.__all__) == {"API_VERSION", "PUBLIC_MODULES", "__version__", *seen}
    for name in skillkit_core.__all__:
        assert hasattr(skillkit_core, name)
