"""The section ``context`` of the configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from .settings import DEFAULTS, Fact

__all__ = ["ContextConfig"]

Name: TypeAlias = Annotated[str, Field(min_length=1)]


class ContextConfig(BaseModel):
    """Which context files are read, how much of them, and which facts a model is told."""

    model_config = ConfigDict(extra="forbid")

    names: list[Name] = Field([*DEFAULTS.names], description="Names of context files, relative to each folder.")
    per_folder: Literal["all", "first"] = Field(
        DEFAULTS.per_folder, description="Whether all files of a folder count, or the first of the names that is there."
    )
    user_files: list[Name] = Field(
        [*DEFAULTS.user_files],
        description="The user's own context files: below ~, or relative to the configuration folder.",
    )
    root_markers: list[Name] = Field([*DEFAULTS.root_markers], description="What marks the root folder of a project.")
    max_total: int = Field(
        DEFAULTS.max_total, ge=0, description="Most bytes of all context files; the nearest come first."
    )
    max_file: int = Field(DEFAULTS.max_file, ge=1, description="Most bytes of one file; its beginning is kept.")
    import_depth: int = Field(DEFAULTS.import_depth, ge=0, le=20, description="How many hops of imports are followed.")
    imports_in: list[Name] = Field(
        [*DEFAULTS.imports_in], description="Names of files whose @path lines are imports, as in what they import."
    )
    order: Literal["nearest-first", "nearest-last"] = Field(
        DEFAULTS.order, description="Whether the nearest file is told first or last."
    )
    facts: list[Fact] = Field([*DEFAULTS.facts], description="Facts of the environment that a model is told.")
    work: bool = Field(
        DEFAULTS.work, description="Whether a model without a system prompt of its own is told how to work on files."
    )

    @field_validator("names")
    @classmethod
    def _inside(cls, names: list[str], info: Any) -> list[str]:
        for name in names:
            if name.startswith(("/", "~")) or ".." in name.split("/"):
                raise PydanticCustomError("outside", "names a file inside of a folder, such as AGENTS.md")
        return names
