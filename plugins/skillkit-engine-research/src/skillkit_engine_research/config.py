"""The section ``research`` of the configuration."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ["ResearchConfig"]


class ResearchConfig(BaseModel):
    """Skills and modes of research, and what all of them keep to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    skills: bool = Field(
        False, description="The skill of each mode that comes with the engine is there (skillkit research modes)."
    )
    modes: dict[str, dict[str, Any]] = Field(
        {},
        description="Modes by name, new ones or changes of those that are there; 'like' names the mode that one starts from.",
    )
    styles: dict[str, str] = Field({}, description="More styles of synthesis: a name, and what a model is told.")
    hosts: tuple[str, ...] = Field(
        (), description="The only hosts that research fetches from, in every mode; *.example.org: all below it."
    )

    @field_validator("modes")
    @classmethod
    def _usable(cls, modes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        from skillkit_core.errors import UsageError

        from .modes import made, merged

        for name in modes:
            try:
                made(name, merged(modes))
            except UsageError as error:
                raise ValueError(str(error)) from None
        return modes
