"""One model call: the request, the stream of the answer, and the retries (spec, section 7)."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contracts.adapter import LLMRequest, ModelSettings, OnRequest, OnResponse, ThinkingLevel
from ..errors import AgentError, ErrorKind, LimitReached, ProviderError, SkillKitError, in_words
from ..estimates import estimate_usage
from ..events.results import UNSET, ContextTransformResult, ProviderRequestResult, Unset
from ..events.subscriptions import GuardFailed
from ..events.types import (
    AfterProviderResponseEvent,
    BeforeProviderRequestEvent,
    ContextTransformEvent,
    ModelSelectEvent,
    RetryEndEvent,
    RetryScheduledEvent,
    RetryStartEvent,
)
from ..frozen import freeze
from ..host.secrets import redact_headers
from ..messages import AgentMessage, AssistantMessage, LLMMessage, StopReason, ToolCall
from ..models import TokenUsage
from ..stream import MessageBuilder, StreamEvent
from ..tools import Tool
from .around import wrapped
from .pump import MessageUpdates
from .repair import repair
from .run import Run
from .session import NO_THINKING, ModelChoice
from .target import Target
from .transcript import PartialAnswer, Transcript

__all__ = ["ModelCall", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """The changes of the ``turn_start`` handlers to the requests of one turn; ``None``: no change.

    Attributes:
        messages: replace the context.
        tools: replace the tools of the agent; calls of other tools are unknown.
        system_prompt: replaces the system prompt of the run.
    """

    messages: Sequence[AgentMessage] | None = None
    tools: tuple[Tool, ...] | None = None
    system_prompt: str | None = None


class ModelCall:
    """Gets the next answer of the model.

    A model call may make several requests: it retries temporary failures, and a wrapper may repeat the request.

    Attributes:
        purpose: what the books say that the requests are for.
        role: the part for which a driver asks.
    """

    purpose = "turn"
    role: str | None = None

    def __init__(self, run: Run, transcript: Transcript) -> None:
        self._run = run
        self._transcript = transcript
        self._bus = run.bus
        self._target: Target | None = None  # of the last request; of an answer that a driver gives there is none
        self._builder: MessageBuilder | None = None
        self._written: PartialAnswer | None = None
        self._first: str | None = None  # the name of the first request
        self._made = 0
        self._refusal: Exception | None = None  # the failure of a guard of before_provider_request

    async def ask(self, turn: Turn) -> AssistantMessage:
        """Return the next answer, not yet persisted.

        Args:
            turn: the changes of this turn.

        Raises:
            ProviderError: the call failed, no retry is allowed, and no other model is left; :meth:`partial` returns the part
                that arrived.
            GuardFailed: a guard failed before the adapter sent the request.
            LimitReached: a limit forbids another request.
        """
        run, bus = self._run, self._bus
        attempt, refreshed = 1, False
        while True:
            builder = await self._attempt(turn)
            error = builder.error
            if error is None:
                if attempt > 1:
                    await bus.fire(RetryEndEvent, attempt=attempt, success=True)
                return self._message(builder)
            await run.checkpoint()
            delay = self._delay(error, attempt) if isinstance(error, ProviderError) else None
            own = self._target is run.target  # not a model that a completion chose for itself
            refused = isinstance(error, ProviderError) and error.kind is ErrorKind.auth
            if delay is None and not refreshed and own and refused:
                refreshed = await run.refresh_target()
                delay = 0.0 if refreshed else None  # a fresh secret needs no delay
            if delay is None:
                if attempt > 1:
                    await bus.fire(RetryEndEvent, attempt=attempt, success=False)
                if own and isinstance(error, ProviderError) and error.may_fall_back and await run.fall_back(error):
                    await self.drop()
                    run.ledger.require_room()
                    attempt, refreshed = 1, False
                    continue
                raise error if isinstance(error, ProviderError) else AgentError(str(error))
            await self.drop()
            run.ledger.require_room()
            attempt += 1
            await bus.fire(RetryScheduledEvent, attempt=attempt, delay=delay, error=str(error))
            await run.clock.sleep(delay)
            await bus.fire(RetryStartEvent, attempt=attempt)

    async def play(self, stream: AsyncGenerator[StreamEvent, None]) -> AssistantMessage:
        """Return an answer that a driver gives in the place of the model, shown like a model's and not yet persisted."""
        self._transcript.expect_answer()
        builder = self._builder = MessageBuilder()
        await self._receive(stream, builder)
        if builder.error is not None:
            raise builder.error
        return self._message(builder)

    async def drop(self) -> None:
        """Drop a failed answer: emit ``message_end``, and persist nothing."""
        if self._builder is not None:
            await self._transcript.drop_answer(self._message(self._builder))
            self._builder = None
            if self._written is not None:
                await self._written.drop()

    def partial(self, stop_reason: StopReason) -> AssistantMessage | None:
        """Return the part of an answer that has arrived; ``None``: no request was made."""
        return self._message(self._builder, stop_reason) if self._builder is not None else None

    def _delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait before a retry; ``None``: no retry is allowed."""
        policy = self._run.agent.host.config.retry(self._run.agent.config.retry)
        if not error.retryable or attempt >= policy.attempts:
            return None
        # a retry_after of 0 counts as none, as in the providers' SDKs: the server has just refused
        if error.retry_after:
            return error.retry_after if error.retry_after <= policy.max_server_delay else None
        wait: float = min(policy.max_delay, policy.base_delay * 2.0 ** (attempt - 1))
        import random  # most runs retry nothing

        return wait * (0.75 + random.random() / 2)  # noqa: S311 - the random part only spreads retries

    async def _attempt(self, turn: Turn) -> MessageBuilder:
        """Build the request and send it, through the wrappers if there are any."""
        if self._run.signal.aborted:
            await self._run.checkpoint()
        self._builder = None
        request = await self._build(turn)
        hooks = self._run.agent.around.of("wrap_model_call")
        return await self._wrapped(hooks, request) if hooks else await self._request(request)

    async def _wrapped(self, hooks: Sequence[Any], request: LLMRequest) -> MessageBuilder:
        self._transcript.expect_answer()  # the wrappers may answer without a request

        async def body() -> AssistantMessage:
            builder = await self._request(request)
            if builder.error is not None:
                raise builder.error
            return self._message(builder)

        try:
            message = await wrapped(hooks, request, body, self._bus.context)()
            if not isinstance(message, AssistantMessage):
                raise TypeError(f"wrap_model_call returned {type(message).__name__} instead of an AssistantMessage")
        except Exception as error:  # noqa: BLE001 - a wrapper's failure fails the call that it wraps (spec, section 4)
            if self._refusal is not None:
                raise self._refusal from None
            builder = self._builder = self._builder or MessageBuilder()
            if not isinstance(error, ProviderError):
                error = AgentError(f"a wrap_model_call hook failed: {in_words(error)}")
            builder.fail(error)
            return builder
        builder = self._builder = _replaced(message)
        return builder

    async def _request(self, request: LLMRequest) -> MessageBuilder:
        """Send one request, read the answer, and record the usage in the ledger."""
        if self._builder is not None:  # a wrapper repeats the request
            await self.drop()
        self._refusal = None
        run, target, builder = self._run, self._target, MessageBuilder()
        assert target is not None
        self._builder = builder
        try:
            self._made += 1
            repeats = (self._made, self._first)
            name = await run.ledger.permit(request, target, lambda: run.tokens(request.tools), self.purpose, repeats)
            self._first = self._first or name
        except (LimitReached, GuardFailed) as error:
            self._refusal = error  # the wrappers may turn the exception into another one
            raise

        def estimate() -> TokenUsage:
            return estimate_usage(run.agent.host, request, builder.message())

        run.ledger.open(builder, self.purpose, target, name, self.role, estimate)
        await self._receive(target.adapter.stream(request), builder)
        await run.ledger.close(builder)
        if self._refusal is not None:
            raise self._refusal
        return builder

    async def _build(self, turn: Turn) -> LLMRequest:
        """Return the request for the next answer."""
        run, bus = self._run, self._bus
        agent = run.agent
        target = self._target = await run.choose_target()
        settings = run.settings
        await self._persist_choice(target, settings.thinking)
        messages = (repair(tuple(turn.messages)) if turn.messages is not None else ()) or run.context.messages()
        if "context_transform" in bus.table:
            messages = await self._transformed(messages, target)
        tools = turn.tools if turn.tools is not None else agent.toolbox.tools()
        system = turn.system_prompt if turn.system_prompt is not None else run.system_prompt
        return self._sent(target, messages, system, tools, settings, run.context.scratch)

    def _sent(
        self,
        target: Target,
        messages: Sequence[LLMMessage],
        system: str,
        tools: tuple[Tool, ...],
        settings: ModelSettings,
        scratch: dict[str, Any] | None = None,
    ) -> LLMRequest:
        """Return a request to ``target``, which the handlers see on its way."""
        run, table = self._run, self._bus.table
        return LLMRequest(
            model=target.model, messages=messages, tools=tools, system=system, settings=settings, stream=run.config.stream,
            signal=run.signal, on_request=self._on_request(target, settings) if "before_provider_request" in table else None,
            on_response=self._on_response() if "after_provider_response" in table else None,
            scratch={} if scratch is None else scratch, session_id=run.session.id,
        )  # fmt: skip

    async def _persist_choice(self, target: Target, level: ThinkingLevel | None) -> None:
        """Persist a change of model or thinking level, and emit ``model_select`` for a new model (spec, section 12).

        The first model of a branch is no change, because the answers name the model.
        """
        session = self._run.session
        model, wanted = ModelChoice(target.provider, target.adapter.api, target.model.id), level or NO_THINKING
        switched = session.model is not None and session.model != model
        if switched:
            await session.append_model_change(model)
        if wanted != session.thinking_level:
            await session.append_thinking_level_change(wanted)
        selection, reason = self._run.agent.selection, self._run.fallback
        if selection.changed or switched or reason:
            selection.take_change()
            self._run.take_fallback()
            await self._bus.fire(ModelSelectEvent, model=target.model, provider=target.provider, reason=reason)

    async def _transformed(self, messages: Sequence[LLMMessage], target: Target) -> Sequence[LLMMessage]:
        """Return the messages with the changes of the ``context_transform`` handlers, repaired."""
        result = await self._bus.fire(
            ContextTransformEvent, messages=messages, tokens=self._run.tokens(), window=target.model.context_window
        )
        wanted = result.messages if isinstance(result, ContextTransformResult) else UNSET
        if isinstance(wanted, Unset) or wanted is messages:
            return messages
        repaired = repair(tuple(wanted))
        if not repaired:
            await self._bus.complain("context_transform", "repair left no message to send; the answer was ignored")
            return messages
        return repaired

    def _on_request(self, target: Target, settings: ModelSettings) -> OnRequest:
        """Return a function that passes a request through the handlers of ``before_provider_request``."""

        async def on_request(
            payload: Mapping[str, Any], headers: Mapping[str, str]
        ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
            shown = self._shown(headers)
            try:
                answer = await self._bus.fire(
                    BeforeProviderRequestEvent,
                    model=target.model,
                    options=settings.extra,
                    headers=freeze(shown),
                    payload=freeze(payload),
                )
            except GuardFailed as error:
                self._refusal = error  # the adapter may turn the exception into another one
                raise
            if isinstance(answer, ProviderRequestResult):
                if answer.payload is not UNSET:
                    payload = answer.payload  # type: ignore[assignment]
                if isinstance(answer.options, Mapping):
                    payload = {**payload, **answer.options}
                if isinstance(answer.headers, Mapping):
                    given = {k: v for k, v in answer.headers.items() if v != "***" and v != shown.get(k)}
                    headers = {**headers, **given}
            return payload, headers

        return on_request

    def _on_response(self) -> OnResponse:
        """Return a function that emits ``after_provider_response``."""
        clock, started = self._run.clock, self._run.clock.monotonic()

        async def on_response(status: int, headers: Mapping[str, str]) -> None:
            latency = clock.monotonic() - started
            shown = freeze(self._shown(headers))
            await self._bus.fire(AfterProviderResponseEvent, status=status, headers=shown, latency=latency)

        return on_response

    def _shown(self, headers: Mapping[str, str]) -> dict[str, str]:
        redact = self._run.redact
        return {name: redact(value) for name, value in redact_headers(headers).items()}

    async def _receive(self, stream: AsyncIterator[StreamEvent], builder: MessageBuilder) -> None:
        """Read one stream to its end, and drain the updates."""
        run, target = self._run, self._target
        updates = MessageUpdates(run, builder)
        written = None
        if target is not None and run.session.handle.flush_interval > 0:
            written = PartialAnswer(run, builder, target)
        self._written = written
        try:
            await self._read(stream, builder, updates)
            await updates.drain()
        except BaseException:
            self._run.close()
            await updates.stop()
            raise
        finally:
            if written is not None:
                await written.stop()

    async def _read(
        self, answer: AsyncIterator[StreamEvent], builder: MessageBuilder, updates: MessageUpdates | None
    ) -> None:
        """Read one stream to its end; add an error event when the adapter raises or omits its last event.

        Args:
            updates: where the events are shown; ``None``: nobody sees the answer but the caller.
        """
        run, bus, add, push = self._run, self._bus, builder.add, self._run.push
        started, streaming = updates is None, run.streaming and updates is not None
        try:
            async with contextlib.aclosing(answer) as stream:  # type: ignore[type-var]
                async for event in stream:
                    add(event)
                    if event.type == "done" or event.type == "error":
                        break
                    if not started:
                        started = True
                        await self._transcript.open_answer()
                    crowded = streaming and push(event)
                    if updates is not None and "message_update" in bus.table:
                        await updates.put(event)
                    if crowded:
                        await run.breathe()
                    if run.signal.aborted:
                        await run.checkpoint()
        except Exception as error:  # noqa: BLE001 - an adapter that raises fails the call
            if builder.stop_reason is None:
                failed = error if isinstance(error, ProviderError) else self._unexpected(error)
                add(StreamEvent("error", error=failed))
        if builder.stop_reason is None:
            broken = ProviderError("the answer ended without its end mark", kind=ErrorKind.protocol)
            add(StreamEvent("error", error=broken))
        if isinstance(builder.error, SkillKitError):
            builder.error.message = run.redact(builder.error.message)
            mistake = builder.error.__cause__  # a mistake in the adapter's code: its author needs the line
            if mistake is not None and getattr(builder.error, "kind", None) is ErrorKind.unknown:
                logging.getLogger(__name__).debug("%s", run.redact("".join(traceback.format_exception(mistake))))
        if not started:
            await self._transcript.open_answer()

    def _unexpected(self, error: Exception) -> ProviderError:
        target = self._target
        failed = ProviderError(
            f"the adapter failed: {in_words(error)}",
            kind=ErrorKind.unknown,
            provider=target.provider if target is not None else "",
            hint="report it to the provider plugin's author",
        )
        failed.__cause__ = error
        return failed

    def _message(self, builder: MessageBuilder, stop_reason: StopReason | None = None) -> AssistantMessage:
        """Return the part of the answer that has arrived as a message, with secrets redacted in all blocks but the calls."""
        run, target = self._run, self._target
        names = (target.provider, target.adapter.api, target.model.id) if target is not None else ("", "", "")
        provider, api, model = names
        message = builder.message(provider=provider, api=api, model=model, ts=run.clock.time(), stop_reason=stop_reason)
        content = tuple([b if type(b) is ToolCall else run.redact(b) for b in message.content])
        return message if content == message.content else replace(message, content=content)


def _replaced(message: AssistantMessage) -> MessageBuilder:
    """Return a builder that holds the message of a wrapper."""
    builder = MessageBuilder()
    for i, block in enumerate(message.content):
        builder.add(StreamEvent("block", index=i, block=block))
    builder.add(
        StreamEvent(
            "done", usage=message.usage, stop_reason=message.stop_reason, raw_stop_reason=message.raw_stop_reason
        )
    )
    return builder
