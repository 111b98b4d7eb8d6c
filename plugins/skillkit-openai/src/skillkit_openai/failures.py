"""What ended a request, as a :class:`ProviderError`: exceptions of the SDK, the transport, the watch, and strange bodies."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_transport import Interrupted, Origin, exceeds_window

from skillkit_core.contracts.adapter import LLMRequest
from skillkit_core.errors import ErrorKind, ProviderError, SkillKitError

from .errors import status_error

if TYPE_CHECKING:
    import httpx2

__all__ = ["Failures"]

log = logging.getLogger("skillkit_openai")


@dataclass(frozen=True, slots=True)
class Failures:
    """Failures of the requests of one adapter.

    Attributes:
        origin: whom they are about.
        timeout: seconds until the first event, where a request does not say; idle: longest silence afterwards.
    """

    origin: Origin
    timeout: float | None
    idle: float | None

    def of(self, error: Exception, request: LLMRequest) -> ProviderError:
        """What went wrong, as the loop wants to know it."""
        import openai

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, Interrupted):
            return self._interrupted(error.reason, request)
        answer = error.response if isinstance(error, openai.APIStatusError) else _refusal(error)
        if answer is not None:
            return status_error(
                answer.status_code,
                answer.headers,
                _content(answer),
                self.origin,
                too_long=lambda: exceeds_window(request),
            )
        return self._no_answer(error)

    def _interrupted(self, reason: str, request: LLMRequest) -> ProviderError:
        if reason == "aborted":
            return ProviderError(
                request.signal.reason or "aborted", kind=ErrorKind.aborted, provider=self.origin.provider
            )
        wanted = request.settings.timeout if request.settings.timeout is not None else self.timeout
        message, setting = f"no answer came within {wanted:g} s", "timeout"
        if reason == "silence":
            message, setting = f"the server was silent for {self.idle:g} s", "idle_timeout"
        return ProviderError(message, kind=ErrorKind.timeout, hint=f"try again, or raise {setting}")

    def _no_answer(self, error: Exception) -> ProviderError:
        """The error for a request that the transport could not make, or whose answer it could not read."""
        import aiohttp
        import httpx2
        import openai
        from skillkit_transport import plain_cause

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        beneath = (cause, cause.__cause__)
        refused = next((e.status for e in beneath if isinstance(e, aiohttp.ClientHttpProxyError)), None)
        found: ProviderError
        if isinstance(cause, ProviderError):  # our part of the transport refused
            return cause
        if isinstance(cause, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)):
            hint = "check base_url, and the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
            found = ProviderError(f"no request can go there: {cause}", kind=ErrorKind.invalid_request, hint=hint)
        elif isinstance(cause, (httpx2.TransportError, openai.APIConnectionError, aiohttp.ClientError, OSError)):
            found = self.origin.lost(plain_cause(cause), proxy_status=refused)
        elif isinstance(cause, httpx2.HTTPError):
            found = ProviderError(f"the answer cannot be read: {cause}", kind=ErrorKind.protocol, hint="try again")
        elif isinstance(cause, ValueError):
            hint = "check headers, settings.extra, and what handlers put into the request"
            found = ProviderError(
                f"the request cannot be sent: {str(cause).rstrip('.')}", kind=ErrorKind.invalid_request, hint=hint
            )
        else:
            log.debug("request failed", exc_info=error)
            words = str(cause) if isinstance(cause, SkillKitError) else f"{type(cause).__name__}: {cause}"
            found = ProviderError(words, kind=ErrorKind.unknown)
        found.__cause__ = error
        return found


def _refusal(error: BaseException | None) -> httpx2.Response | None:
    """The answer with an error status whose body broke off while the SDK read it; the status still says what it is."""
    import httpx2

    while error is not None:
        if isinstance(error, httpx2.HTTPStatusError):
            return error.response
        error = error.__context__
    return None


def _content(answer: httpx2.Response) -> bytes:
    """The body of an answer; empty where it was not read."""
    try:
        return answer.content
    except RuntimeError:
        return b""
