"""Checks of answers that no API gives: redirects, pages, halves, and nonsense in a stream."""

from __future__ import annotations

import pytest

from skillkit_core.errors import ErrorKind

from ..server import LLMServer
from ..turns import Raw
from .adapter_case import AdapterCase, Scripting

__all__ = ["StrangeChecks"]

_DEEP = b"[" * 100_000 + b"]" * 100_000
_NO_ANSWERS = {
    "a page": Raw(b"<html><title>Welcome</title></html>", content_type="text/html"),
    "nothing": Raw(b"", content_type="application/json"),
    "half a text": Raw(b'{"id": "x", "content": [{"type": "te'),
    "null": Raw(b"null"),
    "a list": Raw(b"[1, 2]"),
    "a text": Raw(b"pong", content_type="text/plain"),
    "deep nesting": Raw(_DEEP),
    "no UTF-8": Raw(b"\xff\xfe\x00\x01"),
}
_EVENTS = {
    "no JSON": b"data: {nonsense\n\n",
    "null": b"data: null\n\n",
    "a number": b"data: 1e400\n\n",
    "a list": b"data: [1]\n\n",
    "deep nesting": b"data: " + _DEEP + b"\n\n",
    "no UTF-8": b"data: \xff\xfe\n\n",
    "zeros": b"data: \x00\x00\n\n",
    "wrong types": b'data: {"type": ["x"], "choices": 7, "delta": "x", "item": [], "message": 1, "error": 0}\n\n',
    "nothing but comments": b": wait\n\n" * 100,
    "nothing": b"",
}


class StrangeChecks(AdapterCase):
    """What becomes of answers of something that is not the API."""

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_a_redirect_is_never_followed(self, scripted: Scripting, stream: bool, status: int) -> None:
        """Whoever answers at the new address would get the key and the conversation."""
        with LLMServer() as other:
            there = f"{other.url}/v1/elsewhere"
            turn = Raw(status=status, headers={"location": there})
            got = self.answer(scripted, turn, self.request(stream=stream))
            assert other.requests == [], "the redirect was followed"
            assert there in str(got.failure)
        assert not got.failure.retryable

    @pytest.mark.parametrize("name", _NO_ANSWERS)
    def test_an_answer_that_is_none_is_an_error_of_the_protocol(
        self, scripted: Scripting, stream: bool, name: str
    ) -> None:
        """A wrong ``base_url`` often answers, with status 200."""
        got = self.answer(scripted, _NO_ANSWERS[name], self.request(stream=stream))
        assert got.failure.kind is ErrorKind.protocol
        assert got.message.content == ()
        assert "\n" not in str(got.failure)

    def test_a_proxys_page_is_classified_by_its_status(self, scripted: Scripting, stream: bool) -> None:
        """And not shown as it is."""
        turn = Raw(b"<html><title>502 Bad Gateway</title>" + b"<p>x</p>" * 1_000, 502, "text/html")
        got = self.answer(scripted, turn, self.request(stream=stream))
        assert got.failure.kind is ErrorKind.server
        assert got.failure.retryable
        assert len(str(got.failure)) < 1_000

    @pytest.mark.parametrize("name", _EVENTS)
    def test_nonsense_in_a_stream_ends_in_one_error(self, scripted: Scripting, name: str) -> None:
        """An adapter never raises once it has started, whatever arrives."""
        got = self.answer(scripted, Raw(_EVENTS[name], content_type="text/event-stream"), self.request())
        assert got.failure.kind is not ErrorKind.aborted
        assert got.message.content == ()
