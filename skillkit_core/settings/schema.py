"""The core's own settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..config import Limits, RetryPolicy, setting


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """The choice of the plugins that run."""

    enabled: list[str] = setting(list, "plugins to enable although the distribution does not list them")
    disabled: list[str] = setting(list, "plugins that are not loaded")
    required: list[str] = setting(list, "plugins without which nothing runs, for example one with guards")
    isolate: list[str] = setting(list, "plugins that run in processes of their own; also plugins.NAME.isolated: true")
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


def _one_model(given: Any) -> Any:
    """Return a list of one model, as a variable gives it, as the model."""
    return next(iter(given), None) if isinstance(given, tuple) and len(given) < 2 else given


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """The core's top-level keys of ``config.yaml``. Every other key is the section of a plugin."""

    model: str | tuple[str, ...] | None = setting(
        None, "model that answers; of a list the next when one is overloaded or gone", check=_one_model
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
