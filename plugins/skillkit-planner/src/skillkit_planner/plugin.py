"""The plugin ``planner``: requests of several parts as plans, ``skillkit plans``, and ``/plans``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from skillkit_engines import Route, RouteRequest, SkillCandidate, StepTargets, ToolPack

    from skillkit_core import AgentRunner, DrivenRun, Host, Skill, SkillProblem
    from skillkit_core.tools import Tool, ToolSet


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the hooks and the events of plans."""
    from . import hooks

    add(hooks, events="skillkit_planner.events")


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``planner``."""
    register(ConfigSection("planner", "skillkit_planner.config:PlannerConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit plans``."""
    register(Command("plans", "skillkit_planner.cli:plans", "List, show and save the plans of sessions."))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/plans``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "plans",
            "Show the plan of this session, stop a step of it, or carry out a saved plan.",
            "skillkit_planner.slash:plans",
            "[show [PLAN] | stop [STEP] | run NAME WORDS | save NAME]",
            complete="skillkit_planner.slash:complete",
            while_running=True,
        )
    )


@hookimpl(optionalhook=True)
def used_fields() -> Collection[str]:
    """Name the field of skills that plans use."""
    return ("outputs",)


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``run_plan`` to the driver of a plan, and the tools that read plans to skills that name them and to steps."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("planner", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    state, session = agent.state("planner"), agent.open_session
    runs = state.get("runs") or (session is not None and "run_plan" in session.called)
    if not runs and agent.parent is None and not _named(agent):
        return ()
    from .reading import TOOLS

    if not runs:
        return TOOLS
    from .running import TOOLS as RUN

    found: tuple[Tool, ...] = state.setdefault("tools", (*RUN, *TOOLS))
    return found


def _named(agent: AgentRunner) -> bool:
    """Return whether a skill names a tool that reads plans; looked at once for a set of skills."""
    kept, skills = agent.host.state("planner"), agent.host.skills
    if kept.get("version") != skills.version:
        names = {"get_session_plan_tool", "get_step_output_tool"}
        found = any(names & {*skill.tools, *skill.optional_tools} for skill in skills.items())
        kept["version"], kept["named"] = skills.version, found
    return bool(kept["named"])


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack of the tools that read plans, where the plugin ``engines`` is there."""
    from skillkit_engines import ToolPack

    names = ("get_session_plan_tool", "get_step_output_tool")
    register(ToolPack("plan", "Read the plan of the request, and whole outputs of its steps.", names, optional=names))


@hookimpl(optionalhook=True)
async def select_skill(
    request: RouteRequest, candidates: Sequence[SkillCandidate], agent: AgentRunner | None
) -> Route | None:
    """Choose the plan that a person has named, or a plugin has made."""
    if agent is None:
        return None
    from skillkit_engines import named_plan

    if not named_plan(agent) and not agent.host.impls("make_plan"):
        return None
    from .choosing import select

    return await select(request, candidates, agent)


@hookimpl(optionalhook=True)
def step_targets(agent: AgentRunner) -> StepTargets | None:
    """Say what a step may name beside a skill, for the router that asks a model."""
    from .settings import settings_of

    if not settings_of(agent.host).enabled:
        return None
    from .offering import targets_of

    return targets_of(agent)


@hookimpl(optionalhook=True)
async def skill_plan(skill: Skill, request: RouteRequest, agent: AgentRunner) -> Sequence[Mapping[str, Any]] | None:
    """Return the steps of the plan that a skill brings, where all of it can be carried out here."""
    if not _brings_plan(skill):
        return None
    from .own import steps_here

    return await steps_here(skill, request, agent)


@hookimpl(optionalhook=True)
def check_skill(skill: Skill, host: Host) -> Sequence[SkillProblem] | None:
    """Say what is wrong with the plan that a skill brings."""
    if not _brings_plan(skill):
        return None
    from .own import problems

    return problems(skill, host)


def _brings_plan(skill: Skill) -> bool:
    """Return whether a skill says how it is done in steps."""
    block = skill.metadata.get("skillkit")
    return isinstance(block, Mapping) and "plan" in block


@hookimpl(optionalhook=True)
def check_plan(name: str, host: Host) -> None:
    """Refuse a plan that is not saved, or is none."""
    from .templates import load

    load(host, name)


@hookimpl(optionalhook=True)
def explain(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Plan of a turn in which a plan was carried out, where the plugin ``why`` is there."""
    if not agent.state("planner").get("runs"):
        return ()
    from .explaining import sections

    return sections(agent)


@hookimpl(optionalhook=True)
async def drive_plan(route: Route, request: RouteRequest, run: DrivenRun) -> bool | None:
    """Carry out the plan of a route."""
    state = run.agent.state("planner")
    state["runs"] = True
    run.agent.toolbox.changed()
    try:
        from .making import drive

        return await drive(route, request, run)
    finally:
        state["runs"] = False
        run.agent.toolbox.changed()
