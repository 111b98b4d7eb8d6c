"""The adapter suite, run on a small complete adapter, and on the same adapter with one thing broken at a time."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import aiohttp
import pytest
from skillkit_testkit import Fail, LLMServer, ReceivedRequest
from skillkit_testkit.conformance import AdapterConformance
from skillkit_testkit.wires import Answer, Item, OfferedTool, Wire, WireEvent
from skillkit_transport import SSEDecoder, classify_status, parse_retry_after

from skillkit_core import LLMAdapter, LLMRequest, ProviderError, StreamEvent, TokenUsage
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import AssistantMessage, StopReason, ToolResultMessage, text_of

STOP = {"stop": StopReason.stop, "tool_calls": StopReason.tool_calls, "length": StopReason.length}


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class SmallAdapter(LLMAdapter):
    """Chat Completions in as few lines as the contract allows."""

    api = "openai-chat"
    path = "/v1/chat/completions"
    redirects = False

    def __init__(self, host: Any = None, *, provider: str = "small", base_url: str = "") -> None:
        self.provider = provider
        self._url = base_url

    # -- encoding

    def payload(self, request: LLMRequest) -> dict[str, Any]:
        ids: dict[str, str] = {}
        messages: list[dict[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
        for m in request.messages:
            if isinstance(m, ToolResultMessage):
                messages.append({"role": "tool", "tool_call_id": ids[m.tool_call_id], "content": clean(m.text)})
            elif isinstance(m, AssistantMessage):
                calls = []
                for c in m.tool_calls:
                    ids[c.id] = c.id if len(c.id) <= 40 else f"call_{len(ids)}"
                    function = {"name": c.name or "_", "arguments": json.dumps(dict(c.args or {}))}
                    calls.append({"id": ids[c.id], "type": "function", "function": function})
                messages.append(
                    {"role": "assistant", "content": m.text or None} | ({"tool_calls": calls} if calls else {})
                )
            else:
                messages.append({"role": "user", "content": clean(text_of(m.content))})
        body: dict[str, Any] = {"model": request.model.id, "messages": messages}
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": t.parameters},
                }
                for t in request.tools
            ]
        if request.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def validate(self, request: LLMRequest) -> list[str]:
        open_calls: list[str] = []
        for m in request.messages:
            if isinstance(m, ToolResultMessage):
                open_calls.remove(m.tool_call_id)
            elif open_calls:
                return [f"tool call {open_calls[0]} has no result"]
            if isinstance(m, AssistantMessage):
                open_calls += [c.id for c in m.tool_calls]
        return []

    # -- streaming

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        if request.signal.aborted:
            yield StreamEvent("error", error=ProviderError("aborted", kind=ErrorKind.aborted))
            return
        queue: asyncio.Queue[StreamEvent] = asyncio.Queue()
        task = asyncio.create_task(self._work(request, queue.put_nowait))
        remove = request.signal.add_callback(task.cancel)
        try:
            while True:
                event = await queue.get()
                yield event
                if event.terminal:
                    return
        finally:
            remove()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _work(self, request: LLMRequest, emit: Callable[[StreamEvent], None]) -> None:
        try:
            await self._exchange(request, self.fold(emit))
            return
        except ProviderError as problem:
            error = problem
        except asyncio.CancelledError:
            error = ProviderError("aborted", kind=ErrorKind.aborted)
        except TimeoutError:
            error = ProviderError("no answer in time", kind=ErrorKind.timeout)
        except aiohttp.ClientPayloadError as problem:
            error = nonsense(problem)
        except aiohttp.ClientError as problem:
            error = ProviderError(str(problem), kind=ErrorKind.connection)
        except Exception as problem:
            error = ProviderError(f"a mistake of this adapter: {problem!r}")
            error.__cause__ = problem
        emit(StreamEvent("error", error=error))

    async def _exchange(self, request: LLMRequest, fold: Fold) -> None:
        payload: Mapping[str, Any] = self.payload(request)
        headers: Mapping[str, str] = {"authorization": "Bearer k"}
        if request.on_request:
            payload, headers = await request.on_request(payload, headers)
        timeout = aiohttp.ClientTimeout(total=None, sock_read=request.settings.timeout)
        async with (
            aiohttp.ClientSession(timeout=timeout, max_field_size=65_536) as session,
            session.post(
                f"{self._url}{self.path}", json=payload, headers=headers, allow_redirects=self.redirects
            ) as response,
        ):
            if request.on_response:
                await request.on_response(response.status, dict(response.headers))
            if response.status != 200:
                raise await self._failure(response)
            if not request.stream:
                fold.whole(await response.read())
                return
            split = self.splitter()
            async for data in response.content.iter_any():
                for raw in split(data):
                    if fold.read(raw):
                        return
            raise ProviderError("the stream has no end", kind=ErrorKind.protocol)

    def fold(self, emit: Callable[[StreamEvent], None]) -> Fold:
        return Fold(emit)

    def splitter(self) -> Callable[[bytes], list[bytes]]:
        decoder = SSEDecoder()
        return lambda data: [raw for _, raw in decoder.feed(data)]

    async def _failure(self, response: aiohttp.ClientResponse) -> ProviderError:
        if "location" in response.headers:
            there = response.headers["location"]
            return ProviderError(f"redirects to {there}, which is not followed", kind=ErrorKind.invalid_request)
        try:
            error = (await response.json())["error"]
        except aiohttp.ContentTypeError:
            kind = classify_status(response.status)
            return ProviderError(f"status {response.status}", kind=kind, status=response.status)
        kinds = {"context_length_exceeded": ErrorKind.overflow, "insufficient_quota": ErrorKind.quota}
        return ProviderError(
            error["message"],
            kind=kinds.get(error["code"]) or classify_status(response.status),
            status=response.status,
            type=error["type"],
            retry_after=parse_retry_after(response.headers),
            provider=self.provider,
        )


def nonsense(problem: Exception) -> ProviderError:
    return ProviderError(f"the answer makes no sense: {str(problem)[:200]}", kind=ErrorKind.protocol)


MALFORMED = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


class Fold:
    """Chunks to events."""

    def __init__(self, emit: Callable[[StreamEvent], None]) -> None:
        self.emit = emit
        self.index = -1
        self.kind = ""
        self.call: dict[str, Any] = {}
        self.usage: TokenUsage | None = None
        self.raw_stop = "stop"
        self.id: str | None = None

    def open(self, kind: str, **fields: Any) -> None:
        self.close()
        self.index += 1
        self.kind = kind
        self.call = fields
        self.emit(StreamEvent(f"{kind}_start", index=self.index, **fields))

    def close(self) -> None:
        if self.kind:
            self.emit(StreamEvent(f"{self.kind}_end", index=self.index, **self.call))
        self.kind = ""

    def add(self, kind: str, text: str) -> None:
        if text:
            if self.kind != kind:
                self.open(kind)
            self.emit(StreamEvent(f"{kind}_delta", text, index=self.index))

    def read(self, raw: bytes) -> bool:
        """Whether that was the end."""
        if raw == b"[DONE]":
            self.finish()
            return True
        try:
            self.chunk(json.loads(raw))
        except MALFORMED as problem:
            raise nonsense(problem) from problem
        return False

    def chunk(self, chunk: Any) -> None:
        if "error" in chunk:
            raise ProviderError(chunk["error"]["message"], kind=ErrorKind.server)
        self.id = chunk.get("id")
        if chunk.get("usage"):
            self.count(chunk["usage"])
        for choice in chunk["choices"]:
            self.delta(choice["delta"])
            self.raw_stop = choice["finish_reason"] or self.raw_stop

    def delta(self, delta: Any) -> None:
        self.add("thinking", delta.get("reasoning_content") or "")
        self.add("text", delta.get("content") or "")
        for part in delta.get("tool_calls") or ():
            if "id" in part:
                self.open("tool_call", tool_call_id=part["id"], tool_name=part["function"]["name"])
            if arguments := part["function"].get("arguments"):
                self.fragment(arguments)

    def fragment(self, arguments: str) -> None:
        self.emit(StreamEvent("tool_call_delta", arguments, index=self.index, **self.call))

    def count(self, u: Any) -> None:
        cached = u["prompt_tokens_details"]["cached_tokens"]
        reasoning = u["completion_tokens_details"]["reasoning_tokens"]
        self.usage = TokenUsage(u["prompt_tokens"] - cached, u["completion_tokens"] - reasoning, cached, 0, reasoning)

    def whole(self, raw: bytes) -> None:
        try:
            body = json.loads(raw)
            self.chunk({**body, "choices": [{**c, "delta": c["message"]} for c in body["choices"]]})
        except MALFORMED as problem:
            raise nonsense(problem) from problem
        self.finish()

    def finish(self) -> None:
        self.close()
        self.emit(
            StreamEvent(
                "done",
                usage=self.usage,
                stop_reason=STOP[self.raw_stop],
                raw_stop_reason=self.raw_stop,
                response_id=self.id,
            )
        )


@pytest.mark.smoke
class TestSmallAdapter(AdapterConformance):
    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: SmallAdapter(base_url=url)


class LinesWire(Wire):
    """A wire that the server does not know: JSON lines, with words of its own."""

    api = "acme-lines"
    path = "/say"
    content_type = "application/x-ndjson"

    def items(self, body: Mapping[str, Any]) -> Iterator[Item]:
        for line in body["talk"]:
            yield Item(**line)

    def tools(self, body: Mapping[str, Any]) -> Iterator[OfferedTool]:
        for tool in body.get("tools", ()):
            yield OfferedTool(**tool)

    def model(self, body: Mapping[str, Any]) -> str:
        return str(body["who"])

    def streams(self, body: Mapping[str, Any]) -> bool:
        return bool(body["live"])

    def lines(self, answer: Answer) -> Iterator[tuple[str, Any]]:
        reply = answer.reply
        yield "id", answer.id("say_")
        if reply.unknown:
            yield "mood", "fine"
        yield from (("thought", piece) for piece in reply.split(reply.thinking))
        yield from (("text", piece) for piece in reply.text_pieces)
        for call_id, call in answer.calls("c_"):
            yield "call", {"tool_call_id": call_id, "tool_name": call.name}
            yield from (("args", piece) for piece in reply.split(call.raw_args))
        u = reply.usage
        counts = u and [u.input, u.output, u.cache_read, u.cache_write, u.reasoning]
        yield "end", {"stop": str(reply.stop_reason), "usage": counts}

    def whole(self, answer: Answer) -> dict[str, Any]:
        return {"lines": list(self.lines(answer))}

    def events(self, answer: Answer) -> list[WireEvent]:
        return [
            WireEvent(json.dumps(line).encode() + b"\n", line[0] in ("thought", "text", "args"))
            for line in self.lines(answer)
        ]

    def error(self, fail: Fail) -> dict[str, Any]:
        codes = {"overflow": "context_length_exceeded", "quota": "insufficient_quota"}
        return {"error": {"message": fail.message, "type": fail.type, "code": codes.get(fail.type or "")}}

    def error_events(self, fail: Fail, answer: Answer) -> list[WireEvent]:
        return [WireEvent(json.dumps(["error", fail.message]).encode() + b"\n")]


class LinesFold(Fold):
    """Lines to events."""

    def read(self, raw: bytes) -> bool:
        try:
            return self.line(*json.loads(raw))
        except MALFORMED as problem:
            raise nonsense(problem) from problem

    def line(self, word: str, said: Any) -> bool:
        if word == "error":
            raise ProviderError(said, kind=ErrorKind.server)
        if word == "id":
            self.id = said
        elif word in ("text", "thought"):
            self.add("thinking" if word == "thought" else word, said)
        elif word == "call":
            self.open("tool_call", **said)
        elif word == "args":
            self.fragment(said)
        elif word == "end":
            self.usage = TokenUsage(*said["usage"]) if said["usage"] else None
            self.raw_stop = said["stop"]
            self.finish()
            return True
        return False

    def whole(self, raw: bytes) -> None:
        try:
            lines = json.loads(raw)["lines"]
        except MALFORMED as problem:
            raise nonsense(problem) from problem
        for line in lines:
            self.line(*line)


class LinesAdapter(SmallAdapter):
    """The small adapter on the wire of lines."""

    api = "acme-lines"
    path = "/say"

    def payload(self, request: LLMRequest) -> dict[str, Any]:
        talk = []
        for m in super().payload(request)["messages"]:
            calls, text = m.get("tool_calls", ()), m["content"] or ""
            if m["role"] == "tool":
                talk.append({"kind": "result", "text": text, "call_id": m["tool_call_id"]})
            elif text or not calls:
                talk.append({"kind": m["role"], "text": text})
            talk += [{"kind": "call", "name": c["function"]["name"], "call_id": c["id"]} for c in calls]
        body = {"who": request.model.id, "talk": talk, "live": request.stream}
        tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in request.tools]
        return {**body, "tools": tools} if tools else body

    def fold(self, emit: Callable[[StreamEvent], None]) -> Fold:
        return LinesFold(emit)

    def splitter(self) -> Callable[[bytes], list[bytes]]:
        rest = b""

        def split(data: bytes) -> list[bytes]:
            nonlocal rest
            *lines, rest = (rest + data).split(b"\n")
            return [line for line in lines if line]

        return split


class TestLines(AdapterConformance):
    """An adapter of a foreign wire meets every check, once the server knows the wire."""

    wire = LinesWire()

    @pytest.fixture
    def make_adapter(self) -> Callable[[str], LLMAdapter]:
        return lambda url: LinesAdapter(base_url=url)


@pytest.mark.sample(30)  # what it has in common with the one above is proved there
class TestRequestsThatAreHandedOver(AdapterConformance):
    """A fixture of one's own that hands over what the adapter sends, decoded: the checks of requests run."""

    @pytest.fixture
    def scripted(self, llm_server: LLMServer) -> Any:
        class Sent(Sequence[ReceivedRequest]):
            """As if nothing were known of HTTP but the body; it grows with every request."""

            def __len__(self) -> int:
                return len(llm_server.requests)

            def __getitem__(self, at: Any) -> Any:
                r = llm_server.requests[at]
                return ReceivedRequest(
                    headers=r.headers, raw=r.raw, body=r.body, decoder=LinesWire(), disconnected=r.disconnected
                )

        class Pipe:
            requests = Sent()

            def __call__(self, *turns: Any) -> LLMAdapter:
                llm_server.script(*turns)
                return LinesAdapter(base_url=llm_server.url)

        llm_server.wires["/say"] = LinesWire()
        return Pipe()


@pytest.mark.sample(30)  # what it has in common with the one above is proved there
class TestAnAdapterWithoutAServer(AdapterConformance):
    """An adapter that speaks no wire produces what it can and says what it cannot."""

    @pytest.fixture
    def scripted(self) -> Any:
        from skillkit_testkit import Reply

        class Echo(LLMAdapter):
            def __init__(self, reply: Reply) -> None:
                self.reply = reply

            async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
                if request.signal.aborted:
                    yield StreamEvent("error", error=ProviderError("aborted", kind=ErrorKind.aborted))
                    return
                events: list[StreamEvent] = []
                fold = Fold(events.append)
                fold.add("thinking", self.reply.thinking)
                for piece in self.reply.text_pieces:
                    fold.add("text", piece)
                for n, call in enumerate(self.reply.tool_calls):
                    fold.open("tool_call", tool_call_id=call.id or f"c{n}", tool_name=call.name)
                    fold.fragment(call.raw_args)
                fold.usage = self.reply.usage
                fold.raw_stop = str(self.reply.stop_reason)
                fold.finish()
                for event in events:
                    yield event

        class Script:
            def __call__(self, *turns: Any) -> LLMAdapter:
                if len(turns) != 1 or not isinstance(turns[0], Reply):
                    pytest.skip("an echo neither fails nor hangs")
                return Echo(turns[0])

        return Script()


BROKEN = {
    "two terminal events": (
        "test_text_comes_in_pieces_and_folds_to_the_whole",
        "def finish(self):\n    close(self); self.emit(StreamEvent('error', error=None)); old(self)",
        "Fold.finish",
    ),
    "an error raised": (
        "test_an_error_status_is_classified",
        "async def stream(self, request):\n    await self._exchange(request, Fold(print)); yield",
        "SmallAdapter.stream",
    ),
    "cached tokens counted twice": (
        "test_usage_is_counted_in_disjoint_buckets",
        "def count(self, u):\n    self.usage = TokenUsage(u['prompt_tokens'], 27, 50)",
        "Fold.count",
    ),
    "a block that does not end": ("test_every_block_starts_once_and_ends_once", "def close(self): pass", "Fold.close"),
    "fragments that belong to nobody": (
        "test_every_event_of_a_call_says_whose_it_is",
        "def fragment(self, arguments):\n    self.emit(StreamEvent('tool_call_delta', arguments, index=self.index))",
        "Fold.fragment",
    ),
    "calls without a name dropped": (
        "test_a_call_without_a_name_is_kept",
        "def delta(self, delta):\n    calls = [c for c in delta.get('tool_calls') or () if c['function'].get('name') != '']\n"
        "    old(self, {**delta, 'tool_calls': calls})",
        "Fold.delta",
    ),
    "mistakes blamed on the server": (
        "test_a_bug_is_unknown_and_is_not_tried_again",
        "async def _exchange(self, request, fold):\n    try: await old(self, request, fold)\n"
        "    except AttributeError as bug: raise nonsense(bug) from bug",
        "SmallAdapter._exchange",
    ),
    "redirects followed": ("test_a_redirect_is_never_followed", "redirects = True", "SmallAdapter.redirects"),
    "no end marker needed": (
        "test_a_stream_that_stops_is_an_error_with_what_was_said",
        "async def _work(self, request, emit):\n    await old(self, request, lambda e: emit(e) if e.type != 'error'"
        " else emit(StreamEvent('done')))",
        "SmallAdapter._work",
    ),
    "changes of on_request dropped": (
        "test_on_request_may_change_what_is_sent",
        "async def _exchange(self, request, fold):\n    hook, request.on_request = request.on_request, None\n"
        "    await hook(self.payload(request), {})\n    await old(self, request, fold)",
        "SmallAdapter._exchange",
    ),
    "a signal nobody looks at": (
        "test_a_signal_that_is_set_already_ends_at_once",
        "async def stream(self, request):\n    request.signal = AbortSignal()\n"
        "    async for event in old(self, request): yield event",
        "SmallAdapter.stream",
    ),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_the_suite_catches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each defect makes the check fail that is there for it."""
    from skillkit_testkit import LLMServer
    from skillkit_testkit.conformance import Scripting

    from skillkit_core import AbortSignal

    check, source, target = BROKEN[name]
    owner = {"Fold": Fold, "SmallAdapter": SmallAdapter}[target.partition(".")[0]]
    attribute = target.partition(".")[2]
    scope = {**globals(), "old": getattr(owner, attribute), "close": Fold.close, "AbortSignal": AbortSignal}
    exec(source, scope)
    suite = TestSmallAdapter()
    more = {"status": 500, "kind": ErrorKind.server} if "status" in check else {}
    more |= {"clean": True} if "stops" in check else {}
    more |= {"status": 307} if "redirect" in check else {}
    more |= {} if "stops" in check or "bug" in check else {"stream": True}
    more |= {"lacking": frozenset()} if "lacking" in inspect.signature(getattr(suite, check)).parameters else {}

    def run() -> None:
        with LLMServer() as server:
            getattr(suite, check)(Scripting(server, lambda url: SmallAdapter(base_url=url)), **more)

    run()
    monkeypatch.setattr(owner, attribute, scope[attribute])
    with pytest.raises((AssertionError, ProviderError, TypeError)):
        run()
