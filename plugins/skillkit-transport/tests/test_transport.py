"""Bytes over an official SDK: they go out as the SDK would send them, and come back as they are."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from skillkit_transport import SDKTransport
from skillkit_transport.body import Body
from skillkit_transport.prepared import _OF_HTTP, _OF_SDK, obstacle


class Server:
    """Answers with what was asked of it, and by path in other ways."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections: set[Any] = set()
        self.sent = 0
        self.left = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """The URL while it runs."""
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{tail:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        try:
            yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.connections.add(request.transport)
        self.requests.append((request.method, {k.lower(): v for k, v in request.headers.items()}, body))
        if request.path.endswith("/refuse"):
            return web.json_response({"error": {"message": "no", "type": "t"}}, status=400)
        if request.path.endswith("/endless"):
            return await self._endless(request, 500)
        if request.path.endswith("/stream"):
            return await self._endless(request, 200)
        if request.path.endswith("/silent"):
            await asyncio.sleep(60)
        if request.path.endswith("/redirect"):
            raise web.HTTPTemporaryRedirect("/elsewhere")
        return web.Response(body=b"heard " + body, content_type="text/plain")

    async def _endless(self, request: web.Request, status: int) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 65_536)
                self.sent += 65_536
        except ConnectionError:
            self.left.set()
            raise


class OpenAITransport(SDKTransport[Any]):
    """A third party's, on OpenAI's SDK."""

    package = "openai"

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def make(self) -> Any:
        http = self.http(60.0, None)
        return self.load().AsyncOpenAI(
            api_key="the-key", base_url=self.url, timeout=http.timeout, max_retries=0, http_client=http
        )


class AnthropicTransport(OpenAITransport):
    """The same on Anthropic's."""

    package = "anthropic"

    def make(self) -> Any:
        http = self.http(60.0, None)
        return self.load().AsyncAnthropic(
            api_key="the-key", base_url=self.url, timeout=http.timeout, max_retries=0, http_client=http
        )


pytestmark = [
    pytest.mark.smoke,
    pytest.mark.parametrize("kind", [OpenAITransport, AnthropicTransport], ids=["openai", "anthropic"]),
]


def with_transport(kind: type[OpenAITransport], work: Any) -> tuple[Server, Any]:
    """The server after ``work(transport, server)``, and what that gave."""

    async def main() -> tuple[Server, Any]:
        server = Server()
        async with server.running() as url:
            transport = kind(url)
            try:
                return server, await work(transport, server)
            finally:
                await transport.close()

    return asyncio.run(main())


def test_bytes_go_out_as_they_are_and_every_request_has_the_headers_of_the_first(kind: type[OpenAITransport]) -> None:
    async def work(transport: OpenAITransport, _: Server) -> list[bytes]:
        return [await (await transport.post("/ask", text, {"x-mine": "1"})).aread() for text in (b"one", b"2", b"")]

    server, answers = with_transport(kind, work)
    assert answers == [b"heard one", b"heard 2", b"heard "]
    first, *others = server.requests
    assert [body for _, _, body in server.requests] == [b"one", b"2", b""]
    assert first[1]["x-mine"] == "1"
    assert "the-key" in (first[1].get("authorization", "") + first[1].get("x-api-key", ""))
    for _, headers, body in others:
        assert headers == {**first[1], "content-length": str(len(body))}
    assert len(server.connections) == 1


def test_the_second_request_does_not_go_through_all_of_the_sdk(
    kind: type[OpenAITransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(transport: OpenAITransport, _: Server) -> int:
        sdk, seen = transport.sdk(), []
        build = sdk._build_request

        def counted(*args: Any, **named: Any) -> Any:
            seen.append(args)
            return build(*args, **named)

        monkeypatch.setattr(sdk, "_build_request", counted)
        for _ in range(5):
            await (await transport.post("/ask", b"hi", {})).aread()
        sdk.api_key = "another"
        for _ in range(5):
            await (await transport.post("/ask", b"hi", {})).aread()
        return len(seen)

    server, through_the_sdk = with_transport(kind, work)
    assert (len(server.requests), through_the_sdk) == (10, 2)
    said = [h.get("authorization", "") + h.get("x-api-key", "") for _, h, _ in server.requests]
    assert ["another" in text for text in said] == [False] * 5 + [True] * 5


@pytest.mark.parametrize("wrapped", ["post", "send"])
@pytest.mark.parametrize("late", [False, True])
def test_whoever_wraps_the_sdk_sees_each_request(
    kind: type[OpenAITransport],
    wrapped: str,
    late: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(transport: OpenAITransport, _: Server) -> tuple[int, str]:
        seen: list[Any] = []
        owner = type(transport.sdk() if wrapped == "post" else transport.sdk()._client)
        plain = getattr(owner, wrapped)

        async def traced(*args: Any, **named: Any) -> Any:
            seen.append(args)
            return await plain(*args, **named)

        if late:
            for _ in range(2):
                await (await transport.post("/ask", b"hi", {})).aread()
        monkeypatch.setattr(owner, wrapped, traced)
        for _ in range(3):
            await (await transport.post("/ask", b"hi", {})).aread()
        assert transport.remark() == f"{kind.package}: {transport.detour}; each request takes the SDK's own, longer way"
        return len(seen), transport.detour

    _, (seen, detour) = with_transport(kind, work)
    assert seen == 3 and detour.endswith(f".{wrapped} was wrapped")
    assert [r.getMessage() for r in caplog.records] == [
        f"{kind.package}: {detour}; each request takes the SDK's own, longer way"
    ]


@pytest.mark.parametrize("name", [*_OF_SDK, *_OF_HTTP])
def test_a_name_that_is_not_there_is_said(kind: type[OpenAITransport], name: str) -> None:
    async def work(transport: OpenAITransport, _: Server) -> str:
        sdk = transport.sdk()
        owner = sdk if name in _OF_SDK else sdk._client
        whole = type(owner)

        def gone(self: Any) -> Any:
            raise AttributeError(name)

        owner.__class__ = type(whole.__name__, (whole,), {name: property(gone)})
        try:
            return obstacle(sdk, kind.package)
        finally:
            owner.__class__ = whole

    assert with_transport(kind, work)[1].endswith(f".{name}")


def test_headers_tells_what_is_sent_and_exactly_leaves_nothing_else(kind: type[OpenAITransport]) -> None:
    async def work(transport: OpenAITransport, _: Server) -> dict[str, str]:
        told = transport.headers({"User-agent": "mine", "x-more": "yes"})
        await (await transport.post("/ask", b"{}", {"User-agent": "mine", "x-more": "yes"})).aread()
        await (await transport.post("/ask", b"{}", transport.exactly({"x-only": "this"}))).aread()
        return told

    server, told = with_transport(kind, work)
    low = {name.lower(): value for name, value in told.items()}
    assert len(low) == len(told)
    assert (low["user-agent"], low["x-more"]) == ("mine", "yes")
    (_, first, _), (_, second, _) = server.requests
    assert low.items() <= first.items()
    assert second["x-only"] == "this"
    assert not {"authorization", "x-api-key", "x-stainless-lang"} & second.keys()
    assert "the-key" not in json.dumps(second)


def test_failures_are_the_sdks_own_on_the_first_request_and_on_those_after_it(kind: type[OpenAITransport]) -> None:
    async def work(transport: OpenAITransport, _: Server) -> list[str]:
        sdk, found = transport.load(), []
        for _ in range(2):
            with pytest.raises(sdk.BadRequestError) as refused:
                await transport.post("/refuse", b"{}", {})
            found.append(refused.value.response.text)
            with pytest.raises(sdk.APIStatusError) as redirected:
                await transport.post("/redirect", b"{}", {})
            found.append(str(redirected.value.status_code))
            await (await transport.post("/ask", b"{}", {})).aread()
        with pytest.raises(sdk.APITimeoutError):
            await transport.get("/silent", 0.05)
        transport.sdk().timeout = 60.0  # which an SDK takes as well
        assert await transport.get("/ask", 60.0) == b"heard "
        return found

    server, found = with_transport(kind, work)
    assert found == ['{"error": {"message": "no", "type": "t"}}', "307"] * 2
    assert len(server.requests) == 8

    async def nobody() -> None:
        transport = kind("http://127.0.0.1:9")
        for _ in range(2):
            with pytest.raises(transport.load().APIConnectionError):
                await transport.post("/ask", b"{}", {})
        await transport.close()

    asyncio.run(nobody())


def test_the_error_of_a_server_that_never_stops_has_an_end(kind: type[OpenAITransport]) -> None:
    async def work(transport: OpenAITransport, server: Server) -> int:
        with pytest.raises(transport.load().InternalServerError) as failed:
            await transport.post("/endless", b"{}", {})
        await asyncio.wait_for(server.left.wait(), 30)
        return len(failed.value.response.content)

    _, kept = with_transport(kind, work)
    assert kept == 256 * 1024


def test_a_body_that_is_let_go_of_closes_the_connection(kind: type[OpenAITransport]) -> None:
    async def work(transport: OpenAITransport, server: Server) -> list[int]:
        sizes = []
        for _ in range(2):
            server.left.clear()
            body = Body(await transport.post("/stream", b"{}", {}))
            sizes.append(len(await body.read()))
            assert not body.ended
            await body.close()
            await asyncio.wait_for(server.left.wait(), 30)
        for _ in range(2):
            body = Body(await transport.post("/ask", b"hi", {}))
            parts = []
            while part := await body.read():
                parts.append(part)
            assert b"".join(parts) == b"heard hi"
            await body.close()
        assert body.ended
        return sizes

    _, sizes = with_transport(kind, work)
    assert all(0 < size <= 32_768 for size in sizes)


def test_each_loop_has_a_client_of_its_own_and_no_session_is_left_open(kind: type[OpenAITransport]) -> None:
    transports: list[OpenAITransport] = []

    async def main() -> Any:
        server = Server()
        async with server.running() as url:
            if not transports:
                transports.append(kind(url))
            transport = transports[0]
            sdk = transport.sdk()
            sdk.base_url = url
            assert transport.sdk() is sdk
            assert await (await transport.post("/ask", b"hi", {})).aread() == b"heard hi"
            return sdk

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert asyncio.run(main()) is not asyncio.run(main())
        transports.clear()
        gc.collect()


def test_a_client_that_sent_nothing_leaves_no_error_behind(kind: type[OpenAITransport]) -> None:
    transports: list[OpenAITransport] = []

    async def main(url: str) -> None:
        transports[:] = transports or [kind(url)]
        transports[0].sdk()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main("http://127.0.0.1:9"))
        asyncio.run(main("http://127.0.0.1:9"))  # lets go of the client of the loop before
        transports.clear()
        gc.collect()


PREPARED = """
import asyncio, importlib, sys, threading
transport = getattr(importlib.import_module("test_transport"), sys.argv[1])("http://127.0.0.1:9")
thread = threading.Thread(target=transport.prepare)
thread.start(), thread.join()
before = {*sys.modules}
try: asyncio.run(transport.post("/v1/any", b"{}", {}))
except Exception as error: print(isinstance(error, sys.modules[transport.package].APIConnectionError))
print(*sorted({name.partition(".")[0] for name in {*sys.modules} - before} & {"aiohttp", "httpx2", "openai", "anthropic"}))
"""


def test_after_prepare_the_first_request_imports_nothing_of_the_sdk(kind: type[OpenAITransport]) -> None:
    argv = [sys.executable, "-c", PREPARED, kind.__name__]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parent)
    assert (done.stdout, done.stderr) == ("True\n\n", "")


def test_importing_it_imports_nothing_heavy(kind: type[OpenAITransport]) -> None:
    code = "import sys, skillkit_transport; print({'aiohttp', 'httpx2', sys.argv[1]} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code, kind.package], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
