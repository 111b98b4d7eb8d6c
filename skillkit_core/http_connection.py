"""Why a request found no server, or lost it: exceptions of the standard library as an error that people understand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .errors import ErrorKind, ProviderError

if TYPE_CHECKING:
    import socket
    import ssl

__all__ = ["connection_failure", "host_of"]

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_WORDS = 200


def host_of(url: str) -> str:
    """Host and port of ``url``, without user and password."""
    return url.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]


class _Place(NamedTuple):
    """Where a connection failed: in words, and what decides about it."""

    words: str
    setting: str
    here: bool


def connection_failure(error: BaseException, url: str, *, proxy_status: int | None = None) -> ProviderError:
    """The error for a request to ``url`` that found no server or lost it, by the standard library's exceptions in ``error``.

    No connection: ``connection``; none in time: ``timeout``. What fails the same way each time (a certificate, a name that
    does not exist, a proxy's refusal) is not tried again. An exception that names another host than ``url`` in its
    attributes ``host`` and ``port``, as aiohttp's do, is about the proxy. ``proxy_status``: with which the proxy refused.
    An answer that is cut off is an ``asyncio.IncompleteReadError``, one that is no HTTP an ``http.client.HTTPException``.
    """
    if proxy_status is not None:
        return _refused_by_proxy(proxy_status, host_of(url))
    causes = list(_causes(error))
    place = _place_of(causes, url)
    for types, say in _rules():
        for cause in reversed(causes):  # the innermost is the standard library's own, with its details
            if isinstance(cause, types):
                return say(cause, place)
    words = " ".join(str(error).split())[:_MOST_WORDS] or type(error).__name__
    return ProviderError(
        f"the connection to {place.words} failed: {words}",
        kind=ErrorKind.connection,
        hint="try again, or check base_url",
    )


def _place_of(causes: list[BaseException], url: str) -> _Place:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    wanted, there = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    for cause in causes:
        host, port = getattr(cause, "host", None), getattr(cause, "port", None)
        if isinstance(host, str) and host and (host.strip("[]").lower(), port) != (wanted, there):
            return _Place(f"the proxy {host}:{port}", "the proxy (setting proxy, HTTPS_PROXY, HTTP_PROXY)", False)
    return _Place(host_of(url), "base_url", wanted in _HERE)


_Say: TypeAlias = "Callable[[Any, _Place], ProviderError]"


def _rules() -> tuple[tuple[tuple[type[BaseException], ...], _Say], ...]:
    """Which exception says what, the most exact first."""
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
    message: str, hint: str, *, retryable: bool = True, kind: ErrorKind = ErrorKind.connection
) -> ProviderError:
    return ProviderError(message, kind=kind, hint=hint, retryable=retryable)


def _certificate(error: ssl.SSLCertVerificationError, place: _Place) -> ProviderError:
    reason = getattr(error, "verify_message", "") or "it cannot be verified"
    hint = f"check {place.setting}; the certificate of a private authority goes into a file that SSL_CERT_FILE names"
    return _failed(f"the certificate of {place.words} is not trusted: {reason}", hint, retryable=False)


def _lost(error: OSError, place: _Place) -> ProviderError:
    return _failed(f"{place.words} closed the connection", "try again")


def _cut(error: EOFError, place: _Place) -> ProviderError:
    return _failed(f"{place.words} closed the connection in the middle of the answer", "try again")


def _no_http(error: Exception, place: _Place) -> ProviderError:
    reason = " ".join(str(error).split())[:_MOST_WORDS] or type(error).__name__
    return _failed(f"{place.words} sent what is no HTTP answer: {reason}", f"try again, or check {place.setting}")


def _no_tls(error: ssl.SSLError, place: _Place) -> ProviderError:
    reason = str(getattr(error, "reason", None) or "TLS failure").replace("_", " ").lower()
    hint = f"check {place.setting}: a server without TLS is reached by http://"
    return _failed(f"no TLS with {place.words}: {reason}", hint, retryable=False)


def _no_name(error: socket.gaierror, place: _Place) -> ProviderError:
    import socket

    if error.errno == socket.EAI_AGAIN:
        return _failed(f"the name of {place.words} cannot be looked up at the moment", "check the network connection")
    hint = f"check {place.setting} and the network connection"
    return _failed(f"{place.words} is not known to the name service", hint, retryable=False)


def _late(error: TimeoutError, place: _Place) -> ProviderError:
    hint = f"check {place.setting} and the network, or raise connect_timeout"
    return _failed(f"no connection to {place.words} in time", hint, kind=ErrorKind.timeout)


def _refused(error: ConnectionRefusedError, place: _Place) -> ProviderError:
    hint = f"start the server, or check {place.setting}" if place.here else f"check {place.setting}"
    return _failed(f"nothing listens at {place.words} (connection refused)", hint)


def _no_file(error: FileNotFoundError, place: _Place) -> ProviderError:
    hint = "check SSL_CERT_FILE and SSL_CERT_DIR"
    return _failed(f"no connection to {place.words}: a file of certificates does not exist", hint, retryable=False)


def _unreachable(error: OSError, place: _Place) -> ProviderError:
    words = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return _failed(
        f"no connection to {place.words}: {words[:_MOST_WORDS]}", f"check {place.setting} and the network connection"
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
    """``error`` and everything that it came from, each once."""
    seen: set[int] = set()
    todo: list[Any] = [error]
    while todo and len(seen) < 50:
        one = todo.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        todo += [one.__cause__, one.__context__, getattr(one, "os_error", None), *getattr(one, "exceptions", ())]
