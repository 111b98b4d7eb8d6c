"""Settings that cannot be: refused in one line, and nothing is sent."""

from __future__ import annotations

import asyncio

import pytest
from anthropic_server import Server, answering, ask, collect, response
from skillkit_anthropic import AnthropicAdapter

from skillkit_core.contracts.adapter import ModelSettings
from skillkit_core.errors import ErrorKind

MISTYPED = {
    "max_tokens": ("5", True, 5.0),
    "temperature": ("hot", [], False),
    "top_p": ([], "1"),
    "stop": (5, "END", (5,), None),
    "thinking": (5, ["high"]),
    "tool_choice": ({"type": "auto"}, 5),
    "parallel_tool_calls": ("yes", 1),
    "response_schema": ("object", []),
    "timeout": ("5", [], True),
    "headers": ([("a", "b")], {"a": 5}, None),
    "extra": (5, [("a", 1)], {"tools": {"type": "web_search"}}, {"tools": 5}, {"tools": ["web_search"]}, None),
}


def refusal(request):
    """The error of a request that must not be sent."""

    async def main():
        server = Server(answering(response(b"", "500 X")))
        async with server.running() as url:
            (event,) = await collect(AnthropicAdapter(None, base_url=url, api_key="k"), request)
        assert server.connections == 0
        assert "\n" not in str(event.error)
        return event.error

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in MISTYPED.items() for v in values], ids=lambda v: repr(v)
)
def test_a_setting_of_a_wrong_type_is_refused(name, value):
    request = ask(settings=ModelSettings(**{name: value}))

    error = refusal(request)

    assert (error.kind, error.provider, error.retryable) == (ErrorKind.invalid_request, "anthropic", False)
    assert error.message.startswith(f"{name} is of type {type(value).__name__}; it must be a")
    (line,) = AnthropicAdapter(None, api_key="k").validate(request)
    assert error.message in line
