"""The plugin ``engine-editor``: skills that edit the open document, ``apply_operations``, ``skillkit edit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import SessionStartEvent
    from skillkit_core.tools import Tool, ToolSet


@hookimpl(optionalhook=True)
def register_engines(register: Callable[[Factory], None]) -> None:
    """Offer the engine, where the plugin ``engines`` is there."""
    register(
        Factory("editor", "skillkit_engine_editor.engine:EditorEngine", "edits of the open document, as proposals")
    )


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``apply_operations`` to the engine, while it works or a call of it waits; no model is offered it."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("engine-editor", _tools, lasting=True))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    if not agent.state("engine-editor").get("works") and not _waits(agent):
        return ()
    from .applying import TOOLS

    return TOOLS


def _waits(agent: AgentRunner) -> bool:
    """Return whether the last answer calls the tool: the call may wait for a person, and is decided in this process."""
    session = agent.open_session
    return session is not None and "apply_operations" in session.called


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit edit``."""
    register(
        Command("edit", "skillkit_engine_editor.cli:edit_file", "Let a skill edit a file, or take its last edit back.")
    )


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/editor``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "editor",
            "Open a file for skills that edit, close it, or tell what is open.",
            "skillkit_engine_editor.slash:editor",
            "[FILE [TYPE] | close]",
        )
    )


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Open the document that ``skillkit edit`` named."""
    agent = ctx.agent
    if agent is None or agent.parent is not None or agent.config.bare:
        return
    if (given := agent.host.state("engine-editor").get("document")) is not None:
        from .documents import open_document

        open_document(agent, given)
