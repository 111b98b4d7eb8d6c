"""The section ``planner`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .settings import DEFAULTS

__all__ = ["PlannerConfig"]


class PlannerConfig(BaseModel):
    """Whether and how requests of several parts are carried out as plans."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(DEFAULTS.enabled, description="Carry out plans; off: one skill does the whole request.")
    confirm: bool = Field(DEFAULTS.confirm, description="Show each plan to a person before it runs, who may change it.")
    max_steps: int = Field(DEFAULTS.max_steps, ge=2, le=20, description="Most steps of a plan that a model has made.")
    max_parallel: int = Field(DEFAULTS.max_parallel, ge=1, le=16, description="Most steps at the same time.")
    repair: int = Field(DEFAULTS.repair, ge=0, le=3, description="How often a model may repair a plan that is wrong.")
    calls: int | None = Field(None, ge=1, description="Most model calls of the steps of one plan.")
    tokens: int | None = Field(None, ge=1, description="Most tokens of the steps of one plan.")
    cost: float | None = Field(None, ge=0, description="Most US dollars of the steps of one plan.")
    seconds: float | None = Field(None, gt=0, description="Seconds after which no step of a plan begins any more.")
    bridge_chars: int = Field(
        DEFAULTS.bridge_chars, ge=500, description="Most characters of one value that a step gets from another one."
    )
    summarise: bool = Field(DEFAULTS.summarise, description="Let a model sum up what the steps have said.")
