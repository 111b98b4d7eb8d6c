"""Testing SkillKit plugins: a scripted model server, conformance suites and pytest fixtures.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auto_rule import auto
    from .mcp_server import MCPCall, MCPServer
    from .oauth_server import OAuthServer
    from .received import ReceivedRequest
    from .server import LLMServer
    from .terminal import Terminal, screen_text
    from .turns import Call, Cut, Fail, Gate, Hang, Raw, Reply
    from .waiting import until, until_changed, until_ended, until_event

__all__ = [
    "Call",
    "Cut",
    "Fail",
    "Gate",
    "Hang",
    "LLMServer",
    "MCPCall",
    "MCPServer",
    "OAuthServer",
    "Raw",
    "ReceivedRequest",
    "Reply",
    "Terminal",
    "auto",
    "screen_text",
    "until",
    "until_changed",
    "until_ended",
    "until_event",
]
__version__ = "0.2.0"

_WHERE = {
    **dict.fromkeys(("Call", "Cut", "Fail", "Gate", "Hang", "Raw", "Reply"), "turns"),
    "LLMServer": "server",
    "MCPCall": "mcp_server",
    "MCPServer": "mcp_server",
    "OAuthServer": "oauth_server",
    "ReceivedRequest": "received",
    "Terminal": "terminal",
    "screen_text": "terminal",
    "auto": "auto_rule",
    **dict.fromkeys(("until", "until_changed", "until_ended", "until_event"), "waiting"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)
