"""The context of a handler: its agent, session and user interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..abort import AbortSignal

if TYPE_CHECKING:
    from ..agent.runner import AgentRunner
    from ..agent.session import Session
    from ..contracts.user_interface import UserInterface
    from ..messages import AgentMessage, AssistantMessage
    from ..models import ModelDefinition
    from ..tools import Tool

__all__ = ["HandlerContext"]


class HandlerContext:
    """The second argument of a handler that takes two."""

    __slots__ = ("_ref",)

    def __init__(self, agent: AgentRunner | None = None) -> None:
        self._ref = ref(agent) if agent is not None else None  # the agent owns its context

    @property
    def agent(self) -> AgentRunner | None:
        """The agent; ``None`` on a bus without an agent, and after the agent is gone."""
        return self._ref() if self._ref is not None else None

    def _agent(self) -> AgentRunner:
        agent = self.agent
        if agent is None:
            raise RuntimeError("this event bus belongs to no agent, or the agent is gone")
        return agent

    @property
    def signal(self) -> AbortSignal:
        """Set when the run is aborted."""
        return self._agent().scheduler.signal

    @property
    def agent_path(self) -> tuple[str, ...]:
        """``("main",)``, or deeper for a nested run."""
        return self._agent().events.agent_path if self.agent is not None else ("main",)

    @property
    def session(self) -> Session:
        """The session of the agent; raises as :attr:`AgentRunner.session`."""
        return self._agent().session

    @property
    def ui(self) -> UserInterface | None:
        """The user interface that reaches a person; ``None`` where nobody can be asked."""
        agent = self.agent
        return agent.ui if agent is not None else None

    async def steer(self, message: str) -> str:
        """Call :meth:`AgentRunner.steer`."""
        return await self._agent().steer(message)

    async def follow_up(self, message: str) -> str:
        """Call :meth:`AgentRunner.follow_up`."""
        return await self._agent().follow_up(message)

    async def complete(
        self,
        messages: Sequence[AgentMessage],
        *,
        system: str = "",
        schema: Mapping[str, Any] | None = None,
        purpose: str,
        max_tokens: int | None = None,
        timeout: float | None = None,
        model: str | ModelDefinition | None = None,
        tools: Sequence[Tool] = (),
    ) -> AssistantMessage:
        """Ask a model once, beside the conversation, and return the answer.

        The request is in the books of the run (an entry ``usage`` of the purpose), under its limits, with its retries, and
        ends when the run is aborted. ``before_model_request`` and ``before_provider_request`` see it. Nothing is added to the
        conversation, no event of a message is emitted, no context provider adds to ``system``, and no tool is run.

        Args:
            messages: the conversation that the model gets, made legal first.
            system: the system prompt.
            schema: JSON Schema that the text of the answer must fit, where the model can hold to one.
            purpose: what the request is for, in the books: ``<plugin>.<what>``, for example ``routing.select``.
            max_tokens: most tokens of the answer; default: the model's.
            timeout: seconds for the whole answer, retries included; ``None``: no limit but that of the handler or tool.
            model: another model, as in :class:`AgentConfig`; default: the model of the run.
            tools: tools that the model may name in its answer.

        Raises:
            NoActiveRun: no run of the agent is active.
            LimitReached: a limit of the run, or a handler, forbids the request.
            ProviderError: the model could not answer.
            TimeoutError: the answer was not there in time.
            UsageError: the purpose is no such word, no message is left to send, or the model is unknown.
        """
        return await self._agent().scheduler.complete(
            messages, system=system, schema=schema, purpose=purpose, max_tokens=max_tokens, timeout=timeout, model=model,
            tools=tools,
        )  # fmt: skip

    def abort(self, reason: str | None = None) -> None:
        """End the run."""
        self._agent().abort(reason)

    def when_idle(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` (sync or async) when the run is over, for work that a handler must not await."""
        self._agent().scheduler.when_idle(callback)
