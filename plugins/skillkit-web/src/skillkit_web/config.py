"""The section ``page`` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["PageConfig", "settings_of"]


class PageConfig(BaseModel):
    """Where the page is served, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(
        "127.0.0.1", description="The address to listen at; another one than loopback needs an option, too."
    )
    port: int = Field(0, ge=0, le=65_535, description="The port to listen at; 0: one that is free.")
    names: tuple[str, ...] = Field((), description="Names beside localhost by which browsers may call this server.")
    patience: float = Field(10.0, ge=0, description="Seconds that a question waits after the last tab was closed.")
    idle: float = Field(600.0, ge=0, description="Seconds that a session without tabs stays open while nothing runs.")
    max_clients: int = Field(32, ge=1, description="The most tabs at once, and as many of those who look on.")
    upload: int = Field(10 * 1024 * 1024, ge=1024, description="The most bytes of a request, images included.")


def settings_of(host: Host) -> PageConfig:
    """Return the settings; what a project says does not count: a folder lets nobody in.

    Raises:
        ConfigError: a setting is wrong.
    """
    host.config.section("page")  # says what is wrong, and where
    given: dict[str, Any] = {}
    for layer in host.config.layers:
        section = layer.data.get("page")
        if layer.name != "project" and isinstance(section, Mapping):
            given |= section
    return PageConfig.model_validate(given)
