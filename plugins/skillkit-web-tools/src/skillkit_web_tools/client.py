"""One HTTP client a host: requests with limits, and pages with redirects checked hop by hop and read in a process apart."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from skillkit_core import ToolError

from .addresses import check, is_named, open_public, web_address
from .apart import read_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillkit_core import Host

    from .config import WebConfig

__all__ = ["Fetched", "Page", "WebClient", "client_of", "close"]

_clients: WeakKeyDictionary[Host, tuple[asyncio.AbstractEventLoop, WebClient]] = WeakKeyDictionary()
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ROBOTS_BYTES = 500_000
_ROBOTS_KEPT = 50  # sites
_TEXT = re.compile(r"(text/.*|application/(.*\+)?(json|xml|yaml|javascript|x-ndjson))\Z")


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read.

    Attributes:
        url: the address that answered, after redirects.
        title: of an HTML page; may be empty.
        text: Markdown, or the text as it was sent.
        cut: there was more.
    """

    url: str
    title: str
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server sent.

    Attributes:
        url: the address that answered, after redirects.
        status: of HTTP.
        media_type: for example ``text/html``, in lower case.
        charset: what the server says; ``None``: nothing.
        body: the bytes, and a little more than ``max_bytes`` where there is more.
    """

    url: URL
    status: int
    media_type: str
    charset: str | None
    body: bytes


class WebClient:
    """Fetches pages and asks search providers.

    Args:
        config: the limits.
    """

    def __init__(self, config: WebConfig) -> None:
        self.config = config
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._robots: dict[URL, bytes] = {}

    def _http(self, guarded: bool) -> aiohttp.ClientSession:
        """Return the session for public addresses (guarded), or for those that the user named or configured."""
        if guarded not in self._sessions:
            connector = (
                aiohttp.TCPConnector(socket_factory=open_public, use_dns_cache=False)
                if guarded
                else aiohttp.TCPConnector()
            )
            self._sessions[guarded] = aiohttp.ClientSession(
                connector=connector,
                headers={"User-Agent": self.config.user_agent},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._sessions[guarded]

    async def page(self, text: str) -> Page:
        """Return the page at an address, following redirects on the same host.

        Raises:
            ToolError: the address is no web page that may be fetched, or it could not be.
        """
        ends = asyncio.get_running_loop().time() + self.config.timeout
        answer = await self.fetch(text)
        where, limit = str(answer.url), self.config.max_bytes
        if not (answer.media_type == "application/xhtml+xml" or _TEXT.match(answer.media_type)):
            raise ToolError(f"{where} is {answer.media_type}, which cannot be shown as text")
        title, shown = await read_apart(
            where, answer.body[:limit], max(0.1, ends - asyncio.get_running_loop().time()),
            kind="page", url=where, media_type=answer.media_type, charset=answer.charset,
        )  # fmt: skip
        return Page(where, title, shown, cut=len(answer.body) > limit)

    async def fetch(self, text: str) -> Fetched:
        """Return what is at an address, as bytes, following redirects on the same host.

        Raises:
            ToolError: the address is none that may be fetched, or it could not be, or HTTP says that it is not there.
        """
        url = web_address(text)
        try:
            async with asyncio.timeout(self.config.timeout):
                answer = await self._fetched(url)
        except TimeoutError:
            raise ToolError(f"no answer from {url} within {self.config.timeout:g} s") from None
        if answer.status >= 400:
            raise ToolError(f"{answer.url} answered with HTTP {answer.status}")
        return answer

    async def _fetched(self, url: URL) -> Fetched:
        """Return what the server sends, after redirects."""
        for _ in range(self.config.max_redirects + 1):
            if self.config.robots and not await self._allowed_by_robots(url):
                raise ToolError(f"robots.txt of {url.raw_authority} does not allow {url} to be fetched by programs")
            found = await self._get(url, self.config.max_bytes)
            if isinstance(found, Fetched):
                return found
            if _host(found) != _host(url):
                # who allowed the one host did not allow every host that it names
                raise ToolError(f"{url} leads to another host: to go there, fetch {found}")
            url = found
        raise ToolError(f"more than {self.config.max_redirects} redirects; the last one leads to {url}")

    async def json(
        self, method: str, url: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Any:  # fmt: skip
        """Return what an API answers, parsed.

        Raises:
            ToolError: it could not be asked, or did not answer with JSON and a status below 400.
        """
        host = URL(url).raw_authority
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
        except (ValueError, RecursionError):
            raise ToolError(f"{host} did not answer with JSON") from None

    async def _get(self, url: URL, limit: int) -> Fetched | URL:
        """Return what the server sends, or the address that it redirects to."""
        check(url, self.config.private_hosts)
        session = self._http(not is_named(url, self.config.private_hosts))
        try:
            async with session.get(url, allow_redirects=False) as answer:
                if answer.status in _REDIRECTS and (target := answer.headers.get("Location")):
                    return web_address(str(url.join(URL(target))))
                body = await _read(answer, limit)
                return Fetched(answer.url, answer.status, answer.content_type.lower(), answer.charset, body)
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise _unreachable(str(url), error) from None

    async def _allowed_by_robots(self, url: URL) -> bool:
        """Return whether robots.txt of the site lets programs fetch the URL; a site without one lets them."""
        origin = url.origin()
        if origin not in self._robots:
            found: Fetched | URL = origin.with_path("/robots.txt")
            for _ in range(self.config.max_redirects + 1):
                if isinstance(found, Fetched) or _host(found) != _host(url):
                    break
                found = await self._get(found, _ROBOTS_BYTES)
            there = isinstance(found, Fetched) and found.status == 200
            self._robots[origin] = found.body[:_ROBOTS_BYTES] if there and isinstance(found, Fetched) else b""
            while len(self._robots) > _ROBOTS_KEPT:
                del self._robots[next(iter(self._robots))]
        rules, agent = self._robots[origin], self.config.user_agent
        if not rules.strip():
            return True
        where = f"robots.txt of {url.raw_authority}"
        allowed = await read_apart(where, rules, self.config.timeout, kind="robots", url=str(url), agent=agent)
        return bool(allowed)

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


def _host(url: URL) -> str:
    return (url.raw_host or "").lower().rstrip(".").removeprefix("www.")


def _unreachable(what: str, error: Exception) -> ToolError:
    """Return the error for a request that failed."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, PermissionError) and cause.errno is None:  # of open_public
        return ToolError(f"{what}: {cause}")
    return ToolError(f"{what} could not be reached: {error or type(error).__name__}")
