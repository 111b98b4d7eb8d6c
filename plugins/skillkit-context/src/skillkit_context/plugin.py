"""The plugin ``context``: how to work, context files, prompt files, facts of the environment, and ``skillkit context``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, ContextProvider
from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import InputEvent


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``context``."""
    register(ConfigSection("context", "skillkit_context.settings:Settings"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit context``."""
    register(Command("context", "skillkit_context.cli:context", "Show what a model is told before the conversation."))


@hookimpl
def register_context_providers(register: Callable[[ContextProvider], None]) -> None:
    """Offer the sections ``work``, ``prompts`` and ``instructions``; the list of skills follows them."""
    register(ContextProvider("work", _work, order=10))
    register(ContextProvider("prompts", _prompts, order=20))
    register(ContextProvider("instructions", _instructions, order=30))


@hookimpl
def project_content(register: Callable[..., None], folder: str, settings: Mapping[str, Any], host: Host) -> None:
    """Name the context files of a project, what they import, and its prompt files."""
    from .workspace import described_parts

    for path, describe in described_parts(host, folder, settings):
        register(path, describe)


@hookimpl(phase="last")
async def input(event: InputEvent, ctx: HandlerContext) -> None:
    """Tell a model the facts of the environment that it has not been told; the request stays the last word."""
    agent = ctx.agent
    if agent is None or event.delivery != "prompt" or agent.session.suspension() is not None:
        return
    with suppress(SkillKitError):  # the run fails with the same error
        await agent.find_target()
    if _reads(agent):
        from .facts import new_facts

        if (message := new_facts(agent)) is not None:
            await agent.session.append_message(message)


def _reads(agent: AgentRunner) -> bool:
    """Return whether a model reads what is said here; a stand-in for a model takes each text for a request."""
    target = agent.target
    return target is None or target.adapter.progressive


def _work(agent: AgentRunner) -> str | None:
    if not _reads(agent):
        return None
    from .work import work_text

    return work_text(agent)


def _prompts(agent: AgentRunner) -> str | None:
    if not _reads(agent):
        return None
    from .workspace import prompts_text

    return prompts_text(agent.host)


def _instructions(agent: AgentRunner) -> str | None:
    if not _reads(agent):
        return None
    from .workspace import instructions_text

    return instructions_text(agent.host)
