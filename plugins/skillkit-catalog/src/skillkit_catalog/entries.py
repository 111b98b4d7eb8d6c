"""What the section ``catalog`` says of models. Pydantic is imported only where it says something."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

__all__ = ["Aliases", "Cost", "Deprecated", "ModelEntry", "Models", "Override", "Overrides", "Tier"]

Capability: TypeAlias = Literal["text", "image", "pdf", "audio", "reasoning", "tool_use", "structured_output"]
Level: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
Name: TypeAlias = Annotated[str, Field(min_length=1, pattern=r"^\S+$")]
Price: TypeAlias = Annotated[float, Field(ge=0)]
Tokens: TypeAlias = Annotated[int, Field(ge=1)]
# YAML reads 2030-01-31 as a date, and 2030-13-01 as a text
Date: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda given: given.isoformat() if type(given) is date else given),
    Field(pattern=r"^\d{4}-\d{2}-\d{2}$"),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Prices(_Strict):
    input: Price = Field(description="input tokens that are not cached")
    output: Price = Field(description="output tokens, thinking included")
    cache_read: Price | None = Field(default=None, description="cached input; default: the input price")
    cache_write: Price | None = Field(default=None, description="input written to the cache; default: the input price")


class Tier(_Prices):
    """Prices of all tokens of a request with a long prompt, US dollars per million tokens."""

    above: Tokens = Field(description="the prompt has more tokens than this")


class Cost(_Prices):
    """US dollars per million tokens."""

    tiers: list[Tier] = Field(default=[], description="other prices for longer prompts")


class Deprecated(_Strict):
    """The end of a model."""

    since: Date | None = Field(default=None, description="day of the announcement, YYYY-MM-DD")
    retires: Date | None = Field(default=None, description="first day without the model, YYYY-MM-DD")
    successor: Name = Field(description="name of the model that the provider recommends instead")


class _Facts(_Strict):
    api: Name | None = Field(default=None, description="wire protocol; default: the provider's first")
    display_name: str | None = Field(default=None, description="name for people; default: the id")
    context_window: Tokens | None = Field(default=None, description="most tokens of input and output; default: unknown")
    max_output_tokens: Tokens | None = Field(default=None, description="most tokens of one answer; default: unknown")
    cost: Cost | None = Field(default=None, description="price; default: unknown")
    thinking_levels: dict[Level, Any] = Field(default={}, description="thinking level to what the wire wants for it")
    aliases: list[Name] = Field(default=[], description="other names that mean this model")
    options: dict[str, Any] = Field(default={}, description="facts for the adapter")
    deprecated: Deprecated | None = Field(default=None, description="when the model ends, and what follows it")


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


def _once(models: list[ModelEntry]) -> list[ModelEntry]:
    seen: set[str] = set()
    for entry in models:
        name = f"{entry.provider}/{entry.id}"
        if name in seen:
            raise PydanticCustomError("twice", "model {name} is defined twice", {"name": name})
        seen.add(name)
    return models


def _known(overrides: dict[str, Override]) -> dict[str, Override]:
    from skillkit_core.errors import UnknownName

    from .catalog import builtin, find

    for name in overrides:
        if find(name) is None:
            error = UnknownName("model", name, [f"{m.provider}/{m.id}" for m in builtin()])
            raise PydanticCustomError("unknown_model", "{problem}", {"problem": str(error)})
    return overrides


def _lead_to_models(aliases: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    if not aliases:
        return aliases
    from skillkit_core.errors import UnknownName

    from .catalog import builtin, definition, named

    own = [definition(entry.model_dump(exclude_none=True)) for entry in info.data.get("models", ())]
    models = [*own, *builtin()]
    for alias in aliases:
        if named(models, alias) is not None:
            _refuse(f"{alias!r} is the name of a model; choose another alias")
        seen = [alias]
        while (target := aliases[seen[-1]]) in aliases:
            if target in seen:
                _refuse(f"{' -> '.join([*seen, target])} leads back to itself")
            seen.append(target)
        if named(models, target) is None:
            error = UnknownName("model", target, [f"{m.provider}/{m.id}" for m in models])
            _refuse(f"{alias}: {error}; a model of your own also goes into catalog.models")
    return aliases


def _refuse(problem: str) -> NoReturn:
    raise PydanticCustomError("alias", "{problem}", {"problem": problem})


Models: TypeAlias = Annotated[list[ModelEntry], AfterValidator(_once)]
Overrides: TypeAlias = Annotated[dict[str, Override], AfterValidator(_known)]
Aliases: TypeAlias = Annotated[dict[Name, Name], AfterValidator(_lead_to_models)]
