"""Looks at the processes of isolated plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def processes(host: Any) -> list[int]:
    """The keepers of a host's isolated plugins."""
    return [
        p.connection.pid for p in host.state("isolation").get("plugins", {}).values() if p.connection.pid is not None
    ]


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
