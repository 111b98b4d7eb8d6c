"""The section ``planning`` of the configuration."""

from __future__ import annotations

from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from .state import DEFAULTS

__all__ = ["PlanningConfig"]


class PlanningConfig(BaseModel):
    """Where the plan is written, and what may be used while it is made."""

    model_config = ConfigDict(extra="forbid")

    file: str = Field(DEFAULTS.file, min_length=1, description="The plan, relative to the workspace.")
    network: bool = Field(DEFAULTS.network, description="Whether tools that only read may fetch addresses in a plan.")

    commands: bool = Field(
        DEFAULTS.commands,
        description="Whether shell commands may run in a plan where a sandbox lets them write nothing but the plan. "
        "A project's file does not change it.",
    )

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or file.startswith("~") or not path.name:
            raise PydanticCustomError("outside", "names a file inside of the workspace, such as .skillkit/plan.md")
        return str(path)
