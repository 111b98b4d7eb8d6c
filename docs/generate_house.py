"""Draws what stands on what, from the imports: ``docs/explanation/house.svg``.

    python docs/generate_house.py

The kinds of packages and their order are the table of ``docs/explanation/house.md``. Run the script again after a package came,
went, or began to import another one.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from html import escape
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "house.md"
DRAWING = PAGE.with_suffix(".svg")

FLOORS = [
    ("cli", "the root command, config, doctor, plugins, output"),
    ("agent", "runner, scheduler, loop, model call, tool call, session"),
    ("host", "what runs: discovery, loading, registries, secrets"),
    ("settings", "configuration in layers, trust"),
    ("events", "event types, answers, the one dispatcher"),
    ("hookspecs, contracts", "what plugins implement"),
    ("values", "messages, tools, skills, models, errors"),
]
WIDTH, ROW, FLOOR, LEFT = 1080, 74, 30, 150
COLOURS = ["#0b6e99", "#8a4fff", "#b4501e", "#a3195b", "#1f7a3d", "#6b5b00", "#35507a", "#555555"]
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1a1a1a }
.kind { font-weight: 600 } .note { fill: #555; font-size: 12px }
rect.box { fill: #fff; stroke: #888 } rect.floor { fill: #eef2f5; stroke: #c3ccd4 }
path { fill: none; stroke-width: 1.2; opacity: .55 }
@media (prefers-color-scheme: dark) {
  text { fill: #e8e8e8 } .note { fill: #aaa }
  rect.box { fill: #22262b; stroke: #777 } rect.floor { fill: #2b3138; stroke: #4a535c }
  rect.ground { fill: #16191d } path { opacity: .75 }
}
"""


def house() -> ModuleType:
    """Return the script that reads the imports."""
    spec = importlib.util.spec_from_file_location("house", ROOT / ".ci" / "house.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def kinds(page: str) -> dict[str, list[str]]:
    """Return the packages of each kind, as the table of the page lists them."""
    table = page.partition("## The packages by kind")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| ([a-z0-9, -]+) \|", table, re.M)
    return {kind: names.split(", ") for kind, names in rows if kind != "kind"}


def uses() -> dict[str, set[str]]:
    """Return the packages of the house, the core left out, that each package imports."""
    script, found = house(), {}
    for folder in sorted(ROOT.glob("plugins/*/src/skillkit_*")):
        if (folder / "__init__.py").is_file():
            package = script.Package(folder)
            roots = {one.module.split(".")[0] for one in package.imports if not one.typing}
            names = {root.removeprefix("skillkit_").replace("_", "-") for root in roots if root.startswith("skillkit_")}
            name = package.name.removeprefix("skillkit_").replace("_", "-")
            found[name] = names - {name, "core"}
    return found


def drawing(by_kind: dict[str, list[str]], imports: dict[str, set[str]]) -> str:
    """Return the SVG: a row a kind, the libraries lowest, below them the floors of the core."""
    rows = [kind for kind in reversed(by_kind) if kind != "libraries"] + ["libraries"]
    top = {kind: 20 + number * ROW for number, kind in enumerate(rows)}
    place: dict[str, tuple[float, float, float]] = {}  # left, top, width
    boxes: list[str] = []
    for kind in rows:
        names = by_kind[kind]
        boxes.append(f'<text class="kind" x="16" y="{top[kind] + 21}">{escape(kind)}</text>')
        step = (WIDTH - LEFT - 16) / len(names)
        for number, name in enumerate(names):
            wide = 20 + 7.4 * len(name)
            x = LEFT + step * (number + 0.5) - wide / 2
            place[name] = x, top[kind], wide
            boxes.append(
                f'<rect class="box" x="{x:.0f}" y="{top[kind]}" width="{wide:.0f}" height="32" rx="6"/>'
                f'<text x="{x + wide / 2:.0f}" y="{top[kind] + 21}" text-anchor="middle">{escape(name)}</text>'
            )
    lines = []
    colour = {name: COLOURS[rows.index(kind) % len(COLOURS)] for kind in rows for name in by_kind[kind]}
    for user in sorted(imports):
        for used in sorted(imports[user] & place.keys() if user in place and user != "default" else ()):
            (x1, y1, w1), (x2, y2, w2) = place[user], place[used]
            a, b = x1 + w1 / 2, x2 + w2 / 2
            start, end = (y1 + 32, y2) if y2 > y1 else (y1, y2 + 32) if y2 < y1 else (y1, y2)
            if y1 == y2:  # a neighbour in the same row: an arc above the row
                curve = f"M{a:.0f} {start} C{a:.0f} {start - 22} {b:.0f} {end - 22} {b:.0f} {end}"
            else:
                middle = (start + end) / 2
                curve = f"M{a:.0f} {start} C{a:.0f} {middle:.0f} {b:.0f} {middle:.0f} {b:.0f} {end}"
            lines.append(f'<path d="{curve}" stroke="{colour[user]}"><title>{user} imports {used}</title></path>')
    base = 20 + len(rows) * ROW
    floors = [f'<text class="kind" x="16" y="{base + 20}">the core</text>']
    for number, (name, what) in enumerate(FLOORS):
        y = base + number * FLOOR
        floors.append(
            f'<rect class="floor" x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 16}" height="{FLOOR - 4}" rx="4"/>'
            f'<text x="{LEFT + 12}" y="{y + 18}">{escape(name)}</text>'
            f'<text class="note" x="{LEFT + 190}" y="{y + 18}">{escape(what)}</text>'
        )
    height = base + len(FLOORS) * FLOOR + 12
    parts = [f'<rect class="ground" width="{WIDTH}" height="{height}" fill="#fbfbfb"/>', *lines, *boxes, *floors]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
    title = (
        "<title>The packages of SkillKit by kind, what they import of one another, and the floors of the core</title>"
    )
    return "\n".join([f"{head}>", title, f"<style>{STYLE}</style>", *parts, "</svg>\n"])


def main() -> int:
    """Write the drawing."""
    DRAWING.write_text(drawing(kinds(PAGE.read_text("utf-8")), uses()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
