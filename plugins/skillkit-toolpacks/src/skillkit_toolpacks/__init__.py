"""Packs of tools as data, and the tool with which a model asks for one in the middle of its work."""

from __future__ import annotations

from .data import PACKS as PACKS

__all__ = ["PACKS"]

__version__ = "0.2.0"
