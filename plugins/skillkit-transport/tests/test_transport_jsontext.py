"""JSON on the wire: whatever a server sends is read, and whatever is written can be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from skillkit_transport.jsontext import clean_text, decode, encode

PROPERTY = settings(max_examples=300, deadline=None, derandomize=True)
TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b'{"a":"x\\ud83d"}', {"a": "x\ufffd"}),
        (b'{"\\udc00":1}', {"\ufffd": 1}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b"\xef\xbb\xbf{}", {}),
        (b" [1.0, 12345678901234567890] ", [1.0, 12345678901234567890]),
    ],
)
def test_what_servers_send_is_read(data: bytes, value: Any) -> None:
    assert decode(data) == value


@pytest.mark.parametrize("data", [b"", b"{", b"[1,]", b"nothing", b"[" * 300 + b"]" * 300, b"[" * 100_000, b"{} {}"])
def test_what_is_no_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):  # the decoder's own words
        decode(data)


@PROPERTY
@given(VALUES)
def test_whatever_a_server_may_have_sent_can_be_sent_back(value: Any) -> None:
    sent = encode(value)
    read = decode(sent)
    assert json.loads(sent.decode(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON")) == read
    assert encode(read) == sent


@PROPERTY
@given(TEXT)
def test_clean_text_changes_nothing_but_surrogates(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert cleaned is text


@pytest.mark.parametrize("value", [{1, 2}, object(), {"a": b"bytes"}, {(1, 2): 3}])
def test_what_json_cannot_hold_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|keys must be"):
        encode(value)


def test_keys_stay_in_their_order_and_text_stays_readable() -> None:
    assert encode({"b": "Zürich", "a": [1, None, True]}) == '{"b":"Zürich","a":[1,null,true]}'.encode()
