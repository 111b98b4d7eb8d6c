"""The section ``catalog`` of the configuration: models of your own, and corrections of built-in ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

__all__ = ["CatalogConfig", "Cost", "ModelEntry", "Override"]

Capability: TypeAlias = Literal["text", "image", "pdf", "audio", "reasoning", "tool_use", "structured_output"]
Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
Name: TypeAlias = Annotated[str, Field(min_length=1, pattern=r"^\S+$")]
Price: TypeAlias = Annotated[float, Field(ge=0)]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cost(_Strict):
    """US dollars per million tokens."""

    input: Price = Field(description="input tokens that are not cached")
    output: Price = Field(description="output tokens, thinking included")
    cache_read: Price | None = Field(default=None, description="cached input; default: the input price")
    cache_write: Price | None = Field(default=None, description="input written to the cache; default: the input price")


class _Facts(_Strict):
    api: Name | None = Field(default=None, description="wire protocol; default: the provider's first")
    display_name: str | None = Field(default=None, description="name for people; default: the id")
    context_window: Tokens | None = Field(default=None, description="most tokens of input and output; default: unknown")
    max_output_tokens: Tokens | None = Field(default=None, description="most tokens of one answer; default: unknown")
    cost: Cost | None = Field(default=None, description="price; default: unknown")
    thinking_levels: dict[Level, Any] = Field(default={}, description="thinking level to what the wire wants for it")
    aliases: list[Name] = Field(default=[], description="other names that mean this model")
    options: dict[str, Any] = Field(default={}, description="facts for the adapter")


class ModelEntry(_Facts):
    """A model of your own."""

    id: Name = Field(description="name that the provider's wire uses")
    provider: Name = Field(description="provider that serves it")
    capabilities: list[Capability] = Field(default=["text", "tool_use"], description="what it takes and can do")
    reasoning: bool | None = Field(default=None, description="it can think; default: whether capabilities say so")
    note: str | None = Field(default=None, description="a remark that `models show` prints")


class Override(_Facts):
    """What is different about a built-in model; what is left out stays."""

    capabilities: frozenset[Capability] = Field(default=frozenset(), description="replaces the built-in set")
    reasoning: bool = Field(default=False, description="it can think")

    @field_validator("api", "display_name", "context_window", "max_output_tokens")
    @classmethod
    def _not_null(cls, value: Any) -> Any:
        if value is None:
            raise PydanticCustomError("null", "null is no value here; leave the key out to keep what is known")
        return value


class CatalogConfig(_Strict):
    """Models that the catalogue does not know, or knows wrongly."""

    models: list[ModelEntry] = Field(
        default=[], description="models of your own; the same provider and id replaces one"
    )
    overrides: dict[str, Override] = Field(default={}, description="corrections, by model name")

    @field_validator("models")
    @classmethod
    def _once(cls, models: list[ModelEntry]) -> list[ModelEntry]:
        seen: set[str] = set()
        for entry in models:
            name = f"{entry.provider}/{entry.id}"
            if name in seen:
                raise PydanticCustomError("twice", "model {name} is defined twice", {"name": name})
            seen.add(name)
        return models

    @field_validator("overrides")
    @classmethod
    def _known(cls, overrides: dict[str, Override]) -> dict[str, Override]:
        from skillkit_core.errors import UnknownName

        from .catalog import builtin, find

        for name in overrides:
            if find(name) is None:
                error = UnknownName("model", name, [f"{m.provider}/{m.id}" for m in builtin()])
                raise PydanticCustomError("unknown_model", "{problem}", {"problem": str(error)})
        return overrides
