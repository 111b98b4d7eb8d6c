"""Sessions in files (:class:`JsonlStore`) or in a database (:class:`SqliteStore`), and ``skillkit sessions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import SessionsConfig as SessionsConfig
    from .handle import JsonlSession as JsonlSession
    from .sqlite_handle import SqliteSession as SqliteSession
    from .sqlite_store import SqliteStore as SqliteStore
    from .store import JsonlStore as JsonlStore

_MODULE_OF = {
    "JsonlSession": "handle",
    "JsonlStore": "store",
    "SessionsConfig": "config",
    "SqliteSession": "sqlite_handle",
    "SqliteStore": "sqlite_store",
}

__all__ = ["JsonlSession", "JsonlStore", "SessionsConfig", "SqliteSession", "SqliteStore"]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value
