"""The plugin ``collaboration``: the engine, its strategies and participants, ``skillkit collaborate`` and ``collaborations``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_engines import Task, TaskResult

    from skillkit_core import AgentRunner, Host, SkillSource
    from skillkit_core.tools import Tool, ToolSet


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the hooks and the events of sessions, and the registries of strategies and participants."""
    from . import hooks

    kinds = {"strategies": Factory, "participants": Factory}
    add(hooks, events="skillkit_collaboration.events", kinds=kinds)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``collaboration``."""
    register(ConfigSection("collaboration", "skillkit_collaboration.config:Section"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit collaborate`` and ``skillkit collaborations``."""
    register(Command("collaborate", "skillkit_collaboration.cli:collaborate", "Let several skills work on one thing."))
    register(Command("collaborations", "skillkit_collaboration.cli:collaborations", "List and show such sessions."))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/collaborations``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "collaborations",
            "Show what skills that worked together wrote to each other.",
            "skillkit_collaboration.slash:collaborations",
            "[ID]",
            complete="skillkit_collaboration.slash:complete",
            while_running=True,
        )
    )


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    about = "several skills, one after the other, until the result is approved"
    register(Factory("collaboration", "skillkit_collaboration.engine:CollaborationEngine", about))


@hookimpl(optionalhook=True)
def register_strategies(register: Callable[[Factory], None]) -> None:
    """Offer three strategies."""
    where = "skillkit_collaboration.strategies"
    register(Factory("round_robin", f"{where}:RoundRobin", "everybody in a fixed order"))
    register(Factory("role_based", f"{where}:RoleBased", "whoever has to answer by the roles"))
    register(Factory("llm", f"{where}:Llm", "whom a model chooses"))


@hookimpl(optionalhook=True)
def register_participants(register: Callable[[Factory], None]) -> None:
    """Offer skills and agents of files as participants."""
    where = "skillkit_collaboration.participants"
    register(Factory("skill", f"{where}:SkillParticipants", "skills"))
    register(Factory("agent", f"{where}:AgentParticipants", "agents of files: agent:NAME"))


@hookimpl
def register_skill_sources(register: Callable[[SkillSource], None], host: Host) -> None:
    """Offer the patterns of the settings as skills."""
    from .settings import settings_of

    if not settings_of(host).patterns:
        return
    from skillkit_core import SkillSource

    register(SkillSource("collaboration", "user", trusted=True, loader="collaboration"))


@hookimpl
def register_skill_loaders(register: Callable[[Factory], None]) -> None:
    """Offer the loader of patterns."""
    register(Factory("collaboration", "skillkit_collaboration.patterns:PatternLoader", "patterns of the settings"))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer the tool that leads a session to the engine alone."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("collaboration", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    session = agent.open_session
    if not agent.state("collaboration").get("leads") and (
        session is None or "lead_collaboration" not in session.called
    ):
        return ()
    from .engine import TOOLS

    return TOOLS


@hookimpl(optionalhook=True)
async def run_collaboration(collaboration: Mapping[str, Any], task: Task) -> TaskResult | None:
    """Do a step of a plan in which several skills work on one thing, where the plugin ``planner`` is there."""
    from skillkit_engines import do_task

    from .engine import CollaborationEngine

    return await do_task(CollaborationEngine(task.agent.host, collaboration), task, None)
