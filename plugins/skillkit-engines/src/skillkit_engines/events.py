"""The events of routes and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from skillkit_core import UNSET, Event, EventResult
from skillkit_core.events.results import Unset


def _combined(rule: str) -> Any:
    return field(default=UNSET, metadata={"merge": rule})


@dataclass(frozen=True, slots=True)
class BeforeTaskResult(EventResult):
    """What a handler of ``before_task`` may answer.

    Attributes:
        block: the skill does not do this task: as if it had rejected it, so that another one is chosen.
        reason: the reason of the block.
        tools: the only tools that the task may use, of those of its skill.
        context: text that the task gets beside the request, marked as data; each answer joins the ones before.
    """

    block: bool | Unset = _combined("any")
    reason: str | Unset = _combined("last")
    tools: Sequence[str] | Unset = _combined("last")
    context: str | Unset = _combined("joined")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSelectedEvent(Event):
    """A skill was chosen for a request.

    Attributes:
        query: the words of the person.
        skill: the name of the skill, or ``chat``.
        engine: the engine of the skill; empty: the agent itself answers.
        confidence, reason, by, why, calls, replaced: as in :class:`~skillkit_engines.Route`.
    """

    type: ClassVar[str] = "route_selected"
    query: str = ""
    skill: str = ""
    engine: str = ""
    confidence: float = 1.0
    reason: str = ""
    by: str = ""
    why: str = ""
    calls: int = 0
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeTaskEvent(Event):
    """A task is about to begin: ``task`` is its id, ``tools`` are the names of the tools that it would have."""

    type: ClassVar[str] = "before_task"
    answer: ClassVar = BeforeTaskResult
    task: str = ""
    skill: str = ""
    engine: str = ""
    query: str = ""
    tools: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStartEvent(Event):
    """An engine begins with a task."""

    type: ClassVar[str] = "task_start"
    task: str = ""
    skill: str = ""
    engine: str = ""
    query: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNodeEvent(Event):
    """A part of a task begins or has ended; ``ms``: how long it took."""

    type: ClassVar[str] = "task_node"
    task: str = ""
    skill: str = ""
    node: str = ""
    state: Literal["begin", "end"] = "begin"
    ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEndEvent(Event):
    """An engine is done with a task: ``status``, ``reason`` and ``denied`` of its result."""

    type: ClassVar[str] = "task_end"
    task: str = ""
    skill: str = ""
    engine: str = ""
    status: str = ""
    reason: str = ""
    denied: tuple[str, ...] = ()
