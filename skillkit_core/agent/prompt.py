"""The system prompt of a run: the configured one, and what plugins add to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..containment import call_contained
from ..descriptors import load_object

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["joined", "prompt_parts"]


def prompt_parts(agent: AgentRunner) -> Mapping[str, str]:
    """The configured prompt (``system_prompt``) and what context providers add, by their names; without secrets, none empty."""
    parts = {"system_prompt": agent.config.system_prompt or agent.host.config.get("system_prompt", "")}
    entries = sorted(agent.host.context_providers.entries(), key=lambda e: e.item.order)
    for entry in entries:
        try:
            name = entry.name if entry.name not in parts else entry.address
            parts[name] = call_contained(load_object(entry.item.provide), agent)
        except Exception as error:  # noqa: BLE001 - a part that fails is left out, and said
            agent.host.note(entry.source or "application", f"context provider {entry.name!r} failed: {error}")
    return {name: agent.host.redact(part) for name, part in parts.items() if part}


def joined(parts: Mapping[str, str]) -> str:
    """The parts as one text."""
    return "\n\n".join(parts.values())
