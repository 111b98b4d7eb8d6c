"""The hooks of the family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun, HandlerContext, Host
    from skillkit_core.descriptors import Factory
    from skillkit_core.skills import Skill

    from .events import (
        BeforeTaskEvent,
        BeforeTaskResult,
        RouteSelectedEvent,
        TaskEndEvent,
        TaskNodeEvent,
        TaskStartEvent,
    )
    from .types import Fragment, Route, RouteRequest, SkillCandidate, StepTargets, ToolPack


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


@hookspec
def step_targets(agent: AgentRunner) -> StepTargets | None:
    """Return what may do a step of a compound request beside a skill; the first answer that is not ``None`` counts.

    A plain function, asked by a router before it asks a model. An implementation that fails is reported, and counts as no
    answer.
    """


@hookspec
async def skill_plan(skill: Skill, request: RouteRequest, agent: AgentRunner) -> Sequence[Mapping[str, Any]] | None:
    """Return the steps that a chosen skill brings for a request, as ``Route.plan``; ``None``: the skill does it alone.

    Asked for a route that has no steps of its own; the first answer that is not ``None`` counts. An implementation that fails is
    reported, and counts as no answer.
    """


@hookspec
async def drive_plan(route: Route, request: RouteRequest, run: DrivenRun) -> bool | None:
    """Do a request of several parts (``Route.plan``) in the place of one skill; the first that answers ``True`` has done it.

    It says the answer itself. Without any the skill of the route does the whole request. What it raises ends the run, as
    the exception of an engine does.
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
