"""The plugin ``catalog``: model definitions and the command ``models``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import Command, ConfigSection, hookimpl

if TYPE_CHECKING:
    from skillkit_core import HandlerContext, Host, ModelDefinition
    from skillkit_core.events.types import AgentStartEvent, ModelSelectEvent, UsageEvent

_UNKNOWN = "catalog.unknown"  # the topic while a person is to hear that the price or the window of a model is not known


@hookimpl
def register_models(register: Callable[[ModelDefinition], None], host: Host) -> None:
    """Offer the built-in models, refreshed and corrected by the configuration, and the user's own."""
    from .catalog import overlay_path
    from .configured import definitions

    overlay: dict[str, dict[str, Any]] = {}
    path = overlay_path(host.data_dir)
    try:
        if path.exists():  # most often nothing was refreshed
            from .overlay import read_overlay

            overlay = read_overlay(host.data_dir)
    except ValueError as error:
        host.note("catalog", f"{path} is not used: {error}", remedy="remove it with 'skillkit models refresh --undo'")
    for model in definitions(host.config.section("catalog", None), overlay):
        register(model)


@hookimpl
def resolve_model(name: str, provider: str | None, host: Host) -> ModelDefinition | None:
    """A name that the user gave to a model, or a model of the user, wins over what another plugin brings."""
    from .configured import aliased, own_model

    section = host.config.section("catalog", None)
    if (target := aliased(section, name)) is not None:
        model = host.models.get(target)
        return model if model is None or provider in (None, model.provider) else None
    return own_model(section, name, provider)


@hookimpl
def agent_start(event: AgentStartEvent, ctx: HandlerContext) -> Any:
    """Say once when the model ends. Where its price or its window is not known, wait for its first answer."""
    return _look_at(event.model, ctx)


@hookimpl
def model_select(event: ModelSelectEvent, ctx: HandlerContext) -> Any:
    """Do the same with a model that was chosen later."""
    return _look_at(event.model, ctx)


def _look_at(model: ModelDefinition | None, ctx: HandlerContext) -> Any:
    if model is None or (model.cost is not None and model.context_window and "deprecated" not in model.options):
        return None
    agent = ctx.agent
    if agent is None:
        return None
    if (model.cost is None or not model.context_window) and model not in agent.host.state("catalog").get("told", ()):
        agent.events.arm(_UNKNOWN)
    if model.options.get("deprecated"):
        from .notices import end_line, say

        return say(agent.host, agent.ui, end_line(model))
    return None


@hookimpl(while_=(_UNKNOWN,))
async def usage(event: UsageEvent, ctx: HandlerContext) -> None:
    """Say once, when the model has answered, whether its price or its window is not known."""
    agent = ctx.agent
    if agent is None or agent.target is None or not event.usage.total or not agent.target.adapter.progressive:
        return  # a stand-in for a model costs nothing
    model = agent.target.model
    if model.id != event.model:
        return
    agent.events.disarm(_UNKNOWN)
    if model.cost is None or not model.context_window:
        from .notices import say, unknown_line

        agent.host.state("catalog").setdefault("told", []).append(model)
        await say(agent.host, agent.ui, unknown_line(model))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit models``."""
    register(
        Command("models", "skillkit_catalog.cli:models", "List models, their windows and prices; what a request costs.")
    )


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare the section ``catalog``."""
    register(ConfigSection("catalog", "skillkit_catalog.config:CatalogConfig"))
