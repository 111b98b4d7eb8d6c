"""Installers that a skill names (OpenClaw's ``install``): cleaned, shown to people, never run by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["clean_installers"]

KINDS = {"brew": "formula", "node": "package", "go": "module", "uv": "package", "download": "url"}
_WORD = r"[A-Za-z0-9@._/+~:\[\]=<>,-]+\Z"
_URL = r"https://(?!\[)(?!\d+\.\d+\.\d+\.\d+[/:])([A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?/\S*\Z"


def clean_installers(items: Iterable[Any], codes: list[str]) -> tuple[Mapping[str, Any], ...]:
    """The installers that may be shown: a known kind, its target a plain word or an https address with a host name.

    Everything else is refused with ``install-refused:<kind>`` in ``codes``. ``auto_run`` is always false.
    """
    found = []
    for item in items:
        if not isinstance(item, Mapping):
            continue
        kind = str(item.get("kind") or "")
        target = item.get(KINDS.get(kind, ""))
        ok = isinstance(target, str) and not target.startswith("-")
        if ok and isinstance(target, str):
            ok = bool(re.match(_URL if kind == "download" else _WORD, target))
        if ok:
            found.append({**item, "auto_run": False})
        else:
            codes.append(f"install-refused:{kind or '?'}")
    return tuple(found)
