"""The hooks of the family, and the events of routes and tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from skillkit_core import UNSET, Event, EventResult, hookspec
from skillkit_core.events.results import Unset

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.descriptors import Factory
    from skillkit_core.skills import Skill

    from .types import Fragment, Route, RouteRequest, SkillCandidate, ToolPack


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


# --- what plugins bring -------------------------------------------------------------------------------------------


@hookspec
def register_engines(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer engines: ``register(Factory("automation", "acme.engine:Engine"))``, which makes an :class:`Engine` of the host."""


@hookspec
def register_packs(register: Callable[[ToolPack], None], host: Host, config: Any) -> None:
    """Offer packs of tools: ``register(ToolPack("capture", "Keep notes.", ("add_note",)))``."""


@hookspec
def register_fragments(register: Callable[[Fragment], None], host: Host, config: Any) -> None:
    """Offer fragments: ``register(Fragment("tidy", "Tidies a text.", "acme.tidy:run"))``."""


@hookspec
def register_context_loaders(register: Callable[[Factory], None], host: Host, config: Any) -> None:
    """Offer loaders of context, for ``context_loader`` of skills: ``register(Factory("chapters", "acme.load:Chapters"))``.

    The factory makes an object with ``async load(task) -> str``, which is asked once a task, and has ten seconds.
    """


# --- how a skill is chosen ----------------------------------------------------------------------------------------


@hookspec
def rank_skills(query: str, skills: Sequence[Skill], agent: AgentRunner | None) -> Sequence[SkillCandidate] | None:
    """Return the candidates of ``skills`` for a request, best first, or ``None``.

    A plain function. Each implementation gets the skills in the order of the one before, so that a later one may reorder
    and leave out. One that fails is reported, and counts as no answer.
    """


@hookspec
async def select_skill(
    request: RouteRequest, candidates: Sequence[SkillCandidate], agent: AgentRunner | None
) -> Route | None:
    """Choose one of the candidates, or ``chat``; the first answer that is not ``None`` counts.

    An implementation that fails, or takes longer than ``engines.timeout``, is reported, and counts as no answer. Without any
    answer the agent itself answers.
    """


# --- the life of a task -------------------------------------------------------------------------------------------


@hookspec
def route_selected(event: RouteSelectedEvent, ctx: HandlerContext) -> None:
    """See which skill was chosen for a request. Observed."""


@hookspec
def before_task(event: BeforeTaskEvent, ctx: HandlerContext) -> BeforeTaskResult | None:
    """Block a task, narrow its tools, or add context, before its engine begins."""


@hookspec
def task_start(event: TaskStartEvent, ctx: HandlerContext) -> None:
    """See that an engine begins with a task. Observed."""


@hookspec
def task_node(event: TaskNodeEvent, ctx: HandlerContext) -> None:
    """See a part of a task begin or end. Observed."""


@hookspec
def task_end(event: TaskEndEvent, ctx: HandlerContext) -> None:
    """See that an engine is done with a task. Observed."""
