"""Credentials of SkillKit: keys and logins that a keyring or a private file keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillkit_oauth import OAuthProvider

__all__ = ["OAuthProvider"]


def __getattr__(name: str) -> Any:
    if name == "OAuthProvider":
        from skillkit_oauth import OAuthProvider

        return OAuthProvider
    raise AttributeError(name)
