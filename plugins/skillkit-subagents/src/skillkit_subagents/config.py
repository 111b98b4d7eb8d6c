"""The section ``subagents`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .state import DEFAULTS

__all__ = ["SubagentsConfig"]


class SubagentsConfig(BaseModel):
    """How many agents may work for an agent, how deep, and how much each may use."""

    model_config = ConfigDict(extra="forbid")

    depth: int = Field(
        DEFAULTS.depth, ge=0, le=16, description="How deep agents may ask agents; 0: the tool is not offered."
    )
    parallel: int = Field(
        DEFAULTS.parallel, ge=1, description="How many agents of one agent work at once; others wait."
    )
    total: int = Field(
        DEFAULTS.total, ge=1, description="How many agents may be asked in one session, those of agents included."
    )
    turns: int | None = Field(DEFAULTS.turns, ge=1, description="Most rounds of one agent with its model.")
    tokens: int | None = Field(None, ge=1, description="Most tokens of one agent.")
    cost: float | None = Field(None, ge=0, description="Most US dollars of one agent.")
    models: list[str] | None = Field(
        None, description="Models that a model may choose for an agent; null: every known one, []: none."
    )
    model_aliases: dict[str, str] = Field(
        {}, description="What names of models in agent files mean here, for example haiku: openai/gpt-5-mini."
    )
