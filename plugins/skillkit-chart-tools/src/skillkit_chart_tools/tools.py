"""The tool ``create_chart_tool``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = ["chart_tool", "create_chart"]

_TITLE = {"type": "string", "maxLength": 200}
_NAME = {"type": "string", "maxLength": 100}
_VALUES = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1, "maxItems": 2000}
_SERIES = {
    "type": "object",
    "properties": {"name": _NAME, "values": {**_VALUES, "description": "A number for each label; null: none."}},
    "required": ["values"],
    "additionalProperties": False,
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["bar", "stacked", "line", "points", "pie"], "default": "bar"},
        "title": _TITLE,
        "labels": {"type": "array", "items": {"type": ["string", "number"]}, "maxItems": 2000,
                   "description": "Of the x axis, or of the slices of a pie; numbers for points."},
        "series": {"type": "array", "items": _SERIES, "minItems": 1, "maxItems": 20},
        "x_title": _TITLE,
        "y_title": _TITLE,
        "path": {"type": "string", "minLength": 1, "maxLength": 1000,
                 "description": "The new file: charts/sales.svg, or .png. Nothing is overwritten."},
    },
    "required": ["labels", "series", "path"],
    "additionalProperties": False,
}  # fmt: skip


def chart_tool(host: Host) -> Tool:
    """Return the tool. Guards judge the file that it writes."""
    return Tool(
        "create_chart_tool", "Draw a chart of numbers into a file: bars, stacked bars, lines, points or a pie, as SVG or PNG.",
        f"{__name__}:create_chart", _SCHEMA, opt_in="permissions" not in host.plugins, sequential=True,
        annotations={"mutates": "files", "paths": ("path",)},
    )  # fmt: skip


async def create_chart(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Draw a chart into a file that is not there yet."""
    from .drawing import as_png, drawn

    name = args["path"]
    kind = name.rpartition(".")[2].lower()
    if kind not in ("svg", "png") or "\0" in name:
        raise ToolError(f"{name!r} does not end in .svg or .png")
    file = ctx.cwd / name
    series = [(one.get("name", ""), tuple(one["values"])) for one in args["series"]]
    labels = tuple(args["labels"])
    about = {key: args.get(key, "") for key in ("title", "x_title", "y_title")}

    def work() -> int:
        svg = drawn(args.get("kind", "bar"), labels, series, **about)
        data = as_png(svg) if kind == "png" else svg.encode()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as out:
                out.write(data)
                return len(data)
        except OSError as error:
            if file.exists():
                raise ToolError(f"{name} is there already; nothing is overwritten") from None
            raise ToolError(f"{name} could not be written: {error.strerror}") from None

    size = await asyncio.to_thread(work)
    count = sum(value is not None for _, values in series for value in values)
    return ToolOutput(
        f"The chart of {count} values is in {name}.", details={"path": name, "bytes": size, "values": count}
    )
