"""The section ``isolation`` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkit_core import ConfigError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["IsolationConfig", "settings_of"]


class IsolationConfig(BaseModel):
    """The limits of the processes of isolated plugins. What a project says here does not count."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    restarts: int = Field(3, ge=0, description="How often the process of a plugin is started again.")
    start_timeout: float = Field(20.0, gt=0, description="Seconds until a process must be there, without its plugin.")
    timeout: float | None = Field(
        10.0, gt=0, description="Most seconds of one hook, whatever timeout it asks for; null: its own timeout alone."
    )


def settings_of(host: Host) -> IsolationConfig:
    """Return the settings, without those of a project. The host loads its plugins meanwhile, and cannot be asked for a section.

    Raises:
        ConfigError: a setting is wrong.
    """
    given: dict[str, Any] = {}
    for layer in host.config.layers:
        section = layer.data.get("isolation")
        if isinstance(section, Mapping) and layer.name != "project":
            given.update(section)
    try:
        return IsolationConfig.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        key = ".".join(("isolation", *map(str, wrong["loc"])))
        raise ConfigError(wrong["msg"], where=host.config.origin(key) or key) from None
