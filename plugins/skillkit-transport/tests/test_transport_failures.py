"""What a failed request means for the loop, and what people are told: one line, the host, what to do."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime
from email.utils import format_datetime
from http.client import HTTPException
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_transport.http import (
    Origin,
    advice,
    body_in_words,
    classify_status,
    connection_failure,
    duration,
    exceeds_window,
    host_of,
    parse_retry_after,
    require_url,
    shown,
)

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind, ProviderError, UsageError
from skillkit_core.messages import AssistantMessage, ImageBlock, TextBlock, UserMessage
from skillkit_core.models import ModelDefinition, TokenUsage

HOUSE = Origin("house", "https://user:pw@models.example/v1?key=1", "/chat", "sk-secret-1", "HOUSE_KEY", "/v1")


PROPERTY = settings(max_examples=200, deadline=None, derandomize=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_700_000_060, UTC), usegmt=True)}, 60.0),
        ({"retry-after": format_datetime(datetime.fromtimestamp(1_600_000_000, UTC), usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, now=1_700_000_000.0) == seconds


@PROPERTY
@given(st.text(max_size=30) | st.floats().map(str) | st.datetimes().map(str) | st.datetimes().map(format_datetime))
def test_no_retry_after_can_break_or_give_a_senseless_wait(value: str) -> None:
    seconds = parse_retry_after({"retry-after": value, "retry-after-ms": value}, now=0.0)
    assert seconds is None or 0.0 <= seconds < float("inf")


@given(st.integers(100, 999))
def test_every_status_has_a_class(status: int) -> None:
    kind = classify_status(status)
    if status >= 500 or status in (408, 409, 425, 429):
        assert ProviderError("x", kind=kind).retryable
    else:
        assert not ProviderError("x", kind=kind).retryable


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.2 s"),
        (20, "20 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (18000, "5 h"),
        (18061, "5 h 1 min"),
        (266_400, "3 d 2 h"),
        (-3, "0 s"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_advice_says_how_long_to_wait_where_waiting_helps() -> None:
    assert advice(ErrorKind.rate_limit, 18_000) == "the server asks to wait 5 h"
    assert "waiting does not help" in str(advice(ErrorKind.quota, 18_000))
    assert advice(ErrorKind.invalid_request) is None
    for kind in ErrorKind:
        assert "\n" not in (advice(kind) or "")


@pytest.mark.parametrize(
    "url",
    ["localhost:8080/v1", "htps://x", "http://", "http://[::1/v1", "http://x:99999", "http://x:0", "", "nonsense"],
)
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match="is no address"):
        require_url(url)


def test_an_address_is_shown_without_its_secrets() -> None:
    assert shown("https://user:pw@host:1/v1?key=1#x") == "https://host:1/v1"
    assert shown("host/v1") == "host/v1"
    assert host_of("https://user:pw@host:1/v1") == "host:1"
    with pytest.raises(UsageError) as caught:
        require_url("ftp://user:pw@host/x?key=1")
    assert "pw" not in str(caught.value)
    assert "key" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("text/html", b"<html><title>\n 502 Bad\tGateway </title>...", "an HTML page (502 Bad Gateway)"),
        ("text/plain", b"  <!DOCTYPE html><body>hi", "an HTML page"),
        ("application/json", b" \n", "an empty body"),
        ("text/event-stream", b": hello\n\n: hello\n\n", "an event stream without an event"),
        ("", b"404 page\nnot found", "a text that is not JSON (404 page not found)"),
        ("text/plain", b"x" * 5_000, f"a text that is not JSON ({'x' * 200}...)"),
        ("", b"\xff\x00\x01", "a text that is not JSON (\ufffd\x00\x01)"),
    ],
)
def test_a_body_that_no_api_sends_is_named(kind: str, body: bytes, words: str) -> None:
    assert body_in_words(kind, body) == words


def test_an_origin_signs_errors_with_provider_host_and_variable_and_cuts_out_the_key() -> None:
    error = HOUSE.sign(ProviderError("the key sk-secret-1 is wrong", kind=ErrorKind.auth, status=401))
    assert str(error) == "house (models.example): the key *** is wrong; check HOUSE_KEY, or pass api_key"
    assert error.args == ("the key *** is wrong",)
    hint = advice(ErrorKind.permission)
    refused = HOUSE.sign(ProviderError("no", kind=ErrorKind.permission, hint=hint))
    assert "what HOUSE_KEY may use" in str(refused)
    assert "set THE_KEY, or" in str(Origin("h", "http://x", "/y", key="THE_KEY").key_hint())
    assert Origin("h", "http://x", "/y", "secret").key_hint() == "check the API key of this server"


@pytest.mark.parametrize(("key", "sendable"), [("sk-1", True), ("", True), ("a\nb", False), ("schlüssel", False)])
def test_a_key_that_no_header_holds_is_named_before_anything_is_sent(key: str, sendable: bool) -> None:
    problem = Origin("h", "http://x", "/y", key, "H_KEY").key_problem()
    assert (problem is None) is sendable
    if problem is not None:
        assert (problem.kind, problem.retryable) == (ErrorKind.auth, False)
        assert "H_KEY" in str(problem)


def test_a_page_is_not_asked_for_again_and_half_a_json_text_is() -> None:
    page = HOUSE.sign(HOUSE.foreign("text/html; charset=utf-8", b"<title>Hi</title>"))
    assert str(page) == (
        "house (models.example): the server answered with an HTML page (Hi) where JSON is expected; "
        "check base_url: requests go to https://models.example/v1/chat"
    )
    assert (page.kind, page.status, page.retryable) == (ErrorKind.protocol, 200, False)
    assert HOUSE.foreign("application/json", b'{"a": 1').retryable
    assert "usually ends in /v1" in Origin("h", "http://x", "/y", version="/v1").path_hint()
    assert "usually" not in HOUSE.path_hint()


def test_a_redirect_is_an_error_that_names_the_new_address() -> None:
    moved = HOUSE.redirected(307, {"Location": "https://a:b@evil.example/v1/chat?token=1"})
    assert (moved.kind, moved.status, moved.retryable) == (ErrorKind.invalid_request, 307, False)
    assert "redirects to https://evil.example/v1/chat, which is not followed" in str(moved)
    assert "set base_url to https://evil.example/v1 if you trust it" in str(moved)
    inside = Origin("h", "http://x/v1", "/chat").redirected(301, {"location": "/v1/chat/"})
    assert "redirects to http://x/v1/chat/" in str(inside)
    assert str(HOUSE.redirected(304, {})) == "the server answered with status 304; check base_url"


async def _attempt(url: str) -> ProviderError:
    """What connecting to ``url`` fails with, for real."""
    host, _, port = host_of(url).rpartition(":")
    try:
        await asyncio.open_connection(host, int(port), ssl=url.startswith("https") or None)
    except OSError as error:
        return connection_failure(error, url)
    raise AssertionError("the connection stands")


def test_a_refused_connection_says_where_and_what_to_do() -> None:
    async def work() -> ProviderError:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return await _attempt(f"http://127.0.0.1:{port}")

    error = asyncio.run(work())
    assert (error.kind, error.retryable) == (ErrorKind.connection, True)
    assert "nothing listens at 127.0.0.1:" in str(error)
    assert "start the server" in str(error)


def test_a_server_without_tls_is_not_asked_again_over_tls() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def work() -> ProviderError:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
            return await _attempt(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    error = asyncio.run(work())
    assert (error.kind, error.retryable) == (ErrorKind.connection, False)
    assert "no TLS with 127.0.0.1:" in str(error)
    assert "http://" in str(error)


def test_a_name_that_does_not_exist_is_not_looked_up_again() -> None:
    error = asyncio.run(_attempt("http://no-such-host.invalid:80"))
    assert error.kind is ErrorKind.connection
    assert "no-such-host.invalid:80" in str(error)


def _certificate() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


class _AtProxy(OSError):
    host, port = "proxy.example", 3128


def _wrapped(error: BaseException) -> RuntimeError:
    outer = RuntimeError("Connection error.")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "words"),
    [
        (_certificate(), ErrorKind.connection, False, "models.example is not trusted: self-signed certificate"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), ErrorKind.connection, True, "cannot be looked up at the moment"),
        (socket.gaierror(socket.EAI_NONAME, "x"), ErrorKind.connection, False, "not known to the name service"),
        (TimeoutError(), ErrorKind.timeout, True, "no connection to models.example in time"),
        (ConnectionResetError(104, "reset"), ErrorKind.connection, True, "models.example closed the connection"),
        (OSError(101, "Network is unreachable"), ErrorKind.connection, True, "Network is unreachable"),
        (FileNotFoundError(2, "No such file"), ErrorKind.connection, False, "SSL_CERT_FILE"),
        (_AtProxy(101, "Network is unreachable"), ErrorKind.connection, True, "the proxy proxy.example:3128"),
        (
            asyncio.IncompleteReadError(b"", 9),
            ErrorKind.connection,
            True,
            "models.example closed the connection in the middle of the answer",
        ),
        (
            HTTPException("bad\nstatus"),
            ErrorKind.connection,
            True,
            "models.example sent what is no HTTP answer: bad status",
        ),
        (EOFError("gone"), ErrorKind.connection, True, "the connection to models.example failed"),
    ],
)
def test_each_way_to_lose_a_server_has_its_line(error: Any, kind: ErrorKind, retryable: bool, words: str) -> None:
    for found in (HOUSE.lost(error), HOUSE.lost(_wrapped(error))):
        assert (found.kind, found.retryable) == (kind, retryable)
        assert words in str(found)
        assert found.hint
        assert "\n" not in str(found)


@pytest.mark.parametrize(
    ("status", "retryable", "words"), [(407, False, "user and a password"), (403, False, "403"), (502, True, "502")]
)
def test_a_proxy_that_refuses_is_told_apart(status: int, retryable: bool, words: str) -> None:
    found = HOUSE.lost(OSError(), proxy_status=status)
    assert (found.kind, found.status, found.retryable) == (ErrorKind.connection, status, retryable)
    assert words in str(found)


# ---------------------------------------------------------------- too long


def _ask(window: int, *messages: Any, **settings: Any) -> LLMRequest:
    return LLMRequest(ModelDefinition("m", context_window=window), messages, settings=ModelSettings(**settings))


def test_a_request_is_too_long_when_text_and_answer_do_not_fit_the_window() -> None:
    long = UserMessage(content="x" * 4_000)  # about 1,000 tokens
    assert exceeds_window(_ask(900, long))
    assert not exceeds_window(_ask(1_200, long))
    assert exceeds_window(_ask(1_200, long, max_tokens=500))
    assert not exceeds_window(_ask(0, long))


def test_an_image_counts_by_its_tokens_and_not_by_its_bytes() -> None:
    picture = UserMessage(content=(ImageBlock(data="A" * 1_000_000),))
    assert not exceeds_window(_ask(10_000, picture))


@pytest.mark.parametrize(("counted", "too_long"), [(2_000, True), (500, False), (90_000, False)])
def test_the_count_of_the_last_answer_corrects_the_estimate_unless_it_is_from_before_a_compaction(
    counted: int, too_long: bool
) -> None:
    question = UserMessage(content="x" * 4_000)
    answer = AssistantMessage(content=(TextBlock("y" * 400),), usage=TokenUsage(input=counted - 100, cache_read=100))
    assert exceeds_window(_ask(1_500, question, answer)) is too_long
