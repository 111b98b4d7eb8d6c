"""Asks a model outside of any run: for ``skillkit routing``, and for routers that choose in the shadow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import AgentConfig, AgentRunner, ModelSettings, resolve_target
from skillkit_core.errors import SkillKitError
from skillkit_core.messages import AssistantMessage, TextBlock

if TYPE_CHECKING:
    from skillkit_core import AgentMessage, Host, Target

__all__ = ["Asker", "asker", "target_of"]


class Asker:
    """Asks as :meth:`HandlerContext.complete` does, each time by an agent of its own with nothing but the question.

    Attributes:
        cost: US dollars of all questions, as far as prices are known.
        answers: the texts of all answers.
    """

    def __init__(self, host: Host, target: Target) -> None:
        self._host, self._target = host, target
        self.cost = 0.0
        self.answers: list[str] = []

    async def __call__(
        self,
        messages: Sequence[AgentMessage],
        *,
        system: str,
        purpose: str,
        schema: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        model: str | None = None,
    ) -> AssistantMessage:
        """Return the answer, or raise as ``complete`` does."""
        config = AgentConfig(
            bare=True,
            model=model or self._target.model,
            system_prompt=system,
            only_tools=frozenset(),
            settings=ModelSettings(response_schema=schema),
        )
        async with (
            asyncio.timeout(timeout),
            AgentRunner(config, host=self._host, name=purpose.replace(".", "-")) as agent,
        ):
            if model is None:
                agent.set_adapter(self._target.adapter)
            response = await agent.chat(messages[-1].text)
        self.cost += response.cost or 0.0
        self.answers.append(response.content)
        return AssistantMessage(content=(TextBlock(response.content),), usage=response.usage)


async def target_of(host: Host) -> Target | None:
    """Return the model that a conversation would ask; ``None``: there is none, or only a stand-in for one."""
    try:
        target = await resolve_target(host, AgentConfig())
    except SkillKitError:
        return None
    return target if target.adapter.progressive else None


async def asker(host: Host) -> Asker | None:
    """Return what asks the configured model; ``None``: there is none."""
    target = await target_of(host)
    return Asker(host, target) if target is not None else None
