"""The section ``files`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FilesConfig(BaseModel):
    """How files are searched, and how much of what was changed is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ripgrep: bool = Field(
        True, description="Whether grep lets an installed ripgrep find the files; the answers are the same."
    )
    keep_file: int = Field(
        8_000_000, ge=0, description="Most bytes of a content that is kept for rewind; 0: keep nothing."
    )
    keep_total: int = Field(
        500_000_000, ge=0, description="Most bytes of all contents that are kept; the oldest go first."
    )
