"""A person decides before a task with ``supports_hitl`` changes anything, whatever its prompt says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillkit_core import ToolCallEventResult

if TYPE_CHECKING:
    from skillkit_core.events.types import ToolCallEvent

    from .types import Task

__all__ = ["guard_task"]


@contextmanager
def guard_task(task: Task) -> Iterator[None]:
    """Ask, while a task is done, about calls of tools that are marked ``requires_approval``.

    Where the skill ``supports_hitl``, about every call that changes anything, too: a tool without the annotation
    ``mutates: none`` changes the world.
    """

    def guard(event: ToolCallEvent) -> ToolCallEventResult | None:
        marked = event.annotations.get("requires_approval") is True
        changes = task.skill.supports_hitl and event.annotations.get("mutates") != "none"
        if not marked and not changes:
            return None
        return ToolCallEventResult(ask=f"{task.skill.name} wants to call {event.tool_name}.")

    remove = task.agent.events.on("before_tool_call", guard, phase="guard")
    try:
        yield
    finally:
        remove()
