"""The lenient reader of SKILL.md files (SLP-1): bytes in, fields, body, diagnostics and status out, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skillkit_markdown import REPAIRS, read_front_matter

from .fields import Fields, Gating, read_fields

if TYPE_CHECKING:
    from skillkit_markdown import Parsed

__all__ = ["ReadSkill", "parse", "read"]

Status = Literal["ok", "repaired", "unlisted", "rejected"]


@dataclass(slots=True)
class ReadSkill:
    """A SKILL.md as it was read.

    Attributes:
        status: ``ok``, ``repaired`` (something had to be mended), ``unlisted`` (no description: only people may call
            it), ``rejected`` (no skill).
        values: the frontmatter; every scalar is text, null is ``None``. ``None``: there is none.
        fields: what the fields mean; ``None`` for a file that could not be decoded.
        body: the Markdown after the frontmatter, stripped.
        diagnostics: codes, some with ``:detail``, in the order they were found.
        duplicates: keys that were given twice.
        dropped: keys whose value could not be read and was left out.
    """

    status: Status
    values: Mapping[str, Any] | None
    fields: Fields | None
    body: str
    diagnostics: list[str]
    duplicates: list[str]
    dropped: Sequence[str] = ()


def read(data: bytes, dir_name: str, parse_block: Callable[[str], Parsed] | None = None) -> ReadSkill:
    """Read the bytes of a SKILL.md; ``dir_name`` is the name of its directory. Never raises."""
    found = read_front_matter(data, parse_block)
    diagnostics = found.diagnostics
    if found.rejected and "file-empty" not in diagnostics:
        return ReadSkill("rejected", None, None, "", diagnostics, [])
    fields = read_fields(found.values or {}, found.block or "", dir_name, diagnostics)
    status: Status = "ok"
    if found.rejected:
        status = "rejected"
    elif fields.description is None:
        status = "unlisted"
    elif not REPAIRS.isdisjoint(diagnostics):
        status = "repaired"
    return ReadSkill(status, found.values, fields, found.body, diagnostics, found.duplicates, found.dropped)


def parse(data: bytes, dir_name: str) -> dict[str, Any]:
    """:func:`read` as plain data, with the digest of the body and the errors that the specification would report."""
    from hashlib import sha256

    from .spec import spec_errors

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
