"""Checks of an adapter's failures: classified by status and type, never raised, partial answers kept, connections closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Set
from typing import Any

import pytest

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.messages import StopReason
from skillkit_core.stream import MessageBuilder

from ..server import LLMServer
from ..turns import Call, Cut, Fail, Gate, Hang, Reply
from .adapter_case import AdapterCase, Answered, Scripting, answer_of
from .lacking import LACKS, needs
from .running import happened, run

__all__ = ["FailureChecks"]

STATUS = [
    (400, ErrorKind.invalid_request),
    (401, ErrorKind.auth),
    (403, ErrorKind.permission),
    (404, ErrorKind.not_found),
    (429, ErrorKind.rate_limit),
    (500, ErrorKind.server),
    (502, ErrorKind.server),
    (503, ErrorKind.overloaded),
    (529, ErrorKind.overloaded),
]
BROKEN = (ErrorKind.connection, ErrorKind.protocol)


class FailureChecks(AdapterCase):
    """What becomes of everything that goes wrong."""

    @pytest.mark.parametrize(("status", "kind"), STATUS)
    def test_an_error_status_is_classified(
        self, scripted: Scripting, stream: bool, status: int, kind: ErrorKind
    ) -> None:
        """By status and type; asked once, because the loop retries and not the adapter."""
        got = self.answer(scripted, Fail(status, message="scripted words"), self.request(stream=stream))
        assert got.failure.kind is kind
        assert got.failure.status == status
        assert "scripted words" in str(got.failure)
        assert got.message.stop_reason is StopReason.error
        if getattr(scripted, "requests", None) is not None:
            assert len(self.received(scripted)) == 1

    @pytest.mark.parametrize(("type_", "kind"), [("overflow", ErrorKind.overflow), ("quota", ErrorKind.quota)])
    def test_a_long_conversation_and_an_empty_purse_are_told_apart(
        self, scripted: Scripting, type_: str, kind: ErrorKind, lacking: Set[str]
    ) -> None:
        """Overflow is compacted, quota is not retried."""
        if type_ in lacking:
            pytest.skip(LACKS[type_])
        got = self.answer(scripted, Fail(type=type_), self.request())
        assert got.failure.kind is kind
        assert not got.failure.retryable

    def test_text_that_looks_like_overflow_or_a_status_decides_nothing(self, scripted: Scripting) -> None:
        """Edge case 44: "too many tokens" of a rate limiter is no overflow, "1500" is no 500."""
        got = self.answer(scripted, Fail(429, message="too many tokens: 1500 per minute"), self.request())
        assert got.failure.kind is ErrorKind.rate_limit

    def test_retry_after_is_handed_on(self, scripted: Scripting, stream: bool) -> None:
        """In seconds, however long."""
        got = self.answer(scripted, Fail(429, retry_after=18000), self.request(stream=stream))
        assert got.failure.retry_after == 18000
        assert got.failure.retryable

    def test_complete_raises_the_error(self, scripted: Scripting) -> None:
        """``complete`` has no event to say it with."""

        async def work() -> None:
            adapter = scripted(Fail(401))
            try:
                await adapter.complete(self.request())
            finally:
                await adapter.close()

        with pytest.raises(ProviderError) as caught:
            run(work())
        assert caught.value.kind is ErrorKind.auth

    @needs("streaming")
    def test_an_error_in_mid_stream_keeps_what_was_said(self, scripted: Scripting) -> None:
        """I7: the text before the error is not lost."""
        turn = Fail(500, during=Reply(text=("one ", "two ", "three")), after_deltas=2)
        got = self.answer(scripted, turn, self.request())
        assert got.failure.kind is not ErrorKind.aborted
        assert got.message.text == "one two "
        assert got.message.stop_reason is StopReason.error

    def test_a_connection_that_is_cut_before_the_answer_is_a_connection_error(
        self, scripted: Scripting, stream: bool
    ) -> None:
        """Nothing came, the same request may be made again."""
        got = self.answer(scripted, Cut(), self.request(stream=stream))
        assert got.failure.kind is ErrorKind.connection
        assert got.failure.retryable
        assert got.message.content == ()

    @needs("streaming")
    @pytest.mark.parametrize("clean", [False, True], ids=["cut", "no-end-marker"])
    def test_a_stream_that_stops_is_an_error_with_what_was_said(self, scripted: Scripting, clean: bool) -> None:
        """Also when HTTP itself ended well: without the wire's own end marker it is no answer."""
        turn = Cut(after_deltas=2, clean=clean, reply=Reply(text=("one ", "two ", "three")))
        got = self.answer(scripted, turn, self.request())
        assert got.failure.kind in ((ErrorKind.protocol,) if clean else BROKEN)
        assert got.failure.retryable
        assert got.message.text == "one two "

    @needs("tools", "streaming")
    def test_a_call_that_is_cut_is_incomplete(self, scripted: Scripting) -> None:
        """Half of the arguments are never run."""
        call = Call("weather", {"city": "Llanfairpwllgwyngyll"}, "call_a1")
        turn = Cut(after_deltas=2, reply=Reply(tool_calls=[call], pieces=6))
        got = self.answer(scripted, turn, self.request(tools=self.tools))
        assert got.failure.kind in BROKEN
        (open_call,) = got.message.tool_calls
        assert open_call.incomplete
        assert open_call.args is None

    @needs("whole")
    def test_a_whole_answer_that_is_cut_is_an_error(self, scripted: Scripting) -> None:
        """Half a JSON body is nothing."""
        got = self.answer(scripted, Cut(after_bytes=25), self.request(stream=False))
        assert got.failure.kind in BROKEN
        assert got.message.content == ()

    def test_nobody_listening_is_a_connection_error(
        self, scripted: Scripting, request: pytest.FixtureRequest, stream: bool
    ) -> None:
        """A wrong address, a server that is down."""
        try:
            make: Callable[[str], LLMAdapter] = request.getfixturevalue("make_adapter")
        except NotImplementedError:
            pytest.skip("the adapter is not asked over HTTP")
        with LLMServer() as gone:
            url = gone.url

        async def work() -> Answered:
            adapter = make(url)
            try:
                return await answer_of(adapter, self.request(stream=stream))
            finally:
                await adapter.close()

        assert run(work()).failure.kind is ErrorKind.connection

    def test_a_silent_server_ends_in_a_timeout(self, scripted: Scripting) -> None:
        """``settings.timeout``: seconds until the first event must have come."""
        request = self.request(settings=ModelSettings(max_tokens=100, timeout=0.2))
        got = self.answer(scripted, Hang(), request)
        assert got.failure.kind is ErrorKind.timeout
        assert got.failure.retryable

    def test_a_bug_is_unknown_and_is_not_tried_again(self, scripted: Scripting) -> None:
        """``protocol`` is for what a server does, and is retried; a mistake of the code comes again, and keeps its cause."""
        self.received(scripted)
        bug = AttributeError("a mistake in the code")

        async def on_request(payload: Any, headers: Any) -> Any:
            raise bug

        got = self.answer(scripted, Reply(text="not reached"), self.request(on_request=on_request))
        assert got.failure.kind is ErrorKind.unknown
        assert not got.failure.retryable
        cause: BaseException | None = got.failure
        while cause is not None and cause is not bug:
            cause = cause.__cause__
        assert cause is bug, "--debug shows what went wrong by the error's __cause__"

    # -- abort

    def test_a_signal_that_is_set_already_ends_at_once(self, scripted: Scripting, stream: bool) -> None:
        """Edge case 1: nothing was said."""
        signal = AbortSignal()
        signal.abort()
        got = self.answer(scripted, Reply(text="too late"), self.request(stream=stream, signal=signal))
        assert got.failure.kind is ErrorKind.aborted
        assert got.message.content == ()

    def test_abort_before_the_first_byte_closes_the_connection(self, scripted: Scripting, stream: bool) -> None:
        """The server notices."""
        received, signal = self.received(scripted), AbortSignal()

        async def work() -> Answered:
            adapter = scripted(Hang())
            task = asyncio.create_task(answer_of(adapter, self.request(stream=stream, signal=signal)))
            await self.asked(received)
            signal.abort()
            got = await task
            assert await happened(received[-1].disconnected), "the connection is still open"
            await adapter.close()
            return got

        assert run(work()).failure.kind is ErrorKind.aborted

    @needs("streaming")
    def test_abort_in_mid_stream_keeps_the_partial_answer(self, scripted: Scripting) -> None:
        """Edge case 2: the stream ends, the connection closes, the text stays."""
        received, signal = self.received(scripted), AbortSignal()

        async def work() -> Answered:
            gate = Gate(after_deltas=2)
            adapter = scripted(Reply(text=("one ", "two ", "three"), gate=gate))
            got = await self._aborting(adapter, self.request(signal=signal), signal)
            assert await happened(received[-1].disconnected), "the connection is still open"
            await adapter.close()
            return got

        got = run(work())
        assert got.failure.kind is ErrorKind.aborted
        assert got.message.stop_reason is StopReason.aborted
        assert got.message.text == "one two "

    async def _aborting(self, adapter: LLMAdapter, request: LLMRequest, signal: AbortSignal) -> Answered:
        builder, events = MessageBuilder(), []
        async for event in adapter.stream(request):
            events.append(event)
            builder.add(event)
            if builder.text == "one two ":
                signal.abort()
        assert [e.terminal for e in events] == [False] * (len(events) - 1) + [True]
        return Answered(events, builder.message(), builder.error)

    def test_cancellation_passes_and_closes_the_connection(self, scripted: Scripting) -> None:
        """Edge case 9: an external ``CancelledError`` is not swallowed."""
        received = self.received(scripted)

        async def work() -> None:
            adapter = scripted(Hang())
            task = asyncio.create_task(answer_of(adapter, self.request()))
            await self.asked(received)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await happened(received[-1].disconnected), "the connection is still open"
            await adapter.close()

        run(work())

    @needs("streaming")
    def test_closing_the_stream_early_closes_the_connection(self, scripted: Scripting) -> None:
        """A consumer that stops reading leaves nothing behind."""
        received = self.received(scripted)

        async def work() -> None:
            adapter = scripted(Reply(text=("one ", "two ", "three"), gate=Gate(after_deltas=2)))
            events = adapter.stream(self.request())
            async for event in events:
                if event.type == "text_delta":
                    break
            await events.aclose()  # type: ignore[attr-defined]
            assert await happened(received[-1].disconnected), "the connection is still open"
            await adapter.close()

        run(work())

    def test_the_adapter_is_as_good_as_new_after_a_failure(self, scripted: Scripting) -> None:
        """A broken connection does not poison the next request."""

        async def work() -> list[str]:
            adapter = scripted(Cut(after_deltas=1), Fail(500), Reply(text="well again"))
            try:
                return [(await answer_of(adapter, self.request())).message.text for _ in range(3)]
            finally:
                await adapter.close()

        self.received(scripted)
        assert run(work())[-1] == "well again"
