"""The configuration section ``bundles``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["BundlesConfig"]


class BundlesConfig(BaseModel):
    """Bundles of other hosts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dirs: tuple[str, ...] = Field(
        default=(), description="folders that are bundles and count as they are, for who writes one"
    )
    shell: bool = Field(default=True, description="whether commands in the text of slash commands run")
    shell_timeout: float = Field(default=120.0, gt=0, description="seconds for each of them")
    model_aliases: dict[str, str] = Field(
        default_factory=dict, description="models by the names that bundles use for them, such as haiku"
    )
