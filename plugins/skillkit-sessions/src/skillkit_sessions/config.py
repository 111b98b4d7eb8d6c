"""The configuration section ``sessions``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .place import FLUSH_INTERVAL, FSYNC

__all__ = ["SessionsConfig"]


class SessionsConfig(BaseModel):
    """Where sessions are kept and how durable they are.

    Attributes:
        directory: default: ``sessions`` in the data directory.
        fsync: ``auto``: a tool with effects runs, a suspension is told and the host closes only when the disk has everything
            written so far; after a message of the user and a turn's end a sync is begun, and nobody waits for it. ``always``:
            every entry waits for the disk. ``never``: the operating system decides. A crash of the process loses nothing in any
            of them; a crash of the machine can lose what was not synced.
        flush_interval: seconds between two writes of an answer that still arrives, so that what was shown of it survives
            the death of the process; 0: an answer is written when it is whole.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: Path | None = None
    fsync: Literal["auto", "always", "never"] = FSYNC
    flush_interval: float = Field(default=FLUSH_INTERVAL, ge=0, allow_inf_nan=False)
