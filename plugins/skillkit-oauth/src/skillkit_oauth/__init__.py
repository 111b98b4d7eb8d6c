"""Logins with OAuth for plugins of SkillKit: the browser's return to this machine, tokens, and files that keep them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .logins import browser_login, device_login
    from .private import PrivateFolder
    from .provider import OAuthProvider, require_endpoint
    from .redirect import Answer, Redirect
    from .tokens import Refused, Unreachable, refreshed, revoke

__all__ = [
    "Answer",
    "OAuthProvider",
    "PrivateFolder",
    "Redirect",
    "Refused",
    "Unreachable",
    "browser_login",
    "device_login",
    "refreshed",
    "require_endpoint",
    "revoke",
]

# Authlib and requests are imported when a person logs in or a token is renewed, not for the names
_HOME = {
    "Answer": "redirect",
    "OAuthProvider": "provider",
    "PrivateFolder": "private",
    "Redirect": "redirect",
    "Refused": "tokens",
    "Unreachable": "tokens",
    "browser_login": "logins",
    "device_login": "logins",
    "refreshed": "tokens",
    "require_endpoint": "provider",
    "revoke": "tokens",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
