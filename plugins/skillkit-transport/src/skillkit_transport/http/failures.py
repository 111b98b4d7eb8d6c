"""Why a request over HTTP failed: its class for the loop, and one line for people with the host and what to do.

An adapter decides by status, error type and error code what kind of failure it is. What all servers have in common is here: the
class of a status, the time to wait, addresses without secrets, advice for each kind, redirects, pages where JSON is expected,
connections that failed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from skillkit_core.errors import ErrorKind, ProviderError, UsageError

if TYPE_CHECKING:
    import socket
    import ssl

    from skillkit_core.contracts.adapter import LLMRequest

__all__ = [
    "Origin",
    "advice",
    "body_in_words",
    "classify_status",
    "connection_failure",
    "duration",
    "exceeds_window",
    "host_of",
    "parse_retry_after",
    "require_url",
    "shown",
]

_MOST_WORDS = 200
_SECRET = 8  # shorter texts are no keys, and occur in any sentence
_PAGE = re.compile(r"<(!doctype html|html|head|title|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_VERSION = re.compile(r"/v\d")
_STATUS = {
    400: ErrorKind.invalid_request,
    401: ErrorKind.auth,
    402: ErrorKind.quota,
    403: ErrorKind.permission,
    404: ErrorKind.not_found,
    408: ErrorKind.timeout,
    409: ErrorKind.server,
    413: ErrorKind.overflow,
    422: ErrorKind.invalid_request,
    425: ErrorKind.server,
    429: ErrorKind.rate_limit,
    503: ErrorKind.overloaded,
    504: ErrorKind.timeout,
    529: ErrorKind.overloaded,
}
_ADVICE = {
    ErrorKind.rate_limit: "wait a moment, or send fewer requests at a time",
    ErrorKind.overloaded: "the server is busy: try again in a moment, or use another model",
    ErrorKind.server: "the failure is the server's: try again in a moment",
    ErrorKind.timeout: "try again, or ask for less",
    ErrorKind.auth: "check the API key",
    ErrorKind.permission: "check what the API key may use: model, project, region",
    ErrorKind.quota: "add credit or raise the limit of the account; waiting does not help",
    ErrorKind.content_filter: "the provider's filter refused it: put it in other words",
    ErrorKind.overflow: "shorten the conversation, or use a model with a larger context window",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_WAITING = frozenset({ErrorKind.rate_limit, ErrorKind.overloaded, ErrorKind.server, ErrorKind.timeout})


# --- the answer's status --------------------------------------------------------------------------------------------


def classify_status(status: int) -> ErrorKind:
    """Return the kind of error that an HTTP status means when the provider's error type says nothing more exact."""
    kind = _STATUS.get(status)
    if kind is not None:
        return kind
    if status >= 500:
        return ErrorKind.server
    return ErrorKind.invalid_request if status >= 400 else ErrorKind.unknown


def parse_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds to wait that ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date) ask for, or ``None``.

    Args:
        headers: of the answer.
        now: seconds since the epoch; default: the clock.
    """
    low = {k.lower(): v for k, v in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = low.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            if unit != 1.0:
                continue
            from email.utils import parsedate_to_datetime

            try:
                when = parsedate_to_datetime(value).timestamp()
            except (ValueError, OverflowError):
                continue
            if now is None:
                import time

                now = time.time()
            seconds = when - now
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


# --- addresses ------------------------------------------------------------------------------------------------------


def require_url(url: str, name: str = "base_url") -> str:
    """Return ``url`` if a request can go there.

    Args:
        url: the address.
        name: the setting that the error names.

    Raises:
        UsageError: ``url`` is no ``http://`` or ``https://`` address; or it is an endpoint (``name`` is not ``proxy``) and
            has a query, a fragment, or user info, which no request would use as it is meant.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f"{name} {shown(url)!r} is no address", hint="it is written like https://host or http://host:port"
        )
    if name == "proxy":
        return url
    pieces = {"a query": "?" in url, "a fragment": "#" in url, "a user or password": "@" in parts.netloc}
    if extra := [piece for piece, there in pieces.items() if there]:
        raise UsageError(
            f"{name} {shown(url)!r} is written with {' and '.join(extra)}, which cannot be part of an endpoint",
            hint="leave it out; a key belongs into the provider's variable or into headers",
        )
    return url


def shown(url: str) -> str:
    """Return ``url`` without user, password, query and fragment, which may hold secrets."""
    scheme, colon, rest = url.partition("#")[0].partition("?")[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host.rpartition('@')[2]}{slash}{path}"


def host_of(url: str) -> str:
    """Return host and port of ``url``, without user and password."""
    return url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]


# --- words ----------------------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Return a time as people say it: ``20 s``, ``2 min 5 s``, ``5 h``, ``3 d 2 h``."""
    left = max(0, round(seconds))
    for size, unit, smaller, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if left >= size:
            rest = left % size // smaller
            return f"{left // size} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{left} s" if left or seconds <= 0 else f"{seconds:.1g} s"


def advice(kind: ErrorKind, retry_after: float | None = None) -> str | None:
    """Return what to do about an error of ``kind``, or ``None`` where the provider's own words have to do.

    Args:
        kind: of the error.
        retry_after: seconds that the server asks to wait.
    """
    if retry_after and kind in _WAITING:
        return f"the server asks to wait {duration(retry_after)}"
    return _ADVICE.get(kind)


def body_in_words(content_type: str, body: bytes) -> str:
    """Return what a body is that no API sends: empty, a page, a stream of comments, or the beginning of a text."""
    text = body[:20_000].decode("utf-8", "replace").strip()
    if not text:
        return "an empty body"
    if all(line.startswith(":") or not line for line in text.splitlines()):  # comments, which keep a connection open
        return "an event stream without an event"
    if "html" in content_type.lower() or _PAGE.match(text):
        title = _TITLE.search(text)
        words = " ".join(title.group(1).split()) if title else ""
        return f"an HTML page ({_shortened(words)})" if words else "an HTML page"
    return f"a text that is not JSON ({_shortened(' '.join(text.split()))})"


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS] + "..."


@dataclass(frozen=True, slots=True)
class Origin:
    """The provider and the endpoint that an error is about, and what people can do there.

    Attributes:
        provider: name of the provider.
        url: the endpoint.
        path: what a request adds to ``url``.
        secret: the API key; :meth:`sign` cuts it out of the provider's words.
        key: variable that should hold the key; ``None``: unknown.
        version: what an endpoint usually ends in, for example ``/v1``; empty: nothing.

    Example:
        >>> origin = Origin("house", "https://models.example", "/chat/completions", key="HOUSE_KEY", version="/v1")
        >>> print(origin.sign(origin.foreign("text/html", b"<title>Welcome</title>")))  # doctest: +ELLIPSIS
        house (models.example): the server answered with an HTML page (Welcome) where JSON is expected; check base_url, ...
    """

    provider: str
    url: str
    path: str
    secret: str = field(default="", repr=False)
    key: str | None = None
    version: str = ""

    def sign(self, error: ProviderError) -> ProviderError:
        """Write provider, host and, for a refused key, the variable to look at into ``error``; return ``error``."""
        error.provider = self.provider
        error.where = f"{self.provider} ({host_of(self.url)})"
        if error.kind is ErrorKind.auth:
            error.hint = self.key_hint()
        elif error.kind is ErrorKind.permission and self.key is not None and error.hint == _ADVICE[error.kind]:
            error.hint = error.hint.replace("the API key", self.key)
        if len(self.secret) >= _SECRET:
            error.message = error.message.replace(self.secret, "***")
            error.hint = error.hint and error.hint.replace(self.secret, "***")
            error.args = (error.message,)
        return error

    def key_hint(self) -> str:
        """Return what to do about a key that is missing or refused."""
        verb = "check" if self.secret else "set"
        return f"{verb} {self.key}, or pass api_key" if self.key is not None else f"{verb} the API key of this server"

    def key_problem(self) -> ProviderError | None:
        """Return the error for a key that no header can hold, or ``None`` if the key can be sent."""
        if self.secret.isascii() and self.secret.isprintable():
            return None
        message = "the API key has characters that cannot be sent: line breaks, or others than ASCII"
        return ProviderError(message, kind=ErrorKind.auth, provider=self.provider, hint=self.key_hint())

    def path_hint(self) -> str:
        """Return what to do when there is no API at the endpoint."""
        usual = ""
        if self.version and not _VERSION.search(self.url.partition("://")[2]):
            usual = f", which usually ends in {self.version}"
        return f"check base_url{usual}: requests go to {shown(self.url)}{self.path}"

    def foreign(self, content_type: str, body: bytes, status: int = 200) -> ProviderError:
        """Return the error for a success that no API reports: a website's page, an empty body, half of a JSON text.

        A page comes again with the next request, so the error is not retryable; the others may pass.
        """
        what = body_in_words(content_type, body)
        page = what.startswith("an HTML page")
        return ProviderError(
            f"the server answered with {what} where JSON is expected",
            kind=ErrorKind.protocol,
            status=status,
            hint=self.path_hint() if page else "try again, or check base_url",
            retryable=not page,
        )

    def unlisted(self, body: bytes) -> ProviderError:
        """Return the error for JSON that is no list of models where a list was asked for."""
        text = " ".join(body[:2_000].decode("utf-8", "replace").split())
        return ProviderError(
            f"the server answered with no list of models: {_shortened(text)}",
            kind=ErrorKind.protocol,
            status=200,
            hint=self.path_hint(),
        )

    def redirected(self, status: int, headers: Mapping[str, str]) -> ProviderError:
        """Return the error for a redirect.

        An adapter never follows one: whoever answers there would get key and conversation.
        """
        from urllib.parse import urljoin

        found = next((v for k, v in headers.items() if k.lower() == "location"), "")
        message, hint = f"the server answered with status {status}", "check base_url"
        if found:
            target = shown(urljoin(self.url + self.path, found))
            base = target.removesuffix(self.path)
            message = f"the server redirects to {target}, which is not followed: key and conversation would go there"
            hint = f"set base_url to {base} if you trust it" if base != target else hint
        return ProviderError(message, kind=ErrorKind.invalid_request, status=status, hint=hint)

    def lost(self, error: BaseException, *, proxy_status: int | None = None) -> ProviderError:
        """Return the error for a request without an answer; see :func:`connection_failure`."""
        return connection_failure(error, self.url, proxy_status=proxy_status)


# --- connections ----------------------------------------------------------------------------------------------------


class _Peer(NamedTuple):
    """The server or the proxy that a connection failed to reach.

    Attributes:
        words: for the error.
        setting: what names the peer, for the hint.
        local: the peer is this machine.
    """

    words: str
    setting: str
    local: bool


def connection_failure(error: BaseException, url: str, *, proxy_status: int | None = None) -> ProviderError:
    """Return the error for a request to ``url`` that found no server or lost it.

    The standard library's exceptions in ``error`` and its causes decide: no connection is ``connection``, none in time is
    ``timeout``. What fails the same way each time (a certificate, a name that does not exist, a proxy's refusal) is not
    retryable.

    Args:
        error: what the request failed with. ``asyncio.IncompleteReadError`` means that the answer was cut off,
            ``http.client.HTTPException`` that the answer was no HTTP. An exception whose attributes ``host`` and ``port``
            name another host than ``url``, as aiohttp's do, is about the proxy.
        url: the endpoint.
        proxy_status: the status with which the proxy refused.
    """
    if proxy_status is not None:
        return _refused_by_proxy(proxy_status, host_of(url))
    causes = list(_causes(error))
    peer = _peer_of(causes, url)
    for types, say in _rules():
        for cause in reversed(causes):  # the innermost is the standard library's own, with its details
            if isinstance(cause, types):
                return say(cause, peer)
    words = " ".join(str(error).split())[:_MOST_WORDS] or type(error).__name__
    return ProviderError(
        f"the connection to {peer.words} failed: {words}",
        kind=ErrorKind.connection,
        hint="try again, or check base_url",
    )


def _peer_of(causes: list[BaseException], url: str) -> _Peer:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    wanted, there = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    for cause in causes:
        host, port = getattr(cause, "host", None), getattr(cause, "port", None)
        if isinstance(host, str) and host and (host.strip("[]").lower(), port) != (wanted, there):
            return _Peer(f"the proxy {host}:{port}", "the proxy (setting proxy, HTTPS_PROXY, HTTP_PROXY)", False)
    return _Peer(host_of(url), "base_url", wanted in _LOCAL)


_Say: TypeAlias = "Callable[[Any, _Peer], ProviderError]"


def _rules() -> tuple[tuple[tuple[type[BaseException], ...], _Say], ...]:
    """Return which exception says what, the most exact first."""
    import socket
    import ssl
    from asyncio import IncompleteReadError
    from http.client import HTTPException

    lost = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
    return (
        ((ssl.SSLCertVerificationError,), _certificate),
        (lost, _lost),
        ((IncompleteReadError,), _cut),
        ((HTTPException,), _no_http),
        ((ssl.SSLError,), _no_tls),
        ((socket.gaierror,), _no_name),
        ((TimeoutError,), _late),
        ((ConnectionRefusedError,), _refused),
        ((FileNotFoundError,), _no_file),
        ((OSError,), _unreachable),
    )


def _failed(
    message: str,
    hint: str,
    *,
    retryable: bool = True,
    kind: ErrorKind = ErrorKind.connection,
    status: int | None = None,
    sent: bool = False,
) -> ProviderError:
    return ProviderError(message, kind=kind, hint=hint, retryable=retryable, status=status, sent=sent)


def _certificate(error: ssl.SSLCertVerificationError, peer: _Peer) -> ProviderError:
    reason = getattr(error, "verify_message", "") or "it cannot be verified"
    hint = f"check {peer.setting}; the certificate of a private authority goes into a file that SSL_CERT_FILE names"
    return _failed(f"the certificate of {peer.words} is not trusted: {reason}", hint, retryable=False)


def _lost(error: OSError, peer: _Peer) -> ProviderError:
    return _failed(f"{peer.words} closed the connection", "try again", sent=True)


def _cut(error: EOFError, peer: _Peer) -> ProviderError:
    return _failed(f"{peer.words} closed the connection in the middle of the answer", "try again", status=200)


def _no_http(error: Exception, peer: _Peer) -> ProviderError:
    reason = " ".join(str(error).split())[:_MOST_WORDS] or type(error).__name__
    return _failed(f"{peer.words} sent what is no HTTP answer: {reason}", f"try again, or check {peer.setting}")


def _no_tls(error: ssl.SSLError, peer: _Peer) -> ProviderError:
    reason = str(getattr(error, "reason", None) or "TLS failure").replace("_", " ").lower()
    hint = f"check {peer.setting}: a server without TLS is reached by http://"
    return _failed(f"no TLS with {peer.words}: {reason}", hint, retryable=False)


def _no_name(error: socket.gaierror, peer: _Peer) -> ProviderError:
    import socket

    if error.errno == socket.EAI_AGAIN:
        return _failed(f"the name of {peer.words} cannot be looked up at the moment", "check the network connection")
    hint = f"check {peer.setting} and the network connection"
    return _failed(f"{peer.words} is not known to the name service", hint, retryable=False)


def _late(error: TimeoutError, peer: _Peer) -> ProviderError:
    hint = f"check {peer.setting} and the network, or raise connect_timeout"
    return _failed(f"no connection to {peer.words} in time", hint, kind=ErrorKind.timeout)


def _refused(error: ConnectionRefusedError, peer: _Peer) -> ProviderError:
    hint = f"start the server, or check {peer.setting}" if peer.local else f"check {peer.setting}"
    return _failed(f"nothing listens at {peer.words} (connection refused)", hint)


def _no_file(error: FileNotFoundError, peer: _Peer) -> ProviderError:
    hint = "check SSL_CERT_FILE and SSL_CERT_DIR"
    return _failed(f"no connection to {peer.words}: a file of certificates does not exist", hint, retryable=False)


def _unreachable(error: OSError, peer: _Peer) -> ProviderError:
    words = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return _failed(
        f"no connection to {peer.words}: {words[:_MOST_WORDS]}", f"check {peer.setting} and the network connection"
    )


def _refused_by_proxy(status: int, host: str) -> ProviderError:
    message, hint = f"the proxy does not connect to {host} (status {status})", "check the proxy and base_url"
    if status == 407:
        message, hint = (
            "the proxy wants a user and a password",
            "write them into its URL: http://user:password@host:port",
        )
    error = _failed(message, hint, retryable=status >= 500)
    error.status = status
    return error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and every exception that it came from, each once."""
    seen: set[int] = set()
    todo: list[Any] = [error]
    while todo and len(seen) < 50:
        one = todo.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [one.__cause__, one.__context__, getattr(one, "os_error", None), *getattr(one, "exceptions", ())]


# --- the context window ---------------------------------------------------------------------------------------------


def exceeds_window(request: LLMRequest) -> bool:
    """Return whether a request is probably longer than the model's context window.

    Some servers refuse an overlong request with status 400 and words alone: an adapter may then take the refusal for an
    overflow, without looking at the words. The estimate is four characters to a token, corrected by what the provider
    counted for the last answer, plus the ``max_tokens`` asked for. An unknown window is never exceeded.
    """
    from skillkit_core.estimates import estimate_message, estimate_tokens
    from skillkit_core.messages import AssistantMessage

    window = request.model.context_window
    if window <= 0:
        return False
    total = estimate_tokens(request.system)
    total += sum(estimate_tokens(f"{t.name}{t.description}{dict(t.parameters)}") for t in request.tools)
    scale = 1.0
    for message in request.messages:
        if isinstance(message, AssistantMessage):
            usage = message.usage
            counted = usage.input + usage.cache_read + usage.cache_write
            # A count from before a compaction is far off what is left, and says nothing about it.
            scale = counted / total if total and 0.5 <= counted / total <= 3.0 else scale
        total += estimate_message(message)
    return total * scale + (request.settings.max_tokens or 0) > window
