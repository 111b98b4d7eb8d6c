"""Short ways to write the schemas of fragments."""

from __future__ import annotations

from typing import Any

__all__ = ["TEXT", "listed", "record"]

TEXT: dict[str, Any] = {"type": "string"}


def record(required: str = "", **properties: Any) -> dict[str, Any]:
    """Return an object schema: ``record("text kind", text=TEXT, kind=TEXT)``."""
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


def listed(items: Any) -> dict[str, Any]:
    """Return a list schema."""
    return {"type": "array", "items": items}
