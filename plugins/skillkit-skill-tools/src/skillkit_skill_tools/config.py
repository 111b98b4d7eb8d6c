"""The section ``watch``."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["WatchConfig"]


@dataclass(frozen=True, slots=True)
class WatchConfig:
    """How changed skills are noticed."""

    enabled: bool = setting(True, "reload skills while a session is open")
    polling: bool | None = setting(
        None, "look every interval seconds and use no events; unset: only where a file system sends none"
    )
    interval: float = setting(2.0, "seconds between two looks of polling", gt=0, le=3600)
    settle: float = setting(0.3, "seconds without a change after which a change is over", gt=0, le=60)
