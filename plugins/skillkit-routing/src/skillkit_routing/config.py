"""The section ``routing`` of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from skillkit_core.errors import ConfigError

from .settings import DEFAULTS

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["RoutingConfig"]


class RoutingConfig(BaseModel):
    """How a skill is chosen for a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = Field(None, description="The model that chooses; default: that of the conversation.")
    threshold: float = Field(
        DEFAULTS.threshold,
        ge=0,
        le=1,
        description="Least confidence with which a skill takes a request; below, the agent does.",
    )
    continuity_threshold: float = Field(
        DEFAULTS.continuity_threshold,
        ge=0,
        le=1,
        description="Least confidence with which another skill than that of the last request takes over.",
    )
    timeout: float = Field(
        DEFAULTS.timeout, gt=0, description="Seconds that the choice may take; then the agent answers."
    )
    pin_single: bool = Field(False, description="Do not ask a model where only one skill may take a request.")
    hierarchical_from: int = Field(
        DEFAULTS.hierarchical_from,
        ge=2,
        description="From so many skills on, only the nearest ones are shown to the model.",
    )
    per_domain: int = Field(
        DEFAULTS.per_domain, ge=1, le=50, description="Most skills of one domain that are shown then."
    )
    shadow: str | None = Field(
        None, description="A plugin that chooses, too, after the answer, and only for skillkit routing compare."
    )

    @staticmethod
    def doctor(host: Host) -> None:
        """Say who uses a former name of a skill.

        Raises:
            ConfigError: somebody does.
        """
        from .former import callers

        found = callers(host)
        if found:
            told = "; ".join(f"{one.who} calls {one.name!r}, which is {one.now!r} now" for one in found)
            raise ConfigError(told, hint="use the new name")
