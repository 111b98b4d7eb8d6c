"""One call of the model: the request, the stream of its answer, and the retries (spec, section 7)."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ..containment import as_failure, in_words, working_task
from ..contracts.adapter import LLMRequest, ModelSettings, OnRequest, OnResponse, ThinkingLevel
from ..errors import AgentError, ErrorKind, ProviderError, SkillKitError
from ..events.bus import GuardFailed
from ..events.results import UNSET, ContextTransformResult, ProviderRequestResult, Unset
from ..events.types import (
    AfterProviderResponseEvent,
    BeforeProviderRequestEvent,
    ContextTransformEvent,
    MessageEndEvent,
    MessageStartEvent,
    ModelSelectEvent,
    RetryEndEvent,
    RetryScheduledEvent,
    RetryStartEvent,
)
from ..frozen import freeze
from ..http import redact_headers
from ..messages import AgentMessage, AssistantMessage, LLMMessage, StopReason
from ..stream import MessageBuilder, StreamEvent
from ..text import without_secrets
from .around import wrapped
from .pump import Narration
from .repair import repair
from .run import Run
from .session import NO_THINKING, ModelChoice
from .target import Target

__all__ = ["ask_model", "close_message", "drop_answer", "open_message", "redacted"]

M = TypeVar("M", bound=AgentMessage)


async def _transformed(run: Run, messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    """What the handlers of ``context_transform`` make of the messages, repaired."""
    bus = run.agent.events
    assert run.target is not None
    result = await bus.emit(
        bus.make(
            ContextTransformEvent,
            messages=messages,
            tokens=run.agent.view.tokens(),
            window=run.target.model.context_window,
        )
    )
    wanted = result.messages if isinstance(result, ContextTransformResult) else UNSET
    if isinstance(wanted, Unset) or wanted is messages:
        return messages
    repaired = repair(tuple(wanted))
    if not repaired:
        await run.agent.complain("context_transform", "repair left no message to send; the answer was ignored")
        return messages
    return repaired


async def open_message(run: Run) -> None:
    """``message_start`` of an answer."""
    run.bracket = "open"
    if run.agent.events.has("message_start"):
        await run.agent.events.emit(run.agent.events.make(MessageStartEvent, message=None, role="assistant"))


async def close_message(run: Run, message: AssistantMessage) -> None:
    """``message_end`` of an answer that is not kept; it has no entry."""
    bus = run.agent.events
    if run.bracket == "open":
        run.bracket = "closed"
        if bus.has("message_end"):
            await bus.emit(bus.make(MessageEndEvent, message=message, entry_id=""))


async def drop_answer(run: Run) -> None:
    """Forget an attempt that failed: its brackets are closed, it is never persisted."""
    if run.builder is not None:
        await close_message(run, _message(run, run.builder))
        run.builder = None


_DEFAULTS = ModelSettings()


def _settings(run: Run) -> ModelSettings:
    settings = run.agent.config.settings or _DEFAULTS
    thinking = run.agent.host.config.get("thinking")
    return settings if settings.thinking or not thinking else replace(settings, thinking=thinking)


def _on_request(run: Run, target: Target, settings: ModelSettings) -> OnRequest:
    """What shows a request to the handlers of ``before_provider_request`` and sends what they make of it."""
    bus = run.agent.events

    async def on_request(
        payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        shown = _shown(run, headers)
        event = bus.make(
            BeforeProviderRequestEvent,
            model=target.model,
            options=settings.extra,
            headers=freeze(shown),
            payload=freeze(payload),
        )
        try:
            answer = await bus.emit(event)
        except GuardFailed as error:
            run.refusal = error  # whatever the adapter makes of it, this is why the turn fails
            raise
        if isinstance(answer, ProviderRequestResult):
            if answer.payload is not UNSET:
                payload = answer.payload  # type: ignore[assignment]
            if isinstance(answer.options, Mapping):  # fields of the body that no payload was named for
                payload = {**payload, **answer.options}
            if isinstance(answer.headers, Mapping):
                given = {k: v for k, v in answer.headers.items() if v != "***" and v != shown.get(k)}
                headers = {**headers, **given}
        return payload, headers

    return on_request


def _on_response(run: Run) -> OnResponse:
    """What tells the handlers of ``after_provider_response``."""
    agent, bus, started = run.agent, run.agent.events, run.agent.clock.monotonic()

    async def on_response(status: int, headers: Mapping[str, str]) -> None:
        latency = agent.clock.monotonic() - started
        await bus.emit(
            bus.make(AfterProviderResponseEvent, status=status, headers=freeze(_shown(run, headers)), latency=latency)
        )

    return on_response


async def build_request(run: Run, turn_messages: Sequence[AgentMessage] | None) -> LLMRequest:
    """The request for the next answer."""
    agent = run.agent
    run.target = target = await agent.selection.current()
    settings = _settings(run)
    await keep_choice(run, target, settings.thinking)
    messages = agent.view.messages() if turn_messages is None else repair(tuple(turn_messages)) or agent.view.messages()
    if agent.events.has("context_transform"):
        messages = await _transformed(run, messages)
    bus = agent.events
    return LLMRequest(
        model=target.model,
        messages=messages,
        tools=agent.toolbox.tools(),
        system=run.system_prompt,
        settings=settings,
        stream=agent.config.stream,
        signal=run.signal,
        on_request=_on_request(run, target, settings) if bus.has("before_provider_request") else None,
        on_response=_on_response(run) if bus.has("after_provider_response") else None,
        scratch=run.scratch,
        session_id=agent.session.id,
    )


async def _receive(run: Run, request: LLMRequest, builder: MessageBuilder) -> None:
    """Read one stream to its end, and tell about it."""
    narration = Narration(run, builder)
    try:
        await _read(run, request, builder, narration)
        await narration.end()
    except BaseException:
        run.closing = True
        await narration.stop()
        raise


async def _read(run: Run, request: LLMRequest, builder: MessageBuilder, narration: Narration) -> None:
    """Read one stream to its end; whatever the adapter does wrong becomes an error event."""
    bus, add, push = run.agent.events, builder.add, run.push
    assert run.target is not None
    started, task = False, working_task()
    try:
        async with contextlib.aclosing(run.target.adapter.stream(request)) as stream:  # type: ignore[type-var]
            async for event in stream:
                add(event)
                if event.type == "done" or event.type == "error":
                    break
                if not started:
                    started = True
                    await open_message(run)
                crowded = push(event)
                if "message_update" in bus.table:
                    await narration.tell(event)
                if crowded:
                    await run.breathe()
                if run.signal.aborted:
                    await run.checkpoint()
    except BaseException as raised:  # noqa: BLE001 - an adapter must not raise; one that does is an error of its own
        error = as_failure(raised, task)
        if builder.stop_reason is None:
            wrapped = error if isinstance(error, ProviderError) else _unexpected(run, error)
            add(StreamEvent("error", error=wrapped))
    if builder.stop_reason is None:
        add(StreamEvent("error", error=ProviderError("the answer ended without its end mark", kind=ErrorKind.protocol)))
    if isinstance(builder.error, SkillKitError):
        builder.error.message = run.agent.host.redact(builder.error.message)
    if not started:
        await open_message(run)


def _unexpected(run: Run, error: Exception) -> ProviderError:
    assert run.target is not None
    wrapped = ProviderError(
        f"the adapter failed: {in_words(error)}",
        kind=ErrorKind.unknown,
        provider=run.target.provider,
        hint="report it to the provider plugin's author",
    )
    wrapped.__cause__ = error
    return wrapped


def _message(run: Run, builder: MessageBuilder) -> AssistantMessage:
    assert run.target is not None
    target = run.target
    message = builder.message(
        provider=target.provider, api=target.adapter.api, model=target.model.id, ts=run.agent.clock.time()
    )
    return redacted(run, message)


def redacted(run: Run, message: M) -> M:
    """``message`` without secrets in its text: a server may echo a key, and the session keeps what it is told."""
    return without_secrets(message, run.agent.host.redact)


def _shown(run: Run, headers: Mapping[str, str]) -> dict[str, str]:
    """``headers`` as handlers see them."""
    redact = run.agent.host.redact
    return {name: redact(value) for name, value in redact_headers(headers).items()}


async def _attempt(run: Run, turn_messages: Sequence[AgentMessage] | None) -> MessageBuilder:
    """One attempt at an answer, around-hooks included; each request that they make is accounted for."""
    await run.checkpoint()
    run.builder, run.bracket = None, "none"
    request = await build_request(run, turn_messages)
    if not run.agent.around.model_call:
        return await _request(run, request)
    return await _wrapped_attempt(run, request)


async def _wrapped_attempt(run: Run, request: LLMRequest) -> MessageBuilder:
    async def body() -> AssistantMessage:
        builder = await _request(run, request)
        if builder.error is not None:
            raise builder.error
        return _message(run, builder)

    try:
        message = await wrapped(run.agent.around.model_call, request, body, run.agent.events.context)()
        if not isinstance(message, AssistantMessage):
            raise TypeError(f"wrap_model_call returned {type(message).__name__} instead of an AssistantMessage")
    except Exception as error:  # noqa: BLE001 - a wrapper's failure fails the step it wraps (spec, section 4)
        if run.refusal is not None:
            raise run.refusal from None
        builder = run.builder = run.builder or MessageBuilder()
        if not isinstance(error, ProviderError):
            error = AgentError(f"a wrap_model_call hook failed: {in_words(error)}")
        builder.error = error
        builder.stop_reason = StopReason.error
        return builder
    run.builder = builder = _replaced(message)
    return builder


async def _request(run: Run, request: LLMRequest) -> MessageBuilder:
    """Make one request, read its answer, write it into the books."""
    await drop_answer(run)  # an around-hook asks again
    run.refusal, run.bracket = None, "none"
    builder = run.builder = MessageBuilder()
    run.requests += 1
    run.unaccounted[builder] = "turn"
    await _receive(run, request, builder)
    await run.account_for(builder)
    if run.refusal is not None:
        raise run.refusal
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
    if error.retry_after:  # "at once" is no answer to a server that has just refused: our own delay, as the SDKs do
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
        await run.checkpoint()
        delay = _delay(run, error, attempt) if isinstance(error, ProviderError) else None
        if delay is None:
            if attempt > 1 and bus.has("retry_end"):
                await bus.emit(bus.make(RetryEndEvent, attempt=attempt, success=False))
            raise error if isinstance(error, ProviderError) else AgentError(str(error))
        await drop_answer(run)
        run.require_room()
        attempt += 1
        if bus.has("retry_scheduled"):
            await bus.emit(bus.make(RetryScheduledEvent, attempt=attempt, delay=delay, error=str(error)))
        await agent.clock.sleep(delay)
        if bus.has("retry_start"):
            await bus.emit(bus.make(RetryStartEvent, attempt=attempt))


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
