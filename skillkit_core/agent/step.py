"""One step with the model: build the request, ask, stream, retry what may pass, keep the books."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..contracts.adapter import LLMRequest, ModelSettings
from ..errors import AgentError, ErrorKind, ProviderError
from ..events.results import UNSET, ContextTransformResult, ProviderRequestResult
from ..events.types import (
    AfterProviderResponseEvent,
    BeforeProviderRequestEvent,
    ContextTransformEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    RetryEndEvent,
    RetryScheduledEvent,
    RetryStartEvent,
)
from ..http import redact_headers
from ..messages import AgentMessage, AssistantMessage, LLMMessage, UserMessage
from ..models import TokenUsage
from ..stream import MessageBuilder, StreamEvent
from .executor import _wrapped
from .repair import repair
from .run import Run

__all__ = ["ask_model"]


async def _transformed(run: Run, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    """What the handlers of ``context_transform`` make of the messages, repaired."""
    bus = run.agent.events
    assert run.target is not None
    result = await bus.emit(
        bus.make(
            ContextTransformEvent,
            messages=messages,
            tokens=run.agent.context_tokens(),
            window=run.target.model.context_window,
        )
    )
    wanted = result.messages if isinstance(result, ContextTransformResult) else UNSET
    if wanted is UNSET or wanted is messages:
        return messages
    assert not isinstance(wanted, type(UNSET))
    repaired = repair(tuple(wanted))
    if not any(isinstance(m, (UserMessage, AssistantMessage)) for m in repaired):
        await run.agent.complain("context_transform", "a handler left no message to send; its answer was ignored")
        return messages
    return repaired


def _settings(run: Run) -> ModelSettings:
    settings = run.agent.config.settings or ModelSettings()
    thinking = run.agent.host.config.get("thinking")
    return settings if settings.thinking or not thinking else replace(settings, thinking=thinking)


async def build_request(run: Run, turn_messages: Sequence[AgentMessage] | None) -> LLMRequest:
    """The request for the next answer."""
    agent = run.agent
    run.target = target = await agent.current_target()
    messages = agent.view() if turn_messages is None else repair(tuple(turn_messages))
    if agent.events.has("context_transform"):
        messages = await _transformed(run, messages)
    bus = agent.events
    started = agent.clock.monotonic()

    async def on_request(
        payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        event = bus.make(
            BeforeProviderRequestEvent, model=target.model, headers=redact_headers(headers), payload=payload
        )
        answer = await bus.emit(event)
        if isinstance(answer, ProviderRequestResult):
            if answer.payload is not UNSET:
                payload = answer.payload  # type: ignore[assignment]
            if isinstance(answer.headers, Mapping):
                given = {k: v for k, v in answer.headers.items() if v != "***"}
                headers = {**headers, **given}
        return payload, headers

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        latency = agent.clock.monotonic() - started
        await bus.emit(
            bus.make(AfterProviderResponseEvent, status=status, headers=redact_headers(headers), latency=latency)
        )

    return LLMRequest(
        model=target.model,
        messages=messages,
        tools=agent.toolbox.tools(),
        system=run.system_prompt,
        settings=_settings(run),
        stream=agent.config.stream,
        signal=run.signal,
        on_request=on_request if bus.has("before_provider_request") else None,
        on_response=on_response if bus.has("after_provider_response") else None,
        scratch=run.scratch,
        session_id=agent.session.id,
    )


async def _receive(run: Run, request: LLMRequest, builder: MessageBuilder) -> None:
    """Read one stream to its end; whatever the adapter does wrong becomes an error event."""
    bus, add, push = run.agent.events, builder.add, run.push
    assert run.target is not None
    started = False
    try:
        async with contextlib.aclosing(run.target.adapter.stream(request)) as stream:  # type: ignore[type-var]
            async for event in stream:
                add(event)
                if event.type == "done" or event.type == "error":
                    break
                if not started:
                    started = True
                    if bus.has("message_start"):
                        await bus.emit(bus.make(MessageStartEvent, message=None, role="assistant"))
                push(event)
                if "message_update" in bus.table:
                    await bus.emit(bus.make(MessageUpdateEvent, event=event, _builder=builder))
                if run.crowded:
                    await run.breathe()
    except Exception as error:  # noqa: BLE001 - an adapter must not raise; one that does is an error of its own
        if builder.stop_reason is None:
            wrapped = error if isinstance(error, ProviderError) else _unexpected(run, error)
            add(StreamEvent("error", error=wrapped))
    if builder.stop_reason is None:
        add(StreamEvent("error", error=ProviderError("the answer ended without its end mark", kind=ErrorKind.protocol)))
    if not started and bus.has("message_start"):
        await bus.emit(bus.make(MessageStartEvent, message=None, role="assistant"))


def _unexpected(run: Run, error: Exception) -> ProviderError:
    assert run.target is not None
    wrapped = ProviderError(
        f"the adapter failed: {type(error).__name__}: {error}",
        kind=ErrorKind.unknown,
        provider=run.target.provider,
        hint="report it to the provider plugin's author",
    )
    wrapped.__cause__ = error
    return wrapped


def _message(run: Run, builder: MessageBuilder) -> AssistantMessage:
    assert run.target is not None
    target = run.target
    return builder.message(
        provider=target.provider, api=target.adapter.api, model=target.model.id, ts=run.agent.clock.time()
    )


async def _attempt(run: Run, turn_messages: Sequence[AgentMessage] | None) -> MessageBuilder:
    """Make one request and account for it."""
    request = await build_request(run, turn_messages)
    builder = run.builder = MessageBuilder()
    run.requests += 1

    async def body() -> AssistantMessage:
        await _receive(run, request, builder)
        if builder.error is not None:
            raise builder.error
        return _message(run, builder)

    wrappers = run.agent.model_wrappers()
    if wrappers:
        try:
            message = await _wrapped(wrappers, request, body, run.agent.events.context)()
        except Exception as error:  # noqa: BLE001 - a wrapper's failure fails the step it wraps (spec, section 4)
            if builder.error is None:
                builder.error = error if isinstance(error, ProviderError) else _unexpected(run, error)
        else:
            builder = run.builder = _replaced(message)
    else:
        await _receive(run, request, builder)
    usage = builder.usage or TokenUsage()
    failure = None if builder.error is None else str(builder.error)
    if builder.usage is not None or failure is None:
        await run.account(usage, error=failure)
    return builder


def _replaced(message: AssistantMessage) -> MessageBuilder:
    """A builder that holds the message that a wrapper gave."""
    builder = MessageBuilder()
    for i, block in enumerate(message.content):
        builder.add(StreamEvent("block", index=i, block=block))
    builder.add(
        StreamEvent(
            "done", usage=message.usage, stop_reason=message.stop_reason, raw_stop_reason=message.raw_stop_reason
        )
    )
    return builder


def _delay(run: Run, error: ProviderError, attempt: int) -> float | None:
    """Seconds to wait before the next attempt, ``None`` when there must be none."""
    policy = run.agent.config.retry
    if not error.retryable or attempt >= policy.attempts:
        return None
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= policy.max_server_delay else None
    wait: float = min(policy.max_delay, policy.base_delay * 2.0 ** (attempt - 1))
    return wait * (0.75 + random.random() / 2)  # noqa: S311 - spreads retries, guards nothing


async def ask_model(run: Run, turn_messages: Sequence[AgentMessage] | None = None) -> AssistantMessage:
    """The model's next answer, not yet persisted; failures that may pass are tried again.

    Raises:
        ProviderError: it failed for good; ``run.builder`` holds what had arrived.
        GuardFailed: a guard failed before the request left.
    """
    agent, bus = run.agent, run.agent.events
    attempt = 1
    while True:
        builder = await _attempt(run, turn_messages)
        error = builder.error
        if error is None:
            if attempt > 1 and bus.has("retry_end"):
                await bus.emit(bus.make(RetryEndEvent, attempt=attempt, success=True))
            return _message(run, builder)
        if run.signal.aborted:
            raise error
        delay = _delay(run, error, attempt) if isinstance(error, ProviderError) else None
        if delay is None:
            if attempt > 1 and bus.has("retry_end"):
                await bus.emit(bus.make(RetryEndEvent, attempt=attempt, success=False))
            raise error if isinstance(error, ProviderError) else AgentError(str(error))
        if bus.has("message_end"):  # the brackets of the failed attempt; it is never persisted
            await bus.emit(bus.make(MessageEndEvent, message=_message(run, builder), entry_id=""))
        run.builder = None
        attempt += 1
        if bus.has("retry_scheduled"):
            await bus.emit(bus.make(RetryScheduledEvent, attempt=attempt, delay=delay, error=str(error)))
        await agent.clock.sleep(delay)
        if bus.has("retry_start"):
            await bus.emit(bus.make(RetryStartEvent, attempt=attempt))
