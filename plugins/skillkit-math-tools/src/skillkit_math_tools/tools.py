"""The tools ``calculate_expression_tool``, ``evaluate_formula_tool`` and ``convert_units_tool``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolOutput

if TYPE_CHECKING:
    from skillkit_core import ToolContext

    from .exact import Number

__all__ = ["TOOLS", "calculate", "convert", "formula"]

_EXPRESSION = {
    "type": "string",
    "minLength": 1,
    "maxLength": 2000,
    "pattern": r"\S",
    "description": "Numbers, + - * / // % ^ ( ), comparisons, sqrt, sin, log, factorial, max and the like, pi, e.",
}
_UNIT = {"type": "string", "minLength": 1, "maxLength": 60, "description": "km/h, degC, lb, m^2, kWh."}
_SAFE = {"mutates": "none"}


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_NAMED = {
    "type": "object",
    "maxProperties": 50,
    "additionalProperties": {"type": ["number", "string"], "maxLength": 2000},
}

TOOLS = (
    Tool("calculate_expression_tool", "Calculate an expression, exactly wherever that is possible.", f"{__name__}:calculate",
         _object(["expression"], expression=_EXPRESSION), replay="safe", annotations=_SAFE),
    Tool("evaluate_formula_tool", "Put values into a formula, such as F = m * a, and calculate it.", f"{__name__}:formula",
         _object(["formula", "values"], formula={**_EXPRESSION, "description": "An expression with names, or NAME = expression."},
                 values={**_NAMED, "description": "A number or an expression for each name."}),
         replay="safe", annotations=_SAFE),
    Tool("convert_units_tool", "Convert a value between units of one kind: lengths, masses, temperatures, data, energy.",
         f"{__name__}:convert",
         _object(["value", "source", "target"], value={**_EXPRESSION, "type": ["number", "string"],
                                                       "description": "A number or an expression."},
                 source=_UNIT, target=_UNIT), replay="safe", annotations=_SAFE),
)  # fmt: skip


async def calculate(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Calculate an expression."""
    from .exact import evaluate

    return _told(args["expression"].strip(), await asyncio.to_thread(evaluate, args["expression"]))


async def formula(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Calculate a formula with values."""
    from .exact import evaluate_formula

    name, value = await asyncio.to_thread(evaluate_formula, args["formula"], args["values"])
    return _told(name, value)


async def convert(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Convert a value from a unit to another."""
    from .exact import evaluate, written
    from .units import convert as converted

    value = evaluate(str(args["value"]))
    found = await asyncio.to_thread(converted, value, args["source"], args["target"])
    return _told(f"{written(value)} {args['source']}", found, f" {args['target']}")


def _told(what: str, value: Number, unit: str = "") -> ToolOutput:
    from .exact import written

    shown = written(value)
    sign = "" if shown.startswith("≈") else "= "
    exact = None if isinstance(value, float) else shown.partition(" ≈ ")[0]
    details = {"exact": exact, "value": float(value) if -1e300 < value < 1e300 else None}
    return ToolOutput(f"{what} {sign}{shown}{unit}", details=details)
