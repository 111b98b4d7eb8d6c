"""The configuration section ``keyring``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from skillkit_core.config import setting

__all__ = ["KeyringConfig"]


@dataclass(frozen=True, slots=True)
class KeyringConfig:
    """Where credentials are kept, and which providers have logins."""

    store: Literal["auto", "keyring", "file"] = setting(
        "auto", "auto: the system's keyring, else a private file; keyring: nothing else; file: always the file"
    )
    service: str = setting("skillkit", "name under which the keyring shows the credentials", min_length=1)
    login_timeout: float = setting(300, "seconds that a login may take", gt=0)
    oauth: dict[str, Any] = setting(dict, "logins, by the name of the provider", of="skillkit_keyring.logins:Logins")
