"""What the server answers: the page, the sessions and what happens in them, and what a person does there."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_live import RpcError, protocol
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from skillkit_core import AgentBusy, NoActiveRun, SkillKitError, UnknownName, UsageError
from skillkit_core.cli.output import short_path

from . import books
from .entrance import LOOKS
from .markdown import tree

if TYPE_CHECKING:
    from starlette.requests import Request

    from .config import PageConfig
    from .places import Places

__all__ = ["application"]

_PAGES = (
    "/",
    "/new",
    "/s/{session}",
    "/search",
    "/inbox",
    "/usage",
    "/skills",
    "/plugins",
    "/servers",
    "/why/{session}/{turn}",
)
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BEAT = 15.0  # seconds after which a stream says that it lives
_SESSIONS = 200  # that are listed
_FOUND = 50  # entries that a search finds
_QUERY = 500  # characters that are searched for
_NAME = re.compile(r"[0-9A-Za-z][\w.-]{0,127}\Z")
_TURN = re.compile(r"-?\d{1,6}\Z")
_LOOKS = {"state", "entries", "messages", "models", "commands"}  # methods that change nothing, and tell of no file
_QUIET = {  # events that no part of the page shows
    "before_agent_start", "before_model_request", "before_tool_call", "after_tool_result", "turn_end", "before_agent_end",
    "before_compaction", "model_headers", "message_start",
}  # fmt: skip
_LONG = {"agent_start": ("tools", "messages"), "turn_start": ("tools",), "agent_end": ("messages",)}
Endpoint = Callable[["Request"], Awaitable[Response]]


class _TooLarge(SkillKitError):
    """A body is too large."""


def application(places: Places, settings: PageConfig, over: asyncio.Event, *, read_only: bool) -> Starlette:
    """Return the application.

    Args:
        places: the sessions.
        settings: limits.
        over: set when the server ends.
        read_only: nobody changes anything.
    """
    served = _Served(places, settings, over, read_only)
    changes: list[tuple[str, Endpoint]] = [
        ("/api/sessions", served.begin),
        *(
            (f"/api/s/{{session}}/{method}", partial(served.act, method))
            for method in ("say", "answer", "abort", "act", "shell")
        ),
    ]
    return Starlette(
        routes=[
            *(Route(path, served.page) for path in _PAGES),
            Route("/page/{name}", served.part),
            Route("/api/sessions", _told(served.sessions)),
            Route("/api/search", _told(served.search)),
            Route("/api/inbox", _told(served.inbox)),
            Route("/api/book/{name}", _told(served.book)),
            Route("/api/s/{session}/events", served.events),
            Route("/api/s/{session}/blob/{digest}", _told(served.blob)),
            Route("/api/markdown", _told(served.markdown), methods=["POST"]),
            *(Route(path, _told(endpoint), methods=["POST"]) for path, endpoint in changes),
        ]
    )


def _told(work: Endpoint) -> Endpoint:
    """Let the page read an error of SkillKit."""

    async def wrapper(request: Request) -> Response:
        try:
            return await work(request)
        except RpcError as error:
            return JSONResponse({"error": error.message}, 409)
        except SkillKitError as error:
            return JSONResponse({"error": error.message, "hint": error.hint}, _status(error))
        except (ConnectionError, TimeoutError) as error:
            return JSONResponse({"error": f"the process that has the session is gone: {error}"}, 503)

    return wrapper


def _status(error: SkillKitError) -> int:
    if isinstance(error, _TooLarge):
        return 413
    if isinstance(error, UnknownName):
        return 404
    if isinstance(error, (AgentBusy, NoActiveRun)):
        return 409
    return 400 if isinstance(error, UsageError) else 422


class _Served:
    """The answers."""

    def __init__(self, places: Places, settings: PageConfig, over: asyncio.Event, read_only: bool) -> None:
        self._places, self._settings, self._over, self._read_only = places, settings, over, read_only
        self._clients = {True: 0, False: 0}  # of those who look on, who keep nobody else out, and of the others
        self._parts = {
            part.name: (part.read_bytes(), _TYPES[Path(part.name).suffix])
            for part in files(__package__).joinpath("page").iterdir()
            if Path(part.name).suffix in _TYPES
        }

    # --- the page ---------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """Give the page; its parts see by the address what to show."""
        return Response(self._parts["page.html"][0], media_type="text/html")

    async def part(self, request: Request) -> Response:
        """Give a style, a module or a picture of the page."""
        found = self._parts.get(request.path_params["name"])
        return Response(found[0], media_type=found[1]) if found is not None else Response("", 404)

    # --- sessions ---------------------------------------------------------------------------------------------

    async def sessions(self, request: Request) -> Response:
        """List the sessions, the folders for new ones, and how many questions wait."""
        rows, inbox = await asyncio.gather(self._places.sessions(_SESSIONS), self._places.inbox())
        waits = {one["session"] for one in inbox}
        folders = {row["folder"] for row in rows} | {str(folder) for folder in self._places.folders}
        return JSONResponse(
            {
                "sessions": [{**row, "waits": row["id"] in waits} for row in rows],
                "folders": [str(folder) for folder in self._places.folders],
                "short": {folder: short_path(folder) for folder in folders if folder},
                "inbox": len(inbox),
                "read_only": self._looks(request),
                "shared": bool(request.scope.get(LOOKS)),
            }
        )

    async def search(self, request: Request) -> Response:
        """Find entries that contain a text: of all sessions, or of one."""
        session = request.query_params.get("session")
        query = request.query_params.get("q", "").strip()[:_QUERY]
        return JSONResponse(await self._places.search(query, _name(session) if session else None, _FOUND))

    async def begin(self, request: Request) -> Response:
        """Begin a session."""
        self._may_change(request)
        given = await self._body(request)
        folder = given.get("folder")
        return JSONResponse({"session": await self._places.begin(folder if isinstance(folder, str) else None)})

    async def inbox(self, request: Request) -> Response:
        """List the questions that wait."""
        return JSONResponse({"waiting": await self._places.inbox()})

    async def events(self, request: Request) -> Response:
        """Stream what happens in a session, as server-sent events with the ids of the messages."""
        after = request.query_params.get("after") or request.headers.get("last-event-id")
        shared = bool(request.scope.get(LOOKS))
        stream = self._stream(request.path_params["session"], after, shared, self._read_only or shared)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _stream(self, session: str, after: str | None, shared: bool, looks: bool) -> AsyncIterator[str]:
        if self._clients[shared] >= self._settings.max_clients:
            yield _sent(
                "problem", {"error": f"{self._clients[shared]} tabs are open, which is the most", "again": True}
            )
            return
        self._clients[shared] += 1
        try:
            place = await self._places.place(_name(session))
            yield _sent(
                "about", {"here": place.here, "untrusted": [] if looks else place.untrusted(), "read_only": looks}
            )
            async for message in _until(place.messages(after), self._over, _BEAT):
                if message is None:
                    yield ": alive\n\n"
                elif (shown := _shown(message)) is not None:
                    yield f"id: {message['id']}\ndata: {json.dumps(shown, default=str)}\n\n"
        except (SkillKitError, RpcError, ConnectionError) as error:
            gone = isinstance(error, (UnknownName, UsageError))
            yield _sent("problem", {"error": str(error), "again": not gone})
        finally:
            self._clients[shared] -= 1

    async def act(self, method: str, request: Request) -> Response:
        """Do what a person asks of a session: say, answer, abort, or any other method of the protocol by its name."""
        given = await self._body(request)
        params: Any = given
        if method == "act":
            method, params = str(given.get("method")), given.get("params") or {}
            if method not in protocol.ACTS:
                raise UnknownName("method", method, sorted(protocol.ACTS))
        if method not in _LOOKS:
            self._may_change(request)
        place = await self._places.place(_name(request.path_params["session"]))
        return JSONResponse(await place.act(method, params))

    async def blob(self, request: Request) -> Response:
        """Give an image; anything else is a file to keep."""
        place = await self._places.place(_name(request.path_params["session"]))
        found = await place.act("blob", {"blob": f"blob:{request.path_params['digest']}"})
        data = base64.b64decode(found["data"])
        if found["media_type"] in _IMAGES:
            return Response(data, media_type=found["media_type"])
        headers = {"Content-Disposition": "attachment"}
        return Response(data, media_type="application/octet-stream", headers=headers)

    # --- what else is shown -----------------------------------------------------------------------------------

    async def markdown(self, request: Request) -> Response:
        """Give texts as trees of elements."""
        texts = (await self._body(request)).get("texts")
        if not isinstance(texts, list):
            raise UsageError("'texts' must be a list")
        return JSONResponse({"trees": await asyncio.to_thread(lambda: [tree(str(text)) for text in texts])})

    async def book(self, request: Request) -> Response:
        """Give what commands tell as JSON."""
        if request.scope.get(LOOKS):
            raise UsageError("who looks on sees the sessions alone", hint="ask the person who shares them")
        given: dict[str, str] = {}
        if session := request.query_params.get("session"):
            given["session"] = _name(session)
        if turn := request.query_params.get("turn"):
            if not _TURN.match(turn):
                raise UsageError(f"{turn!r} is no number of a turn")
            given["turn"] = turn
        host = self._places.host
        return JSONResponse(await books.read(host, host.cwd, request.path_params["name"], given))

    # --- parts ------------------------------------------------------------------------------------------------

    def _looks(self, request: Request) -> bool:
        """Return whether the caller looks on: everybody does, or this one."""
        return self._read_only or bool(request.scope.get(LOOKS))

    def _may_change(self, request: Request) -> None:
        if self._looks(request):
            hint = "ask who shares it" if request.scope.get(LOOKS) else "start 'skillkit web' without --read-only"
            raise UsageError("this page looks on", hint=hint)

    async def _body(self, request: Request) -> Mapping[str, Any]:
        """Return the body of a request, an object."""
        body, most = bytearray(), self._settings.upload
        async for piece in request.stream():
            body += piece
            if len(body) > most:
                raise _TooLarge(f"that is more than {most:,} bytes", hint="'page.upload' says how much may be sent")
        try:
            found = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise UsageError("the body must be an object")
        return found


def _name(session: str) -> str:
    if not _NAME.match(session):
        raise UsageError(f"{session!r} is no id of a session")
    return session


def _sent(kind: str, data: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, default=str)}\n\n"


def _shown(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a message as the page needs it; ``None``: no part of the page shows it."""
    if message["type"] != "event":
        return message
    event = message["event"]
    if event["type"] in _QUIET:
        return None
    left_out = _LONG.get(event["type"])
    if left_out is None:
        return message
    return {**message, "event": {name: value for name, value in event.items() if name not in left_out}}


async def _until(
    messages: AsyncGenerator[dict[str, Any], None], over: asyncio.Event, beat: float
) -> AsyncIterator[Any]:
    """Yield messages until an event is set, and ``None`` after each ``beat`` seconds in which nothing came."""
    async with aclosing(messages):
        ended = asyncio.ensure_future(over.wait())
        coming: asyncio.Future[Any] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(messages, None))
                await asyncio.wait({coming, ended}, timeout=beat, return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    return
                if not coming.done():
                    yield None
                    continue
                message, coming = coming.result(), None
                if message is None:
                    return
                yield message
        finally:
            ended.cancel()
            if coming is not None:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
