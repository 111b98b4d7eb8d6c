"""Writes ``src/protocol.ts`` from the JSON Schema of ``skillkit rpc``; with ``--check`` it only says whether that is needed."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skillkit_chat.rpc.schema import schema

TARGET = Path(__file__).parent / "src" / "protocol.ts"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
HEAD = """\
/** Made from the JSON Schema of `skillkit rpc --schema` by generate.py; not edited by hand. */
"""
SURVEY = """
/** Questions to a person. */
export interface Survey {
  title: string;
  text: string;
  questions: {
    id: string;
    text: string;
    kind: "choice" | "choices" | "text" | "confirm" | "secret";
    required: boolean;
    options?: { label: string; description: string; value: string }[];
    default?: string | boolean | string[];
  }[];
}
"""


def of(part: Mapping[str, Any]) -> str:
    """Return the TypeScript type of a schema."""
    if "$ref" in part:
        return str(part["$ref"]).rsplit("/", 1)[1]
    if "const" in part:
        return json.dumps(part["const"])
    if "enum" in part:
        return " | ".join(map(json.dumps, part["enum"]))
    if "anyOf" in part:
        return " | ".join(dict.fromkeys(map(of, part["anyOf"])))
    kind = part.get("type")
    if kind == "array":
        inner = of(part.get("items", {}))
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if kind == "object":
        return "Record<string, unknown>"
    return PLAIN.get(str(kind), "unknown")


def interface(name: str, part: Mapping[str, Any], head: str = "") -> str:
    """Return an object schema as an interface."""
    required = set(part.get("required", ()))
    lines = [f"/** {' '.join(str(part.get('description', name)).split())} */", f"export interface {name} {{"]
    for field, inner in part.get("properties", {}).items():
        if told := inner.get("description"):
            lines.append(f"  /** {told} */")
        lines.append(f"  {field}{'' if field in required else '?'}: {of(inner)};")
    return "\n".join([head, *lines, "}"]) + "\n"


def whole() -> str:
    """Return the file."""
    made = schema()
    skipped = {"Params", "Result", "EventParams", "AskParams", "AskResult"}
    parts = [interface(n, p) for n, p in made["$defs"].items() if n not in skipped and p.get("type") == "object"]
    names = []
    for kind, part in made["events"].items():
        names.append("".join(word.capitalize() for word in kind.split("_")) + "Event")
        parts.append(interface(names[-1], part))
    union = "\n  | ".join(["OtherEvent", *names])
    other = (
        "\n/** An event that a plugin defines, or a later version. */\nexport interface OtherEvent {\n  type: string;\n"
    )
    other += "  [field: string]: any;\n}\n"
    return HEAD + SURVEY + "".join(parts) + other + f"\nexport type SkillKitEvent =\n  | {union};\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if TARGET.read_text() == whole() else "run python clients/typescript/generate.py")
    TARGET.write_text(whole())
