"""The configuration section ``sessions``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skillkit_core.config import setting

from .place import FLUSH_INTERVAL, FSYNC

__all__ = ["SessionsConfig"]


@dataclass(frozen=True, slots=True)
class SessionsConfig:
    """Where sessions are kept and how durable they are.

    A crash of the process loses nothing with any value of ``fsync``; a crash of the machine can lose what was not synced. With
    ``auto`` a tool with effects runs, a suspension is told and the host closes only when the disk has everything written so
    far; after a message of the user and a turn's end a sync is begun, and nobody waits for it.
    """

    directory: Path | None = setting(None, "folder of the sessions; default: sessions in the data directory")
    fsync: Literal["auto", "always", "never"] = setting(
        FSYNC,
        "auto: before effects the disk has everything; always: every entry waits for the disk; never: the system decides",
    )
    flush_interval: float = setting(
        FLUSH_INTERVAL,
        "seconds between two writes of an answer that still arrives, so that what was shown of it survives the process; "
        "0: an answer is written when it is whole",
        ge=0,
    )
