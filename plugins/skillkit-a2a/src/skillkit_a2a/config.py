"""The section ``a2a`` of the configuration."""

from __future__ import annotations

from pydantic import Field

from .calling.config import ClientConfig
from .serving.settings import ServeSettings

__all__ = ["Section"]


class Section(ServeSettings):
    """What this host is for agents of other hosts, and what they are for it."""

    client: ClientConfig = Field(
        default_factory=lambda: ClientConfig.model_validate({}),
        description="Which agents elsewhere are called, and how.",
    )
