"""The section ``memory`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MemoryConfig(BaseModel):
    """What is remembered, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: str = Field(
        "file", description="Where facts are: file, in the data folder, or what a plugin brings, such as durable."
    )
    expire_days: float | None = Field(None, gt=0, description="Days after which a fact ends that says nothing itself.")
    most_facts: int = Field(5_000, ge=1, description="The oldest facts are forgotten above this.")
