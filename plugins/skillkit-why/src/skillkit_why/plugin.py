"""The plugin ``why``: notes of each turn in the session, ``skillkit why`` and ``/why``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext
    from skillkit_core.events.types import (
        ApprovalResolvedEvent,
        BeforeAgentStartEvent,
        BeforeModelRequestEvent,
        ModelSelectEvent,
        RetryScheduledEvent,
        ToolExecutionEndEvent,
        TurnEndEvent,
    )

    from . import Section
    from .recorder import Recorder


class Hooks:
    """The hooks of the family: what only their plugins know."""

    @hookspec
    def explain_tools(self, agent: AgentRunner) -> Mapping[str, str] | None:
        """Return why tools are not offered to a model, or which of their calls would be refused, by the name of the tool.

        A plain function, asked once a run, and when the tools change. It is asked after the answer has come.
        """

    @hookspec
    def explain_skills(self, agent: AgentRunner) -> Sequence[Mapping[str, str]] | None:
        """Return a row for each skill: ``name``, ``source``, ``state`` (``listed``, ``active`` or ``hidden``) and ``reason``.

        As :meth:`explain_tools`.
        """

    @hookspec
    def explain(self, agent: AgentRunner) -> Sequence[Section] | None:
        """Return sections of the page of a turn, about what this plugin decided in it: a route, a plan, a budget.

        A plain function, asked at the end of each turn, also of one that code drives; in a session that no file keeps it is
        asked when somebody wants the page.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``explain_tools``, ``explain_skills`` and ``explain``."""
    add(Hooks)


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit why``."""
    register(
        Command("why", "skillkit_why.cli:why", "Explain a turn: what the model was sent, what was left out, and why.")
    )


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/why``, where the plugin ``commands`` is there."""
    from skillkit_commands import SlashCommand

    register(
        SlashCommand(
            "why", "Explain a turn: what the model was sent, and why.", "skillkit_why.slash:why", "[TURN | TURN TURN]"
        )
    )


def _recorder(ctx: HandlerContext) -> Recorder | None:
    agent = ctx.agent
    if agent is None:
        return None
    kept = agent.state("why")
    found: Recorder | None = kept.get("recorder")
    if found is None:
        from .recorder import Recorder

        found = kept["recorder"] = Recorder(agent.config.model)
    return found


@hookimpl(phase="last")
def before_agent_start(event: BeforeAgentStartEvent, ctx: HandlerContext) -> None:
    """Keep the sections of the system prompt for the turns of this run."""
    if (recorder := _recorder(ctx)) is not None:
        recorder.begin(event.parts)


@hookimpl(phase="last")
def before_model_request(event: BeforeModelRequestEvent, ctx: HandlerContext) -> None:
    """Keep what is about to be sent; nothing is computed or written before the request."""
    if event.purpose == "turn" and (recorder := _recorder(ctx)) is not None and ctx.agent is not None:
        recorder.asked(event, ctx.agent)


@hookimpl
def model_select(event: ModelSelectEvent, ctx: HandlerContext) -> None:
    """Keep the reason of a fallback."""
    if event.reason and (recorder := _recorder(ctx)) is not None:
        recorder.fallbacks.append(event.reason)


@hookimpl
def retry_scheduled(event: RetryScheduledEvent, ctx: HandlerContext) -> None:
    """Keep why a request is made again."""
    if (recorder := _recorder(ctx)) is not None:
        recorder.retries.append({"error": event.error[:300], "delay": round(event.delay, 1)})


@hookimpl
def approval_resolved(event: ApprovalResolvedEvent, ctx: HandlerContext) -> None:
    """Keep what was decided about a call."""
    if (recorder := _recorder(ctx)) is not None:
        recorder.decided(event)


@hookimpl
def tool_execution_end(event: ToolExecutionEndEvent, ctx: HandlerContext) -> None:
    """Keep what guards said of a call."""
    if event.guards and (recorder := _recorder(ctx)) is not None:
        recorder.guarded(event)


@hookimpl(phase="last")
async def turn_end(event: TurnEndEvent, ctx: HandlerContext) -> None:
    """Write the note of the turn; in a session that no file keeps, keep the turn for who asks for it before the next one."""
    if (recorder := _recorder(ctx)) is None or ctx.agent is None:
        return
    if ctx.agent.session.location is None:
        recorder.ended = event
    else:
        await recorder.end(event, ctx.agent)
