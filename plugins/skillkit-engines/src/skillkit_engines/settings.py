"""The values of the section ``engines``, for code that does without pydantic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["DEFAULTS", "Settings", "settings_of", "shadow_of"]


class Settings(NamedTuple):
    """What may be set; the section's model describes it."""

    mode: str = "auto"
    retries: int = 1
    max_tool_rounds: int = 8
    request_tools: int = 3
    keep_parts: tuple[str, ...] = ("instructions", "prompts")
    timeout: float = 30.0


DEFAULTS = Settings()


def settings_of(host: Host) -> Any:
    """Return the section ``engines``, or :data:`DEFAULTS` where nothing is set."""
    return host.config.section("engines", DEFAULTS)


def shadow_of(host: Host) -> str | None:
    """Return the plugin that chooses in the shadow alone (``routing.shadow``), which decides nothing."""
    section = host.config.section("routing", None)
    return getattr(section, "shadow", None)
