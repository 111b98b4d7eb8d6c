"""The base of adapters over HTTP: what it sends, what it makes of answers, what it refuses, and what it says of failures.

What every adapter owes is checked by the adapter suite of the testkit, on the providers of the documentation.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web
from skillkit_transport import AnswerWriter, HTTPAdapter, LineDecoder, open_calls, plain_history, value_at

from skillkit_core import (
    Host,
    LLMRequest,
    ModelDefinition,
    ModelSettings,
    Provider,
    ProviderError,
    StreamEvent,
    hookimpl,
)
from skillkit_core.errors import ErrorKind, UsageError
from skillkit_core.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

KEY = "acme-secret-key-1"
MODEL = ModelDefinition("acme-1", "acme", "acme-events")
Answer = Callable[[web.Request], web.StreamResponse]


class Acme(HTTPAdapter):
    api = "acme-events"
    path = "/ask"
    settings: ClassVar[dict[str, str]] = {"max_tokens": "limit", "response_schema": ""}

    def body(self, request: LLMRequest) -> dict[str, Any]:
        return {"talk": [m.text for m in self.history(request)], "stream": request.stream}

    def read(self, event: dict[str, Any], out: AnswerWriter) -> None:
        out.text(value_at(event, str, "text", default=""))
        if event.get("type") == "mistake":
            event["nothing"].strip()
        if "end" in event:
            out.done(word=value_at(event, str, "end"))


def request_of(*messages: Any, **more: Any) -> LLMRequest:
    return LLMRequest(MODEL, messages or (UserMessage(content="hi"),), **more)


def asked(*answers: Answer, adapter: type[Acme] = Acme, request: LLMRequest | None = None, **options: Any) -> Any:
    """The events of one request for each answer, over one adapter; with what the server saw."""
    seen: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append((dict(request.headers), await request.json(), request.transport))
        return answers[len(seen) - 1](request)

    async def work() -> Any:
        app = web.Application()
        app.router.add_post("/ask", handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        made = adapter(
            None, provider="acme", base_url=f"http://127.0.0.1:{runner.addresses[0][1]}", api_key=KEY, **options
        )
        try:
            return [[event async for event in made.stream(request or request_of())] for _ in answers], seen
        finally:
            await made.close()
            await runner.cleanup()

    return asyncio.run(work())


def sse(*lines: str) -> Answer:
    body = "".join(f"{line}\n\n" for line in lines)
    return lambda request: web.Response(text=body, content_type="text/event-stream")


def failed(status: int, body: Any, **headers: str) -> Answer:
    return lambda request: web.json_response(body, status=status, headers=headers)


def text_of(events: Sequence[StreamEvent]) -> str:
    return "".join(e.content for e in events if e.type == "text_delta")


def error_of(*answers: Answer, **more: Any) -> ProviderError:
    ((*_, last),), _ = asked(*answers, **more)
    assert isinstance(last.error, ProviderError), last
    return last.error


@pytest.mark.smoke
def test_an_answer_goes_from_events_to_blocks_and_one_end():
    ((events,), ((headers, body, _),)) = asked(sse('data: {"text": "a"}', 'data: {"text": "b"}', 'data: {"end": "x"}'))
    assert [e.type for e in events] == ["text_start", "text_delta", "text_delta", "text_end", "done"]
    assert (text_of(events), events[-1].raw_stop_reason, events[-1].stop_reason) == ("ab", "x", StopReason.stop)
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"talk": ["hi"], "stream": True}


def test_the_end_mark_of_events_ends_an_answer_and_the_name_of_an_event_is_its_type():
    ((events,), _) = asked(sse('event: mood\ndata: {"text": "a"}', "data: [DONE]"))
    assert (text_of(events), events[-1].type) == ("a", "done")


def test_a_whole_answer_to_a_request_for_a_stream_is_taken():
    ((events,), _) = asked(lambda request: web.json_response({"text": "whole", "end": "x"}))
    assert (text_of(events), events[-1].type) == ("whole", "done")


def test_one_connection_serves_several_requests():
    answer = sse('data: {"end": "x"}')
    _, seen = asked(answer, answer, answer)
    assert len({id(transport) for *_, transport in seen}) == 1


def test_settings_go_into_the_body_and_others_are_refused_before_anything_is_sent():
    settings = ModelSettings(
        max_tokens=9, extra={"seed": 1}, headers={"x-mine": "1"}, thinking="off", tool_choice="auto"
    )
    _, ((headers, body, _),) = asked(sse("data: [DONE]"), request=request_of(settings=settings))
    assert (body["limit"], body["seed"], headers["x-mine"]) == (9, 1, "1")
    asks = request_of(settings=ModelSettings(temperature=0.5, response_schema={}))
    ((*_, last),), seen = asked(sse("data: [DONE]"), request=asks)
    assert last.error.kind is ErrorKind.invalid_request
    assert "has no setting 'temperature'" in str(last.error)
    assert seen == []
    assert Acme(None, provider="acme", base_url="http://a.b").validate(asks) == [
        "acme-events has no setting 'temperature'"
    ]


def test_a_mistake_of_the_adapter_is_unknown_and_keeps_its_cause():
    error = error_of(sse('data: {"text": "said"}', 'data: {"type": "mistake"}'))
    assert (error.kind, error.retryable) == (ErrorKind.unknown, False)
    assert isinstance(error.__cause__, KeyError)


def test_what_a_server_sends_wrong_is_an_error_of_the_protocol_after_what_was_said():
    ((*events, last),), _ = asked(sse('data: {"text": "said"}', 'data: {"text": 7}'))
    assert text_of(events) == "said"
    assert last.error.kind is ErrorKind.protocol
    assert "a text of type int, not str" in str(last.error)


def test_an_error_in_a_stream_is_the_servers_own_words():
    error = error_of(sse('data: {"error": {"message": "out of breath"}}'))
    assert (error.kind, str(error).partition(": ")[2]) == (
        ErrorKind.server,
        "out of breath; the failure is the server's: try again in a moment",
    )


@pytest.mark.parametrize(
    "body", [{"error": {"message": "no"}}, {"error": "no"}, {"message": "no"}, {"detail": [{"msg": "no"}]}, "no"]
)
def test_the_words_of_a_refusal_are_found_wherever_they_stand(body):
    error = error_of(failed(429, body, **{"retry-after": "90"}))
    assert (error.message, error.kind, error.retry_after) == ("no", ErrorKind.rate_limit, 90)
    assert "wait 1 min 30 s" in str(error)


def test_the_key_is_not_in_an_error_and_its_variable_is():
    class Plugin:
        @hookimpl
        def register_adapters(self, register: Any) -> None:
            register(Provider("acme", {"acme-events": Acme}, "http://127.0.0.1:9", api_key_env=("ACME_KEY",)))

    host = Host(plugins=[("acme", Plugin())], discover=False, environ={"ACME_KEY": KEY})
    adapter = host.adapters.get("acme")
    host.close()
    assert isinstance(adapter, Acme)
    error = adapter.origin.sign(adapter.refused({"error": f"{KEY} is wrong"}, 401))
    assert KEY not in str(error)
    assert "check ACME_KEY" in str(error)


def test_a_refusal_of_a_request_longer_than_the_window_is_an_overflow():
    small = LLMRequest(ModelDefinition("acme-1", context_window=10), (UserMessage(content="long " * 50),))
    assert error_of(failed(400, {"error": "too much"}), request=small).kind is ErrorKind.overflow
    assert error_of(failed(400, {"error": "too much"})).kind is ErrorKind.invalid_request


def test_silence_in_mid_stream_ends_the_answer():
    async def hang(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"text": "a"}\n\n: still here\n\n')
        await asyncio.Event().wait()
        return response

    async def work() -> list[StreamEvent]:
        app = web.Application()
        app.router.add_post("/ask", hang)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        adapter = Acme(None, provider="acme", base_url=url, idle_timeout=0.05)
        try:
            return [event async for event in adapter.stream(request_of())]
        finally:
            await adapter.close()
            await runner.cleanup()

    *events, last = asyncio.run(work())
    assert text_of(events) == "a"
    assert last.error is not None
    assert "silent for 0.05 s" in str(last.error)


def test_an_endpoint_is_demanded_and_checked():
    with pytest.raises(UsageError, match="has no endpoint"):
        Acme(None, provider="acme")
    with pytest.raises(UsageError, match="is no address"):
        Acme(None, provider="acme", base_url="nonsense")


def test_nothing_is_said_about_connections_that_nobody_closed():
    code = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_transport_adapter import *\n"
        "async def work():\n"
        "    adapter = Acme(None, provider='acme', base_url='http://127.0.0.1:9')\n"
        "    return [e.error.kind async for e in adapter.stream(request_of())]\n"
        "print(*asyncio.run(work()))\n"
    )
    argv = [sys.executable, "-X", "dev", "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("connection\n", "")


# --- the conversation -----------------------------------------------------------------------------------------------

CALLS = (ToolCall("c|1", "look up", {"a": 1}), ToolCall("c2", "", None, "half"))
TALK = (
    UserMessage(content=(TextBlock("see"), ImageBlock("aGk="), DocumentBlock("aGk=", title="plan"))),
    AssistantMessage(content=(ThinkingBlock("hm"), TextBlock("yes"), *CALLS), provider="other", model="other"),
    ToolResultMessage(tool_call_id="c|1", tool_name="look up", content="found"),
    ToolResultMessage(tool_call_id="c2", tool_name="", content="no such tool", is_error=True),
    AssistantMessage(
        content=(ThinkingBlock("own", "sig"), TextBlock("")), provider="acme", api="acme-events", model="acme-1"
    ),
    UserMessage(content=""),
)


def test_a_conversation_is_told_to_a_wire_with_tools():
    user, answer, found, missing = plain_history(request_of(*TALK), "acme", "acme-events")
    assert (
        user.text
        == "see\n\n[image left out: acme-1 takes no images]\n\n[document 'plan' left out: acme-1 takes no documents]"
    )
    assert answer.text == "hm\n\nyes"
    assert [(c.name, c.raw_args) for c in answer.calls] == [("look_up", '{"a":1}'), ("_", '{"arguments":"half"}')]
    assert [c.id for c in answer.calls] == [found.call_id, missing.call_id]
    assert (found.name, found.is_error, missing.is_error) == ("look_up", False, True)


def test_thinking_goes_back_as_thinking_to_exactly_who_wrote_it():
    own = AssistantMessage(
        content=(ThinkingBlock("hm", "sig"), TextBlock("so")), provider="acme", api="a", model="acme-1"
    )
    (told,) = plain_history(request_of(own), "acme", "a")
    assert (told.text, told.thinking) == ("so", (ThinkingBlock("hm", "sig"),))
    (told,) = plain_history(request_of(own), "acme", "another")
    assert (told.text, told.thinking) == ("hm\n\nso", ())


def test_a_conversation_is_told_to_a_wire_without_tools():
    told = [(m.role, m.text) for m in plain_history(request_of(*TALK), "acme", "acme-events", tools=False)]
    assert told[1:] == [
        ("assistant", 'hm\n\nyes\n[called look_up with {"a":1}]\n[called _ with {"arguments":"half"}]'),
        ("user", "[look_up answered: found]"),
        ("user", "[_ failed: no such tool]"),
    ]


def test_calls_without_a_result_are_named():
    call = AssistantMessage(content=(ToolCall("c1", "clock"),))
    assert list(open_calls(request_of(call, UserMessage(content="?")))) == ["tool call 'c1' (clock) has no result"]
    assert list(open_calls(request_of(ToolResultMessage(tool_call_id="c9")))) == ["the result of 'c9' has no call"]
    assert list(open_calls(request_of(*TALK))) == []


# --- pieces ---------------------------------------------------------------------------------------------------------


def test_fragments_of_two_calls_are_told_apart_by_their_keys():
    out = AnswerWriter()
    out.text("so")
    out.call("a", "one", key=0)
    out.call("", "two", "{", key=1)
    out.arguments("{}", key=0)
    out.arguments("}", key=1)
    out.done()
    said = [(e.type, e.index, e.content, e.tool_call_id) for e in out.take()]
    assert said[3:] == [
        ("tool_call_start", 1, "", "a"),
        ("tool_call_start", 2, "", "call_2"),
        ("tool_call_delta", 2, "{", "call_2"),
        ("tool_call_delta", 1, "{}", "a"),
        ("tool_call_delta", 2, "}", "call_2"),
        ("tool_call_end", 1, "", "a"),
        ("tool_call_end", 2, "", "call_2"),
    ]
    assert out.finished is not None
    assert out.finished.stop_reason is StopReason.tool_calls
    out.text("too late")
    assert out.take() == []
    with pytest.raises(ProviderError, match="did not begin"):
        AnswerWriter().arguments("x")


@pytest.mark.parametrize(
    ("data", "kind", "path", "said"),
    [
        ({}, str, ("a", "b"), "no a.b"),
        ({"a": [1]}, str, ("a", 0), "a a.0 of type int, not str"),
        ({"a": True}, int, ("a",), "a a of type bool, not int"),
        ([], dict, (), "a content of type list, not dict"),
        (7, str, ("a",), "no a"),
    ],
)
def test_a_field_that_is_missing_or_of_another_type_is_the_servers_fault(data, kind, path, said):
    with pytest.raises(ProviderError, match=said) as caught:
        value_at(data, kind, *path)
    assert caught.value.kind is ErrorKind.protocol


def test_a_field_is_found_and_an_absent_one_has_its_default():
    assert value_at({"a": [{"b": 2}]}, int, "a", 0, "b") == 2
    assert value_at({"a": 2}, float, "a") == 2
    assert value_at({"a": None}, str, "a", default="x") == "x"


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_come_out_whatever_the_pieces(size):
    body, decoder = b'{"a":1}\r\n\n  \n{"b":2}\n{"c', LineDecoder()
    found = [line for i in range(0, len(body), size) for line in decoder.feed(body[i : i + size])]
    assert (found, decoder.close(), decoder.close()) == ([b'{"a":1}', b'{"b":2}'], [b'{"c'], [])


def test_a_line_without_an_end_is_refused():
    decoder = LineDecoder(most=10)
    with pytest.raises(ProviderError, match="a line of more than"):
        [decoder.feed(b"xxx") for _ in range(4)]
