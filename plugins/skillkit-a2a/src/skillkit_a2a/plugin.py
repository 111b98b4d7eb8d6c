"""The plugin ``a2a``: the command ``a2a``, and agents elsewhere as a tool, as skills and as participants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import Command, hookimpl
from skillkit_core.descriptors import ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import Host, SkillSource, Tool


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``a2a``."""
    register(ConfigSection("a2a", "skillkit_a2a.config:Section"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit a2a``."""
    register(Command("a2a", "skillkit_a2a.command:a2a", "Work with agents of other hosts over A2A."))


def _calls(host: Host) -> bool:
    """Return whether an agent elsewhere may be set; what is not set costs no import."""
    return "a2a" in host.config.data


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tool that gives a task to an agent elsewhere, where one is set."""
    if _calls(host):
        from .calling.tool import delegating_tool

        if (tool := delegating_tool(host)) is not None:
            register(tool)


@hookimpl
def register_skill_sources(register: Callable[[SkillSource], None], host: Host) -> None:
    """Offer agents elsewhere as skills, where one is set and the plugin ``engines`` is there."""
    if _calls(host) and "engines" in host.kinds:
        from skillkit_core import SkillSource

        from .calling.settings import agents_of

        if agents_of(host):
            register(SkillSource("a2a", "user", trusted=True, loader="a2a"))


@hookimpl
def register_skill_loaders(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the loader of agents elsewhere, where the plugin ``engines`` is there."""
    if "engines" in host.kinds:
        register(Factory("a2a", "skillkit_a2a.calling.engine:AgentLoader", "agents of other hosts (a2a.client.agents)"))


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine of skills that are agents elsewhere, where the plugin ``engines`` is there."""
    register(Factory("a2a", "skillkit_a2a.calling.engine:AgentEngine", "an agent of another host does the work"))


@hookimpl(optionalhook=True)
def register_participants(register: Callable[[Factory], None]) -> None:
    """Offer agents elsewhere as participants, where the plugin ``collaboration`` is there."""
    register(Factory("a2a", "skillkit_a2a.calling.engine:AgentParticipants", "agents of other hosts: a2a:NAME"))
