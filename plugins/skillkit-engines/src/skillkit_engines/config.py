"""The section ``engines`` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .settings import DEFAULTS

__all__ = ["EnginesConfig"]


class EnginesConfig(BaseModel):
    """Whether and how skills run on engines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["auto", "off", "shadow"] = Field(
        "auto",
        description="auto: skills that name an engine run on it. off: the agent answers everything itself. shadow: the agent "
        "answers, and what would have been chosen is written down (skillkit routing compare).",
    )
    retries: int = Field(
        DEFAULTS.retries, ge=0, le=5, description="How often another skill is chosen when one rejects a request."
    )
    max_tool_rounds: int = Field(
        DEFAULTS.max_tool_rounds, ge=1, le=100, description="Rounds of tool calls after which a skill must answer."
    )
    request_tools: int = Field(
        DEFAULTS.request_tools, ge=0, le=10, description="How many packs of tools a model may ask for in one run."
    )
    keep_parts: tuple[str, ...] = Field(
        DEFAULTS.keep_parts,
        description="Parts of the system prompt that hold in every skill, by the names of 'skillkit context show'.",
    )
    timeout: float = Field(DEFAULTS.timeout, gt=0, description="Seconds that a plugin has to choose a skill.")
