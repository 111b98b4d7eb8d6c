"""Action `shape`: the keys, types and sizes in a JSON file, as an indented outline."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Result, count, fitting, run, shown, whole  # noqa: E402
from document import Json, bounded, described, kind, load  # noqa: E402

MOST_KEYS = 60  # of one object; an object with more is a mapping, shown by its first keys
MOST_LINES = 300


@dataclass(slots=True)
class Shape:
    """What was seen at one place of the document, over all items of the lists on the way."""

    seen: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    items: int = 0
    keys: dict[str, Shape] = field(default_factory=dict)
    element: Shape | None = None
    left_out: set[str] = field(default_factory=set)

    def add(self, value: Json, depth: int) -> None:
        """Take in one value."""
        self.seen += 1
        self.kinds[kind(value)] = self.kinds.get(kind(value), 0) + 1
        if isinstance(value, list):
            self.items += len(value)
            if value:
                self.element = self.element or Shape()
                for item in value:
                    self.element.add(item, depth)
        elif isinstance(value, dict) and depth > 0:
            for key, child in value.items():
                if key in self.keys or len(self.keys) < MOST_KEYS:
                    self.keys.setdefault(key, Shape()).add(child, depth - 1)
                elif len(self.left_out) < MOST_LINES:
                    self.left_out.add(key)

    def text(self) -> str:
        """Return the types in a few words, with the size of lists."""
        names = []
        for name in self.kinds:
            if name == "list":
                of = f" of {self.element.text()}" if self.element else ""
                names.append(f"list ({count(self.items, 'item')}){of}")
            else:
                names.append(name)
        return " or ".join(names)

    def lines(self, indent: str = "") -> list[str]:
        """Return the outline below this place."""
        below = self
        while below.element is not None and not below.keys:
            below = below.element
        lines = []
        objects = below.kinds.get("object", 0)
        for key, shape in below.keys.items():
            sometimes = f"  (in {shape.seen:,} of {objects:,})" if shape.seen < objects else ""
            lines.append(f"{indent}{shown(key)}: {shape.text()}{sometimes}")
            lines += shape.lines(indent + "  ")
        if below.left_out:
            lines.append(
                f"{indent}... and {len(below.left_out)}{'+' if len(below.left_out) == MOST_LINES else ''} more keys"
            )
        return lines

    def as_json(self) -> Result:
        """Return the same as data."""
        record: Result = {"types": self.kinds, "seen": self.seen}
        if self.keys:
            record["keys"] = {key: shape.as_json() for key, shape in self.keys.items()}
        if self.element:
            record |= {"items": self.items, "element": self.element.as_json()}
        return record


def shape(values: Mapping[str, str]) -> Result:
    """Describe the document down to `depth` levels of objects."""
    document = load(values["file"])
    root = Shape()
    root.add(document, whole(values, "depth", 3))
    lines = root.lines()
    more = [f"... {len(lines) - MOST_LINES:,} more lines; choose a smaller depth"] if len(lines) > MOST_LINES else []
    answer = "\n".join([f"{shown(values['file'])}: {described(document)}", *lines[:MOST_LINES], *more])
    result: Result = {"answer": answer, "file": values["file"], "type": kind(document)}
    if isinstance(document, dict):
        result["keys"] = fitting(list(document), 50_000)
    result["shape"] = bounded(root.as_json())[0]
    return result


if __name__ == "__main__":
    sys.exit(run(shape, positional=["file"], options=["depth"]))
