"""The base of adapters over HTTP: a request is JSON that is posted, an answer is JSON, whole, in lines or in events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence, Set
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.frozen import EMPTY, freeze
from skillkit_core.stream import StreamEvent

from .answer import AnswerWriter
from .history import PlainMessage, open_calls, plain_history
from .http import Interrupted, Origin, Watch, classify_status, exceeds_window, require_url
from .http.failures import advice, body_in_words, parse_retry_after

if TYPE_CHECKING:
    import aiohttp

    from .sockets import Sessions

__all__ = ["HTTPAdapter"]

T = TypeVar("T")

_OURS = frozenset({"headers", "extra", "timeout"})  # settings that every adapter has
_WORDS = ("message", "error", "detail", "msg", "error_message")  # where servers write what is wrong
_LONGEST = 2_000
_DEFAULTS = ModelSettings()


class HTTPAdapter(LLMAdapter):
    """Posts what :meth:`body` returns, and hands each JSON object of the answer to :meth:`read`.

    Everything else that an adapter owes its caller is here: ``on_request`` and ``on_response``, waits that end (abort,
    ``timeout``, silence), failures classified and in words, redirects that are not followed, secrets that are not shown,
    connections that are used again and closed. Needs ``skillkit-transport[http]``.

    Args:
        host: the host, asked for the variable of the key, which errors name; may be ``None``.
        provider: name of the provider.
        base_url: endpoint; default: the attribute ``url``.
        api_key: sent in the header ``key_header``.
        headers: sent with every request.
        timeout: seconds until the first event, where the request's settings do not say; ``None``: no limit.
        idle_timeout: seconds of silence between events afterwards; ``None``: no limit.
        connect_timeout: seconds to reach the server.

    Attributes:
        url: the endpoint of the provider itself.
        path: what a request adds to the endpoint.
        framing: how a stream is cut into JSON: server-sent events, or lines. A stream of events may end in ``[DONE]``.
        settings: fields of :class:`~skillkit_core.ModelSettings` that the wire has, and their names in the body; an empty name
            leaves writing it to :meth:`body`. A request with another setting is refused before it is sent.
        lacks: what the wire has not, as the adapter suite of skillkit-testkit names it (``tools``, ``thinking``, ``streaming``,
            ``whole``, ``usage``, ``overflow``, ``quota``). :meth:`history` writes calls as text where ``tools`` are lacking.
        key_header: ``authorization``: the key is sent as a bearer token; any other header holds the key alone.
        version: what an endpoint usually ends in, for example ``/v1``; errors mention it.

    Raises:
        UsageError: the endpoint is no address, or there is none.
    """

    url: ClassVar[str] = ""
    path: ClassVar[str] = ""
    framing: ClassVar[Literal["sse", "lines"]] = "sse"
    settings: ClassVar[Mapping[str, str]] = EMPTY
    lacks: ClassVar[Set[str]] = frozenset()
    key_header: ClassVar[str] = "authorization"
    version: ClassVar[str] = ""

    def __init__(
        self,
        host: Any = None,
        *,
        provider: str,
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 600.0,
        idle_timeout: float | None = 600.0,
        connect_timeout: float = 60.0,
    ) -> None:
        self.provider = provider
        if not base_url and not self.url:
            raise UsageError(f"provider {provider!r} has no endpoint", hint="pass base_url")
        url = require_url((base_url or self.url).rstrip("/"))
        secret = (api_key or "").strip()
        self.origin = Origin(provider, url, self.path, secret, _variable(host, provider), version=self.version)
        self._headers = dict(headers or {})
        if secret:
            self._headers[self.key_header] = f"Bearer {secret}" if self.key_header == "authorization" else secret
        self._timeout, self._idle, self._connect = timeout, idle_timeout, connect_timeout
        self._made: Sessions | None = None

    # --- what a wire says about itself ------------------------------------------------------------------------------

    @abstractmethod
    def body(self, request: LLMRequest) -> Mapping[str, Any]:
        """Return the body of a request: model, conversation, tools, whether it is a stream. Settings are added to it."""

    @abstractmethod
    def read(self, event: dict[str, Any], out: AnswerWriter) -> None:
        """Write to ``out`` what one JSON object of the stream says; :meth:`AnswerWriter.done` at the wire's end mark.

        An object with an ``error`` does not come here. The name of a server-sent event stands in ``type``, where the object has
        none. Read fields with :func:`~skillkit_transport.value_at`.
        """

    def whole(self, body: dict[str, Any], out: AnswerWriter) -> None:
        """Write to ``out`` an answer that was not streamed. The default hands it to :meth:`read`."""
        self.read(body, out)

    def classify(self, status: int, body: Mapping[str, Any]) -> ErrorKind | None:
        """Return the kind of a failure by the error types and codes of ``body``; ``None``: the status decides.

        Args:
            status: 200: the error came in a stream.
            body: what the server sent; empty where it was no JSON object.
        """
        return None

    def history(self, request: LLMRequest) -> Sequence[PlainMessage]:
        """Return the conversation for :meth:`body`, see :func:`~skillkit_transport.plain_history`."""
        return list(plain_history(request, self.provider, self.api, tools="tools" not in self.lacks))

    # --- the contract -----------------------------------------------------------------------------------------------

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model and yield what it answers; see :meth:`skillkit_core.LLMAdapter.stream`."""
        from .reading import Reading

        watch, out = Watch(request.signal), AnswerWriter()
        reading: Reading | None = None
        failure: ProviderError | None = None
        try:
            try:
                reading = Reading(self, await self._send(request, watch), watch, self._idle)
                while out.finished is None:
                    await reading.next(out)
                    for event in out.take():
                        yield event
                await reading.drain()
            except Exception as error:  # noqa: BLE001 - the contract: a stream never raises, it ends in an error event
                failure = self._failure(error, request)
            for event in out.take():
                yield event
            if out.finished is not None:
                yield out.finished
            else:
                yield StreamEvent("error", error=failure, usage=out.usage, response_id=out.response_id)
        finally:
            watch.close()
            if reading is not None:
                reading.close()

    def validate(self, request: LLMRequest) -> Sequence[str]:
        """Return the settings that the wire does not have, and calls without a result."""
        return [*self._refused(request.settings), *open_calls(request)]

    def prepare(self) -> None:
        """Import the HTTP client."""
        from . import jsontext, reading, sockets  # noqa: F401

    async def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            await self._made.close()

    # --- asking -----------------------------------------------------------------------------------------------------

    async def _send(self, request: LLMRequest, watch: Watch) -> aiohttp.ClientResponse:
        """Encode, let ``on_request`` look, post, tell ``on_response``.

        The time until the first event counts from the posting on.

        Raises:
            Exception: whatever went wrong.
        """
        from .jsontext import encode

        for problem in self._refused(request.settings):
            raise ProviderError(problem, kind=ErrorKind.invalid_request)
        unsendable = self.origin.key_problem()
        if unsendable is not None:
            raise unsendable
        payload: Mapping[str, Any] = {**self.body(request), **self._settings(request.settings)}
        headers: Mapping[str, str] = {"content-type": "application/json", **self._headers, **request.settings.headers}
        if request.on_request is not None:
            payload, headers = await watch.wait(request.on_request(freeze(payload), headers))
        content = encode(payload)
        timeout = request.settings.timeout
        watch.limit(timeout if timeout is not None else self._timeout)
        response = await self.reached(watch.wait(self._post(content, headers)))
        try:
            if request.on_response is not None:
                await watch.wait(request.on_response(response.status, dict(response.headers)))
            if not 200 <= response.status < 300:
                raise await self._refusal(response, request, watch)
        except BaseException:
            response.close()
            raise
        return response

    async def _post(self, content: bytes, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        from .sockets import Sessions

        if self._made is None:
            self._made = Sessions(self._session)
        return await self._made.get().post(
            self.origin.url + self.path, data=content, headers=headers, allow_redirects=False
        )

    def _session(self) -> aiohttp.ClientSession:
        import aiohttp

        from .sockets import session

        return session(timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect), trust_env=True)

    def _settings(self, settings: ModelSettings) -> dict[str, Any]:
        """The fields of the body that come from ``settings``."""
        known = {self.settings[name]: value for name, value in _given(settings).items() if self.settings.get(name)}
        return {**settings.extra, **known}

    def _refused(self, settings: ModelSettings) -> list[str]:
        return [f"{self.api} has no setting {name!r}" for name in _given(settings) if name not in self.settings]

    # --- failures ---------------------------------------------------------------------------------------------------

    async def reached(self, work: Awaitable[T]) -> T:
        """Return what ``work`` brings over the connection.

        Raises:
            ProviderError: there is no connection, or it is lost; or what should be sent is no request.
        """
        import aiohttp

        from .sockets import plain_cause

        try:
            return await work
        except aiohttp.InvalidURL as error:
            raise ProviderError(f"no request can go there: {error}", kind=ErrorKind.invalid_request) from error
        except (aiohttp.ClientError, OSError) as error:
            proxy = error.status if isinstance(error, aiohttp.ClientHttpProxyError) else None
            raise self.origin.lost(plain_cause(error), proxy_status=proxy) from error
        except ValueError as error:
            raise ProviderError(
                f"the request cannot be sent: {error}", kind=ErrorKind.invalid_request, hint="check headers"
            ) from error

    async def _refusal(self, response: aiohttp.ClientResponse, request: LLMRequest, watch: Watch) -> ProviderError:
        from .jsontext import decode
        from .sockets import MOST_OF_ERROR

        status = response.status
        if 300 <= status < 400:
            return self.origin.redirected(status, response.headers)
        content = b""
        while len(content) < MOST_OF_ERROR and (piece := await self.reached(watch.wait(response.content.read(32_768)))):
            content += piece
        try:
            body = decode(content)
        except ValueError:
            what = body_in_words(response.headers.get("content-type", ""), content)
            body = f"the server answered with status {status} and {what}"
        error = self.refused(body, status, response.headers)
        if status in (400, 422) and error.kind is ErrorKind.invalid_request and exceeds_window(request):
            error.kind, error.hint = ErrorKind.overflow, advice(ErrorKind.overflow)
        elif status in (404, 405):
            error.hint = f"check the name of the model, and {self.origin.path_hint().removeprefix('check ')}"
        return error

    def refused(self, body: Any, status: int = 200, headers: Mapping[str, str] = EMPTY) -> ProviderError:
        """Return the error that a server reports.

        Args:
            body: what it sent: an object with ``error``, ``message`` or ``detail``, or a text.
            status: 200: the error came in a stream.
            headers: of the answer; they may ask to wait.
        """
        said = body if isinstance(body, Mapping) else {}
        kind = self.classify(status, said) or (classify_status(status) if status >= 400 else ErrorKind.server)
        wait = parse_retry_after(headers)
        words = _words(body) or f"the server answered with status {status} and no reason"
        words = words if len(words) <= _LONGEST else words[:_LONGEST] + "..."
        return ProviderError(words, kind=kind, status=status, retry_after=wait, hint=advice(kind, wait))

    def _failure(self, error: Exception, request: LLMRequest) -> ProviderError:
        if isinstance(error, Interrupted):
            return self.origin.sign(self._interrupted(error.reason, request))
        if isinstance(error, ProviderError):
            return self.origin.sign(error)
        words = f"the adapter {type(self).__name__} failed: {type(error).__name__}: {error}"
        mistake = ProviderError(words, hint="report it to its author; --debug shows the line")
        mistake.__cause__ = error
        return self.origin.sign(mistake)

    def _interrupted(self, reason: str, request: LLMRequest) -> ProviderError:
        if reason == "aborted":
            return ProviderError(request.signal.reason or "aborted", kind=ErrorKind.aborted)
        wanted = request.settings.timeout if request.settings.timeout is not None else self._timeout
        words, setting = f"no answer came within {wanted:g} s", "timeout"
        if reason == "silence":
            words, setting = f"the server was silent for {self._idle:g} s", "idle_timeout"
        return ProviderError(words, kind=ErrorKind.timeout, hint=f"try again, or raise {setting}")


def _given(settings: ModelSettings) -> dict[str, Any]:
    """The settings of a request that every wire may or may not have. Not to think, and to choose freely, is the default."""
    values = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in _OURS}
    usual = {"thinking": "off", "tool_choice": "auto"}
    return {k: v for k, v in values.items() if v != getattr(_DEFAULTS, k) and v != usual.get(k)}


def _words(body: Any) -> str:
    """What a server says is wrong, wherever it writes it."""
    if isinstance(body, str):
        return " ".join(body.split())
    if isinstance(body, list):
        return _words(body[0]) if body else ""
    return next(filter(None, (_words(body.get(name)) for name in _WORDS)), "") if isinstance(body, Mapping) else ""


def _variable(host: Any, provider: str) -> str | None:
    """The variable that should hold the key of ``provider``, as its plugin registered it."""
    try:
        known = host.adapters.provider(provider) if host is not None else None
    except UsageError:
        return None
    return known.api_key_env[0] if known is not None and known.api_key_env else None
