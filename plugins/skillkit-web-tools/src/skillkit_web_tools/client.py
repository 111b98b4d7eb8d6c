"""One HTTP client a host: requests with limits, and pages with redirects checked hop by hop."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit
from weakref import WeakKeyDictionary

import aiohttp
from protego import Protego

from skillkit_core import ToolError

from .addresses import GuardedResolver, check_host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillkit_core import Host

    from .config import WebConfig

__all__ = ["Page", "WebClient", "client_of", "close"]

_clients: WeakKeyDictionary[Host, tuple[asyncio.AbstractEventLoop, WebClient]] = WeakKeyDictionary()
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ROBOTS_BYTES = 500_000


@dataclass(frozen=True, slots=True)
class Page:
    """What a server sent.

    Attributes:
        url: the address that answered, after redirects.
        status: the HTTP status.
        media_type: for example ``text/html``, in lower case.
        charset: what the server says; ``None``: nothing.
        body: the bytes, at most ``max_bytes``.
        cut: there was more.
    """

    url: str
    status: int
    media_type: str
    charset: str | None
    body: bytes
    cut: bool = False


class WebClient:
    """Fetches pages and asks search providers.

    Args:
        config: the limits.
    """

    def __init__(self, config: WebConfig) -> None:
        self.config = config
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._robots: dict[str, Protego] = {}

    def _http(self, guarded: bool) -> aiohttp.ClientSession:
        """Return the session for addresses of a model (guarded), or for those that the user configured."""
        if guarded not in self._sessions:
            resolver = GuardedResolver(self.config.private_hosts) if guarded else None
            self._sessions[guarded] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(resolver=resolver, use_dns_cache=not guarded),
                headers={"User-Agent": self.config.user_agent},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[guarded]

    async def page(self, url: str) -> Page:
        """Return the page at a URL, following redirects on the same host.

        Raises:
            ToolError: the address is no web page that may be fetched, or it could not be.
        """
        try:
            async with asyncio.timeout(self.config.timeout):
                for _ in range(self.config.max_redirects + 1):
                    self._check(url)
                    if self.config.robots and not await self._allowed_by_robots(url):
                        raise ToolError(
                            f"robots.txt of {urlsplit(url).netloc} does not allow {url} to be fetched by programs"
                        )
                    found = await self._get(url, self.config.max_bytes)
                    if isinstance(found, Page):
                        return found
                    if _host(found) != _host(url):
                        # who allowed the one host did not allow every host that it names
                        raise ToolError(f"{url} leads to another host: to go there, fetch {found}")
                    url = found
                raise ToolError(f"more than {self.config.max_redirects} redirects; the last one leads to {url}")
        except TimeoutError:
            raise ToolError(f"no answer from {url} within {self.config.timeout:g} s") from None

    async def json(
        self, method: str, url: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Any:  # fmt: skip
        """Return what an API answers, parsed.

        Raises:
            ToolError: it could not be asked, or did not answer with JSON and a status below 400.
        """
        host = urlsplit(url).netloc
        try:
            async with asyncio.timeout(self.config.timeout):
                async with self._http(False).request(
                    method, url, params=params, headers=headers, json=body, allow_redirects=False
                ) as answer:
                    data = await _read(answer, self.config.max_bytes)
                    if answer.status >= 300:
                        raise ToolError(
                            f"{host} answered with HTTP {answer.status}: {data[:200].decode('utf-8', 'replace')}"
                        )
                    return json.loads(data)
        except TimeoutError:
            raise ToolError(f"no answer from {host} within {self.config.timeout:g} s") from None
        except aiohttp.ClientError as error:
            raise _unreachable(host, error) from None
        except ValueError:
            raise ToolError(f"{host} did not answer with JSON") from None

    def _check(self, url: str) -> None:
        """Raise ToolError for what is no address of a web page, or one that may not be reached."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise ToolError(f"{url!r} is no URL") from None
        if parts.scheme not in ("http", "https") or not host:
            raise ToolError(f"{url!r} is no http or https URL")
        if parts.username or parts.password:
            raise ToolError("a URL with a user name or password is not fetched")
        check_host(host, port, self.config.private_hosts)

    async def _get(self, url: str, limit: int) -> Page | str:
        """Return the page, or the URL that it redirects to."""
        try:
            async with self._http(True).get(url, allow_redirects=False) as answer:
                if answer.status in _REDIRECTS and (target := answer.headers.get("Location")):
                    return urljoin(url, target)
                body = await _read(answer, limit)
                return Page(
                    str(answer.url), answer.status, answer.content_type.lower(), answer.charset, body[:limit],
                    cut=len(body) > limit,
                )  # fmt: skip
        except (aiohttp.ClientError, ValueError) as error:
            raise _unreachable(url, error) from None

    async def _allowed_by_robots(self, url: str) -> bool:
        """Return whether robots.txt of the site lets programs fetch the URL; a site without one lets them."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._robots.get(origin)
        if rules is None:
            found: Page | str = f"{origin}/robots.txt"
            for _ in range(self.config.max_redirects + 1):
                if isinstance(found, Page):
                    break
                self._check(found)
                found = await self._get(found, _ROBOTS_BYTES)
            there = isinstance(found, Page) and found.status == 200
            text = found.body.decode("utf-8", "replace") if there and isinstance(found, Page) else ""
            rules = self._robots[origin] = Protego.parse(text)
        return bool(rules.can_fetch(url, self.config.user_agent))

    async def close(self) -> None:
        """Close the connections."""
        while self._sessions:
            await self._sessions.popitem()[1].close()


def client_of(host: Host) -> WebClient:
    """Return the client of a host for the running event loop, made when it is first needed."""
    loop = asyncio.get_running_loop()
    kept = _clients.get(host)
    if kept is None or kept[0] is not loop:
        kept = _clients[host] = loop, WebClient(host.config.section("web"))
    return kept[1]


async def close(host: Host) -> None:
    """Close the client of a host, if there is one."""
    loop, client = _clients.pop(host, (None, None))
    if client is not None and loop is asyncio.get_running_loop():
        await client.close()


async def _read(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the body of an answer, and a little more than ``limit`` where it is longer."""
    body = bytearray()
    async for piece in answer.content.iter_chunked(65536):
        body += piece
        if len(body) > limit:
            break
    return bytes(body)


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _unreachable(what: str, error: Exception) -> ToolError:
    """Return the error for a request that failed; that of a refused address is kept."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ToolError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return ToolError(f"{what} could not be reached: {error or type(error).__name__}")
