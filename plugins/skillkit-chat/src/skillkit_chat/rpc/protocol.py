"""The types of the wire, under the name by which clients know them: those of ``skillkit_live.protocol``."""

from typing import Any

from skillkit_live import protocol


def __getattr__(name: str) -> Any:
    return getattr(protocol, name)
