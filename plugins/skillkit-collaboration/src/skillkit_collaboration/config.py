"""The section ``collaboration`` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from .models import CollaborationConfig
from .settings import DEFAULTS

__all__ = ["Section"]

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""The name of a pattern, which is one of a skill."""


class Section(BaseModel):
    """How skills work on one thing together, and the patterns in which they do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(
        DEFAULTS.max_turns, ge=1, le=100, description="Turns after which a session ends in any case."
    )
    max_revisions: int = Field(
        DEFAULTS.max_revisions, ge=0, le=100, description="Revisions after which a rejection fails the session."
    )
    depth: int = Field(
        DEFAULTS.depth, ge=1, le=20, description="How many agents below the outermost one a session may begin at most."
    )
    resend: int = Field(
        DEFAULTS.resend, ge=0, le=3, description="How often a message that breaks a rule is sent again."
    )
    retries: int = Field(DEFAULTS.retries, ge=0, le=1, description="How often a turn that failed is tried again.")
    thread_chars: int = Field(
        DEFAULTS.thread_chars, ge=1_000, description="Most characters of the thread that a participant is given."
    )
    show: bool = Field(DEFAULTS.show, description="Say the trace behind the result.")
    patterns: Mapping[Name, CollaborationConfig] = Field(
        default_factory=dict, description="Sessions by name, for 'skillkit collaborate --pattern NAME' and '/NAME'."
    )
