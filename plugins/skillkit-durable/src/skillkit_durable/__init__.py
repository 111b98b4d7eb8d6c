"""Durable runs: jobs that workers carry out, whichever process or machine dies meanwhile.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .jobs import Job, Jobs, Spec
    from .postgres_store import PostgresStore
    from .schedules import Schedule, Schedules

__all__ = ["Job", "Jobs", "PostgresStore", "Schedule", "Schedules", "Spec"]

_MODULE_OF = {
    "Job": "jobs",
    "Jobs": "jobs",
    "PostgresStore": "postgres_store",
    "Schedule": "schedules",
    "Schedules": "schedules",
    "Spec": "jobs",
}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{module}", __name__), name)
