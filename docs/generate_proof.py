"""Joins the runtime's contract with the tests that prove it: ``python docs/generate_proof.py [--check]`` writes the page.

``python docs/generate_proof.py 9.12 I7`` prints the tests of these numbers, for ``pytest $(...)``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "docs" / "contract.yaml"
PAGE = ROOT / "docs" / "reference" / "proof.md"
TESTS = ("tests/**/test_*.py", "plugins/*/tests/**/test_*.py", "skills/tests/**/test_*.py")
MARK = "pytest.mark.spec"
PREFIX = {"invariants": "", "edge_cases": "9.", "known_mistakes": "13."}
TITLES = {"invariants": "Invariants", "edge_cases": "Edge cases", "known_mistakes": "Known mistakes"}

INTRODUCTION = """\
# Proof

<!-- Written by docs/generate_proof.py from docs/contract.yaml and the marks of the tests. Do not edit it here. -->

What the runtime promises, and the tests that hold it to that. The numbers are those of the runtime's contract: `I` for its
invariants, `9.` for its edge cases, `13.` for mistakes that are easily made. A test names what it proves:

```python
import pytest


@pytest.mark.spec("9.12", "I2")
def test_steer_in_a_sequential_batch_skips_what_has_not_started(): ...
```

`python docs/generate_proof.py 9.12` prints the tests of a number, and `grep -r '"9.12"' tests plugins` finds them. A number
without a test fails `tests/docs`.
"""


@dataclass(frozen=True)
class Proof:
    """A marked test: its file below the root, and its name with its class."""

    path: str
    name: str

    @property
    def node(self) -> str:
        """What pytest calls it."""
        return f"{self.path}::{self.name.replace('.', '::')}"


def statements() -> dict[str, dict[str, str]]:
    """The contract: by section, the statements by their full number."""
    data = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    return {part: {f"{PREFIX[part]}{n}": text for n, text in data[part].items()} for part in PREFIX}


def _marks(nodes: Sequence[ast.expr], where: str) -> tuple[set[str], bool]:
    """The numbers that decorators name, and whether they put the test among the slow ones."""
    numbers: set[str] = set()
    slow = False
    for node in nodes:
        slow = slow or ast.unparse(node) == "pytest.mark.slow"
        if isinstance(node, ast.Call) and ast.unparse(node.func) == MARK:
            values = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if node.keywords or len(values) != len(node.args):
                raise SystemExit(f"{where}: {MARK} takes numbers as texts")
            numbers.update(values)
    return numbers, slow


def _tests(tree: ast.Module, path: str) -> Iterator[tuple[Proof, set[str]]]:
    """The marked tests of a file with their numbers; those that do not run by default prove nothing."""
    everywhere: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            values = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            everywhere |= _marks(values, path)[0]
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        numbers, slow = _marks(node.decorator_list, f"{path}:{node.lineno}")
        if slow:
            continue
        if not isinstance(node, ast.ClassDef):
            if node.name.startswith("test_"):
                yield Proof(path, node.name), numbers | everywhere
            continue
        if numbers:  # inherited checks of a suite, or all of its own
            yield Proof(path, node.name), numbers | everywhere
        for inner in node.body:
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name.startswith("test_"):
                yield Proof(path, f"{node.name}.{inner.name}"), _marks(inner.decorator_list, path)[0] | everywhere


def proofs(root: Path = ROOT) -> dict[str, list[Proof]]:
    """The tests of each number, by file and place in it."""
    found: dict[str, list[Proof]] = {}
    for path in sorted(path for pattern in TESTS for path in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if MARK in text:
            name = path.relative_to(root).as_posix()
            for proof, numbers in _tests(ast.parse(text, str(path)), name):
                for number in numbers:
                    found.setdefault(number, []).append(proof)
    return found


def problems(known: Iterable[str], found: Mapping[str, Sequence[Proof]]) -> list[str]:
    """Numbers without a test, and tests with numbers that do not exist."""
    numbers = list(known)
    strange = [(n, proof) for n, marked in found.items() if n not in numbers for proof in marked]
    return [
        *(f"{n} has no test" for n in numbers if not found.get(n)),
        *(f"{proof.node} is marked with {n!r}, which is no number" for n, proof in strange),
    ]


def _section(title: str, lines: Mapping[str, str], found: Mapping[str, Sequence[Proof]]) -> Iterator[str]:
    yield f"\n## {title}\n\n| number | promise | tests |\n| --- | --- | --- |\n"
    for number, statement in lines.items():
        files = dict.fromkeys(
            proof.path for proof in found.get(number, ())
        )  # no counts: two branches would clash over them
        cells = [f"[{Path(path).stem.removeprefix('test_')}](../../{path})" for path in files]
        yield f"| {number} | {statement} | {', '.join(cells)} |\n"


def page() -> str:
    """The page."""
    found = proofs()
    parts = [INTRODUCTION]
    for part, lines in statements().items():
        parts += _section(TITLES[part], lines, found)
    return "".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Write the page, compare it, or print the tests of some numbers."""
    found = proofs()
    numbers = [a for a in arguments if not a.startswith("-")]
    if numbers:
        print("\n".join(dict.fromkeys(p.node for n in numbers for p in found.get(n, ()))))
        return 0
    wrong = problems([n for lines in statements().values() for n in lines], found)
    print("\n".join(wrong), end="\n" if wrong else "")
    if "--check" in arguments:
        return int(bool(wrong) or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
