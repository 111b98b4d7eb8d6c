"""Who answers, kept in the session where it changes: ``model_change`` and ``thinking_level_change`` (spec, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..events.types import ModelSelectEvent

if TYPE_CHECKING:
    from ..contracts.adapter import ThinkingLevel
    from .run import Run
    from .target import Target

__all__ = ["NO_THINKING", "ModelChoice", "keep_choice"]

NO_THINKING = "off"


class ModelChoice(NamedTuple):
    """The model of an answer, as its message names it: the provider, the wire protocol, and the model's id there."""

    provider: str
    api: str
    model: str


async def keep_choice(run: Run, target: Target, level: ThinkingLevel | None) -> None:
    """Write into the session what the next request changes for its branch, then emit ``model_select`` if the model does.

    The first model of a branch is no change: its answers name it. No level and ``off`` are the same: nobody asks for thinking.
    """
    agent, session = run.agent, run.agent.session
    model, wanted = ModelChoice(target.provider, target.adapter.api, target.model.id), level or NO_THINKING
    switched = session.model is not None and session.model != model
    if switched:
        await session.append_model_change(model)
    if wanted != session.thinking_level:
        await session.append_thinking_level_change(wanted)
    if agent.selection.take_change() or switched:
        bus = agent.events
        if bus.has("model_select"):
            await bus.emit(bus.make(ModelSelectEvent, model=target.model, provider=target.provider))
