"""A process that cannot look into others: a domain of Landlock."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

__all__ = ["confine"]

_NO_NEW_PRIVS = 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ_FILE, _REFER, _SCOPE_SIGNAL = 1 << 2, 1 << 13, 1 << 1
_REFER_SINCE, _SCOPES_SINCE = 2, 6  # versions of Landlock: Linux 5.19, 6.12


def confine() -> bool:
    """Keep this process from what others hold in memory, and from signalling them; return whether the system can do that.

    A domain of Landlock refuses to trace others, to read files of other processes in ``/proc``, such as the variables with which
    the host was started, and, from Linux 6.12 on, signals. All other files and the network stay as they are.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < _REFER_SINCE:
        return False
    scopes = version >= _SCOPES_SINCE
    rules = (
        struct.pack("QQQ", _READ_FILE | _REFER, 0, _SCOPE_SIGNAL) if scopes else struct.pack("Q", _READ_FILE | _REFER)
    )
    ruleset = libc.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0:
        return False
    try:
        for place in _readable():
            try:
                descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # it is gone, or a link that leads nowhere
            allowed = _READ_FILE | _REFER if place.is_dir() else _READ_FILE
            libc.syscall(_ADD_RULE, ruleset, 1, struct.pack("=Qi", allowed, descriptor), 0)
            os.close(descriptor)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _readable() -> list[Path]:
    """Return what lies at the root, but of ``/proc`` only this process and what belongs to none."""
    proc = Path("/proc")
    facts = [place for place in proc.iterdir() if not place.name.isdigit() and not place.is_symlink()]
    return [*(place for place in Path("/").iterdir() if place != proc), *facts, proc / str(os.getpid())]
