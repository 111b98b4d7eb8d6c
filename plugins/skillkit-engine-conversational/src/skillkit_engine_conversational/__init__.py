"""The engine ``conversational``: talk with a skill's instructions, and handing a request on to the skill that is meant."""

from __future__ import annotations

__all__: list[str] = []

__version__ = "0.2.0"
