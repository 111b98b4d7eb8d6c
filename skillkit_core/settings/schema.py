"""The core's own settings."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CoreSettings"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PluginSettings(_Strict):
    """Which plugins run."""

    enabled: list[str] = Field(default=[], description="plugins to enable although the distribution does not list them")
    disabled: list[str] = Field(default=[], description="plugins that are not loaded")
    required: list[str] = Field(
        default=[], description="plugins without which nothing runs, for example one with guards"
    )
    import_timeout: float = Field(default=10.0, gt=0, description="seconds that importing one plugin may take")
    hook_timeout: float = Field(default=10.0, gt=0, description="seconds that one registration or host hook may take")


class SessionSettings(_Strict):
    """Where sessions are kept."""

    store: str | None = Field(default=None, description="session store to use; default: the first that is installed")


class LimitSettings(_Strict):
    """Bounds of one run."""

    turns: int | None = Field(default=200, ge=1, description="most rounds with the model")
    requests: int | None = Field(default=None, ge=1, description="most requests, retries included")
    tool_calls: int | None = Field(default=None, ge=0, description="most tool calls")
    tokens: int | None = Field(default=None, ge=1, description="most tokens, all buckets together")
    cost: float | None = Field(default=None, ge=0, description="most US dollars")
    depth: int = Field(default=4, ge=0, description="how deep agents may be nested")


class RetrySettings(_Strict):
    """When a request is made again after a failure that may pass."""

    attempts: int = Field(default=4, ge=1, description="how often one request is made at most")
    base_delay: float = Field(default=0.5, ge=0, description="seconds before the second attempt; doubled for each more")
    max_delay: float = Field(default=30.0, ge=0, description="most seconds between two attempts")
    max_server_delay: float = Field(
        default=60.0, ge=0, description="most seconds that a server may ask to wait; more fails at once"
    )


class ToolSettings(_Strict):
    """Which tools a model may have."""

    allow: list[str] = Field(default=[], description="opt-in tools that the model may have, for example bash")


class CoreSettings(_Strict):
    """Top-level keys of ``config.yaml``; every other key is the section of a plugin."""

    model: str | None = Field(default=None, description="model that answers")
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
