# ruff: noqa
# mypy: ignore-errors
"""What every attack has: its name, what the stage tells it, and a few ways to ask the kernel."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
from dataclasses import dataclass

STAGE = {}
ATTACKS = {}
libc = ctypes.CDLL(None, use_errno=True)
CLONE = {"user": 0x10000000, "mount": 0x00020000, "net": 0x40000000, "pid": 0x20000000}
X86 = platform.machine() == "x86_64"


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        run: tries it, and returns what it claims.
        only: ``root`` or ``user``, where the other one may do that, or has nothing to gain.
        lack: the capability of a sandbox that stops it, where a sandbox may say that it lacks this one.
        limits: whether it is one where the policy has limits.
    """

    run: object
    only: str | None = None
    lack: str | None = None
    limits: bool = False


def attack(function=None, **facts):
    """Enter a function as the attack of its name; ``facts`` are those of :class:`Attack`."""
    if function is None:
        return lambda given: attack(given, **facts)
    ATTACKS[function.__name__] = Attack(function, **facts)
    return function


def quiet(*errors):
    """Return a context that takes refusals."""
    return contextlib.suppress(OSError, *errors)


def target(name=None):
    """Return the file outside that is called after the attack."""
    return f"{STAGE['outside']}/{name or STAGE['name']}.txt"


def project(*parts):
    """Return a path in the first project."""
    return os.path.join(STAGE["projects"][0], *parts)


def put(path, text=None):
    """Append to a file."""
    with open(path, "a") as file:
        file.write(text or STAGE["name"])


def call(number, *args):
    """Make a system call by its number."""
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def number(x86, arm):
    """Return the number of a call on this machine."""
    return x86 if X86 else arm


def first_ok(*tries):
    """Run every form of an attack; return the claims of those that were not refused."""
    claims = []
    for form in tries:
        with quiet(ValueError, PermissionError):
            if said := form():
                claims.append(str(said))
    return "; ".join(claims) or None


def done(*tries):
    """Run every form of an attack whose success cannot be mistaken; return which were not refused."""
    return first_ok(*(lambda form=form, n=n: form() or f"form {n}" for n, form in enumerate(tries, 1)))
