"""The plugin ``usage``: budgets that stop a run before it spends too much, and ``skillkit usage``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from skillkit_core import HandlerContext
    from skillkit_core.events.results import ModelRequestResult
    from skillkit_core.events.types import AgentEndEvent, AgentStartEvent, BeforeModelRequestEvent, UsageEvent

    from .guard import Guard

_BUDGETS = ("setting:usage.budgets",)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``usage``."""
    register(ConfigSection("usage", "skillkit_usage.config:UsageConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit usage``."""
    register(Command("usage", "skillkit_usage.cli:usage", "Show what requests used and cost, and the budgets."))


@hookimpl(while_=_BUDGETS)
def agent_start(event: AgentStartEvent, ctx: HandlerContext) -> None:
    """Take note of a run."""
    if (guard := _guard(ctx)) is not None:
        guard.agent_start(event)


@hookimpl(phase="guard", while_=_BUDGETS)
async def before_model_request(event: BeforeModelRequestEvent, ctx: HandlerContext) -> ModelRequestResult | None:
    """Stop a run before a request that would exceed a budget."""
    guard = _guard(ctx)
    return await guard.before_model_request(event, ctx) if guard is not None else None


@hookimpl(while_=_BUDGETS)
def usage(event: UsageEvent, ctx: HandlerContext) -> None:
    """Count what a request used."""
    if (guard := _guard(ctx)) is not None:
        guard.usage(event)


@hookimpl(while_=_BUDGETS)
def agent_end(event: AgentEndEvent, ctx: HandlerContext) -> None:
    """Forget the books of a run that is over."""
    if (guard := _guard(ctx)) is not None:
        guard.agent_end(event)


def _guard(ctx: HandlerContext) -> Guard | None:
    agent = ctx.agent
    if agent is None:
        return None
    from .guard import guard_of

    return guard_of(agent.host)
