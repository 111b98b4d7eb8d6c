"""The section ``documents`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class DocumentsConfig(BaseModel):
    """Where documents lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: str = Field(
        ".", description="The folder of documents, relative to the workspace; nothing outside of it is touched."
    )
