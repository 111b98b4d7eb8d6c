"""The adapter: one request to the Messages API in, one stream of SkillKit events out."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar

from skillkit_transport import (
    MOST_BYTES,
    Interrupted,
    Origin,
    Watch,
    decode,
    encode,
    exceeds_window,
    require_url,
    too_long,
)

from skillkit_core.contracts.adapter import LLMAdapter, LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError
from skillkit_core.fields import check_fields
from skillkit_core.frozen import freeze
from skillkit_core.models import ModelDefinition
from skillkit_core.stream import StreamEvent

from .client import ANTHROPIC_URL, PATH, Endpoint, Transport
from .config import AnthropicConfig
from .decoder import AnswerDecoder
from .encode import API
from .errors import error_of_body, error_of_exception
from .plugin import COMPATIBLE
from .request import BINDING_BETA, RequestEncoder, drops_foreign_thinking
from .validate import problems_of
from .wire import message_events

if TYPE_CHECKING:
    import httpx2
    from skillkit_transport import Body

__all__ = ["AnthropicAdapter"]

log = logging.getLogger(__name__)

_SCRATCH = "skillkit-anthropic"
_UNSIGNED = frozenset(endpoint for _, endpoint, *_ in COMPATIBLE)
_DRAIN = (
    0.25  # seconds that a server gets, after its last event, to end the response so that the connection can be kept
)

# What the count of tokens takes (https://platform.claude.com/docs/en/api/messages-count-tokens)
COUNTED = frozenset(("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "mcp_servers"))


class AnthropicAdapter(LLMAdapter):
    """Speaks ``anthropic-messages`` to Anthropic or to a compatible server, through the official SDK.

    Args:
        host: gives configuration (section ``anthropic``) and secrets; ``None``: defaults and the environment.
        provider: whose name errors and messages carry. Anthropic's own credentials are used for ``anthropic`` alone.
        base_url: endpoint, with or without ``/v1``; ``None``: ``ANTHROPIC_BASE_URL``, else Anthropic.
        api_key: ``None``: ``ANTHROPIC_API_KEY``, else what the SDK finds (``ANTHROPIC_AUTH_TOKEN``, a profile).
        headers: sent with every request.
        cache, timeout, connect_timeout, proxy, max_tokens, signed_thinking: override the configuration, see
            :class:`AnthropicConfig`.
        key_hint: variable that holds the key; named where the server refuses it. Default: ``ANTHROPIC_API_KEY`` for
            Anthropic itself.

    Raises:
        UsageError: ``base_url`` or ``proxy`` is no address.
    """

    api: ClassVar[str] = API

    def __init__(
        self,
        host: Any = None,
        *,
        provider: str = "anthropic",
        base_url: str | None = None,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        cache: str | None = None,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        proxy: str | None = None,
        max_tokens: int | None = None,
        key_hint: str | None = None,
        signed_thinking: bool | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "cache": cache,
            "timeout": timeout,
            "connect_timeout": connect_timeout,
            "proxy": proxy,
            "max_tokens": max_tokens,
            "signed_thinking": signed_thinking,
        }
        config = replace(_section(host), **{k: v for k, v in given.items() if v is not None})
        check_fields(config)
        self.provider = provider
        official = provider == "anthropic"
        if official:
            base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL")
            api_key = api_key or _secret(host, "ANTHROPIC_API_KEY") or _secret(host, "ANTHROPIC_AUTH_TOKEN")
        api_key = api_key.strip() if api_key else None
        all_headers = {**config.headers, **(headers or {})} if official else dict(headers or {})
        self._betas = ",".join(config.betas) if official else ""
        if self._betas:
            all_headers["anthropic-beta"] = self._betas
        self._config = config
        if base_url:
            require_url(base_url)
        if config.proxy:
            require_url(config.proxy, "proxy")
        self._transport = Transport(
            Endpoint(
                base_url,
                api_key,
                official=official,
                headers=all_headers,
                connect_timeout=config.connect_timeout,
                proxy=config.proxy,
            )
        )
        url = (base_url or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")
        variable = key_hint or ("ANTHROPIC_API_KEY" if official else None)
        self._origin = Origin(provider, url, PATH, api_key or "", variable)
        self._signs = config.signed_thinking and (signed_thinking is not None or url not in _UNSIGNED)

    # ------------------------------------------------------------ one answer

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """Ask the model; see :meth:`LLMAdapter.stream`. The connection is closed when the iterator is."""
        decoder = AnswerDecoder()
        body: Body | None = None
        watch = Watch(request.signal)
        try:
            response = await watch.wait(self._send(request, watch))
            body = _body(response)
            while not decoder.acc.finished:
                for event in await self._next(response, body, decoder, watch):
                    yield event
        except Interrupted as interrupted:
            yield decoder.fail(self._interrupted(interrupted.reason, request))
        except Exception as error:  # noqa: BLE001 - the contract: a started stream never raises
            if decoder.acc.finished:
                log.debug("after the end of the answer: %r", error)
            else:
                yield decoder.fail(self._error(error, request))
        finally:
            watch.close()
            if decoder.acc.container is not None:
                self._encoder(request).container = decoder.acc.container
            if body is not None:
                with suppress(Exception):
                    await body.close()

    async def _next(
        self, response: httpx2.Response, body: Body, decoder: AnswerDecoder, watch: Watch
    ) -> Sequence[StreamEvent]:
        """The events of what has arrived since the last call; those of the end where nothing follows.

        All at once where the answer is one JSON text, whatever its content type.

        Raises:
            ProviderError: it is no answer.
        """
        data = await watch.wait(body.read(), decoder.quiet)
        if data and not decoder.started and _is_whole(response, decoder.head + data):
            return await self._whole(response, decoder.head + data, body, decoder, watch)
        events = decoder.feed(data) if data else decoder.close()
        if not data and not decoder.started:
            events = [decoder.fail(self._foreign(response, decoder.head))]
        if not decoder.quiet:
            watch.limit(None)
        if decoder.acc.finished:
            self._sign(events[-1].error)
            await self._drain(body, watch)
        return events

    async def _send(self, request: LLMRequest, watch: Watch) -> httpx2.Response:
        """Encode, let ``on_request`` look, post, tell ``on_response``.

        The time until the first event counts from the posting on: neither the import of the SDK nor a hook that asks somebody
        is the server's.

        Raises:
            Exception: whatever went wrong.
        """
        anthropic = self._transport.load()

        unsendable = self._origin.key_problem()
        if unsendable is not None:
            raise unsendable
        content = self._encoder(request).encode(request).content
        headers: Mapping[str, Any] = self._headers(request)
        if request.on_request is not None:
            payload = freeze(decode(content))
            all_headers = self._transport.headers(headers)
            new_payload, new_headers = await request.on_request(payload, all_headers)
            if new_payload is not payload:
                content = encode(new_payload)
            headers = self._transport.exactly(new_headers)
        self._transport.sdk()
        watch.limit(request.settings.timeout)
        watch.idle(self._config.timeout)
        try:
            response = await self._transport.post(PATH, content, headers)
        except anthropic.APIStatusError as error:
            if request.on_response is not None:
                await request.on_response(error.status_code, dict(error.response.headers))
            raise
        if request.on_response is not None:
            try:
                await request.on_response(response.status_code, dict(response.headers))
            except BaseException:
                await response.aclose()
                raise
        return response

    def _headers(self, request: LLMRequest) -> Mapping[str, str]:
        """The request's own headers; the betas that it needs and its own come on top of the configured ones."""
        wanted = request.settings.headers
        always = self._betas
        if drops_foreign_thinking(self.provider, request.model):
            always = f"{always},{BINDING_BETA}" if always else BINDING_BETA
        elif not always or not wanted:
            return wanted
        merged = {k: f"{always},{v}" if k.lower() == "anthropic-beta" else v for k, v in wanted.items()}
        return merged if any(k.lower() == "anthropic-beta" for k in merged) else {**merged, "anthropic-beta": always}

    def _encoder(self, request: LLMRequest) -> RequestEncoder:
        encoder = request.scratch.get(_SCRATCH)
        if not isinstance(encoder, RequestEncoder) or encoder.provider != self.provider:
            encoder = self._new_encoder()
            request.scratch[_SCRATCH] = encoder
        return encoder

    def _new_encoder(self) -> RequestEncoder:
        return RequestEncoder(self.provider, self._config.cache, self._config.max_tokens, signs=self._signs)

    async def _whole(
        self, response: httpx2.Response, begun: bytes, body: Body, decoder: AnswerDecoder, watch: Watch
    ) -> Sequence[StreamEvent]:
        """The events of an answer that is one JSON object.

        Raises:
            ProviderError: it is something else.
        """
        parts, size = [begun], len(begun)
        while part := await watch.wait(body.read(), parts[-1].isspace()):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise too_long("an answer", MOST_BYTES)
        data = b"".join(parts)
        watch.limit(None)
        if data.lstrip()[:6] in (b"event:", b"data: "):  # a stream whose content type says otherwise
            events = decoder.feed(data)
            events += () if decoder.acc.finished else decoder.close()
            self._sign(events[-1].error)
            return events
        try:
            message = decode(data)
        except ValueError:
            raise self._foreign(response, data) from None
        try:
            if isinstance(message, dict) and isinstance(message.get("content", 0), (list, NoneType)):
                whole, decoder.acc = message_events(message)
                return whole
        except (ValueError, TypeError, AttributeError) as error:
            log.debug("the answer is no message: %r", error)
        if isinstance(message, dict) and "error" in message:
            raise error_of_body(message, status=response.status_code, headers=dict(response.headers))
        said = f": {encode(message)[:200].decode(errors='replace')}" if message else ""
        raise ProviderError(
            f"the server sent an answer that is no message of the Messages API{said}",
            kind=ErrorKind.protocol,
            status=response.status_code,
            hint=f"try again; if it stays, {self._origin.path_hint()}",
        )

    async def _drain(self, body: Body, watch: Watch) -> None:
        """Read to the end of the response, so that the connection serves the next request."""
        if watch.reason is not None or body.ended:
            return
        watch.limit(_DRAIN)
        with suppress(Exception):
            while await watch.wait(body.read()):
                pass

    # ------------------------------------------------------------ failures

    def _foreign(self, response: httpx2.Response, body: bytes) -> ProviderError:
        return self._origin.foreign(response.headers.get("content-type", ""), body, response.status_code)

    def _error(self, error: Exception, request: LLMRequest, origin: Origin | None = None) -> ProviderError:
        found: ProviderError
        origin = origin or self._origin
        if isinstance(error, TypeError) and not self._transport.has_credentials():  # the SDK refuses to send
            found = ProviderError("no API key is known", kind=ErrorKind.auth)
            found.__cause__ = error
        elif isinstance(error, ValueError) and not isinstance(error, ProviderError):
            hint = "check headers, settings.extra, and what handlers put into the request"
            found = ProviderError(
                f"the request cannot be sent: {str(error).rstrip('.')}", kind=ErrorKind.invalid_request, hint=hint
            )
            found.__cause__ = error
        else:
            found = error_of_exception(error, origin, too_long=lambda: exceeds_window(request))
        return origin.sign(found)

    def _sign(self, error: Any) -> None:
        """Put this provider's name on an error of the wire, and for credentials the advice that fits it."""
        if isinstance(error, ProviderError):
            self._origin.sign(error)

    def _interrupted(self, reason: str, request: LLMRequest) -> ProviderError:
        if reason == "aborted":
            return ProviderError(request.signal.reason or "aborted", kind=ErrorKind.aborted, provider=self.provider)
        message = f"the server was silent for {self._config.timeout:g} seconds"
        if reason == "timeout":
            message = f"the first event did not come within {request.settings.timeout:g} seconds"
        late = ProviderError(message, kind=ErrorKind.timeout, hint="try again, or raise timeout")
        return self._origin.sign(late)

    # ------------------------------------------------------------ the rest of the contract

    def validate(self, request: LLMRequest) -> Sequence[str]:
        """Why the Messages API would refuse the request, one line each."""
        encoder = self._new_encoder()
        try:
            return problems_of(decode(encoder.encode(request).content), signs=self._signs)
        except (ProviderError, ValueError) as error:
            return (str(error),)

    async def list_models(self) -> Sequence[ModelDefinition]:
        """The models that the endpoint lists.

        Raises:
            ProviderError: it cannot be asked.
        """
        from .models import definitions

        origin = replace(self._origin, path="/v1/models")
        try:
            body = await self._transport.get(f"{origin.path}?limit=1000", self._config.timeout)
        except Exception as error:
            raise self._error(error, LLMRequest(ModelDefinition(""), ()), origin) from error
        try:
            found = definitions(decode(body), self.provider)
        except ValueError:
            raise origin.sign(origin.foreign("", body)) from None
        if found is None:
            raise origin.sign(origin.unlisted(body))
        return found

    async def count_tokens(self, request: LLMRequest) -> int | None:
        """The input tokens of ``request`` as ``/v1/messages/count_tokens`` tells them; ``None`` where there is no such path.

        Raises:
            ProviderError: the endpoint cannot be asked, or refuses the request.
        """
        origin = replace(self._origin, path=f"{PATH}/count_tokens")
        try:
            unsendable = origin.key_problem()
            if unsendable is not None:
                raise unsendable
            payload = decode(self._new_encoder().encode(request).content)
            content = encode({k: v for k, v in payload.items() if k in COUNTED})
            response = await self._transport.post(origin.path, content, self._headers(request))
            body = await response.aread()
        except Exception as error:
            told = self._error(error, request, origin)
            if told.kind is ErrorKind.not_found and self.provider != "anthropic":
                return None
            raise told from error
        try:
            return int(decode(body)["input_tokens"])
        except (ValueError, KeyError, TypeError):
            raise origin.sign(origin.foreign("", body)) from None

    def prepare(self) -> None:
        """Import the SDK."""
        self._transport.prepare()

    def remark(self) -> str:
        """Whether each request takes the SDK's own, longer way, and why."""
        return self._transport.remark()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()


def _section(host: Any) -> AnthropicConfig:
    config = getattr(host, "config", None)
    section = config.section("anthropic") if config is not None else None
    return section if isinstance(section, AnthropicConfig) else AnthropicConfig()


def _secret(host: Any, name: str) -> str | None:
    ask = getattr(host, "secret", None)
    found = ask(name) if callable(ask) else os.environ.get(name)
    return str(found) if found else None


def _body(response: httpx2.Response) -> Body:
    from skillkit_transport import Body

    return Body(response)


def _is_whole(response: httpx2.Response, head: bytes) -> bool:
    """Whether an answer that begins with ``head`` is one JSON text, or a page, and no stream."""
    kind = response.headers.get("content-type", "").lower()
    return "json" in kind or "html" in kind or head.lstrip()[:1] in (b"{", b"[")
