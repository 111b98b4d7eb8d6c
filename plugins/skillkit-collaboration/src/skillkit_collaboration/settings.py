"""The values of the section ``collaboration``, for code that does without pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.frozen import EMPTY

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["DEFAULTS", "Settings", "settings_of"]


class Settings(NamedTuple):
    """What may be set; the section's model describes it."""

    max_turns: int = 6
    max_revisions: int = 3
    depth: int = 5
    resend: int = 1
    retries: int = 1
    thread_chars: int = 24_000
    show: bool = False
    patterns: Mapping[str, Any] = EMPTY


DEFAULTS = Settings()


def settings_of(host: Host) -> Any:
    """Return the section ``collaboration``, or :data:`DEFAULTS` where nothing is set."""
    return host.config.section("collaboration", DEFAULTS)
