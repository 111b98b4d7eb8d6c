"""The values of the section ``planner``, for code that does without pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["DEFAULTS", "Settings", "settings_of"]


class Settings(NamedTuple):
    """What may be set; the section's model describes it."""

    enabled: bool = True
    confirm: bool = False
    max_steps: int = 4
    max_parallel: int = 3
    repair: int = 1
    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    bridge_chars: int = 8_000
    summarise: bool = False


DEFAULTS = Settings()


def settings_of(host: Host) -> Any:
    """Return the section ``planner``, or :data:`DEFAULTS` where nothing is set."""
    return host.config.section("planner", DEFAULTS)
