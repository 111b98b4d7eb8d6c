"""The JSON Schema of the protocol, made from the types of ``skillkit_live.protocol`` and of the events.

``python -m skillkit_chat.rpc.schema`` writes ``schema.json`` beside this file, which is what the package publishes.
"""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema
from skillkit_live import protocol as p

from skillkit_core.events import types as event_types

__all__ = ["FILE", "schema"]

FILE = Path(__file__).with_name("schema.json")

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema() -> dict[str, Any]:
    """Return the schema: ``methods``, ``client_methods``, ``notifications``, ``errors``, ``events`` and ``$defs``."""
    every = [*p.METHODS.values(), *p.CLIENT_METHODS.values(), *p.NOTIFICATIONS.values()]
    models = {m for method in every for m in (method.params, method.result) if m is not None}
    ordered = sorted(models, key=lambda model: model.__name__)
    refs, whole = models_json_schema([(model, "serialization") for model in ordered], ref_template="#/$defs/{model}")

    def told(methods: dict[str, p.Method]) -> dict[str, Any]:
        return {
            name: {
                "description": method.help,
                "params": refs[method.params, "serialization"],
                **({"result": refs[method.result, "serialization"]} if method.result is not None else {}),
            }
            for name, method in methods.items()
        }

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "skillkit rpc",
        "version": p.VERSION,
        "methods": told(p.METHODS),
        "client_methods": told(p.CLIENT_METHODS),
        "notifications": told(p.NOTIFICATIONS),
        "errors": {str(code): text for code, text in p.ERRORS.items()},
        "events": {kind.type: _event(kind) for kind in _events()},
        "$defs": whole["$defs"],
    }


def _events() -> list[type[event_types.Event]]:
    """Return the event types of the core, by name."""
    found = [
        kind
        for kind in vars(event_types).values()
        if isinstance(kind, type) and issubclass(kind, event_types.Event) and kind.type
    ]
    return sorted(set(found), key=lambda kind: kind.type)


def _event(kind: type[event_types.Event]) -> dict[str, Any]:
    """Return the schema of an event as it is sent: fields without a value are left out."""
    shown = {f.name: _type(_hint(f.type)) for f in fields(kind) if not f.name.startswith("_")}
    described = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return {
        "description": described,
        "type": "object",
        "properties": {"type": {"const": kind.type}, **shown},
        "required": ["type"],
    }


def _hint(annotation: Any) -> Any:
    """Return the type that an annotation names; ``Any`` for a type that is imported for type checkers alone."""
    try:
        return eval(annotation, vars(event_types)) if isinstance(annotation, str) else annotation  # noqa: S307 - ours
    except NameError:
        return Any


def _type(hint: Any) -> dict[str, Any]:
    """Return the schema of a field; what is no plain type may be any JSON value."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if origin in (typing.Union, types.UnionType):
        parts = [_type(one) for one in args if one is not type(None)]
        return parts[0] if len(parts) == 1 else ({"anyOf": parts} if all(parts) else {})
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, typing.Sequence)):
        return {"type": "array", "items": _type(args[0])} if args else {"type": "array"}
    if isinstance(origin, type) and issubclass(origin, typing.Mapping):
        return {"type": "object"}
    return {}


if __name__ == "__main__":
    FILE.write_text(json.dumps(schema(), indent=1) + "\n")
