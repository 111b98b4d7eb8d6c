"""Abort and time: what ends a request from this side."""

from __future__ import annotations

import asyncio

import pytest
from anthropic_server import TEXT, Server, ask, collect, sse
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import StopReason
from skillkit_core.stream import MessageBuilder


def test_abort_closes_the_connection_at_once_and_keeps_what_was_said():
    async def answer(request):
        body = sse(TEXT[:3])
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n" + body
        assert await request["reader"].read() == b""
        gone.set()

    gone = asyncio.Event()

    async def run():
        server = Server(answer)
        signal = AbortSignal()
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            builder, events = MessageBuilder(), []
            async with asyncio.timeout(10):
                async for event in adapter.stream(ask(signal=signal)):
                    events.append(event)
                    builder.add(event)
                    if event.type == "text_delta":
                        asyncio.get_running_loop().call_soon(signal.abort, "enough")
                await gone.wait()  # the server sees the end while the adapter is still open
            await adapter.close()
        return events, builder

    events, builder = asyncio.run(run())
    assert [e.type for e in events] == ["text_start", "text_delta", "error"]
    assert events[-1].error.kind is ErrorKind.aborted
    assert builder.message().stop_reason is StopReason.aborted
    assert builder.text == "Hel"
    assert events[-1].usage.input == 3


@pytest.mark.parametrize("when", ["before", "waiting"])
def test_abort_before_the_first_byte(when):
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        signal = AbortSignal()
        if when == "before":
            signal.abort()
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            task = asyncio.create_task(collect(adapter, ask(signal=signal)))
            while when == "waiting" and not server.requests:
                await asyncio.sleep(0)
            signal.abort("stop it")
            async with asyncio.timeout(10):
                return await task, len(server.requests)

    events, sent = asyncio.run(run())
    assert [e.type for e in events] == ["error"]
    assert events[0].error.kind is ErrorKind.aborted
    assert sent == (0 if when == "before" else 1)


def test_abort_from_another_thread():
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        signal = AbortSignal()
        async with server.running() as url:
            task = asyncio.create_task(collect(AnthropicAdapter(None, base_url=url, api_key="k"), ask(signal=signal)))
            while not server.requests:
                await asyncio.sleep(0)
            await asyncio.to_thread(signal.abort)
            async with asyncio.timeout(10):
                return await task

    assert asyncio.run(run())[-1].error.kind is ErrorKind.aborted


def test_cancellation_passes_and_leaves_no_connection():
    async def hang(request):
        await asyncio.Event().wait()
        yield b""

    async def run():
        server = Server(hang)
        async with server.running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            task = asyncio.create_task(collect(adapter))
            while not server.requests:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_no_first_event_in_time_is_a_timeout_and_a_slow_rest_is_not():
    gate = asyncio.Event()

    async def slow(request):
        if request["body"]["messages"][0]["content"][0]["text"] == "never":
            await asyncio.Event().wait()
        body = sse(TEXT)
        yield f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        yield sse(TEXT[:3])
        await gate.wait()
        yield sse(TEXT[3:])

    async def run():
        async with Server(slow).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k")
            late = [e async for e in adapter.stream(ask("never", settings=ModelSettings(timeout=0.05)))]
            events = []
            async for event in adapter.stream(ask(settings=ModelSettings(timeout=20.0))):
                events.append(event)
                if event.type == "text_delta":
                    gate.set()
            await adapter.close()
            return late, events

    late, events = asyncio.run(run())
    assert [e.error.kind for e in late] == [ErrorKind.timeout]
    assert "0.05" in str(late[0].error)
    assert events[-1].type == "done"


def test_a_server_that_falls_silent_is_a_timeout():
    go_on = asyncio.Event()

    async def stop_talking(request):
        yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99999\r\n\r\n"
        yield sse(TEXT[:3])
        await asyncio.Event().wait()

    async def talk(request):
        body = sse(TEXT)
        yield f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        yield sse(TEXT[:3])
        await go_on.wait()
        yield sse(TEXT[3:])

    async def run():
        async with Server(stop_talking).running() as url:
            silent = await collect(AnthropicAdapter(None, base_url=url, api_key="k", timeout=0.05))
        async with Server(talk).running() as url:
            adapter = AnthropicAdapter(None, base_url=url, api_key="k", timeout=5.0)
            events = []
            async for event in adapter.stream(ask()):
                events.append(event)
                if event.type == "text_delta":
                    go_on.set()
            await adapter.close()
        return silent, events

    silent, events = asyncio.run(run())
    assert [e.type for e in silent] == ["text_start", "text_delta", "error"]
    assert silent[-1].error.kind is ErrorKind.timeout
    assert "silent for 0.05" in str(silent[-1].error)
    assert events[-1].type == "done"
