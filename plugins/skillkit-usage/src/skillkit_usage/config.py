"""The section ``usage`` of the configuration."""

from __future__ import annotations

from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

__all__ = ["Budget", "Budgets", "UsageConfig"]


class Budget(BaseModel):
    """The most that may be used in one scope; what is not given is not limited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cost: float | None = Field(None, ge=0, allow_inf_nan=False, description="US dollars.")
    tokens: int | None = Field(None, ge=0, description="Tokens of all kinds, those of the longest answer included.")
    requests: int | None = Field(None, ge=0, description="Requests to models, failed ones included.")


class Budgets(BaseModel):
    """The budgets of the four scopes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Budget | None = Field(None, description="Each run, what its nested runs use included.")
    session: Budget | None = Field(None, description="Each session, what its nested runs use included.")
    day: Budget | None = Field(None, description="All sessions of a day.")
    month: Budget | None = Field(None, description="All sessions of a month.")


class UsageConfig(BaseModel):
    """How much may be used, and in which time zone days begin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    budgets: Budgets = Field(Budgets(), description="Budgets by scope: run, session, day, month.")  # type: ignore[call-arg]
    unpriced: Literal["stop", "allow"] = Field(
        "stop", description="What happens under a budget in dollars when a price is not known."
    )
    longest_answer: int = Field(
        8_192, ge=1, description="Tokens of the longest answer of a model for which nobody knows them."
    )
    timezone: str | None = Field(
        None, description="Time zone in which days and months begin, for example Europe/Berlin; default: the machine's."
    )

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        try:
            if name is not None:
                ZoneInfo(name)
        except (ValueError, OSError, LookupError):
            raise PydanticCustomError(
                "timezone", "is a time zone that this machine knows, such as Europe/Berlin"
            ) from None
        return name
