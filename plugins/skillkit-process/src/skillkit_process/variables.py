"""The environment of programs: a short list of harmless variables, so that no key of this process leaks into another one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

__all__ = ["HARMLESS", "environment"]

HARMLESS = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"})
"""The variables that every program may see, besides ``LC_*``."""


def environment(allow: Iterable[str] = (), host: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a program may see: :data:`HARMLESS`, ``LC_*``, and the names in ``allow``.

    Args:
        allow: further names.
        host: where the variables are; default: ``os.environ``.
    """
    names = HARMLESS | set(allow)
    source = os.environ if host is None else host
    return {name: value for name, value in source.items() if name in names or name.startswith("LC_")}
