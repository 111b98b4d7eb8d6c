"""The section ``navigation`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .places import FILE


class NavigationConfig(BaseModel):
    """Where places are kept, and who knows the ways between them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(FILE, description="The file of places, relative to the workspace.")
    provider: str | None = Field(None, description="Who knows routes: osrm, or a provider of another plugin.")
    osrm_url: str | None = Field(None, description="Base address of an OSRM server.")
