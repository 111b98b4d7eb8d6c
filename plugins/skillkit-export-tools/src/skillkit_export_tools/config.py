"""The section ``export`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .bookmarks import BOOKMARKS


class ExportConfig(BaseModel):
    """Where addresses are kept, and the font of PDF files."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bookmarks: str = Field(BOOKMARKS, min_length=1, description="The file of bookmarks, relative to the workspace.")
    font: str | None = Field(
        None, description="A TrueType font for PDF files whose text is not Latin; default: one of this machine."
    )
