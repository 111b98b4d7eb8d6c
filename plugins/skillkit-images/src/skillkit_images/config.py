"""The section ``images`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ImagesConfig(BaseModel):
    """Who makes images, and where they are put."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str | None = Field(None, description="Who makes images: openai-images, or a provider of another plugin.")
    folder: str = Field("images", description="Where new images are put, relative to the workspace.")
    base_url: str = Field("https://api.openai.com/v1", description="The server of openai-images.")
    model: str = Field("gpt-image-1", description="The model of openai-images.")
    key: str = Field("OPENAI_API_KEY", description="The name of the secret with the key of openai-images.")
    max_bytes: int = Field(20_000_000, gt=0, description="The largest image that is read or kept.")
