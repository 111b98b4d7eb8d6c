"""Live sessions: one agent works, and any number of front ends come, see everything, speak, decide and leave.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import protocol
    from .client import RpcClient
    from .connection import Connection, RpcError
    from .door import relay
    from .journal import Client, FellBehind, Message
    from .live import Live
    from .lives import Lives
    from .server import Server
    from .sharing import address_for, shared
    from .shown import Waiting

__all__ = [
    "Client", "Connection", "FellBehind", "Live", "Lives", "Message", "RpcClient", "RpcError", "Server", "Waiting",
    "address_for", "protocol", "relay", "shared",
]  # fmt: skip

__version__ = "0.2.0"

_ROOMS = {
    "client": "RpcClient",
    "connection": "Connection RpcError",
    "door": "relay",
    "journal": "Client FellBehind Message",
    "live": "Live",
    "lives": "Lives",
    "server": "Server",
    "sharing": "address_for shared",
    "shown": "Waiting",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "protocol":
        return import_module(f"{__name__}.protocol")
    for room, names in _ROOMS.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
