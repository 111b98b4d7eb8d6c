"""The plugin ``engines``: the family of engines, the dispatcher, ``/route`` and the section Route of ``why``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import SessionStartEvent
    from skillkit_core.skills import Skill, SkillProblem


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the hooks, the events, and the registries of engines, packs, fragments and context loaders."""
    from . import hooks

    add(
        hooks,
        events="skillkit_engines.events",
        kinds={
            "engines": Factory,
            "packs": "skillkit_engines.types:ToolPack",
            "fragments": "skillkit_engines.types:Fragment",
            "context_loaders": Factory,
        },
    )


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``engines``."""
    register(ConfigSection("engines", "skillkit_engines.config:EnginesConfig"))


@hookimpl(optionalhook=True)
def engine_packages() -> Mapping[str, str]:
    """Name the packages of engines that skills are written for."""
    from .registries import PACKAGES

    return PACKAGES


@hookimpl(optionalhook=True)
def check_skill(skill: Skill, host: Host) -> Sequence[SkillProblem]:
    """Say what a skill with an engine names that nobody brings, and what its engine says of it."""
    from .registries import catalog_of

    return catalog_of(host).problems(skill)


@hookimpl(optionalhook=True)
def used_fields(host: Host) -> Collection[str]:
    """Name the fields of skills that the engines of this host use."""
    engines = host.registry("engines")
    return {field for name in engines.list() for field in engines.get(name).fields}


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/route``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "route",
            "Tell where the last input went, or let one skill take the inputs to come.",
            "skillkit_engines.slash:route",
            "[SKILL | auto]",
            complete="skillkit_engines.slash:complete",
        )
    )


@hookimpl(optionalhook=True)
def register_indicators(register: Callable[[Factory], None]) -> None:
    """Show the skill that answers in the status line of front ends."""
    register(Factory("route", "skillkit_engines.explaining:indicator"))


@hookimpl(optionalhook=True)
def explain(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Route of a turn, where the plugin ``why`` is there."""
    from .explaining import sections

    return sections(agent)


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Route the inputs of a session where a skill names an engine that is there; else nothing is added to its turns."""
    agent = ctx.agent
    if agent is None or agent.parent is not None or agent.config.bare:
        return
    engines = frozenset(agent.host.registry("engines").list()) - {"conversational"}
    named = bool(agent.config.options.get("plan"))
    if not named and (not engines or all(skill.engine not in engines for skill in agent.host.skills.items())):
        return
    from .dispatch import Dispatcher, has_routed_skills

    if named or has_routed_skills(agent):
        Dispatcher.of(agent).listen()
