"""What people are told when a request over HTTP fails: what happened, at which host, and what to do, in one line.

An adapter decides by status, error type and error code what kind of failure it is. The words for what all servers have in
common are here: redirects, pages where an answer should be, advice for each kind, and whose failure it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import ErrorKind, ProviderError, UsageError
from .http_connection import connection_failure, host_of

if TYPE_CHECKING:
    from .contracts.adapter import LLMRequest

__all__ = ["Origin", "advice", "body_in_words", "duration", "exceeds_window", "require_url", "shown"]

_MOST_WORDS = 200
_SECRET = 8  # shorter texts are no keys, and occur in any sentence
_PAGE = re.compile(r"<(!doctype html|html|head|title|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_VERSION = re.compile(r"/v\d")
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
_WAITING = frozenset({ErrorKind.rate_limit, ErrorKind.overloaded, ErrorKind.server, ErrorKind.timeout})


def require_url(url: str, name: str = "base_url") -> str:
    """``url``, if a request can go there.

    Raises:
        UsageError: it is no ``http://`` or ``https://`` address; ``name`` is the setting to name.
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
    return url


def shown(url: str) -> str:
    """``url`` without user, password, query and fragment, which may hold secrets."""
    scheme, colon, rest = url.partition("#")[0].partition("?")[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host.rpartition('@')[2]}{slash}{path}"


def duration(seconds: float) -> str:
    """A time as people say it: ``20 s``, ``2 min 5 s``, ``5 h``, ``3 d 2 h``."""
    left = max(0, round(seconds))
    for size, unit, smaller, part in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if left >= size:
            rest = left % size // smaller
            return f"{left // size} {unit}" + (f" {rest} {part}" if rest else "")
    return f"{left} s" if left or seconds <= 0 else f"{seconds:.1g} s"


def advice(kind: ErrorKind, retry_after: float | None = None) -> str | None:
    """What to do about an error of ``kind``; ``None``: the provider's own words have to do.

    ``retry_after``: seconds that the server asks to wait.
    """
    if retry_after and kind in _WAITING:
        return f"the server asks to wait {duration(retry_after)}"
    return _ADVICE.get(kind)


def body_in_words(content_type: str, body: bytes) -> str:
    """What a body is that is not what an API answers: empty, a page, a stream of comments, or a text, of which the beginning
    is shown."""
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
    """Whom failures are about, and what people can do about them.

    Attributes:
        provider: its name.
        url: the endpoint; ``path``: what a request adds to it.
        secret: the API key, which is cut out of the provider's words.
        key: variable that should hold the key; ``None``: nobody knows.
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
        """Say on ``error`` where it happened, and for a key that is refused which variable to look at."""
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
        """What to do about a key that is missing or refused."""
        verb = "check" if self.secret else "set"
        return f"{verb} {self.key}, or pass api_key" if self.key is not None else f"{verb} the API key of this server"

    def key_problem(self) -> ProviderError | None:
        """The error for a key that no header can hold; ``None``: it can be sent."""
        if self.secret.isascii() and self.secret.isprintable():
            return None
        message = "the API key has characters that cannot be sent: line breaks, or others than ASCII"
        return ProviderError(message, kind=ErrorKind.auth, provider=self.provider, hint=self.key_hint())

    def path_hint(self) -> str:
        """What to do when there is no API at the endpoint."""
        usual = ""
        if self.version and not _VERSION.search(self.url.partition("://")[2]):
            usual = f", which usually ends in {self.version}"
        return f"check base_url{usual}: requests go to {shown(self.url)}{self.path}"

    def foreign(self, content_type: str, body: bytes, status: int = 200) -> ProviderError:
        """The error for a success that no API reports: a website's page, an empty body, half of a JSON text.

        A page comes again with the next request, so it is not tried again; the others may pass.
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
        """The error for JSON that is no list of models where one was asked for."""
        text = " ".join(body[:2_000].decode("utf-8", "replace").split())
        return ProviderError(
            f"the server answered with no list of models: {_shortened(text)}",
            kind=ErrorKind.protocol,
            status=200,
            hint=self.path_hint(),
        )

    def redirected(self, status: int, headers: Mapping[str, str]) -> ProviderError:
        """The error for a redirect, which an adapter never follows: whoever answers there would get key and conversation."""
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
        """The error for a request without an answer; see :func:`skillkit_core.http_connection.connection_failure`."""
        return connection_failure(error, self.url, proxy_status=proxy_status)


def exceeds_window(request: LLMRequest) -> bool:
    """Whether a request is probably longer than the model's context window.

    For servers that refuse an overlong request with status 400 and words alone: an adapter may then take the refusal for
    an overflow, without looking at the words. The estimate is four characters to a token, corrected by what the provider
    counted for the last answer, plus the ``max_tokens`` asked for. An unknown window is never exceeded.
    """
    from .agent.context import estimate_message, estimate_tokens
    from .messages import AssistantMessage

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
