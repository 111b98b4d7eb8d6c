"""A completion: one model call beside the conversation, in the books, under the limits and with the retries of a run."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any

from ..contracts.adapter import LLMRequest, ModelSettings
from ..errors import RunAborted, UsageError
from ..estimates import estimate_usage
from ..messages import AgentMessage, AssistantMessage
from ..stream import MessageBuilder, StreamEvent
from ..tools import Tool
from .model_call import ModelCall, Turn
from .repair import repair
from .run import Run
from .transcript import Transcript

if TYPE_CHECKING:
    from ..models import ModelDefinition

__all__ = ["complete"]

_WORD = re.compile(r"[a-z0-9_-]+\.[a-z0-9_.-]+\Z")


async def complete(
    run: Run,
    messages: Sequence[AgentMessage],
    *,
    system: str = "",
    schema: Mapping[str, Any] | None = None,
    purpose: str,
    max_tokens: int | None = None,
    timeout: float | None = None,
    model: str | ModelDefinition | None = None,
    tools: Sequence[Tool] = (),
    role: str | None = None,
) -> AssistantMessage:
    """Return the answer of a model; see :meth:`HandlerContext.complete`."""
    if not _WORD.match(purpose):
        raise UsageError(f"{purpose!r} is no purpose of a request", hint="write '<plugin>.<what>'")
    if run.signal.aborted:
        raise RunAborted(f"the run was aborted: {run.signal.reason or 'no reason given'}")
    settings = ModelSettings(max_tokens=max_tokens, response_schema=schema)
    offered = tuple(sorted(tools, key=lambda tool: tool.name))
    asked = Completion(run, messages, system, purpose=purpose, tools=offered, settings=settings, model=model, role=role)
    run.ledger.require_room()
    async with asyncio.timeout(None) as limit:
        if timeout is not None:
            # the loop keeps a cancelled timer, which must not keep the context of the run alive
            Context().run(limit.reschedule, run.loop.time() + timeout)
        return await asked.ask(Turn())


class Completion(ModelCall):
    """A model call whose answer its caller alone gets: no context, no event of a message, no entry but that of its usage."""

    def __init__(
        self,
        run: Run,
        messages: Sequence[AgentMessage],
        system: str = "",
        *,
        purpose: str,
        tools: tuple[Tool, ...] = (),
        settings: ModelSettings | None = None,
        model: str | ModelDefinition | None = None,
        role: str | None = None,
    ) -> None:
        super().__init__(run, Transcript(run))
        self.purpose, self.role = purpose, role
        self._asked = repair(tuple(messages)), system, tools, settings or ModelSettings()
        self._model = model
        if not self._asked[0]:
            raise UsageError("there is nothing to ask: no message is left that a model may get")

    async def drop(self) -> None:
        """Forget a failed answer."""
        self._builder = None

    async def _attempt(self, turn: Turn) -> MessageBuilder:
        if self._run.signal.aborted:
            await self._run.checkpoint()
        self._builder = None
        return await self._request(await self._build(turn))

    async def _build(self, turn: Turn) -> LLMRequest:
        run, (messages, system, tools, settings) = self._run, self._asked
        if self._model is None:
            target = await run.choose_target()
        else:
            target = await run.agent.selection.find(None, self._model)
        self._target = target
        return self._sent(target, messages, system, tools, settings)

    def _tokens(self, request: LLMRequest) -> int:
        return estimate_usage(self._run.agent.host, request, AssistantMessage()).input

    async def _receive(self, stream: AsyncIterator[StreamEvent], builder: MessageBuilder) -> None:
        """Read one stream to its end. A caller that stops waiting leaves an entry of what the request cost."""
        try:
            await self._read(stream, builder, None)
        except BaseException:
            await self._run.ledger.close(builder, "aborted" if self._run.signal.aborted else "cancelled")
            raise
