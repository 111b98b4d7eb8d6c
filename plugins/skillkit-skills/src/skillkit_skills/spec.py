"""What the Agent Skills specification, read strictly, says about a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from skillkit_markdown import REPAIRS

__all__ = ["spec_errors"]

KNOWN = frozenset(("name", "description", "license", "compatibility", "metadata", "allowed-tools"))
_BROKEN = REPAIRS | {
    "file-empty",
    "frontmatter-missing",
    "frontmatter-empty",
    "frontmatter-not-mapping",
    "frontmatter-leading-blank",
}
_UNREADABLE = ("binary-content", "file-too-large")


def spec_errors(
    values: Mapping[str, Any] | None, dir_name: str, diagnostics: list[str], duplicates: list[str]
) -> list[str]:
    """Codes of every rule that the file breaks; ``["frontmatter"]`` alone when a strict reader cannot read it at all."""
    if any(code in _UNREADABLE for code in diagnostics):
        return ["file"]
    if values is None or not _BROKEN.isdisjoint(diagnostics):
        return ["frontmatter"]
    found = [f"duplicate-key:{key}" for key in dict.fromkeys(duplicates) if key in values]
    found += _name(values.get("name"), dir_name)
    found += _text(values.get("description"), "description", 1024, required=True)
    for key, limit in _TEXTS:
        if key in values:
            found += _text(values[key], key, limit)
    if "metadata" in values:
        found += _metadata(values["metadata"])
    found += [f"unknown-field:{key}" for key in values if key not in KNOWN]
    return found


_TEXTS = (("compatibility", 500), ("license", 0), ("allowed-tools", 0))


def _text(value: Any, key: str, limit: int = 0, required: bool = False) -> list[str]:
    if value is None:
        return [f"{key}-missing"] if required else []
    if not isinstance(value, str):
        return [f"{key}-not-string"]
    if required and not value.strip():
        return [f"{key}-missing"]
    return [f"{key}-too-long"] if limit and len(value.strip()) > limit else []


_PLAIN = re.compile(r"[a-z0-9]{1,64}(?:-[a-z0-9]{1,64})*\Z")


def _name(value: Any, dir_name: str) -> list[str]:
    if value == dir_name and len(value) <= 64 and _PLAIN.match(value):
        return []
    if errors := _text(value, "name", required=True):
        return errors
    name = normalize("NFKC", value.strip())
    found = []
    if len(name) > 64:
        found.append("name-too-long")
    if name != name.lower():
        found.append("name-uppercase")
    if name.startswith("-") or name.endswith("-"):
        found.append("name-edge-hyphen")
    if "--" in name:
        found.append("name-double-hyphen")
    if not all(c.isalnum() or c == "-" for c in name):
        found.append("name-invalid-chars")
    if normalize("NFKC", dir_name) != name:
        found.append("name-dir-mismatch")
    return found


def _metadata(value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, dict):
        return ["metadata-not-mapping"]
    return ["metadata-value-not-string"] if any(isinstance(v, (dict, list)) for v in value.values()) else []
