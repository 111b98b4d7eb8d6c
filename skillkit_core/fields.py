"""Checks of what programs write into configuration values: a wrong type is told where the value is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .errors import UsageError

__all__ = [
    "Fields",
    "check_fields",
    "is_bool",
    "is_int",
    "is_mapping",
    "is_names",
    "is_number",
    "is_str",
    "one_of",
]

Fields: TypeAlias = Mapping[str, tuple[Any, Callable[[Any], bool], str]]
"""By name of a field: its default, which is not looked at (``...``: whatever it is), whether another value fits, and what it
must be, in words."""


def check_fields(value: Any, fields: Fields, of: str = "") -> None:
    """Look at the fields of ``value``, which a message calls ``of``.

    Raises:
        UsageError: one of them does not fit.
    """
    for name, (usual, fits, expected) in fields.items():
        given = getattr(value, name)
        if given is not usual and not fits(given):
            found = repr(given) if isinstance(given, str) else f"of type {type(given).__name__}"
            raise UsageError(f"{of and of + ': '}{name} is {found}; it must be {expected}")


def is_bool(value: Any) -> bool:
    """``True`` or ``False``."""
    return isinstance(value, bool)


def is_int(value: Any) -> bool:
    """An int, and no bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """An int or float, and no bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_str(value: Any) -> bool:
    """Text."""
    return isinstance(value, str)


def is_names(value: Any) -> bool:
    """A collection of texts; a text itself, whose letters would be taken for names, is none."""
    return isinstance(value, (tuple, list, set, frozenset)) and all(isinstance(v, str) for v in value)


def is_mapping(value: Any) -> bool:
    """A dict or anything like it."""
    return isinstance(value, Mapping)


def one_of(*values: str) -> Callable[[Any], bool]:
    """Whether a value is one of these texts."""
    return lambda value: isinstance(value, str) and value in values
