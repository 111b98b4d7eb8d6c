"""A scripted model server on loopback: real HTTP/1.1 and server-sent events, for all three wires, in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from ..received import Item, OfferedTool, ReceivedRequest
from ..turns import Call, Cut, Fail, Gate, Hang, Raw, Reply, Turn, TurnFunction
from ..wires import WIRES
from ..wires.base import CREATED, Answer, Wire
from ..writing import plan, write_cut

if TYPE_CHECKING:
    from aiohttp import web

__all__ = [
    "Call",
    "Cut",
    "Fail",
    "Gate",
    "Hang",
    "Item",
    "LLMServer",
    "OfferedTool",
    "Raw",
    "ReceivedRequest",
    "Reply",
    "Turn",
    "TurnFunction",
]

_START_SECONDS = 30.0


class LLMServer:
    """Speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, and says what it is scripted to say.

    Each request takes the next turn of the script, whichever wire it came over; afterwards :meth:`always` decides. A
    request that no turn is left for gets a 400 that says so, and :meth:`check` fails. It listens on 127.0.0.1 alone.

    Args:
        turns: the script.
        models: ids that ``GET /v1/models`` lists.
        strict: refuse, with 400, requests that the real provider would refuse (missing results, empty blocks, ...).
        port: 0: the system chooses.
        wires: further wires to speak, each at its path.

    Example:
        >>> with LLMServer(Reply(text="hello")) as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """

    def __init__(
        self,
        *turns: Turn,
        models: Sequence[str] = ("scripted-model",),
        strict: bool = True,
        port: int = 0,
        wires: Sequence[Wire] = (),
    ) -> None:
        self.models = tuple(models)
        self.strict = strict
        self.wires = {wire.path: wire for wire in (*WIRES, *wires)}
        self.requests: list[ReceivedRequest] = []
        self.problems: list[str] = []
        self._script: deque[Turn] = deque(turns)
        self._always: Turn | None = None
        self._port = port
        self._received = threading.Condition()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failure: BaseException | None = None

    # -- what it says

    def script(self, *turns: Turn | Iterable[Turn]) -> Self:
        """Replace the turns that are left. Turns may also be given as one list."""
        flat: list[Turn] = []
        for turn in turns:
            if isinstance(turn, (list, tuple)):
                flat.extend(turn)
            else:
                flat.append(turn)  # type: ignore[arg-type]
        with self._received:
            self._script = deque(flat)
        return self

    def always(self, turn: Turn | None) -> Self:
        """Answer with ``turn`` whenever the script is empty; ``None``: refuse again."""
        self._always = turn
        return self

    @property
    def turns_left(self) -> int:
        """How many turns of the script nobody asked for yet."""
        return len(self._script)

    # -- where it is, what it heard

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, the base URL of Anthropic clients."""
        if self._thread is None:
            raise RuntimeError("the server is not running; use it in a 'with' block")
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """``http://127.0.0.1:PORT/v1``, the base URL of OpenAI clients."""
        return f"{self.url}/v1"

    @property
    def last(self) -> ReceivedRequest:
        """The newest request."""
        return self.requests[-1]

    def wait_for_requests(self, count: int, timeout: float = 30.0) -> bool:
        """Wait until ``count`` requests were received in all; ``False`` when ``timeout`` seconds pass before."""
        with self._received:
            return self._received.wait_for(lambda: len(self.requests) >= count, timeout)

    def check(self) -> None:
        """Fail if something was asked that the script did not foresee, or a scripted function raised.

        Raises:
            AssertionError: what happened, one line each.
        """
        if self.problems:
            raise AssertionError("\n".join(self.problems))

    # -- life

    def start(self) -> Self:
        """Listen. Returns when requests are taken."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="skillkit-llm-server", daemon=True)
        self._thread.start()
        if not ready.wait(_START_SECONDS) or self._failure is not None:
            self._thread = None
            raise RuntimeError(f"the server did not start: {self._failure}") from self._failure
        return self

    def stop(self) -> None:
        """Cancel what is still being answered, close every connection, end the thread. Idempotent."""
        thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None or loop is None or stop is None:
            return
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        self._thread = self._loop = self._stop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self, ready: threading.Event) -> None:
        try:
            asyncio.run(self._main(ready))
        except Exception as error:  # noqa: BLE001 - handed to the thread that called start()
            self._failure = error
        finally:
            ready.set()

    async def _main(self, ready: threading.Event) -> None:
        from aiohttp import web

        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", self._port)
            await site.start()
            self._port = runner.addresses[0][1]
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._stop.wait()
            for task in self._tasks:
                task.cancel()
        finally:
            await runner.cleanup()

    # -- one request

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        received = self._record(request, await request.read())
        try:
            response = await self._answer(request, received)
        except (asyncio.CancelledError, ConnectionError):
            if self._stop is None or not self._stop.is_set():
                received.disconnected.set()
            raise
        finally:
            self._tasks.discard(task)
        received.answered.set()
        return response

    def _record(self, request: web.Request, raw: bytes) -> ReceivedRequest:
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = None
        wire = self.wires.get(request.path) if request.method == "POST" else None
        headers = {k.lower(): v for k, v in request.headers.items()}
        with self._received:
            received = ReceivedRequest(
                number=len(self.requests) + 1,
                method=request.method,
                path=request.path,
                headers=headers,
                raw=raw,
                body=body if isinstance(body, dict) else {},
                decoder=wire,
            )
            self.requests.append(received)
            self._received.notify_all()
        return received

    async def _answer(self, request: web.Request, received: ReceivedRequest) -> web.StreamResponse:
        wire = self.wires.get(received.path)
        if received.method == "GET" and received.path == "/v1/models":
            return _json(self._model_list())
        if wire is None or received.decoder is None:
            allowed = f"POST {', '.join(self.wires)} and GET /v1/models"
            message = f"{received.method} {received.path}: this server answers {allowed}"
            return _json({"type": "error", "error": {"type": "not_found_error", "message": message}}, 404)
        if not received.body:
            return self._fail(wire, Fail(400, message="the body is not a JSON object"))
        if self.strict and (problem := wire.problem(received.body, received.headers)):
            return self._fail(wire, Fail(400, message=problem))
        turn = await self._turn(received)
        answer = Answer(turn.reply if isinstance(turn, Cut) else Reply(), received.body, received.number)
        if isinstance(turn, Raw):
            return _raw(turn)
        if isinstance(turn, Hang):
            await _forever()
        if isinstance(turn, Cut):
            return await write_cut(request, turn, wire, answer, received.stream)
        if isinstance(turn, Fail):
            if turn.during is None or not received.stream:
                return self._fail(wire, turn)
            answer = Answer(turn.during, received.body, received.number)
            return await plan(wire, answer, failing=turn).write(request)
        answer = Answer(turn, received.body, received.number)
        if received.stream:
            return await plan(wire, answer).write(request)
        if turn.gate is not None:
            await turn.gate.passed()
        return _json(wire.whole(answer), headers=turn.headers)

    async def _turn(self, received: ReceivedRequest) -> Reply | Fail | Cut | Hang | Raw:
        turn: Any
        with self._received:
            turn = self._script.popleft() if self._script else self._always
        if turn is None:
            return self._problem(f"the script has no turn for request {received.number}, {received.path}", 400)
        while callable(turn):
            try:
                given = turn(received)
                turn = await given if inspect.isawaitable(given) else given
            except Exception as error:  # noqa: BLE001 - a test's own function; check() reports it
                kind = type(error).__name__
                return self._problem(
                    f"the scripted function raised for request {received.number}: {kind}: {error}", 400
                )
        if not isinstance(turn, (Reply, Fail, Cut, Hang, Raw)):
            return self._problem(f"request {received.number}: {turn!r} is not a Reply, Fail, Cut, Hang or Raw", 400)
        answer: Reply | Fail | Cut | Hang | Raw = turn
        return answer

    def _problem(self, message: str, status: int) -> Fail:
        self.problems.append(message)
        return Fail(status, message=message)

    def _fail(self, wire: Wire, fail: Fail) -> web.Response:
        headers = dict(fail.headers)
        if fail.retry_after is not None:
            headers["retry-after"] = f"{fail.retry_after:g}"
        return _json(wire.error(fail), wire.status(fail), headers)

    def _model_list(self) -> dict[str, Any]:
        """Both providers' listings in one object."""
        data = [
            {
                "id": name,
                "type": "model",
                "object": "model",
                "display_name": name,
                "created": CREATED,
                "created_at": "2025-06-15T15:06:40Z",
                "owned_by": "skillkit-testkit",
            }
            for name in self.models
        ]
        ends = {"first_id": self.models[0], "last_id": self.models[-1]} if self.models else {}
        return {"object": "list", "data": data, "has_more": False, **ends}


async def _forever() -> NoReturn:
    while True:
        await asyncio.Event().wait()


def _raw(turn: Raw) -> web.Response:
    from aiohttp import web

    headers = {"content-type": turn.content_type, **turn.headers}
    return web.Response(body=turn.body, status=turn.status, headers=headers)


def _json(data: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    from aiohttp import web

    body = json.dumps(data, ensure_ascii=False).encode()
    ids = {"request-id": "req_scripted", "x-request-id": "req_scripted"}
    return web.Response(
        body=body, status=status, content_type="application/json", charset="utf-8", headers={**ids, **(headers or {})}
    )
