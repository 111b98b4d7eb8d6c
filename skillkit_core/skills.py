"""Skills as values: the content of a skill folder, and its deterministic actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from .frozen import EMPTY, freeze

__all__ = ["ActionArg", "EngineType", "Requirements", "Skill", "SkillAction", "SkillProblem"]


class EngineType(StrEnum):
    """The engines that skills-architecture names. Plugins may add more."""

    CONVERSATIONAL = "conversational"
    AUTOMATION = "automation"
    EDITOR = "editor"
    RESEARCH = "research"


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A problem that a loader found.

    Attributes:
        code: the rule of the reader.
        message: description of the problem, one line.
        severity: the skill is not loaded for ``error``.
        path: the file.
        line: the line in the file, from 1.
    """

    code: str
    message: str = ""
    severity: Literal["error", "warning", "info"] = "warning"
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirements of a skill (ELIG-1).

    Attributes:
        bins: programs on the path, all of them.
        any_bins: programs on the path, one of them.
        env: environment variables.
        config: dotted paths of settings that must be set.
        os: operating systems, one of them.
        python: Python distributions, each with a version range where that matters.
        skills: names of skills.
        tools: names of tools.
        mcp: names of MCP servers.
        host: version range of SkillKit.
    """

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()
    host: str | None = None


_JSON_TYPES = {"file": "string", "json": None, "array": "array"}


@dataclass(frozen=True, slots=True)
class ActionArg:
    """One argument of an action (ACT-1). ``type`` is string, integer, number, boolean, file, json or array."""

    name: str
    type: str = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    enum: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    position: int | None = None
    flag: str | None = None
    secret: bool = False
    extra: Mapping[str, Any] = EMPTY

    def schema(self) -> dict[str, Any]:
        """Return the argument's JSON Schema. It tells the pattern in words: whoever reads the schema could match it for ever."""
        out: dict[str, Any] = {}
        if kind := _JSON_TYPES.get(self.type, self.type):
            out["type"] = kind
        if told := f"{self.description} Must match {self.pattern}".strip() if self.pattern else self.description:
            out["description"] = told
        if self.type == "array":
            out["items"] = {"type": "string"}
        for key in ("default", "minimum", "maximum"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.enum:
            out["enum"] = list(self.enum)
        return out


@dataclass(frozen=True, slots=True)
class SkillAction:
    """A deterministic action of a skill: a program with checked arguments, run without a model and without a shell.

    Attributes:
        name: kebab-case, at most 64 characters.
        script: path inside the skill's folder, or ``run``: an argv template.
        timeout: seconds (at most 3600).
        output: how stdout is read: text, json, file, none.
        cwd: ``workspace`` or ``skill``.
        env: names of extra environment variables that are passed.
        confirm: whether a person is asked before the action runs: ``never``, the ``first`` time, ``always``.
    """

    name: str
    description: str = ""
    script: str | None = None
    run: tuple[str, ...] | None = None
    args: tuple[ActionArg, ...] = ()
    timeout: float = 60.0
    output: Literal["text", "json", "file", "none"] = "text"
    output_schema: Mapping[str, Any] | None = None
    cwd: Literal["workspace", "skill"] = "workspace"
    env: tuple[str, ...] = ()
    confirm: Literal["never", "first", "always"] = "never"
    model_callable: bool = True
    user_callable: bool = True
    idempotent: bool = False
    requires: Requirements = field(default_factory=Requirements)
    extra: Mapping[str, Any] = EMPTY

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments, without secrets, which a model never fills."""
        shown = [a for a in self.args if not a.secret]
        out: dict[str, Any] = {
            "type": "object",
            "properties": {a.name: a.schema() for a in shown},
            "additionalProperties": False,
        }
        if required := [a.name for a in shown if a.required]:
            out["required"] = required
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill: instructions for a model, rules for when the skill applies, and actions that need no model.

    The constructor also takes the field names of ``skills-architecture``, where a list of strings as ``actions`` means
    ``intents``. Lists become tuples.
    """

    name: str
    description: str = ""
    body: str = ""
    path: Path | None = None
    source: str = "extra"
    status: Literal["ok", "repaired", "unlisted", "rejected"] = "ok"
    problems: tuple[SkillProblem, ...] = ()
    license: str | None = None
    compatibility: str | None = None
    version: str | None = None
    display_name: str | None = None
    short_description: str | None = None
    when_to_use: str | None = None
    examples: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    engine: str = EngineType.CONVERSATIONAL
    domains: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    requires_explicit_keywords: bool = False
    override_continuity: bool = False
    priority: int = 50
    editor_types: tuple[str, ...] = ()
    requires_editor: bool = False
    editor_preference: Literal["none", "prefer", "require"] = "none"
    requires_image_context: bool = False
    internal_only: bool = False
    tools: tuple[str, ...] = ()
    tool_packs: tuple[str, ...] = ()
    optional_tools: tuple[str, ...] = ()
    tools_only: bool = False
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    subgraphs: tuple[str, ...] = ()
    outputs: Mapping[str, Any] = EMPTY
    context_loader: str | None = None
    system_prompt: str | None = None
    supports_hitl: bool = False
    confirm: tuple[str, ...] = ()
    model: str | None = None
    effort: str | None = None
    context: str = "inline"
    agent: str | None = None
    limits: Mapping[str, Any] = EMPTY
    arguments: tuple[ActionArg, ...] = ()
    argument_hint: str | None = None
    argument_base: int = 0
    paths: tuple[str, ...] = ()
    user_invocable: bool = True
    disable_model_invocation: bool = False
    requires: Requirements = field(default_factory=Requirements)
    always: bool = False
    primary_env: str | None = None
    skill_key: str | None = None
    install: tuple[Mapping[str, Any], ...] = ()
    permissions: Mapping[str, Any] = EMPTY
    shell_injection: str | None = None
    actions: tuple[SkillAction, ...] = ()
    hooks: Mapping[str, Any] = EMPTY
    metadata: Mapping[str, Any] = EMPTY
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name in _COLLECTIONS:
            value = getattr(self, name)
            if isinstance(value, (list, dict)):
                set_(self, name, tuple(value) if isinstance(value, list) else freeze(value))
        given: tuple[Any, ...] = self.actions
        if any(isinstance(a, str) for a in given):
            set_(self, "intents", (*self.intents, *(a for a in given if isinstance(a, str))))
            set_(self, "actions", tuple(a for a in given if not isinstance(a, str)))
        set_(self, "engine", str(self.engine))

    def action(self, name: str) -> SkillAction | None:
        """Return the action called ``name``, or ``None``."""
        return next((a for a in self.actions if a.name == name), None)

    @property
    def listed(self) -> bool:
        """Whether a model may see the skill in listings."""
        return self.status in ("ok", "repaired") and not self.disable_model_invocation and not self.internal_only


_COLLECTIONS = tuple(f.name for f in fields(Skill) if isinstance(f.default, (tuple, Mapping)))
