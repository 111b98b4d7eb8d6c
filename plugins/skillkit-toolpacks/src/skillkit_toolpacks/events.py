"""The event of tools that a model asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from skillkit_core import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsRequestedEvent(Event):
    """A model asked for a pack of tools. ``agent_path`` of the event says who.

    Attributes:
        pack: the pack; empty: none fits.
        why: what the model wants it for.
        tools: the tools that it gets for its next answer; empty: none.
        reason: why it gets none.
        count: how many packs the run has got.
    """

    type: ClassVar[str] = "tools_requested"
    pack: str = ""
    why: str = ""
    tools: tuple[str, ...] = ()
    reason: str = ""
    count: int = 0
