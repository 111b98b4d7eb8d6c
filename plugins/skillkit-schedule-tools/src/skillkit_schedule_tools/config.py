"""The sections ``schedule`` and ``webhook`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from skillkit_core.config import setting

__all__ = ["ScheduleConfig", "WebhookConfig"]


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """How runs without a person are done."""

    zone: str | None = setting(None, "time zone of words that name none; default: that of this machine")
    seconds: float = setting(3600.0, "seconds after which a run is stopped", gt=0)
    parallel: int = setting(2, "schedules that run side by side; of each there is one run at a time", ge=1, le=32)


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """What a webhook takes."""

    port: int = setting(8787, "port; 0: a free one", ge=0, le=65_535)
    max_bytes: int = setting(65_536, "bytes of what a caller sends", ge=1, le=10_000_000)
    rate: int = setting(30, "calls of one webhook in a minute", ge=1, le=10_000)
