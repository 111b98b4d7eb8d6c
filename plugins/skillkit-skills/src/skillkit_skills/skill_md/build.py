"""SkillKit's own keys (spec 4.1, 4.2, 4.6): every place they may be written in, merged into one :class:`Skill`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields as dataclass_fields
from pathlib import Path
from typing import Any

from skillkit_markdown import TextYAMLError, flag, natural

from skillkit_core.errors import SkillKitError, close_matches
from skillkit_core.frozen import freeze
from skillkit_core.skills import Requirements, Skill, SkillAction

from .keys import KEYS, clean_installers
from .problems import problems_of
from .reader import Gating, ReadSkill, normal_os, text_list

__all__ = ["DEFAULTS", "SCHEMA", "build_skill", "skill_of"]

SCHEMA = 1
RESERVED = frozenset(
    (
        *("clear", "compact", "config", "doctor", "exit", "fork", "help", "model", "models", "new", "plugins", "quit"),
        *("resume", "session", "sessions", "skills", "tools"),
    )
)
_SAID_ELSEWHERE = ("frontmatter", "file", "metadata-value-not-string")
_REPEATS = ("metadata-not-mapping", "metadata-string", "yaml-unquoted-scalar")  # metadata-unparseable says it better
_CODE_KINDS = ("bundled", "plugin")
_CLOSE = 0.85  # likeness from which a key is taken for a misspelt one


_SPECIAL = frozenset(("schema", "requires", "install", "actions", "hooks", "evals", "mode", "collaboration", "plan"))
_TOP = {
    **{k: k for k in ("when_to_use", "version", "tags", "keywords", "examples", "model", "effort", "context", "agent")},
    **{k: k for k in ("paths", "arguments", "hooks", "actions", "user_invocable", "disable_model_invocation")},
    "when-to-use": "when_to_use",
    "argument-hint": "argument_hint",
    "disallowed-tools": "disallowed_tools",
    "user-invocable": "user_invocable",
    "disable-model-invocation": "disable_model_invocation",
}
_GATING = ("requires", "install")  # gating-outside-metadata is about them
_ELSEWHERE = frozenset((*KEYS, *_SPECIAL)).difference(_TOP, _GATING, ("allowed_tools", "homepage"))
_OPENCLAW = {"primaryEnv": "primary_env", "skillKey": "skill_key", "always": "always", "install": "install"}
_PLAIN = {
    **{k: k for k in ("version", "primary_env", "display_name", "when_to_use", "tags", "keywords", "priority")},
    "short-description": "short_description",
    "internal": "internal_only",
}


def _pick(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[k]: v for k, v in values.items() if k in names and v is not None} if values else {}


def _misspelt(key: str, where: str, known: Iterable[str], told: list[tuple[str, str]]) -> bool:
    """Whether ``key`` is nearly one of ``known``; then that is told."""
    meant = close_matches(key.lower(), known, 1, _CLOSE)
    if meant:
        text = f"the key {key!r} {where} is not read, with all that is in it: did you mean {meant[0]!r}?"
        told.append((f"misspelt-key:{key}", text))
    return bool(meant)


def _short(value: Any) -> str:
    """A value as it is written on one line; a long one is left out."""
    text = value if isinstance(value, str) and re.fullmatch(r"[\w./ -]+", value) else json.dumps(value)
    return text if len(text) <= 60 else "..."


def _misspelt_sections(values: Mapping[str, Any], metadata: Mapping[str, Any], told: list[tuple[str, str]]) -> None:
    """Tell of ``metadata`` and ``skillkit`` under a name that is nearly theirs; all other foreign keys are foreign."""
    for key, value in values.items():
        if key in _ELSEWHERE and value is not None:
            line = f"metadata: {{skillkit: {{{key}: {_short(value)}}}}}"
            told.append((f"key-not-read:{key}", f"the key {key!r} is not read at the top level: write {line}"))
        elif key == "skillkit":
            told.append((f"misspelt-key:{key}", "the key 'skillkit' is not read here: indent it below metadata"))
        elif key != "metadata" and key[:1] in "mM":
            _misspelt(key, "at the top level", ("metadata",), told)
    for key in metadata:
        if key != "skillkit" and key[:1] in "sS":
            _misspelt(key, "of metadata", ("skillkit",), told)


def _block(value: Any, where: str, codes: list[str], told: list[tuple[str, str]]) -> dict[str, Any]:
    """A SkillKit block: a mapping, or the same as JSON or YAML text."""
    if isinstance(value, (str, bytes)):
        try:
            from skillkit_markdown import parse_text

            value = parse_text(value.decode() if isinstance(value, bytes) else value).value
        except (TextYAMLError, UnicodeDecodeError):
            codes.append(f"invalid-value:{where}")
            return {}
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        codes.append(f"invalid-value:{where}")
        return {}
    schema = value.get("schema") or "1"
    if not (isinstance(schema, str) and schema.isdigit() and 1 <= int(schema) <= SCHEMA):
        codes.append(f"schema-newer:{schema}")
        return {}
    for key in value:
        known = key in KEYS or key in _SPECIAL or key.startswith("x-")
        if not known and not _misspelt(key, "of the SkillKit block", (*KEYS, *_SPECIAL), told):
            codes.append(f"unknown-key:{key}")
    return {k: v for k, v in value.items() if v is not None}


def _codex(data: bytes | None, codes: list[str]) -> dict[str, Any]:
    """What Codex' ``agents/openai.yaml`` says, in our words."""
    if data is None:
        return {}
    try:
        from skillkit_markdown import parse_text

        raw = parse_text(data.decode()).value
    except (TextYAMLError, UnicodeDecodeError):
        raw = None
    if not isinstance(raw, Mapping):
        codes.append("invalid-value:agents/openai.yaml")
        return {}
    parts = {k: v for k in ("interface", "policy", "dependencies") if isinstance(v := raw.get(k), Mapping)}
    out = _pick(parts.get("interface", raw), {"display_name": "display_name", "short_description": "short_description"})
    allow = parts.get("policy", raw).get("allow_implicit_invocation")
    if allow is not None:
        out["disable_model_invocation"] = "false" if flag(allow, True) else "true"
    needed = parts.get("dependencies", {}).get("tools")
    requires: dict[str, list[str]] = {}
    for tool in needed if isinstance(needed, list) else ():
        if isinstance(tool, Mapping) and isinstance(name := tool.get("value") or tool.get("name"), str):
            requires.setdefault("mcp" if tool.get("type") == "mcp" else "tools", []).append(name)
    return {**out, "requires": requires} if requires else out


def build_skill(
    read: ReadSkill,
    folder: Path | None,
    *,
    dir_name: str,
    source: str = "extra",
    kind: str = "extra",
    trusted: bool = False,
    sidecar: bytes | None = None,
    codex: bytes | None = None,
) -> Skill:
    """The skill that a SKILL.md and the files beside it describe. Never raises: what cannot be used is a problem.

    Key by key, the first place that says something counts: the sidecar ``agents/skillkit.yaml``, ``metadata.skillkit``,
    Claude Code's top-level keys, the OpenClaw block, plain metadata and Codex' file, the default. ``requires`` is merged
    list by list.

    Args:
        read: the file as the reader gave it; its status is not ``rejected`` for want of decoding.
        folder: the skill's folder; ``None``: scripts are not looked for.
        dir_name: name of the folder.
        source, kind: where it comes from (:class:`SkillSource`).
        trusted: whether hooks of this source may run.
        sidecar, codex: bytes of ``agents/skillkit.yaml`` and ``agents/openai.yaml``.
    """
    fields = read.fields
    assert fields is not None
    values = read.values or {}
    codes = list(read.diagnostics)
    told: list[tuple[str, str]] = []  # codes with a sentence of their own
    metadata = fields.metadata
    if "metadata" in read.dropped:
        codes.append("metadata-unparseable")
    _misspelt_sections(values, metadata, told)
    carriers = (
        _block(sidecar, "agents/skillkit.yaml", codes, told),
        _block(metadata.get("skillkit"), "metadata.skillkit", codes, told),
        _pick(values, _TOP),
        _pick(fields.block, _OPENCLAW),
        _pick(metadata, _PLAIN),
        _codex(codex, codes),
    )
    found: dict[str, Any] = {}
    for carrier in carriers:
        for key, value in carrier.items():
            if key in KEYS and key not in found:
                try:
                    found[key] = KEYS[key](value)
                except (SkillKitError, TypeError, ValueError, RecursionError):
                    codes.append(f"invalid-value:{key}")
    found.setdefault("allowed_tools", tuple(fields.allowed_tools))
    _apply_gating(found, fields.primary_env, carriers, fields.requires, codes)
    confirm = "always" if flag(values.get("require-confirmation", values.get("require_confirmation")), False) else None
    found["actions"] = _actions(carriers, folder, confirm, found, codes, told)
    found["hooks"] = _hooks(carriers, trusted, codes)
    if kind not in _CODE_KINDS:
        _refuse_code(found, codes)
    name = _name(fields.name, dir_name, codes)
    from .spec import spec_errors  # a listing from the index reads no format

    mode = next((block["mode"] for block in carriers[:2] if "mode" in block), None)  # it is the engine's to read
    errors = spec_errors(values, dir_name, read.diagnostics, read.duplicates)
    for code in errors:  # problems_of leaves out what was said before
        key = code.removeprefix("unknown-field:")
        if key != code and key in _TOP:
            told.append((code, f"the key {key!r} is read here, and is not part of the specification"))
        elif code not in _SAID_ELSEWHERE and key not in _ELSEWHERE:
            codes.append(code)
    if "metadata-unparseable" in codes:
        codes = [code for code in codes if code not in _REPEATS]
    found |= {
        "name": name,
        "description": fields.description or "",
        "body": read.body,
        "path": folder,
        "source": source,
        "status": read.status,
        "problems": tuple(problems_of([*codes, *told], f"{folder}/SKILL.md" if folder else None)),
        "license": _optional(values.get("license")),
        "compatibility": _optional(values.get("compatibility")),
        "metadata": _with(metadata, homepage=fields.homepage, mode=mode),
        "aliases": (dir_name,) if dir_name != name and _name_ok(dir_name) else (),
    }
    return skill_of(found)


def _with(metadata: Mapping[str, Any], **found: Any) -> Mapping[str, Any]:
    """Return metadata with what other places say, where they say something."""
    said = {name: value for name, value in found.items() if value}
    return {**metadata, **said} if said else metadata


DEFAULTS = {
    f.name: f.default_factory() if f.default_factory is not MISSING else f.default if f.default is not MISSING else ""
    for f in dataclass_fields(Skill)
}
_SETTERS = [Skill.__dict__[name].__set__ for name in DEFAULTS]


def skill_of(values: dict[str, Any]) -> Skill:
    """A skill of values that are what the fields of ``Skill`` ask for; mappings may be open, and tuples lists.

    The constructor converts and checks what anybody gives it. With thousands of skills that takes as long as to read them.
    """
    for name, value in values.items():
        if type(value) is dict:
            values[name] = freeze(value)
        elif type(value) is list:
            values[name] = tuple(map(freeze, value))
    skill: Skill = object.__new__(Skill)
    for set_, value in zip(_SETTERS, {**DEFAULTS, **values}.values(), strict=True):  # in the order of the fields
        set_(skill, value)
    return skill


def _optional(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


_NOT_A_NAME = re.compile(r"[:@/\\\x00-\x1f]|\A\s*\Z")


def _name_ok(name: str) -> bool:
    return _NOT_A_NAME.search(name) is None


def _name(name: str, dir_name: str, codes: list[str]) -> str:
    """The front matter's name, unless it could be taken for an address (``source:name``, ``name@plugin``) or a path."""
    if not _name_ok(name):
        codes.append("name-reserved-character")
        name = dir_name
    if name.lower() in RESERVED:
        codes.append(f"reserved-name:{name.lower()}")
    return name


def _apply_gating(
    found: dict[str, Any],
    primary_env: str | None,
    carriers: Sequence[Mapping[str, Any]],
    gating: Gating,
    codes: list[str],
) -> None:
    if primary_env:
        found.setdefault("primary_env", primary_env)
    lists: dict[str, Any] = {}
    for carrier in (carriers[0], carriers[1], carriers[5]):
        requires = carrier.get("requires")
        if requires is None:
            continue
        if not isinstance(requires, Mapping):
            codes.append("invalid-value:requires")
            continue
        for key, value in requires.items():
            key = "any_bins" if key == "anyBins" else key
            if key == "host" and isinstance(value, str):
                lists.setdefault("host", value)
            elif key in Requirements.__dataclass_fields__:
                lists.setdefault(key, tuple(text_list(value)))
            else:
                codes.append(f"requires-unknown-key:{key}")
    for key in ("bins", "any_bins", "env", "config", "os"):
        if value := getattr(gating, key):
            lists.setdefault(key, tuple(value))
    if "os" in lists:
        lists["os"] = tuple(normal_os(list(lists["os"]), codes))
    found["requires"] = Requirements(**lists)
    installers = next((c["install"] for c in carriers if "install" in c), None)
    if isinstance(installers, list):
        found["install"] = clean_installers(installers, codes)


def _actions(
    carriers: Sequence[Mapping[str, Any]],
    folder: Path | None,
    confirm: str | None,
    found: dict[str, Any],
    codes: list[str],
    told: list[tuple[str, str]],
) -> tuple[SkillAction, ...]:
    value = next((c["actions"] for c in carriers if "actions" in c), None)
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        found["intents"] = (*found.get("intents", ()), *value)  # skills-architecture's word for intents
        return ()
    if isinstance(value, Mapping):
        codes.append("legacy-actions-mapping")
    if not value:
        return ()
    from .action_definition import ActionError, read_actions

    actions = []
    for action, notes in read_actions(value, folder, confirm=confirm):
        codes += notes
        if isinstance(action, ActionError):
            told.append((action.code, action.message))
        else:
            actions.append(action)
    return tuple(actions)


def _hooks(carriers: Sequence[Mapping[str, Any]], trusted: bool, codes: list[str]) -> Mapping[str, Any]:
    value = next((c["hooks"] for c in carriers if "hooks" in c), None)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        codes.append("invalid-value:hooks")
        return {}
    if any(isinstance(v, str) for v in value.values()):
        codes.append("legacy-hooks-string")
        value = {k: v for k, v in value.items() if not isinstance(v, str)}
    if value and not trusted:
        codes.append("hooks-untrusted")
        return {}
    hooks: Mapping[str, Any] = natural(value)
    return hooks


def _refuse_code(found: dict[str, Any], codes: list[str]) -> None:
    """A dotted path would import code: only bundled and plugin skills may name one."""
    if "." in (found.get("context_loader") or "") or ":" in (found.get("context_loader") or ""):
        codes.append("code-path-refused:context_loader")
        del found["context_loader"]
    if any("." in name or ":" in name for name in found.get("subgraphs", ())):
        codes.append("code-path-refused:subgraphs")
        found["subgraphs"] = tuple(n for n in found["subgraphs"] if "." not in n and ":" not in n)
