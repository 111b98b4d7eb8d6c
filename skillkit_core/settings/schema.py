"""The core's own settings. Only where something is set are they validated, by pydantic, which is slow to import."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from ..config import Limits, RetryPolicy, setting

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """The choice of the plugins that run."""

    enabled: list[str] = setting(list, "plugins to enable although the distribution does not list them")
    disabled: list[str] = setting(list, "plugins that are not loaded")
    required: list[str] = setting(list, "plugins without which nothing runs, for example one with guards")
    import_timeout: float = setting(10.0, "seconds that importing one plugin may take", gt=0)
    hook_timeout: float = setting(10.0, "seconds that one registration or host hook may take", gt=0)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The store of sessions."""

    store: str | None = setting(None, "session store to use; default: the first that is installed")


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The tools that a model may have, and the executor that runs them."""

    allow: list[str] = setting(list, "opt-in tools that the model may have, for example bash")
    executor: str | None = setting(None, "executor that runs tools; default: they run in this process")


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """The core's top-level keys of ``config.yaml``. Every other key is the section of a plugin."""

    model: str | tuple[str, ...] | None = setting(
        None, "model that answers; of a list the next when one is overloaded or gone"
    )
    provider: str | None = setting(None, "provider that is asked")
    api: str | None = setting(None, "wire protocol, where the provider speaks several")
    base_url: str | None = setting(None, "endpoint to use instead of the provider's own")
    system_prompt: str = setting("", "what the model is told first")
    thinking: Literal["off", "minimal", "low", "medium", "high", "xhigh"] | None = setting(
        None, "how hard the model thinks"
    )
    distribution: str | None = setting(None, "distribution to run")
    runtime: str | None = setting(None, "runtime that runs commands and actions")
    compactor: str | None = setting(
        None, "compactor that shortens long conversations; default: the first installed one"
    )
    plugins: PluginSettings = field(default_factory=PluginSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    limits: Limits = field(default_factory=Limits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    tools: ToolSettings = field(default_factory=ToolSettings)


def _one_model(given: Any) -> Any:
    """Return a list of one model, as a variable gives it, as the model."""
    return next(iter(given), None) if isinstance(given, (list, tuple)) and len(given) < 2 else given


@cache
def model_of(values: type[Any]) -> type[BaseModel]:
    """Return the pydantic model of a dataclass: its fields, their defaults, bounds and descriptions."""
    from pydantic import ConfigDict, Field, create_model, field_validator

    types = get_type_hints(values)
    settings: dict[str, Any] = {}
    for one in fields(values):
        kind = types[one.name]
        if hasattr(kind, "__dataclass_fields__"):
            kind = model_of(kind)
            settings[one.name] = (kind, kind())
        else:
            default: Any = {"default_factory": list} if one.default_factory is list else {"default": one.default}
            settings[one.name] = (kind, Field(**default, **one.metadata))
    name, strict = values.__name__, ConfigDict(extra="forbid", frozen=True)
    checks = {"one_model": field_validator("model", mode="before")(_one_model)} if "model" in settings else {}
    made: Any = create_model(name, __config__=strict, __doc__=values.__doc__, __validators__=checks, **settings)
    return made  # type: ignore[no-any-return]


def values_of(values: Any, valid: BaseModel) -> Any:
    """Return the values of a valid model as the dataclass from which it was made."""
    types = get_type_hints(values)
    found = {one.name: getattr(valid, one.name) for one in fields(values)}
    return values(**{n: values_of(types[n], v) if hasattr(type(v), "model_fields") else v for n, v in found.items()})
