"""Skills that run on engines: one request, one skill, one engine that does the work.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .below import BELOW as BELOW, run_below as run_below
    from .choosing import choose as choose, rank as rank, step_targets as step_targets
    from .discovering import discover as discover, gated_for as gated_for
    from .dispatch import editor_of as editor_of, last_route as last_route, name_plan as name_plan
    from .driver import TASK as TASK, do_task as do_task
    from .events import (
        BeforeTaskEvent as BeforeTaskEvent,
        BeforeTaskResult as BeforeTaskResult,
        RouteSelectedEvent as RouteSelectedEvent,
        TaskEndEvent as TaskEndEvent,
        TaskNodeEvent as TaskNodeEvent,
        TaskStartEvent as TaskStartEvent,
    )
    from .explaining import route_rows as route_rows
    from .gate import (
        Gated as Gated,
        filter_eligible as filter_eligible,
        gate_request as gate_request,
        gated_now as gated_now,
    )
    from .keeping import earlier_notes as earlier_notes, keep_note as keep_note
    from .notes import ROUTE as ROUTE
    from .pins import named_plan as named_plan
    from .registries import catalog_of as catalog_of, engine_of as engine_of
    from .rounds import Answered as Answered, Notebook as Notebook, converse as converse
    from .settings import settings_of as settings_of
    from .types import (
        CHAT as CHAT,
        EditorContext as EditorContext,
        Engine as Engine,
        Fragment as Fragment,
        Route as Route,
        RouteRequest as RouteRequest,
        SkillCandidate as SkillCandidate,
        StepTargets as StepTargets,
        Task as Task,
        TaskResult as TaskResult,
        ToolPack as ToolPack,
    )
    from .waiting import plain_tools as plain_tools
    from .work import (
        compose as compose,
        context_part as context_part,
        load_context as load_context,
        messages_of as messages_of,
        node as node,
        run_fragments as run_fragments,
        task_tools as task_tools,
        tool_names as tool_names,
    )

_WHERE = {
    "below": ("BELOW", "run_below"),
    "choosing": ("choose", "rank", "step_targets"),
    "discovering": ("discover", "gated_for"),
    "dispatch": ("editor_of", "last_route", "name_plan"),
    "pins": ("named_plan",),
    "driver": ("TASK", "do_task"),
    "explaining": ("route_rows",),
    "gate": ("Gated", "filter_eligible", "gate_request", "gated_now"),
    "keeping": ("earlier_notes", "keep_note"),
    "notes": ("ROUTE",),
    "events": (
        "BeforeTaskEvent", "BeforeTaskResult", "RouteSelectedEvent", "TaskEndEvent", "TaskNodeEvent", "TaskStartEvent",
    ),
    "registries": ("catalog_of", "engine_of"),
    "rounds": ("Answered", "Notebook", "converse"),
    "settings": ("settings_of",),
    "types": (
        "CHAT", "EditorContext", "Engine", "Fragment", "Route", "RouteRequest", "SkillCandidate", "StepTargets",
        "Task", "TaskResult", "ToolPack",
    ),
    "waiting": ("plain_tools",),
    "work": (
        "compose", "context_part", "load_context", "messages_of", "node", "run_fragments", "task_tools", "tool_names",
    ),
}  # fmt: skip
__all__ = [
    "BELOW", "CHAT", "ROUTE", "TASK", "Answered", "BeforeTaskEvent", "BeforeTaskResult", "EditorContext", "Engine", "Fragment",
    "Gated", "Notebook", "Route", "RouteRequest", "RouteSelectedEvent", "SkillCandidate", "StepTargets", "Task", "TaskEndEvent",
    "TaskNodeEvent", "TaskResult", "TaskStartEvent", "ToolPack", "catalog_of", "choose", "compose", "context_part",
    "converse", "discover", "do_task", "earlier_notes", "editor_of", "engine_of", "filter_eligible", "gate_request", "gated_for",
    "gated_now", "keep_note", "last_route", "load_context", "messages_of", "name_plan",
    "named_plan", "node", "plain_tools", "rank", "route_rows", "run_below", "run_fragments", "settings_of", "step_targets",
    "task_tools", "tool_names",
]  # fmt: skip

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    from importlib import import_module

    module = next((module for module, names in _WHERE.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found
