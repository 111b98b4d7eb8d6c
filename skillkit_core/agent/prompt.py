"""The system prompt of a run: the configured one, and what plugins add to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..containment import call_contained
from ..descriptors import load_object

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["system_prompt"]


def system_prompt(agent: AgentRunner) -> str:
    """The configured prompt and what context providers add."""
    parts = [agent.config.system_prompt or agent.host.config.get("system_prompt", "")]
    entries = sorted(agent.host.context_providers.entries(), key=lambda e: e.item.order)
    for entry in entries:
        try:
            parts.append(call_contained(load_object(entry.item.provide), agent))
        except Exception as error:  # noqa: BLE001 - a part that fails is left out, and said
            agent.host.note(entry.source or "application", f"context provider {entry.name!r} failed: {error}")
    return "\n\n".join(part for part in parts if part)
