"""The filter of system calls: what no program inside may ask the kernel for, as a BPF program.

Names of calls are resolved by libseccomp, which the package ``pyseccomp`` loads. Calls of another architecture (``int 0x80``,
x32) kill the process: a filter is written for one table of numbers. Calls that are newer than this list do not exist inside
(``ENOSYS``).
"""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

__all__ = ["SeccompMissing", "filter_program"]

# calls that widen what a mistake of the kernel can be reached by, or that go round the other rules
_DENIED = (
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf",
    "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl", "init_module", "finit_module", "delete_module",
    "create_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd",
    "syslog", "settimeofday", "clock_settime", "stime", "open_by_handle_at", "name_to_handle_at", "lookup_dcookie",
    "nfsservctl", "vhangup", "fanotify_init", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "process_madvise",
    "kcmp", "iopl", "ioperm", "modify_ldt", "vm86", "vm86old", "move_pages", "migrate_pages", "uselib", "_sysctl",
    "sysfs", "ustat",
)  # fmt: skip
# glibc and others fall back to older calls, whose arguments the filter can read, when these do not exist
_ABSENT = ("clone3", "openat2")
_FIRST_UNKNOWN, _LAST_UNKNOWN = 452, 640  # numbers above 424 are the same on every architecture

_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)  # CLONE_NEW*
_SETUID, _SETGID = 0o4000, 0o2000
_O_CREAT, _O_TMPFILE = os.O_CREAT, 0o20000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_LOW = 0xFFFFFFFF  # the kernel reads 32 bits of these arguments, so that the upper ones must not hide a value
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _LAST_FAMILY = 1, 2, 10, 16, 64
_TYPE, _STREAM, _DGRAM, _SEQPACKET = 0xF, 1, 2, 5


class SeccompMissing(Exception):
    """libseccomp or pyseccomp is not there."""


def _load() -> Any:
    import ctypes.util

    find = ctypes.util.find_library
    # looking for libraries starts other programs (ldconfig, gcc); their names are known
    ctypes.util.find_library = lambda name: (
        {"c": None, "seccomp": "libseccomp.so.2"}.get(name) or (None if name == "c" else find(name))
    )
    try:
        import pyseccomp  # type: ignore[import-untyped]
    except (ImportError, OSError, RuntimeError) as error:
        raise SeccompMissing(f"{type(error).__name__}: {error}") from None
    finally:
        ctypes.util.find_library = find
    return pyseccomp


def filter_program(*, inet: bool, unix: bool, netlink: bool = False, others: bool = True) -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        inet: internet sockets may be made, for streams and datagrams (the network namespace decides what they reach).
        unix: sockets of the family unix may be made; ``socketpair`` of streams always works.
        netlink: routes and addresses may be asked for.
        others: processes may trace others and set their limits, where a namespace of processes holds only the sandbox's own.

    Raises:
        SeccompMissing: libseccomp is not installed.
    """
    sc = _load()
    built = sc.SyscallFilter(sc.ALLOW)
    built.set_attr(sc.Attr.ACT_BADARCH, sc.KILL_PROCESS)
    eperm = sc.ERRNO(errno.EPERM)

    def rule(action: int, call: str | int, *args: Any) -> None:
        number = sc.resolve_syscall(sc.Arch.NATIVE, call) if isinstance(call, str) else call
        if number >= 0:  # else this architecture, or this libseccomp, does not know it
            built.add_rule(action, number, *args)

    def bits(call: str, at: int, mask: int, value: int, *more: Any) -> None:
        rule(eperm, call, sc.Arg(at, sc.MASKED_EQ, mask, value), *more)

    for call in (*_DENIED, *(() if others else ("ptrace",))):
        rule(eperm, call)
    if not others:
        rule(eperm, "prlimit64", sc.Arg(0, sc.NE, 0))
    for absent in (*_ABSENT, *range(_FIRST_UNKNOWN, _LAST_UNKNOWN)):
        rule(sc.ERRNO(errno.ENOSYS), absent)
    for flag in _NAMESPACES:
        bits("clone", 0, flag, flag)
    for command in (_TIOCSTI, _TIOCLINUX):
        bits("ioctl", 1, _LOW, command)
    for bit in (_SETUID, _SETGID):
        for call, at in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("creat", 1), ("mknod", 1), ("mknodat", 2)):
            bits(call, at, bit, bit)
        for call, flags in (("open", 1), ("openat", 2)):
            for creating in (_O_CREAT, _O_TMPFILE):
                bits(call, flags + 1, bit, bit, sc.Arg(flags, sc.MASKED_EQ, creating, creating))
    _sockets(sc, bits, rule, eperm, inet=inet, unix=unix, netlink=netlink)
    with tempfile.TemporaryFile() as file:
        built.export_bpf(file)
        file.seek(0)
        return file.read()


def _sockets(sc: Any, bits: Any, rule: Any, eperm: int, *, inet: bool, unix: bool, netlink: bool) -> None:
    allowed = {_AF_INET, _AF_INET6} if inet else set()
    allowed |= {_AF_UNIX} if unix else set()
    allowed |= {_AF_NETLINK} if netlink else set()
    for family in range(_LAST_FAMILY):
        if family not in allowed:
            bits("socket", 0, _LOW, family)
    for call in ("socket", "socketpair"):
        rule(eperm, call, sc.Arg(0, sc.GE, _LAST_FAMILY))
    for family in (_AF_INET, _AF_INET6) if inet else ():
        for kind in set(range(_TYPE + 1)) - {_STREAM, _DGRAM}:
            bits("socket", 0, _LOW, family, sc.Arg(1, sc.MASKED_EQ, _TYPE, kind))
    if netlink:
        for protocol in range(1, 32):  # 0 is the one of routes
            bits("socket", 0, _LOW, _AF_NETLINK, sc.Arg(2, sc.MASKED_EQ, _LOW, protocol))
        rule(eperm, "socket", sc.Arg(0, sc.EQ, _AF_NETLINK), sc.Arg(2, sc.GE, 32))
    if not unix:
        # a datagram of a pair goes to any path; the kernel takes raw for datagram
        for kind in set(range(_TYPE + 1)) - {_STREAM, _SEQPACKET}:
            bits("socketpair", 1, _TYPE, kind)
