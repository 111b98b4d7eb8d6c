"""The values of the section ``routing``, for code that does without pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["DEFAULTS", "Settings", "settings_of"]


class Settings(NamedTuple):
    """What may be set; the section's model describes it."""

    model: str | None = None
    threshold: float = 0.3
    continuity_threshold: float = 0.6
    timeout: float = 10.0
    pin_single: bool = False
    hierarchical_from: int = 30
    per_domain: int = 10
    shadow: str | None = None


DEFAULTS = Settings()


def settings_of(host: Host) -> Any:
    """Return the section ``routing``, or :data:`DEFAULTS` where nothing is set."""
    return host.config.section("routing", DEFAULTS)
