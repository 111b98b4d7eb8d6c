"""The plugin ``engine-research``: skills that look for something and answer with sources, and ``skillkit research``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.contracts.skill_loader import SkillSource


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    register(
        Factory("research", "skillkit_engine_research.engine:ResearchEngine", "rounds of search, answers with sources")
    )


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``research``."""
    register(ConfigSection("research", "skillkit_engine_research.config:ResearchConfig"))


@hookimpl
def register_skill_sources(register: Callable[[SkillSource], None], host: Host) -> None:
    """Offer the skill of each mode that comes with the engine, where the settings want them (``research.skills``)."""
    section = host.config.section("research", None)
    if section is None or not section.skills:
        return
    from skillkit_core.contracts.skill_loader import SkillSource

    register(SkillSource("research", "plugin", package="skillkit_engine_research.skills"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit research``."""
    register(
        Command(
            "research", "skillkit_engine_research.cli:research", "Show modes of research, and what a session found."
        )
    )


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/sources``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "sources",
            "List the sources that research has found, or show the text of one.",
            "skillkit_engine_research.slash:sources",
            "[ID]",
        )
    )


@hookimpl(optionalhook=True)
def explain(agent: AgentRunner) -> Sequence[Any]:
    """Return the section Research of a turn, where the plugin ``why`` is there."""
    from .explaining import sections

    return sections(agent)
