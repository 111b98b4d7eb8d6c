"""What the adapters of OpenAI's two wires share: one request out, one stream of events in, one terminal event."""

from __future__ import annotations

import logging
import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError, SkillKitError, UsageError
from skillkit_core.frozen import freeze
from skillkit_core.models import ModelDefinition
from skillkit_core.sse import SSEDecoder
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .client import Client, Endpoint
from .dialect import OPENAI_URL, Dialect, dialect_for
from .errors import status_error
from .jsontext import decode, encode
from .watch import Interrupted, Watch

if TYPE_CHECKING:
    import httpx2

__all__ = ["OpenAIWire", "log"]

log = logging.getLogger("skillkit_openai")
_DRAIN = (
    0.05  # seconds to wait for the end of the body after the end of the answer, so that the connection can be reused
)
_LAST_WORDS = 2.0  # seconds for the terminal event that should follow an error event
_MALFORMED = (ValueError, TypeError, KeyError, AttributeError, IndexError)  # JSON, or not, of another shape
_NO_KEY = "set {variable}, or pass api_key"


class OpenAIWire(LLMAdapter):
    """Base of the adapters of this plugin.

    Args:
        host: the host, asked for ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` where they are not given; may be ``None``.
        provider: name of the provider, for messages and errors.
        base_url: endpoint with the version; default: ``OPENAI_BASE_URL``, else OpenAI's own.
        api_key: default: ``OPENAI_API_KEY``, which goes to OpenAI and to ``OPENAI_BASE_URL`` and to no other endpoint.
        headers: sent with every request.
        query: added to every URL. proxy: URL of an HTTP proxy; default: the environment's.
        timeout: seconds until the first event, where the request's settings do not say. idle_timeout: longest silence
            afterwards. connect_timeout: seconds to reach the server.
        key_hint: variable that should hold the key; when it is given, an encrypted endpoint is not asked without one.
        url_hint: variable that should hold the endpoint.
        options: fields of :class:`~skillkit_openai.dialect.Dialect`.

    Raises:
        UsageError: an unknown option, or a provider other than ``openai`` without an endpoint.
    """

    path: ClassVar[str]

    def __init__(
        self,
        host: Any = None,
        *,
        provider: str = "openai",
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        proxy: str | None = None,
        timeout: float | None = 600.0,
        idle_timeout: float | None = 600.0,
        connect_timeout: float = 60.0,
        key_hint: str | None = None,
        url_hint: str = "OPENAI_BASE_URL",
        **options: Any,
    ) -> None:
        self.provider = provider
        if not base_url and provider != "openai":  # nobody else's key goes to OpenAI
            raise UsageError(f"provider {provider!r} has no endpoint", hint=f"set {url_hint}, or pass base_url")
        url = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
        if api_key is None and (not base_url or url == OPENAI_URL):
            api_key = _secret(host, "OPENAI_API_KEY")
        self.endpoint = Endpoint(url, api_key or "", dict(headers or {}), dict(query or {}), proxy, connect_timeout)
        self.dialect: Dialect = dialect_for(url, options)
        self._client = Client(self.endpoint)
        self._timeout = timeout
        self._idle = idle_timeout
        self._key_hint = _NO_KEY.format(variable=key_hint or "OPENAI_API_KEY")
        self._wants_key = url == OPENAI_URL or (key_hint is not None and url.startswith("https://"))

    # -- what a wire says about itself ------------------------------------------------------------------------------

    @abstractmethod
    def body(self, request: LLMRequest) -> bytes:
        """The request's body; what is serialised already comes from ``request.scratch``."""

    @abstractmethod
    def tool(self, tool: Tool) -> dict[str, Any]:
        """A tool as the wire describes it."""

    def tools_field(self, request: LLMRequest) -> bytes:
        """``,"tools":[...]``, sorted by name: the same set gives the same bytes (I16).

        Server-side tools in ``settings.extra["tools"]`` follow. The text is kept while the set is the identical tuple.
        """
        server = request.settings.extra.get("tools") or ()
        if not request.tools and not server:
            return b""
        key = (self.api, self.dialect.strict, server)
        kept = request.scratch.get("openai.tools")
        if kept is None or kept[0] is not request.tools or kept[1] != key:
            tools = [self.tool(t) for t in sorted(request.tools, key=lambda t: t.name)]
            kept = request.scratch["openai.tools"] = (request.tools, key, b',"tools":' + encode([*tools, *server]))
        text: bytes = kept[2]
        return text

    @abstractmethod
    def problems(self, request: LLMRequest) -> Sequence[str]:
        """Settings that the model refuses, one line each."""

    @abstractmethod
    def start(self) -> Any:
        """The accumulator of a new answer."""

    @abstractmethod
    def convert(self, payload: Any, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of one parsed ``data:`` object."""

    @abstractmethod
    def whole(self, payload: Any, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of a body that was not streamed."""

    @abstractmethod
    def end(self, acc: Any, marked: bool) -> tuple[Iterable[StreamEvent], Any]:
        """The events of the end of the stream, ``marked`` by ``[DONE]`` or not."""

    @abstractmethod
    def broken(self, acc: Any, error: ProviderError) -> StreamEvent:
        """The terminal event of an answer that a failure cut short."""

    # -- the contract -----------------------------------------------------------------------------------------------

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model and yield what it answers; see :meth:`skillkit_core.LLMAdapter.stream`."""
        self._client.load()  # half a second, once, before the clock starts
        settings = request.settings
        first = settings.timeout if settings.timeout is not None else self._timeout
        watch = Watch(request.signal, first, self._idle)
        acc = self.start()
        reader: _Reader | None = None
        terminal: StreamEvent | None = None
        try:
            try:
                reader = _Reader(self, await self._send(request, watch), watch, request.stream)
                while terminal is None:
                    events, acc = await reader.next(acc)
                    for event in events:
                        if event.type == "done" or event.type == "error":
                            terminal = event
                            break
                        yield event
                await reader.drain()
            except Exception as error:  # noqa: BLE001  # the contract: a stream never raises, it ends in an error event
                if terminal is None:
                    terminal = self.broken(acc, self._failure(error, request))
            if isinstance(terminal.error, ProviderError) and terminal.error.provider is None:
                terminal.error.provider = terminal.error.where = self.provider
            yield terminal
        finally:
            watch.close()
            if reader is not None:
                await reader.close()

    async def _send(self, request: LLMRequest, watch: Watch) -> httpx2.Response:
        problems = self.problems(request)
        if problems:
            raise ProviderError(problems[0], kind=ErrorKind.invalid_request, provider=self.provider)
        if self._wants_key and not self.endpoint.api_key and not self.endpoint.headers:
            raise ProviderError(
                "no API key is configured", kind=ErrorKind.auth, provider=self.provider, hint=self._key_hint
            )
        content = self.body(request)
        headers: Mapping[str, Any] = request.settings.headers
        if request.on_request is not None:
            own = self._client.headers(headers)
            payload = freeze(decode(content))
            changed, final = await watch.wait(request.on_request(payload, own))
            if changed is not payload:
                content = encode(changed)
            if final is not own or dict(final) != self._client.headers(headers):
                headers = self._client.overrides(final, own)
        try:
            response = await watch.wait(self._client.post(self.path, content, headers))
        except Exception as error:
            refused = getattr(error, "response", None)
            if refused is not None and request.on_response is not None:
                await watch.wait(request.on_response(refused.status_code, dict(refused.headers)))
            raise
        if request.on_response is not None:
            await watch.wait(request.on_response(response.status_code, dict(response.headers)))
        return response

    # -- failures ---------------------------------------------------------------------------------------------------

    def _failure(self, error: Exception, request: LLMRequest) -> ProviderError:
        """What went wrong, as the loop wants to know it."""
        import aiohttp
        import httpx2
        import openai

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, Interrupted):
            if error.reason == "aborted":
                return self._error(request.signal.reason or "aborted", ErrorKind.aborted)
            return self._error("the server was silent for too long", ErrorKind.timeout)
        if isinstance(error, openai.APIStatusError):
            return self._status_failure(error)
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, (TimeoutError, aiohttp.ServerTimeoutError)):
                return self._error(f"no connection to {self._where()} in time", ErrorKind.timeout)
            if isinstance(cause, (aiohttp.ClientError, OSError)):
                words = str(cause) or type(cause).__name__
                return self._error(f"the connection to {self._where()} failed: {words}", ErrorKind.connection)
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, (httpx2.TransportError, openai.APIConnectionError)):
            words = str(error) or type(error).__name__
            return self._error(f"the connection to {self._where()} failed: {words}", ErrorKind.connection)
        if isinstance(error, httpx2.HTTPError):
            return self._error(f"the answer cannot be read: {error}", ErrorKind.protocol)
        log.debug("request failed", exc_info=error)
        words = str(error) if isinstance(error, SkillKitError) else f"{type(error).__name__}: {error}"
        wrapped = self._error(words, ErrorKind.unknown)
        wrapped.__cause__ = error
        return wrapped

    def _status_failure(self, error: Any) -> ProviderError:
        body = error.body
        try:
            body = decode(error.response.content)
        except (ValueError, RuntimeError):
            pass
        return status_error(
            error.status_code,
            error.response.headers,
            body,
            provider=self.provider,
            secret=self.endpoint.api_key,
            key_hint=self._key_hint,
        )

    def _error(self, message: str, kind: ErrorKind) -> ProviderError:
        secret = self.endpoint.api_key
        return ProviderError(message.replace(secret, "***") if secret else message, kind=kind, provider=self.provider)

    def _where(self) -> str:
        from urllib.parse import urlsplit

        return urlsplit(self.endpoint.base_url).netloc.rpartition("@")[2]

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def list_models(self) -> Sequence[ModelDefinition]:
        """What the server's ``/models`` lists, with what some servers say about windows.

        Raises:
            ProviderError: the server cannot be asked.
        """
        try:
            data = decode(await self._client.get("/models"))
        except Exception as error:  # noqa: BLE001  # every failure is told the same way
            raise self._failure(error, LLMRequest(ModelDefinition(""), ())) from None
        found = data.get("data") if isinstance(data, dict) else data
        return tuple(
            ModelDefinition(
                m["id"],
                self.provider,
                self.api,
                context_window=int(m.get("context_length") or m.get("context_window") or m.get("max_model_len") or 0),
            )
            for m in found or ()
            if isinstance(m, dict) and isinstance(m.get("id"), str)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class _Reader:
    """The parsed events of one answer, in whatever form the server chose to send it."""

    def __init__(self, wire: OpenAIWire, response: httpx2.Response, watch: Watch, streamed: bool) -> None:
        from .prepared import Body

        self._wire = wire
        self._response = response
        self._watch = watch
        self._bytes = Body(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._sse = "event-stream" in kind or (streamed and "json" not in kind)
        self._decoder = SSEDecoder()
        self._hurried = False

    async def next(self, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        """The events of what arrived since the last call; those of the end when nothing follows."""
        if not self._sse:
            return await self._body(acc)
        data = await self._watch.wait(self._bytes.read())
        if not data:
            return self._feed(self._decoder.close(), acc, True)
        return self._feed(self._decoder.feed(data), acc, False)

    def _feed(self, raw: list[tuple[str, bytes]], acc: Any, last: bool) -> tuple[Iterable[StreamEvent], Any]:
        out: list[StreamEvent] = []
        if raw and not self._hurried:
            self._watch.started()
        try:
            for name, data in raw:
                if data[:6] == b"[DONE]":
                    events, acc = self._wire.end(acc, True)
                elif data:
                    payload = decode(data)
                    if name and isinstance(payload, dict) and "type" not in payload:
                        payload["type"] = name  # said in the "event:" line alone
                    events, acc = self._wire.convert(payload, acc)
                else:
                    continue
                out.extend(events)
            if last:
                events, acc = self._wire.end(acc, False)
                out.extend(events)
        except _MALFORMED as error:
            over = any(e.terminal for e in out)
            return (out if over else [*out, self._malformed("an event", error, acc)]), acc
        if not self._hurried and getattr(acc, "error", None) is not None:
            self._hurried = True
            self._watch.hurry(_LAST_WORDS)
        return out, acc

    def _malformed(self, what: str, error: Exception, acc: Any) -> StreamEvent:
        log.debug("%s of %s is malformed", what, self._wire.provider, exc_info=error)
        message = f"the server sent {what} that this wire does not have"
        status = self._response.status_code
        return self._wire.broken(acc, ProviderError(message, kind=ErrorKind.protocol, status=status))

    async def _body(self, acc: Any) -> tuple[Iterable[StreamEvent], Any]:
        parts = bytearray()
        while piece := await self._watch.wait(self._bytes.read()):
            self._watch.started()
            parts += piece
        try:
            payload = decode(bytes(parts))
        except ValueError:
            if parts.lstrip().startswith((b"data:", b"event:")):
                return self._feed([*self._decoder.feed(bytes(parts)), *self._decoder.close()], acc, True)
            problem = ProviderError(
                "the answer is not JSON", kind=ErrorKind.protocol, status=self._response.status_code
            )
            return [self._wire.broken(acc, problem)], acc
        try:
            return self._wire.whole(payload, acc)
        except _MALFORMED as error:
            return [self._malformed("an answer", error, acc)], acc

    async def drain(self) -> None:
        """Read to the end of the body, which is about to come, so that the connection can be used again."""
        if not self._sse or self._bytes.ended:
            return
        self._watch.hurry(_DRAIN)
        with suppress(Interrupted):
            while await self._watch.wait(self._bytes.read()):
                pass

    async def close(self) -> None:
        """Let go of the connection; it is closed where the body was not read to its end."""
        await self._bytes.close()


def _secret(host: Any, name: str) -> str | None:
    """A variable, as the host knows it; from the environment without a host."""
    if host is not None and callable(getattr(host, "secret", None)):
        value = host.secret(name)
        return value if isinstance(value, str) and value else None
    return os.environ.get(name) or None
