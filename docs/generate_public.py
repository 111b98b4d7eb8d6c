"""Writes the reference page of the public names from the code: ``python docs/generate_public.py [--check]``."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import logging
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import skillkit_core

PAGE = Path(__file__).resolve().parent / "reference" / "public.md"
INTRODUCTION = """\
# Public names

<!-- Written by docs/generate_public.py from skillkit_core. Do not edit it here. -->

What plugins and applications import: the names of `skillkit_core`, and what the modules below define without an underscore in
front. Everything else of the core may change with any version. Of another plugin the names in `__all__` of its root package
are public. [Contracts and values](contracts.md) has those that plugins work with, field by field.

"""


def main() -> None:
    """Write the page, or with ``--check`` say whether it is up to date."""
    text = page()
    if "--check" in sys.argv:
        raise SystemExit(PAGE.read_text(encoding="utf-8") != text and f"{PAGE.name} is out of date")
    PAGE.write_text(text, encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    public = set(skillkit_core.PUBLIC_MODULES)
    homes = {name: home for name, home in skillkit_core._MODULE_OF.items() if home not in public}
    parts = [INTRODUCTION, _of_the_root(homes)]
    for name in skillkit_core.PUBLIC_MODULES:
        module = import_module(f"skillkit_core.{name}")
        head = f"\n## `skillkit_core.{name}`\n\n{_first(module)}\n"
        parts.append("\n".join([head, *map(_entry, _defined(module))]))
    return "\n".join(parts) + "\n"


def _of_the_root(homes: dict[str, str]) -> str:
    """Return the section of the names that only ``skillkit_core`` itself exports."""
    values = [getattr(import_module(f"skillkit_core.{home}"), name) for name, home in homes.items()]
    head = (
        "## `skillkit_core`\n\nBesides these it exports the names marked * below: `from skillkit_core import Tool`.\n"
    )
    return "\n".join([head, *map(_entry, zip(homes, values, strict=True))])


def _defined(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module with their values, in the order of the file."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [t.id for t in targets if isinstance(t, ast.Name)]
    if hasattr(module, "__path__"):
        names = list(getattr(module, "__all__", names))
    for name in dict.fromkeys(names):
        value = getattr(module, name)
        if not name.startswith("_") and not isinstance(value, (TypeVar, logging.Logger)):
            yield name, value


def _entry(named: tuple[str, Any]) -> str:
    name, value = named
    star = " *" if name in skillkit_core.__all__ else ""
    if inspect.isclass(value):
        return _class(name, value, star)
    if inspect.isfunction(value):
        return f"- `{name}{_signature(value)}`{star}: {_first(value)}"
    return f"- `{name}`{star}"


def _class(name: str, cls: type, star: str) -> str:
    lines = [f"- **`{name}`**{star}: {_first(cls)}"]
    if issubclass(cls, enum.Enum):
        lines.append("  " + ", ".join(f"`{member.name}`" for member in cls))
    elif dataclasses.is_dataclass(cls):
        shown = [_field(f.name, f.type, f) for f in dataclasses.fields(cls) if not f.name.startswith("_")]
        lines += [f"  Fields: {', '.join(shown)}"] if shown else []
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        kinds = getattr(cls, "__annotations__", {})
        lines.append("  Fields: " + ", ".join(f"`{f}: {_text(kinds.get(f, ''))}`" for f in cls._fields))
    else:
        members = {name: member for name, member in vars(cls).items() if not name.startswith("_")}
        methods = [
            name for name, m in members.items() if inspect.isroutine(m) or isinstance(m, (property, cached_property))
        ]
        lines += [f"  Methods and properties: {', '.join(f'`{n}`' for n in methods)}"] if methods else []
    return "\n".join(lines)


def _field(name: str, kind: Any, field: dataclasses.Field[Any]) -> str:
    given = field.default
    shown = f"{{{', '.join(map(repr, sorted(given)))}}}" if isinstance(given, (set, frozenset)) else repr(given)
    default = "" if given is dataclasses.MISSING else f" = {shown}"
    if field.default_factory is not dataclasses.MISSING:
        default = " = ..."
    return f"`{name}: {_text(kind)}{default}`"


def _text(kind: Any) -> str:
    return (
        kind
        if isinstance(kind, str)
        else str(getattr(kind, "__forward_arg__", None) or getattr(kind, "__name__", kind))
    )


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parameters = []
    for p in signature.parameters.values():
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.kind is p.KEYWORD_ONLY and "*" not in parameters and not any(q.startswith("*") for q in parameters):
            parameters.append("*")
        parameters.append(mark + p.name + ("" if p.default is p.empty else "="))
    return f"({', '.join(parameters)})"


def _first(thing: Any) -> str:
    """Return the first sentence or paragraph of a docstring, on one line."""
    text = inspect.getdoc(thing) or ""
    line = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
    return re.sub(r":\w+:(?=`)", "", line)


if __name__ == "__main__":
    main()
