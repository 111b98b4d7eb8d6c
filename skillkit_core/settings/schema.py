"""The core's own settings."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from ..config import Limits, RetryPolicy


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PluginSettings(_Strict):
    """The choice of the plugins that run."""

    enabled: list[str] = Field(default=[], description="plugins to enable although the distribution does not list them")
    disabled: list[str] = Field(default=[], description="plugins that are not loaded")
    required: list[str] = Field(
        default=[], description="plugins without which nothing runs, for example one with guards"
    )
    import_timeout: float = Field(default=10.0, gt=0, description="seconds that importing one plugin may take")
    hook_timeout: float = Field(default=10.0, gt=0, description="seconds that one registration or host hook may take")


class SessionSettings(_Strict):
    """The store of sessions."""

    store: str | None = Field(default=None, description="session store to use; default: the first that is installed")


def _section(values: type[Any]) -> type[_Strict]:
    """Return the settings that a dataclass declares: its fields, their defaults, bounds and descriptions."""
    types = get_type_hints(values)
    settings: Any = {f.name: (types[f.name], Field(default=f.default, **f.metadata)) for f in fields(values)}
    made: type[_Strict] = create_model(
        f"{values.__name__}Settings", __base__=_Strict, __doc__=values.__doc__, **settings
    )
    return made


if TYPE_CHECKING:
    from ..config import Limits as LimitSettings, RetryPolicy as RetrySettings
else:
    LimitSettings, RetrySettings = _section(Limits), _section(RetryPolicy)


class ToolSettings(_Strict):
    """The tools that a model may have, and the executor that runs them."""

    allow: list[str] = Field(default=[], description="opt-in tools that the model may have, for example bash")
    executor: str | None = Field(
        default=None, description="executor that runs tools; default: they run in this process"
    )


class CoreSettings(_Strict):
    """The core's top-level keys of ``config.yaml``. Every other key is the section of a plugin."""

    model: str | tuple[str, ...] | None = Field(
        default=None, description="model that answers; of a list the next one when the one before is overloaded or gone"
    )
    provider: str | None = Field(default=None, description="provider that is asked")
    api: str | None = Field(default=None, description="wire protocol, where the provider speaks several")
    base_url: str | None = Field(default=None, description="endpoint to use instead of the provider's own")
    system_prompt: str = Field(default="", description="what the model is told first")
    thinking: Literal["off", "minimal", "low", "medium", "high", "xhigh"] | None = Field(
        default=None, description="how hard the model should think"
    )
    distribution: str | None = Field(default=None, description="distribution to run")
    runtime: str | None = Field(default=None, description="runtime that runs commands and actions")
    compactor: str | None = Field(
        default=None, description="compactor that shortens long conversations; default: the first that is installed"
    )
    plugins: PluginSettings = PluginSettings()
    session: SessionSettings = SessionSettings()
    limits: LimitSettings = LimitSettings()
    retry: RetrySettings = RetrySettings()
    tools: ToolSettings = ToolSettings()

    @field_validator("model")
    @classmethod
    def _one_model(cls, model: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        """Return a list of one model, as a variable gives it, as the model."""
        return model if model is None or isinstance(model, str) or len(model) > 1 else next(iter(model), None)
