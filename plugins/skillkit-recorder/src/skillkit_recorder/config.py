"""The configuration of an agent as JSON, and an agent from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skillkit_core import AgentConfig, AgentRunner, Limits, ModelSettings, RetryPolicy
from skillkit_core.tools import plain_details

from .values import build, settings_from_json, settings_to_json, sparse

__all__ = ["config_from_json", "config_to_json"]

JSON = dict[str, Any]
OUTSIDE = (
    "model",
    "provider",
    "api",
    "base_url",
    "api_key",
    "settings",
    "tools",
    "cwd",
    "approver",
    "executor",
    "options",
)


def config_to_json(agent: AgentRunner) -> JSON:
    """What an agent goes by, the host's settings included; no endpoint, no credential, nothing of this machine."""
    config, host = agent.config, agent.host.config
    prompt = config.system_prompt or host.get("system_prompt", "")
    limits: Limits | None = agent.host.config.limits(agent.config.limits)
    retry: RetryPolicy | None = agent.host.config.retry(agent.config.retry)
    limits = None if limits == Limits() else limits
    retry = None if retry == RetryPolicy() else retry
    shown_config = replace(config, system_prompt=prompt, limits=limits, retry=retry)
    out = sparse(shown_config, leave_out=OUTSIDE)
    settings = config.settings or ModelSettings()
    thinking = settings.thinking or host.get("thinking")
    shown = settings_to_json(replace(settings, thinking=thinking))
    if shown:
        out["settings"] = shown
    if config.options:
        out["options"] = plain_details(dict(config.options))
    return out


def config_from_json(data: Mapping[str, Any]) -> AgentConfig:
    """The configuration that :func:`config_to_json` wrote; raises :class:`ValueError`."""
    values = dict(data)
    for name, cls in (("limits", Limits), ("retry", RetryPolicy)):
        if name in values:
            values[name] = build(cls, values[name])
    if values.get("only_tools") is not None:
        values["only_tools"] = frozenset(values["only_tools"])
    if "skills" in values:
        values["skills"] = tuple(values["skills"])
    if "settings" in values:
        values["settings"] = settings_from_json(values["settings"])
    return build(AgentConfig, values)
