"""A control group for one sandbox: how many processes, and how much memory all of them have together.

A limit of the kernel on one process (``setrlimit``) does not hold the sum over processes, and one on processes does not hold
root. Both versions of control groups work, wherever this user may make a group at or above its own.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["ControlGroup"]

_ROOT = "/sys/fs/cgroup"
# what is limited -> files of version 1 (and its hierarchy), files of version 2
_FILES_1 = {
    "processes": ("pids", ("pids.max",)),
    "memory": ("memory", ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")),
}
_FILES_2 = {"processes": ("pids.max",), "memory": ("memory.max", "memory.swap.max")}


class ControlGroup:
    """Groups that hold limits.

    Args:
        limits: ``processes`` (a number) and ``memory`` (bytes), as far as they are wanted.

    Attributes:
        held: the names of the limits that a group holds.
    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.held: set[str] = set()
        self._groups: list[str] = []
        mine = _own_groups()
        for what, value in limits.items():
            hierarchy, files = _FILES_1[what]
            old = hierarchy in mine and self._make(mine[hierarchy], files, value)
            if old or ("" in mine and self._make(mine[""], _FILES_2[what], value)):
                self.held.add(what)

    def _make(self, group: str, files: tuple[str, ...], value: int) -> bool:
        """Make a group at ``group`` or above it, and write the limit."""
        for made in self._groups:
            if os.path.exists(f"{made}/{files[0]}"):
                return _write(f"{made}/{files[0]}", value)
        while group.startswith(_ROOT):
            made = f"{group}/skillkit-{uuid.uuid4().hex[:12]}"
            with suppress(OSError):
                os.mkdir(made)
                if os.access(f"{made}/cgroup.procs", os.W_OK) and _write(f"{made}/{files[0]}", value):
                    for more in files[1:]:  # swap counts as memory, where the kernel keeps that account
                        _write(f"{made}/{more}", 0 if more == "memory.swap.max" else value)
                    self._groups.append(made)
                    return True
                os.rmdir(made)
            group = os.path.dirname(group)
        return False

    def add(self, pid: int) -> None:
        """Put a process, and what it will start, into the groups.

        Raises:
            OSError: the kernel refuses it.
        """
        for group in self._groups:
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(pid))

    def close(self) -> None:
        """Remove the groups. The last processes may need a moment to leave."""
        for group in self._groups:
            for _ in range(100):
                try:
                    os.rmdir(group)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
        self._groups.clear()


def _write(path: str, value: int) -> bool:
    try:
        with open(path, "w") as file:
            file.write(str(value))
    except OSError:
        return False
    return True


def _own_groups() -> dict[str, str]:
    """Return the folder of this process's group by hierarchy; ``""`` is version 2."""
    found: dict[str, str] = {}
    try:
        with open("/proc/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    for line in lines:
        _, hierarchies, path = line.split(":", 2)
        for name in hierarchies.split(","):
            for base in (f"{_ROOT}/{name}", f"{_ROOT}/unified") if name else (f"{_ROOT}", f"{_ROOT}/unified"):
                folder = f"{base}{path}".rstrip("/")
                if os.path.exists(f"{folder}/cgroup.procs"):
                    found[name] = folder
                    break
    return found
