"""The section ``documents`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .folder import ROOT


class DocumentsConfig(BaseModel):
    """Where documents lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: str = Field(
        ROOT, description="The folder of documents, relative to the workspace; nothing outside of it is touched."
    )
