"""The configuration section ``sessions``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = ["SessionsConfig"]


class SessionsConfig(BaseModel):
    """Where sessions are kept and how durable they are.

    Attributes:
        directory: default: ``sessions`` in the data directory.
        fsync: ``auto``: when the agent asks for it (user messages and the ends of turns); ``always``: after every entry;
            ``never``: the operating system decides. A crash of the process loses nothing in any of them; only a crash of
            the machine can lose what was not synced.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    directory: Path | None = None
    fsync: Literal["auto", "always", "never"] = "auto"
