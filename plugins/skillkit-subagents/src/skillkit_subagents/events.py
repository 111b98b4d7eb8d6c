"""What a front end draws the tree of agents from: an agent begins, works, and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillkit_core import hookspec
from skillkit_core.events.types import Event

if TYPE_CHECKING:
    from skillkit_core import HandlerContext

__all__ = ["Hooks", "SubagentEndEvent", "SubagentEvent", "SubagentStartEvent", "SubagentUpdateEvent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentEvent(Event):
    """Base of the events about one agent. They stand on the bus of the agent that asked.

    Attributes:
        id: id of the agent, the last part of ``path``.
        name: name of the agent: that of its file, else ``agent``.
        path: the ``agent_path`` of the agent's own events.
        session: session of the agent; ``None``: it is not kept.
        background: the agent that asked goes on meanwhile.
        turns: rounds with the model so far.
        tool_calls: tool calls so far.
        tokens: tokens so far, those of the agent's own agents included.
        cost: US dollars so far, as far as prices are known.
    """

    id: str = ""
    name: str = ""
    path: tuple[str, ...] = ()
    session: str | None = None
    background: bool = False
    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentStartEvent(SubagentEvent):
    """An agent begins to work. ``tools`` are the tools it is offered."""

    type: ClassVar[str] = "subagent_start"
    task: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentUpdateEvent(SubagentEvent):
    """An agent goes on. ``doing`` is what it does now, in a few words."""

    type: ClassVar[str] = "subagent_update"
    doing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentEndEvent(SubagentEvent):
    """An agent has ended.

    Attributes:
        outcome: ``completed``, ``limit``, ``stopped`` or ``failed``.
        reason: why it did not simply complete.
    """

    type: ClassVar[str] = "subagent_end"
    outcome: str = "completed"
    reason: str = ""


class Hooks:
    """The hooks of these events."""

    start, update, end = SubagentStartEvent, SubagentUpdateEvent, SubagentEndEvent

    @hookspec
    def subagent_start(self, event: SubagentStartEvent, ctx: HandlerContext) -> None:
        """Observe that an agent begins to work for another one.

        When: the tool ``spawn_agent`` was called, and there is room for one more agent.
        """

    @hookspec
    def subagent_update(self, event: SubagentUpdateEvent, ctx: HandlerContext) -> None:
        """Observe that an agent goes on.

        When: a turn of the agent begins, and one of its tools is called.
        """

    @hookspec
    def subagent_end(self, event: SubagentEndEvent, ctx: HandlerContext) -> None:
        """Observe that an agent has ended.

        When: once per ``subagent_start``.
        """
