"""The lenient reader of SKILL.md files (SLP-1): bytes in, fields, body, diagnostics and status out, never an exception."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from skillkit_markdown import REPAIRS, TextYAMLError, flag, read_front_matter

if TYPE_CHECKING:
    from skillkit_markdown import Parsed

__all__ = [
    "NAMESPACES",
    "OS_ALIASES",
    "Fields",
    "Gating",
    "ReadSkill",
    "normal_os",
    "read",
    "read_fields",
    "text_list",
    "tokens",
]

Status = Literal["ok", "repaired", "unlisted", "rejected"]
NAMESPACES = ("openclaw", "moltbot", "clawdbot", "clawdis", "clawdhub")
OS_ALIASES = {"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}
_REQUIRES = {
    "bins": "bins",
    "anyBins": "any_bins",
    "any_bins": "any_bins",
    "env": "env",
    "config": "config",
    "os": "os",
}
_OUTSIDE = ("requires", "gating", "bins", "anyBins", "os", "install", "primaryEnv")
_COMMENT = r"(?m)^(name|description):[ \t]+(?![\"'|>#])[^\n]*?[ \t]#"


# --- a file --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ReadSkill:
    """A SKILL.md as it was read.

    Attributes:
        status: ``ok``, ``repaired`` (something had to be mended), ``unlisted`` (no description: only people may call
            it), ``rejected`` (no skill).
        values: the front matter; every scalar is text, null is ``None``. ``None``: there is none.
        fields: what the fields mean; ``None`` for a file that could not be decoded.
        body: the Markdown after the front matter, stripped.
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
    return ReadSkill(status, found.values, fields, found.body, diagnostics, found.duplicates, list(found.dropped))


# --- the fields of its front matter, read forgivingly (rule D) ----------------------------------------------------------


@dataclass(slots=True)
class Gating:
    """What a skill needs, as OpenClaw writes it; ``source`` says which block said so."""

    bins: list[str] = field(default_factory=list)
    any_bins: list[str] = field(default_factory=list)
    env: list[str] = field(default_factory=list)
    config: list[str] = field(default_factory=list)
    os: list[str] = field(default_factory=list)
    source: str | None = None

    def to_dict(self) -> dict[str, list[str]]:
        """The lists under OpenClaw's names."""
        return {"bins": self.bins, "anyBins": self.any_bins, "env": self.env, "config": self.config, "os": self.os}


@dataclass(slots=True)
class Fields:
    """The fields that every host understands. ``block`` is the gating block as it was written; ``version`` is the
    top-level key (the other places count in :mod:`skillkit_skills.skill_md.build`).
    """

    name: str
    name_source: str
    description: str | None
    metadata: Mapping[str, Any]
    block: Mapping[str, Any]
    requires: Gating
    always: bool
    primary_env: str | None
    skill_key: str | None
    install: list[Mapping[str, Any]]
    user_invocable: bool
    disable_model_invocation: bool
    allowed_tools: list[str]
    version: str | None
    homepage: str | None


def text_list(value: Any, where: str = "", diagnostics: list[str] | None = None) -> list[str]:
    """A list of texts: a list, or one text with commas. Objects give their ``name`` or ``key``."""
    if isinstance(value, str):
        return [part for raw in value.split(",") if (part := raw.strip())]
    found = []
    for item in value if isinstance(value, (list, tuple)) else ():
        if isinstance(item, Mapping):
            if diagnostics is not None and (code := f"requires-item-object:{where}") not in diagnostics:
                diagnostics.append(code)
            item = item.get("name", item.get("key"))
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            item = str(item)
        if isinstance(item, str) and item.strip():
            found.append(item.strip())
    return found


def tokens(value: Any) -> list[str]:
    """The tokens of an ``allowed-tools`` value: text or a list of texts, split at blanks and commas outside parentheses."""
    if isinstance(value, str):
        return _split(value)
    if isinstance(value, Sequence):
        return [token for item in value if isinstance(item, str) for token in _split(item)]
    return []


def _split(text: str) -> list[str]:
    if "(" not in text:
        return text.replace(",", " ").split()
    found: list[str] = []
    word = ""
    depth = 0
    for char in text:
        if depth == 0 and (char == "," or char.isspace()):
            if word:
                found.append(word)
            word = ""
            continue
        depth += (char == "(") - (char == ")" and depth > 0)
        word += char
    return [*found, word.strip()] if word.strip() else found


def normal_os(names: list[str], diagnostics: list[str] | None = None) -> list[str]:
    """Names of systems as ``sys.platform`` spells them, each once."""
    found = []
    for name in names:
        low = name.lower()
        if low in OS_ALIASES and diagnostics is not None:
            diagnostics.append(f"os-alias:{low}")
        if (low := OS_ALIASES.get(low, low)) not in found:
            found.append(low)
    return found


def read_fields(values: Mapping[str, Any], block: str, dir_name: str, diagnostics: list[str]) -> Fields:
    """Read ``values``, the parsed front matter; ``block`` is its text."""
    if " #" in block:
        diagnostics += (f"yaml-comment-truncates:{m[1]}" for m in re.finditer(_COMMENT, block))
    name, name_source = _name(values.get("name"), dir_name, diagnostics)
    description = _description(values.get("description"), diagnostics)
    metadata = _metadata(values.get("metadata"), diagnostics)
    if any(key.startswith("metadata.") for key in values):
        diagnostics.append("metadata-dotted-key")
    source, gating = _gating_block(metadata, diagnostics)
    requires = _requires(gating, source, diagnostics)
    diagnostics += (f"gating-outside-metadata:{key}" for key in _OUTSIDE if key in values)
    install = gating.get("install")
    skill_key = gating.get("skillKey")
    homepage, version = values.get("homepage") or gating.get("homepage"), values.get("version")
    return Fields(
        name=name,
        name_source=name_source,
        description=description,
        metadata=metadata,
        block=gating,
        requires=requires,
        always=flag(gating.get("always"), False),
        primary_env=_primary_env(gating.get("primaryEnv"), diagnostics),
        skill_key=skill_key.strip() if isinstance(skill_key, str) else None,
        install=[i for i in install if isinstance(i, Mapping)] if isinstance(install, list) else [],
        user_invocable=flag(values.get("user-invocable", values.get("user_invocable")), True),
        disable_model_invocation=flag(
            values.get("disable-model-invocation", values.get("disable_model_invocation")), False
        ),
        allowed_tools=tokens(values.get("allowed-tools")),
        version=version.strip() or None if isinstance(version, str) else None,
        homepage=homepage if isinstance(homepage, str) else None,
    )


def _name(value: Any, dir_name: str, diagnostics: list[str]) -> tuple[str, str]:
    if isinstance(value, str):
        if name := value.strip():
            return name, "frontmatter"
        value = None
    diagnostics.append("name-missing" if value is None else "name-not-string")
    return dir_name, "directory"


def _description(value: Any, diagnostics: list[str]) -> str | None:
    if isinstance(value, str):
        if text := value.strip():
            return text
    elif value is not None:
        diagnostics.append("description-not-string")
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return ", ".join(v.strip() for v in value).strip() or None
        return None
    diagnostics.append("description-missing")
    return None


def _metadata(value: Any, diagnostics: list[str]) -> Mapping[str, Any]:
    if isinstance(value, str):
        from skillkit_markdown import parse_text  # imports YAML, which few files of a start need

        diagnostics.append("metadata-string")
        try:
            value = parse_text(value).value
        except TextYAMLError:
            value = None
        if not isinstance(value, dict):
            diagnostics.append("metadata-unparseable")
    elif value is not None and not isinstance(value, dict):
        diagnostics.append("metadata-not-mapping")
    return value if isinstance(value, dict) else {}


def _gating_block(metadata: Mapping[str, Any], diagnostics: list[str]) -> tuple[str | None, Mapping[str, Any]]:
    found = [n for n in NAMESPACES if isinstance(metadata.get(n), dict)] if metadata else []
    if len(found) > 1:
        diagnostics.append("metadata-multiple-namespaces:" + "+".join(found))
    if found:
        if found[0] != NAMESPACES[0]:
            diagnostics.append(f"metadata-legacy-namespace:{found[0]}")
        return f"metadata.{found[0]}", metadata[found[0]]
    if "requires" in metadata or "os" in metadata:
        return "metadata", metadata
    return None, {}


def _requires(block: Mapping[str, Any], source: str | None, diagnostics: list[str]) -> Gating:
    out = Gating()
    requires = block.get("requires")
    if requires is not None and not isinstance(requires, dict):
        diagnostics.append("requires-not-mapping")
        requires = None
    inner_os: list[str] = []
    for key, value in (requires or {}).items():
        target = _REQUIRES.get(key)
        if target is None:
            diagnostics.append(f"requires-unknown-key:{key}")
        elif target == "os":
            inner_os = text_list(value, key, diagnostics)
        else:
            setattr(out, target, text_list(value, key, diagnostics))
    if system := text_list(block.get("os"), "os", diagnostics) or inner_os:
        out.os = normal_os(system, diagnostics)
    if out.bins or out.any_bins or out.env or out.config or out.os:
        out.source = source
    return out


def _primary_env(value: Any, diagnostics: list[str]) -> str | None:
    if isinstance(value, list):
        diagnostics.append("primary-env-not-string")
        value = next((v for v in value if isinstance(v, str)), None)
    return value.strip() or None if isinstance(value, str) else None
