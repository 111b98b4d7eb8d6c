"""Server-sent events come out whole however the network cuts them, and an event without an end is an error."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_transport.http import SSEDecoder

from skillkit_core import ErrorKind, ProviderError

PROPERTY = settings(deadline=None, derandomize=True)


LINES = st.lists(
    st.sampled_from(
        [
            b"data: {}", b"data: x", b"data:y", b"data", b"data:", b"event: ping", b"event:", b"event: \xff", b": comment",
            b"id: 7", b"retry: 9", b"", b"", b"", b"unknown: z", b"data:  two", "data: ä€😀".encode(), b" data: no",
        ]
    ),
    max_size=14,
)  # fmt: skip


ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@st.composite
def streams(draw: Any) -> bytes:
    start = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return (
        start + b"".join(line + draw(ENDS) for line in draw(LINES)) + draw(st.sampled_from([b"", b"data: last", b"\r"]))
    )


def decode(*pieces: bytes) -> list[tuple[str, bytes]]:
    decoder = SSEDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


@PROPERTY
@given(st.one_of(streams(), st.binary(max_size=60)), st.lists(st.integers(0, 200), max_size=12))
def test_any_cut_of_a_stream_gives_the_same_events(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(c for c in cuts if c < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert decode(*pieces) == decode(data) == decode(*(data[i : i + 1] for i in range(len(data))))


@PROPERTY
@given(streams())
def test_the_kind_of_line_ending_does_not_matter(data: bytes) -> None:
    plain = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert decode(data) == decode(plain) == decode(plain.replace(b"\n", b"\r\n")) == decode(plain.replace(b"\n", b"\r"))


def test_events_have_a_name_and_joined_data_and_the_rest_is_skipped() -> None:
    data = b"\xef\xbb\xbf: hi\nevent: a\ndata: 1\ndata: 2\nid: 9\n\nevent: lost\n\ndata:3\n\ndata: end"
    assert decode(data) == [("a", b"1\n2"), ("", b"3"), ("", b"end")]


@pytest.mark.spec("13.10")
def test_a_line_of_any_length_is_one_event_and_costs_what_it_is_long() -> None:
    decoder, found = SSEDecoder(), []
    for piece in [b"data: ", *[b"x" * 1000] * 1000, b"\n\n"]:
        found += decoder.feed(piece)
    assert found == [("", b"x" * 1_000_000)]


@pytest.mark.parametrize(
    "pieces",
    [[b"data: xxxx"] * 20, [b"data: xxxx\n"] * 20, [b"data: x\n\n", *[b"xxxxxx"] * 20], [b": xx"] * 99],
)
def test_an_event_without_an_end_is_an_error_and_is_not_kept(pieces: list[bytes]) -> None:
    decoder = SSEDecoder(most=100)

    with pytest.raises(ProviderError, match="the server sent an event of more than") as caught:
        for piece in pieces:
            decoder.feed(piece)

    assert caught.value.kind is ErrorKind.protocol
    assert decoder.close() == []


def test_many_short_events_and_comments_have_no_limit() -> None:
    decoder = SSEDecoder(most=30)

    found = [e for piece in [b": comment\n", b"data: 1234\n\n", b"data: 1\n"] * 99 for e in decoder.feed(piece + b"\n")]

    assert len(found) == 198
