"""The section ``skills`` of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .settings import DEFAULTS, HOSTS, HostName

__all__ = ["SkillEntry", "SkillsConfig"]


class SkillEntry(BaseModel):
    """Settings of one skill, found under its ``skill_key`` or its name."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = Field(True, description="Whether the skill may be used.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables for the skill's actions alone.")
    fetch: bool = Field(
        False,
        description="Whether uv may fetch the packages that the skill's Python scripts name (PEP 723). A project or a "
        "distribution cannot set it.",
    )
    api_key: str | None = Field(None, repr=False, description="Value of the skill's primary environment variable.")


class SkillsConfig(BaseModel):
    """Where skills are, which of them run, and how they are offered to models."""

    model_config = ConfigDict(extra="forbid")

    dirs: list[Path] = Field(default_factory=list, description="Further directories with skills.")
    claude_dirs: list[Path] = Field(
        default_factory=list,
        description="Further directories with skills for Claude Code: $0 needs no declared arguments.",
    )
    hosts: list[HostName] = Field(
        default_factory=lambda: [*HOSTS],
        description="The other hosts whose folders of skills are read (.claude/skills, ...).",
    )
    expose_actions: Literal["auto", "always", "activated"] = Field(
        DEFAULTS.expose_actions,
        description="When a model gets the actions of a skill: always, only once the skill is activated, or auto: "
        "those of bundled skills once activated, of others at once up to 40 actions.",
    )
    disabled: list[str] = Field(default_factory=list, description="Names of skills that are not used.")
    allow_bundled: list[str] = Field(default_factory=list, description="The only bundled skills to use; empty: all.")
    max_catalogue_chars: int = Field(
        DEFAULTS.max_catalogue_chars,
        ge=0,
        description="Most characters of the list of skills; of more, the best for each request.",
    )
    runtime: str | None = Field(
        DEFAULTS.runtime, description="The runtime that runs actions; default: the host's (the setting 'runtime')."
    )
    shell_injection: Literal["deny", "ask", "allow"] = Field(
        DEFAULTS.shell_injection,
        description="Whether commands in the text of a skill (!`command`) run: never, after a question that allowed-tools of the "
        "skill spares, always. Skills of a source that is not trusted run none.",
    )
    model_aliases: dict[str, str] = Field(
        default_factory=dict, description="Models for the names that skills use: {sonnet: anthropic/claude-sonnet-4-5}."
    )
    entries: dict[str, SkillEntry] = Field(default_factory=dict, description="Settings by skill.")
