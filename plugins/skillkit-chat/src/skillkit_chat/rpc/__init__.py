"""``skillkit rpc``: a live session, steered by another program through JSON-RPC 2.0, a message a line, on stdin and stdout."""

from typing import Any

__all__ = ["protocol"]


def __getattr__(name: str) -> Any:
    if name == "protocol":  # the types of the wire
        from skillkit_live import protocol

        return protocol
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
