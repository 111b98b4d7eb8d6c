"""The server: routes of the protocol over one handler, behind one gate."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.types import AgentCard, CancelTaskRequest, Task
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from skillkit_live import Lives
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from skillkit_core import Limits

from .card import JSONRPC, REST, Cards
from .gate import CallContexts, Gate, Rates
from .push import PushConfigs, Pusher
from .running import Requests, Runs
from .served import Served
from .sessions import Sessions

if TYPE_CHECKING:
    import socket

    from a2a.server.context import ServerCallContext
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from skillkit_core import AgentConfig, Host

    from .keys import Keys
    from .settings import ServeSettings

__all__ = ["Callers", "Server", "serve"]

_CACHE = "public, max-age=60"
_WAITING = 600.0  # seconds after which a task that waits is in its session alone


class Callers(Collection[str]):
    """Whose answers count: the owner's, and those of callers, of which :func:`.questions.decides` says when."""

    def __contains__(self, principal: object) -> bool:
        return principal == "owner" or str(principal).startswith("a2a:")

    def __iter__(self) -> Iterator[str]:
        return iter(("owner", "callers with a key"))

    def __len__(self) -> int:
        return 2


class Handler(DefaultRequestHandler):
    """The handler of the protocol's library, with what is particular here.

    Args:
        runs: the runs.
        cards: the cards.
        **given: for the library.
    """

    def __init__(self, runs: Runs, cards: Cards, **given: Any) -> None:
        card = cards.public()
        extended = card if card.capabilities.extended_agent_card else None
        super().__init__(
            agent_executor=runs,
            agent_card=card,
            extended_agent_card=extended,
            extended_card_modifier=self._extended,
            validate_input_modes=True,
            interrupted_task_timeout=_WAITING,
            **given,
        )
        self._runs, self._cards = runs, cards

    async def _extended(self, card: AgentCard, context: ServerCallContext) -> AgentCard:
        return self._cards.extended(context.state["caller"])

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Cancel a task; what waits in its session waits no more."""
        task: Task | None = await super().on_cancel_task(params, context)
        if task is not None:
            await self._runs.withdraw(task, context.user.user_name)
        return task


class Server:
    """One server, for skills of one folder.

    Args:
        host: the host of the folder.
        config: the agents of tasks.
        settings: the settings.
        skills: the skills that are served; none: all that a person may call.
        keys: the keys; ``None``: callers need none.
        depth: how often a task may be handed on from host to host.
    """

    def __init__(
        self,
        host: Host,
        config: AgentConfig,
        settings: ServeSettings,
        *,
        skills: Collection[str] = (),
        keys: Keys | None,
        depth: int = 5,
    ) -> None:
        self._host, self._settings, self._keys, self._depth = host, settings, keys, depth
        budget = settings.budget
        limits = Limits(turns=budget.turns or host.config.limits().turns, tokens=budget.tokens, cost=budget.cost)
        self._config = replace(config, limits=limits)
        self._served = Served(host, tuple(skills))
        self.url = ""

    @asynccontextmanager
    async def app(self, port: int, grpc: int | None = None) -> AsyncIterator[ASGIApp]:
        """Yield the application for a port of this machine; gRPC is served at another one meanwhile.

        Args:
            port: the port.
            grpc: the port for gRPC; ``None``: it is not served.
        """
        own = f"http://127.0.0.1:{port}"
        self.url = self._settings.url or own
        place = f"127.0.0.1:{grpc}" if grpc is not None else None
        cards = Cards(self._settings, self._served, self.url, open_=self._keys is None, grpc=place)
        async with Lives(self._host, approvers=Callers(), listen=True) as lives:
            sessions = Sessions(self._host, lives, self._config)
            runs = Runs(sessions, self._served, self._settings.tasks, self._host.data_dir / "a2a" / "tasks")
            push = PushConfigs(sessions, self._settings.push.allow)
            pusher = Pusher(push, self._settings.push.allow)
            handler = Handler(
                runs,
                cards,
                task_store=runs.tasks,
                request_context_builder=Requests(runs, self._depth),
                push_config_store=push,
                push_sender=pusher,
                push_url_validator=push.may_be_told,
            )
            app = Starlette(routes=_routes(handler, cards, older=self._settings.compat_0_3))
            hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
            hosts.append(urlsplit(self.url).netloc.lower())
            rates, largest = Rates(self._settings.rate), self._settings.message
            try:
                if grpc is None:
                    yield Gate(app, self._keys, hosts, rates, largest)
                else:
                    from .rpc import serving

                    async with serving(handler, grpc, keys=self._keys, rates=rates, largest=largest):
                        yield Gate(app, self._keys, hosts, rates, largest)
            finally:
                await handler.aclose()
                await pusher.aclose()


def _routes(handler: Handler, cards: Cards, *, older: bool) -> list[BaseRoute]:
    """Return the routes; ``older``: those of 0.3 at the same addresses, too."""

    async def current(card: AgentCard) -> AgentCard:
        return cards.public()

    public = cards.public()
    (made,) = create_agent_card_routes(agent_card=public, card_modifier=current, cache_control=_CACHE)
    contexts = CallContexts()

    async def card(request: Request) -> Response:
        response: Response = await made.endpoint(request)
        response.headers["Last-Modified"] = cards.changed()
        return response

    return [
        Route(AGENT_CARD_WELL_KNOWN_PATH, card, methods=["GET"]),
        *create_jsonrpc_routes(handler, JSONRPC, contexts, enable_v0_3_compat=older),
        *create_jsonrpc_routes(handler, f"{JSONRPC}/", contexts, enable_v0_3_compat=older),
        *create_rest_routes(handler, contexts, enable_v0_3_compat=older, path_prefix=REST),
    ]


class _Web(uvicorn.Server):
    """A server that says when it is there, and leaves signals to :func:`serve`."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer requests."""
        await super().startup(sockets)
        self._ready()


async def serve(
    server: Server, listening: socket.socket, ready: Callable[[str], object], grpc: int | None = None
) -> None:
    """Serve until SIGINT or SIGTERM says that it is enough.

    Args:
        server: the server.
        listening: the socket, of this machine alone.
        ready: is called with the address once requests are answered.
        grpc: the port for gRPC; ``None``: it is not served.
    """
    async with server.app(listening.getsockname()[1], grpc) as app:
        config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1, access_log=False)
        web = _Web(config, lambda: ready(server.url))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, setattr, web, "should_exit", True)
        await web.serve(sockets=[listening])
