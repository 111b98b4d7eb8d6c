"""A control group for one sandbox: how many processes, and how much memory all of them have together.

A limit of the kernel on one process (``setrlimit``) does not hold the sum over processes, and one on processes does not hold
root. Both versions of control groups work, wherever this user may make a group at or above its own.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False  # see launcher.py: what it imports costs at every command
if TYPE_CHECKING:
    from collections.abc import Mapping

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
        held: the limits that a group holds, each with the version of control groups.
        folders: the groups' folders.
    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        self.held: dict[str, int] = {}
        self.folders: list[str] = []
        mine = _own_groups()
        for what, value in limits.items():
            hierarchy, files = _FILES_1[what]
            if hierarchy in mine and self._make(mine[hierarchy], files, value):
                self.held[what] = 1
            elif "" in mine and self._make(mine[""], _FILES_2[what], value):
                self.held[what] = 2

    def _make(self, group: str, files: tuple[str, ...], value: int) -> bool:
        """Make a group at ``group`` or above it, and write the limit."""
        for made in self.folders:
            if os.path.exists(f"{made}/{files[0]}"):
                return _write(f"{made}/{files[0]}", value)
        while group.startswith(_ROOT):
            made = f"{group}/skillkit-{os.urandom(6).hex()}"
            try:
                os.mkdir(made)
                if os.access(f"{made}/cgroup.procs", os.W_OK) and _write(f"{made}/{files[0]}", value):
                    for more in files[1:]:  # swap counts as memory, where the kernel keeps that account
                        _write(f"{made}/{more}", 0 if more == "memory.swap.max" else value)
                    self.folders.append(made)
                    return True
                os.rmdir(made)
            except OSError:
                pass  # not here; perhaps further up
            group = os.path.dirname(group)
        return False

    def add(self, pid: int) -> None:
        """Put a process, and what it will start, into the groups.

        Raises:
            OSError: the kernel refuses it.
        """
        for group in self.folders:
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(pid))

    def close(self) -> None:
        """Remove the groups. The last processes may need a moment to leave."""
        for group in self.folders:
            for _ in range(100):
                try:
                    os.rmdir(group)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
        self.folders.clear()


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
