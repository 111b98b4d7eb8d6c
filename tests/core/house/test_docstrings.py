"""Docstrings name the arguments that there are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_what_args_names_is_an_argument() -> None:
    files = [*ROOT.glob("skillkit_core/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}" for path in files for name in unknown(ast.parse(path.read_text("utf-8")))
    ]
    assert wrong == []


def unknown(tree: ast.Module) -> Iterator[str]:
    """Yield the names under ``Args:`` that the function, or ``__init__`` of the class, does not take."""
    for node in ast.walk(tree):
        function = node
        if isinstance(node, ast.ClassDef):
            function = next((n for n in node.body if getattr(n, "name", "") == "__init__"), node)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        of = function.args
        taken = {a.arg for a in (*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg) if a is not None}
        block = re.search(r"^Args:\n((?: {4,}.*\n?)+)", ast.get_docstring(node) or "", re.M)
        said = re.findall(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*):", block[1], re.M) if block else []
        yield from (f"{node.name}({one})" for names in said for one in re.findall(r"\w+", names) if one not in taken)
