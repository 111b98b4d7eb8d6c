"""What the adapters of OpenAI's two wires share: one request out, one stream of events in, one terminal event."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_transport import Origin, Watch, decode, encode, require_url

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.frozen import freeze
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import StreamEvent
from skillkit_core.tools import Tool

from .client import Client, Endpoint
from .dialect import OPENAI_URL, Dialect, dialect_for
from .failures import Failures
from .models import definitions
from .reader import Reader

if TYPE_CHECKING:
    import httpx2

__all__ = ["OpenAIWire"]


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
        key_header: header that carries the key; ``authorization``: as a bearer token.
        key_hint: variable that should hold the key; when it is given, an encrypted endpoint is not asked without one.
        url_hint: variable that should hold the endpoint. resource_env: variable that may hold an Azure resource instead.
        options: fields of :class:`~skillkit_openai.dialect.Dialect`.

    Raises:
        UsageError: an unknown option, an endpoint or proxy that is no address, or a provider other than ``openai`` without
            an endpoint.
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
        key_header: str = "authorization",
        key_hint: str | None = None,
        url_hint: str = "OPENAI_BASE_URL",
        resource_env: str | None = None,
        **options: Any,
    ) -> None:
        self.provider = provider
        if not base_url and resource_env is not None:
            base_url = _azure_url(os.environ.get(resource_env))
        if not base_url and provider != "openai":  # nobody else's key goes to OpenAI
            raise UsageError(f"provider {provider!r} has no endpoint", hint=f"set {url_hint}, or pass base_url")
        url = require_url((base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/"))
        if proxy is not None:
            require_url(proxy, "proxy")
        if api_key is None and (not base_url or url == OPENAI_URL):
            api_key = _secret(host, "OPENAI_API_KEY")
        secret = (api_key or "").strip()
        moved = {key_header: secret} if secret and key_header != "authorization" else {}
        self.endpoint = Endpoint(
            url, "" if moved else secret, {**(headers or {}), **moved}, dict(query or {}), proxy, connect_timeout
        )
        self.dialect: Dialect = dialect_for(url, options)
        self._client = Client(self.endpoint)
        self._tools: tuple[Any, bytes] | None = None  # those of the last session
        self._timeout = timeout
        self.idle_timeout = idle_timeout
        variable = key_hint or ("OPENAI_API_KEY" if provider == "openai" else None)
        self._origin = Origin(provider, url, self.path, secret, variable, version="/v1")
        self.failures = Failures(self._origin, timeout, idle_timeout)
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

        Server-side tools in ``settings.extra["tools"]`` follow. The text is kept for a session while the set is the identical
        tuple, and for the next session while its tools are the same.
        """
        server = request.settings.extra.get("tools") or ()
        if not request.tools and not server:
            return b""
        key = (self.api, self.dialect.strict, server)
        kept = request.scratch.get("openai.tools")
        if kept is None or kept[0] is not request.tools or kept[1] != key:
            tools = sorted(request.tools, key=lambda t: t.name)
            said = (key, [(t.name, t.description, t.parameters, t.strict) for t in tools])
            if self._tools is None or self._tools[0] != said:  # the same objects are equal at once
                self._tools = said, b',"tools":' + encode([*map(self.tool, tools), *server])
            kept = request.scratch["openai.tools"] = (request.tools, key, self._tools[1])
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
        watch = Watch(request.signal)
        acc = self.start()
        reader: Reader | None = None
        terminal: StreamEvent | None = None
        try:
            try:
                reader = Reader(self, await self._send(request, watch), watch, request.stream)
                while terminal is None:
                    events, acc = await reader.next(acc)
                    for event in events:
                        kind = event.type
                        if kind == "done" or kind == "error":
                            terminal = event
                            break
                        yield event
                await reader.drain()
            except Exception as error:  # noqa: BLE001  # the contract: a stream never raises, it ends in an error event
                if terminal is None:
                    terminal = self.broken(acc, self.failures.of(error, request))
            if isinstance(terminal.error, ProviderError) and terminal.error.provider is None:
                self._origin.sign(terminal.error)
            yield terminal
        finally:
            watch.close()
            if reader is not None:
                await reader.close()

    async def _send(self, request: LLMRequest, watch: Watch) -> httpx2.Response:
        """Encode, let ``on_request`` look, post, tell ``on_response``.

        The time until the first event counts from the posting on: neither the import of the SDK nor a hook that asks somebody
        is the server's.

        Raises:
            Exception: whatever went wrong.
        """
        problems = self.problems(request)
        if problems:
            raise ProviderError(problems[0], kind=ErrorKind.invalid_request, provider=self.provider)
        if self._wants_key and not self.endpoint.api_key and not self.endpoint.headers:
            hint = self._origin.key_hint()
            raise ProviderError("no API key is configured", kind=ErrorKind.auth, provider=self.provider, hint=hint)
        unsendable = self._origin.key_problem()
        if unsendable is not None:
            raise unsendable
        content = self.body(request)
        headers: Mapping[str, Any] = request.settings.headers
        if request.on_request is not None:
            own = self._client.headers(headers)
            payload = freeze(decode(content))
            changed, final = await watch.wait(request.on_request(payload, own))
            if changed is not payload:
                content = encode(changed)
            if final is not own or dict(final) != self._client.headers(headers):
                headers = self._client.exactly(final)
        self._client.sdk()
        timeout = request.settings.timeout
        watch.limit(timeout if timeout is not None else self._timeout)
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

    # -- the rest ---------------------------------------------------------------------------------------------------

    async def list_models(self) -> Sequence[ModelDefinition]:
        """What the server's ``/models`` lists, with what some servers say about windows.

        Raises:
            ProviderError: the server cannot be asked.
        """
        origin = replace(self._origin, path="/models")
        failures = replace(self.failures, origin=origin)
        try:
            body = await self._client.get(origin.path, self._timeout)
        except Exception as error:  # noqa: BLE001  # every failure is told the same way
            raise origin.sign(failures.of(error, LLMRequest(ModelDefinition(""), ()))) from None
        try:
            found = definitions(decode(body), self.provider, self.api)
        except ValueError:
            raise origin.sign(origin.foreign("", body)) from None
        if found is None:
            raise origin.sign(origin.unlisted(body))
        return found

    async def _count(self, path: str, payload: Mapping[str, Any], request: LLMRequest) -> int | None:
        """The ``input_tokens`` of the answer to ``payload`` at ``path``; ``None`` where another provider has no such path.

        Raises:
            ProviderError: the server cannot be asked, or refuses the request.
        """
        origin = replace(self._origin, path=path)
        try:
            unsendable = origin.key_problem()
            if unsendable is not None:
                raise unsendable
            response = await self._client.post(path, encode(payload), request.settings.headers)
            body = await response.aread()
        except Exception as error:  # noqa: BLE001  # every failure is told the same way
            told = replace(self.failures, origin=origin).of(error, request)
            if told.kind is ErrorKind.not_found and self.provider != "openai":
                return None
            raise origin.sign(told) from None
        try:
            return int(decode(body)["input_tokens"])
        except (ValueError, KeyError, TypeError):
            raise origin.sign(origin.foreign("", body)) from None

    def prepare(self) -> None:
        """Import the SDK."""
        self._client.prepare()

    def remark(self) -> str:
        """Whether each request takes the SDK's own, longer way, and why."""
        return self._client.remark()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _azure_url(resource: str | None) -> str | None:
    """The endpoint of an Azure resource, as its own tools name it: ``https://RESOURCE.openai.azure.com``."""
    if not resource:
        return None
    return resource if "/openai/" in resource else resource.rstrip("/") + "/openai/v1"


def _secret(host: Any, name: str) -> str | None:
    """A variable, as the host knows it; from the environment without a host."""
    if host is not None and callable(getattr(host, "secret", None)):
        value = host.secret(name)
        return value if isinstance(value, str) and value else None
    return os.environ.get(name) or None
