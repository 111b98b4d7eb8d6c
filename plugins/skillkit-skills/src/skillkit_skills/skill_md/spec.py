"""What the Agent Skills specification, read strictly, says about a file, and a file as plain data with that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from unicodedata import normalize

from skillkit_markdown import REPAIRS

from .reader import Gating, read

__all__ = ["parse", "spec_errors"]

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


def parse(data: bytes, dir_name: str) -> dict[str, Any]:
    """:func:`~skillkit_skills.read` as plain data, with the digest of the body and the errors that the specification reports."""
    from hashlib import sha256

    skill = read(data, dir_name)
    f = skill.fields
    requires = f.requires if f else Gating()
    return {
        "status": skill.status,
        "diagnostics": skill.diagnostics,
        "name": f.name if f else None,
        "name_source": f.name_source if f else None,
        "description": f.description if f else None,
        "requires": requires.to_dict(),
        "requires_source": requires.source,
        "always": bool(f and f.always),
        "primary_env": f.primary_env if f else None,
        "skill_key": f.skill_key if f else None,
        "install_kinds": [i.get("kind") or "" for i in f.install] if f else [],
        "user_invocable": f.user_invocable if f else True,
        "disable_model_invocation": bool(f and f.disable_model_invocation),
        "allowed_tools": f.allowed_tools if f else [],
        "version": f.version if f else None,
        "homepage": f.homepage if f else None,
        "body_sha256": sha256(skill.body.encode("utf-8", "surrogatepass")).hexdigest() if f else None,
        "body_chars": len(skill.body),
        "spec_errors": spec_errors(skill.values, dir_name, skill.diagnostics, skill.duplicates),
    }
