"""How this host is called by others: the keys of the section ``a2a`` that are about serving."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..lists import Words

__all__ = ["BudgetSettings", "PushSettings", "ServeSettings"]


class BudgetSettings(BaseModel):
    """Limits of one task, below those of the host."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: int | None = Field(None, ge=1, description="Rounds with the model.")
    tokens: int | None = Field(None, ge=1, description="Tokens of all requests.")
    cost: float | None = Field(None, gt=0, description="US dollars.")


class PushSettings(BaseModel):
    """Where this host may tell others of their tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(True, description="Offer push notifications.")
    allow: Words = Field(
        (), description="Hosts (or host:port) that may be private, or without TLS, and are told nevertheless."
    )


class ServeSettings(BaseModel):
    """What others may ask of this host, and how much of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("SkillKit", min_length=1, description="The name on the card.")
    description: str = Field("Skills of a SkillKit host.", description="The line below it.")
    public: Words | None = Field(
        None, description="Skills on the card that everybody reads; default: all that are served."
    )
    url: str | None = Field(
        None, pattern=r"^https?://[^/\s]+(/\S*)?$", description="Address for others, where a proxy stands in front."
    )
    streaming: bool = Field(True, description="Offer streams of events.")
    extended: bool = Field(True, description="Offer the card with every skill that a key may use.")
    rate: int = Field(60, ge=1, description="Requests a minute and caller.")
    tasks: int = Field(8, ge=1, description="Tasks of a caller that work at the same time.")
    budget: BudgetSettings = Field(
        default_factory=lambda: BudgetSettings.model_validate({}), description="Limits of one task."
    )
    message: int = Field(1_048_576, ge=1_024, description="Bytes of a request.")
    compat_0_3: bool = Field(False, description="Serve callers of A2A 0.3, too; the card says so.")
    push: PushSettings = Field(
        default_factory=lambda: PushSettings.model_validate({}), description="Push notifications."
    )

    @field_validator("url")
    @classmethod
    def _bare(cls, url: str | None) -> str | None:
        return None if url is None else url.rstrip("/")
