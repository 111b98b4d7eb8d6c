"""The plugin ``engine-editor``: skills that edit the open document, ``apply_operations``, ``skillkit edit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
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

    register(ToolSet("engine-editor", _tools))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    if not agent.state("engine-editor").get("works") and not _waits(agent):
        return ()
    from .applying import TOOLS

    return TOOLS


def _waits(agent: AgentRunner) -> bool:
    """Return whether the last answer calls the tool: the call may wait for a person, and is decided in this process."""
    session = agent.open_session
    answers = (message for message in reversed(session.messages if session is not None else ()))
    last = next((message for message in answers if message.role == "assistant"), None)
    return any(call.name == "apply_operations" for call in getattr(last, "tool_calls", ()))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit edit``."""
    register(
        Command("edit", "skillkit_engine_editor.cli:edit_file", "Let a skill edit a file, or take its last edit back.")
    )


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Open the document that ``skillkit edit`` named."""
    agent = ctx.agent
    if (
        agent is not None
        and agent.parent is None
        and not agent.config.bare
        and (given := _opened(agent.host)) is not None
    ):
        agent.configure(options={**agent.config.options, "editor": given})


def _opened(host: Host) -> Any:
    return host.state("engine-editor").get("document")
