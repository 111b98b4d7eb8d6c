"""The shape of the core: what stands on what, how much of it an author meets, and how many files a run crosses."""

from __future__ import annotations

import ast
import asyncio
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import skillkit_core
from skillkit_core import AgentConfig, AgentRunner, Host, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

CORE = Path(skillkit_core.__file__).parent
ROOT = Path(__file__).resolve().parents[3]
FLOORS = ("contracts", "hookspecs", "events", "settings", "host", "agent", "testing", "cli")  # above the values
AUTHORS_FLOOR = FLOORS.index("events") + 1


class Import(NamedTuple):
    """One module of the core imports another one, when it is imported (``first``) or later."""

    importer: str
    imported: str
    first: bool


def modules() -> dict[str, Path]:
    return {".".join(p.relative_to(CORE).with_suffix("").parts): p for p in CORE.rglob("*.py")}


def floor(module: str) -> int:
    """0 for values; the package itself and ``__main__`` stand on everything."""
    if module.startswith("__"):
        return len(FLOORS) + 1
    head = module.split(".")[0]
    return FLOORS.index(head) + 1 if head in FLOORS and "." in module else 0


def imports() -> list[Import]:
    """Every import at run time; ``if TYPE_CHECKING`` is for type checkers alone."""
    known = modules()
    return [one for name, path in known.items() for one in _imports_of(name, ast.parse(path.read_text()), known)]


def _imports_of(name: str, tree: ast.AST, known: dict[str, Path], first: bool = True) -> Iterator[Import]:
    package = ["skillkit_core", *name.split(".")[:-1]]
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*base, *(node.module or "").split(".")]).removeprefix("skillkit_core").strip(".")
            for alias in node.names:
                whole = f"{target}.{alias.name}".strip(".")
                found = whole if whole in known else target
                if found in known and found != name:
                    yield Import(name, found, first)
        yield from _imports_of(name, node, known, first and not inside)


def test_imports_run_downwards() -> None:
    upwards = [(i.importer, i.imported) for i in imports() if floor(i.imported) > floor(i.importer)]
    assert upwards == []


def test_no_module_imports_itself_in_a_circle() -> None:
    below: dict[str, set[str]] = {}
    for one in imports():
        if one.first:
            below.setdefault(one.importer, set()).add(one.imported)
    done: set[str] = set()

    def descend(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join([*path, module])
        if module not in done:
            for imported in sorted(below.get(module, ())):
                descend(imported, (*path, module))
            done.add(module)

    for module in sorted(below):
        descend(module, ())


def test_state_has_one_owner() -> None:
    """In ``agent/`` no attribute is written from another file; what is said of an error belongs to whoever raises it."""
    written: list[str] = []
    for path in (CORE / "agent").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                owner = ast.unparse(node.value)
                if owner != "self" and owner.rpartition(".")[2] not in ("error", "failed"):
                    written.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
    assert [one for one in written if not one.startswith("input.py") or "receipt.id" not in one] == []


def test_what_a_plugin_author_imports_is_small() -> None:
    """Hook specifications, contracts, events and the values that they are made of."""
    met = [path for name, path in modules().items() if floor(name) <= AUTHORS_FLOOR]
    assert sum(len(path.read_text().splitlines()) for path in met) < 7_340


def test_the_core_stays_small() -> None:
    paths = list(modules().values())
    lines = sum(len(path.read_text().splitlines()) for path in paths)
    assert lines <= 22_590 and len(paths) <= 111
    assert len(list((CORE / "agent").glob("*.py"))) <= 30


@pytest.mark.parametrize("cls", [AgentRunner, Host])
def test_what_applications_hold_is_small(cls: type) -> None:
    public = [name for name in vars(cls) if not name.startswith("_")]
    assert len(public) <= 40, f"{cls.__name__} has {len(public)} public methods and properties: {', '.join(public)}"


def test_nothing_is_in_the_core_for_one_plugin_alone() -> None:
    plugins = ROOT / "plugins"
    if not plugins.is_dir():
        pytest.skip("the plugins are not here: this runs in a checkout")
    used = {one.imported for one in imports() if not one.importer.startswith("__")}
    used.add("cli.bound")  # console scripts of distributions name it, and no module imports it
    for module in sorted(set(modules()) - used):
        name = re.compile(rf"skillkit_core\.{re.escape(module)}\b")
        by = {p.relative_to(plugins).parts[0] for p in plugins.rglob("src/**/*.py") if name.search(p.read_text())}
        assert len(by) != 1, f"{module} is imported by {by.pop()} alone"


class Crossed(NamedTuple):
    """What a part of a run crosses: files, changes of file from call to call, and calls."""

    files: int
    changes: int
    calls: int

    @classmethod
    def of(cls, entered: list[str]) -> Crossed:
        changes = sum(a != b for a, b in itertools.pairwise(entered))
        return cls(len(set(entered)), changes, len(entered))


class Watched(ScriptedModel):
    """Notes how many calls there were when a request came and when an answer ended."""

    marks: list[int]
    entered: list[str]

    async def stream(self, request: Any) -> Any:
        self.marks.append(len(self.entered))
        async for event in super().stream(request):
            if event.type == "done":
                self.marks.append(len(self.entered))
            yield event


def test_a_reader_of_a_run_turns_few_pages() -> None:
    """Two turns with one tool call, no handler: functions of the core that are entered."""
    entered: list[str] = []

    def profile(frame: Any, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(CORE)):
            entered.append(frame.f_code.co_filename)

    async def weather(args: Any, ctx: Any) -> str:
        return "18 C"

    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    model = Watched([Reply(calls=[Call("weather", {"city": "Oslo"})]), "ok"] * 3)
    model.marks, model.entered = [], entered

    async def main() -> None:
        tool = Tool("weather", "w", weather, schema)
        async with AgentRunner(AgentConfig(tools=(tool,)), host=Host(discover=False)) as agent:
            agent.set_adapter(model)
            await agent.chat("warm up")
            await agent.chat("warm up")
            model.marks.clear()
            before = sys.getprofile()
            sys.setprofile(profile)
            await agent.chat("How warm?")
            sys.setprofile(before)

    asyncio.run(main())
    run = Crossed.of(entered)
    assert run.files <= 37 and run.changes <= 290, run
    tool_call = Crossed.of(entered[model.marks[1] : model.marks[2]])
    assert tool_call.files <= 30 and tool_call.changes <= 120 and tool_call.calls <= 220, tool_call
