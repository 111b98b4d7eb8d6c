"""What can go wrong on the way: cut connections, and what servers answer when they refuse."""

from __future__ import annotations

import asyncio
import json

import pytest
from anthropic_server import TEXT, Server, answering, ask, collect, response, sse
from skillkit_anthropic import AnthropicAdapter
from skillkit_anthropic.errors import error_of_body

from skillkit_core.errors import ErrorKind

# ---------------------------------------------------------------- cut connections


@pytest.mark.parametrize("mode", ["fin", "rst", "clean"])
def test_a_connection_cut_anywhere_gives_a_partial_answer_and_one_error(cases, replay, mode):
    chosen = [c for c in cases if c.index["stream"] and "tool_call" in c.index["features"] and c.index["bytes"] < 9000][
        :4
    ]
    assert len(chosen) == 4

    async def one(case, cut):
        url = f"{replay}/case/{case.id};cut={cut};cut_mode={mode};chunk=200"
        return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    async def everything():
        jobs = {}
        for case in chosen:
            size = len(case.body)
            for cut in (0, 1, size // 5, size // 3, size // 2, size * 2 // 3, size * 4 // 5):
                jobs[case.id, cut] = one(case, cut)
        return dict(zip(jobs, await asyncio.gather(*jobs.values()), strict=True))

    for (case_id, cut), events in asyncio.run(everything()).items():
        where = (case_id, cut)
        assert [e.type for e in events].count("error") == 1, where
        assert events[-1].type == "error", where
        assert events[-1].error.kind in (ErrorKind.connection, ErrorKind.protocol), where
        assert events[-1].error.retryable
        if mode == "clean":
            assert events[-1].error.kind is ErrorKind.protocol, where


def test_a_server_that_is_not_there_is_a_connection_error():
    async def run():
        async with Server(answering(b"")).running() as url:
            pass
        return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    (event,) = asyncio.run(run())
    assert event.error.kind is ErrorKind.connection
    assert "\n" not in str(event.error)


# ---------------------------------------------------------------- what servers answer


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "max_tokens: 5000 > 4096"}, ErrorKind.invalid_request),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 maximum"},
            ErrorKind.overflow,
        ),
        (
            400,
            {"type": "invalid_request_error", "message": "the text 'prompt is too long' occurs"},
            ErrorKind.invalid_request,
        ),
        (
            429,
            {"type": "rate_limit_error", "message": "prompt is too long, too many tokens, 500"},
            ErrorKind.rate_limit,
        ),
        (429, {"type": "rate_limit_error", "message": "1500 tokens"}, ErrorKind.rate_limit),
        (400, {"type": "billing_error", "message": "no credit"}, ErrorKind.quota),
        (
            429,
            {"type": "rate_limit_error", "message": "x", "details": {"error_code": "enforced_spend_limit_reached"}},
            ErrorKind.quota,
        ),
        (403, {"type": "permission_error", "message": "no"}, ErrorKind.permission),
        (404, {"type": "not_found_error", "message": "model: x"}, ErrorKind.not_found),
        (413, {"type": "request_too_large", "message": "x"}, ErrorKind.overflow),
        (500, {"type": "api_error", "message": "429 503"}, ErrorKind.server),
        (504, {"type": "timeout_error", "message": "x"}, ErrorKind.timeout),
        (529, {"type": "overloaded_error", "message": "x"}, ErrorKind.overloaded),
        (418, {"type": "new_error", "message": "x"}, ErrorKind.invalid_request),
        (502, None, ErrorKind.server),
    ],
)
def test_errors_are_classified_by_status_and_type(status, body, kind):
    found = error_of_body({"type": "error", "error": body} if body else "<html>bad gateway</html>", status=status)
    assert found.kind is kind
    assert found.status == status


@pytest.mark.spec("9.43")
@pytest.mark.parametrize("kind_name", ["overloaded_error", "api_error", "rate_limit_error"])
def test_an_error_in_mid_stream_is_read_by_its_type_because_its_status_is_200(kind_name):
    broken = [*TEXT[:3], {"type": "error", "error": {"type": kind_name, "message": "m"}}]

    async def run():
        async with Server(answering(response(sse(broken)))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k", provider="anthropic"))

    events = asyncio.run(run())
    assert [e.type for e in events] == ["text_start", "text_delta", "error"]
    error = events[-1].error
    assert (error.status, error.type, error.provider) == (200, kind_name, "anthropic")
    assert error.retryable


def test_retry_after_is_handed_on_and_the_adapter_never_retries(replay, cases):
    case = next(c for c in cases if c.index["stream"] and c.index["status"] == 200)

    async def run():
        url = f"{replay}/case/{case.id};fail=429,529;retry_after=18000"
        adapter = AnthropicAdapter(None, base_url=url, api_key="k")
        first = [e async for e in adapter.stream(ask())]
        second = [e async for e in adapter.stream(ask())]
        third = [e async for e in adapter.stream(ask())]
        await adapter.close()
        return first, second, third

    first, second, third = asyncio.run(run())
    assert [(e.error.kind, e.error.retry_after) for e in first] == [(ErrorKind.rate_limit, 18000.0)]
    assert [e.error.kind for e in second] == [ErrorKind.overloaded]
    assert third[-1].type == "done"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (response(b"<html>hello</html>", kind="text/html"), ErrorKind.protocol),
        (response(b"{}", kind="application/json"), ErrorKind.protocol),
        (response(b"<html>oops</html>", "502 Bad Gateway", "text/html"), ErrorKind.server),
        (response(b"data: {nonsense\n\n"), ErrorKind.protocol),
        (response(b""), ErrorKind.protocol),
        (
            response(b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', kind="application/json"),
            ErrorKind.overloaded,
        ),
    ],
)
def test_answers_that_are_none(answer, kind):
    async def run():
        async with Server(answering(answer)).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="k"))

    (event,) = asyncio.run(run())
    assert (event.type, event.error.kind) == ("error", kind)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": "model 'x' not found"}, "model 'x' not found"),
        ({"message": "no such route"}, "no such route"),
        ({"error": {"message": None}}, "the server answered with status 404"),
        ("gone", "gone"),
        (None, "the server answered with status 404"),
    ],
)
def test_the_words_of_servers_that_report_errors_their_own_way(body, message):
    found = error_of_body(body, status=404)
    assert (found.message, found.kind) == (message, ErrorKind.not_found)


def test_an_echoed_key_is_not_shown():
    body = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "bad key sk-secret-1"}})

    async def run():
        async with Server(answering(response(body.encode(), "401 Unauthorized", "application/json"))).running() as url:
            return await collect(AnthropicAdapter(None, base_url=url, api_key="sk-secret-1"))

    (event,) = asyncio.run(run())
    assert event.error.kind is ErrorKind.auth
    assert "sk-secret-1" not in str(event.error)
    assert "ANTHROPIC_API_KEY" in str(event.error)
