# ruff: noqa
# mypy: ignore-errors
"""Attacks on the kernel's surface: namespaces, mounts, devices, odd calls."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import stat
import struct
import termios

from .attack import STAGE, CLONE, X86, attack, call, first_ok, libc, number, project, put, quiet


def opens(*paths):
    """Return the first of the paths that can be opened for writing."""
    for path in paths:
        with quiet():
            os.close(os.open(path, os.O_WRONLY))
            return path
    return None


@attack(only="root")
def proc_sys_write():
    return opens(
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/kernel/modprobe",
    )


@attack(only="root")
def proc_sys_new_proc():
    call(number(272, 97), CLONE["user"] | CLONE["pid"] | CLONE["mount"])
    return "namespaces"


@attack(only="root")
def sysrq():
    return opens("/proc/sysrq-trigger")


@attack(only="root")
def sys_and_cgroup():
    import glob

    return opens(
        *glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True)[:20],
        *glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:20],
        "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
    )  # fmt: skip


@attack
def mount_tmpfs():
    def mounted():
        if libc.mount(b"none", project("m").encode(), b"tmpfs", 0, None) == 0:
            return "mount"

    os.makedirs(project("m"), exist_ok=True)
    return first_ok(
        mounted,
        lambda: call(430, b"tmpfs", 0) and "fsopen",
        lambda: call(428, -100, project("m").encode(), 1) and "open_tree",
    )


@attack
def remount_rw():
    os.makedirs(project("b"), exist_ok=True)
    if libc.mount(STAGE["outside"].encode(), project("b").encode(), None, 4096, None) == 0:
        return "bind"
    if libc.mount(None, b"/", None, 32 | 4096, None) == 0:
        return "remount"


def unshare(*kinds):
    def form(flags):
        def forked():
            if pid := os.fork():
                return "unshare" if os.waitpid(pid, 0)[1] == 0 else None
            os._exit(0 if libc.unshare(flags) == 0 else 1)

        return forked

    return first_ok(*(form(sum(CLONE[k] for k in kind.split("+"))) for kind in kinds))


@attack
def unshare_user():
    return unshare("user")


@attack
def unshare_mount():
    return unshare("mount", "user+mount")


@attack
def unshare_net():
    return unshare("net", "user+net")


@attack
def clone_newuser():
    def clone():
        pid = call(number(56, 220), CLONE["user"] | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        return "clone"

    def clone3():
        args = ctypes.create_string_buffer(struct.pack("=8Q", CLONE["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0))
        pid = call(435, args, 64)
        if pid == 0:
            os._exit(0)
        return "clone3"

    return first_ok(clone, clone3)


@attack
def setns_host():
    claims = []
    for pid in (STAGE["decoy"], STAGE["runner"], 1):
        for name in ("user", "mnt", "net", "pid"):
            with quiet():
                fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
                if libc.setns(fd, 0) == 0:
                    claims.append(f"{pid}/{name}")
    return " ".join(claims)


@attack
def io_uring():
    call(425, 4, ctypes.create_string_buffer(120))
    return "io_uring_setup"


@attack
def bpf():
    call(number(321, 280), 0, struct.pack("=IIIII", 2, 4, 4, 1, 0) + bytes(100), 120)
    return "bpf"


@attack
def keyctl():
    return first_ok(
        lambda: call(number(248, 217), b"user", b"suite", b"x", 1, -3) and "add_key",
        lambda: call(number(250, 219), 0, -3, 1) and "keyctl",
    )


@attack
def userfaultfd():
    return first_ok(lambda: call(number(323, 282), 0) and "all", lambda: call(number(323, 282), 1) and "user mode")


@attack
def perf_event():
    attributes = (
        struct.pack("=IIQQ", 1, 120, 9, 0) + struct.pack("=Q", 0) * 2 + struct.pack("=Q", 1 << 5 | 1 << 6) + bytes(72)
    )
    call(number(298, 241), attributes, 0, -1, -1, 0)
    return "perf_event_open"


@attack(only="root")
def module_load():
    for call_number, args in ((number(175, 105), (b"rubbish", 7, b"")), (number(313, 273), (0, b"", 0))):
        with quiet():
            call(call_number, *args)
            return "loaded"
        if ctypes.get_errno() != errno.EPERM:
            return f"refused late: {os.strerror(ctypes.get_errno())}"


@attack
def tiocsti():
    claims = []
    for fd in (0, 1, 2):
        for command in (0x5412, (1 << 32) | 0x5412, 0x541C):
            if libc.syscall(number(16, 29), fd, ctypes.c_ulong(command), b"x") >= 0:
                claims.append(hex(command))
    with quiet():
        fd = os.open("/dev/tty", os.O_RDWR)
        fcntl.ioctl(fd, termios.TIOCSTI, b"x")
        claims.append("/dev/tty")
    return " ".join(claims)


@attack(lack="terminals")
def tty_write():
    put(STAGE["tty"], "tty_write")


@attack
def x32_call():
    if X86 and libc.syscall(0x40000000 + 272, CLONE["user"]) == 0:
        return "x32 unshare"


@attack
def int80_call():
    if not X86:
        return None
    code = (
        bytes([0x53, 0xB8])
        + struct.pack("<I", 310)
        + bytes([0xBB])
        + struct.pack("<I", CLONE["user"])
        + b"\xcd\x80\x5b\xc3"
    )
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return "unshare" if function() == 0 else None


@attack(only="user")
def setuid_program():
    for line in open("/proc/self/status"):
        if line.startswith("NoNewPrivs:"):
            return None if line.split()[1] == "1" else "no_new_privs is off"


@attack
def block_device():
    claims = []
    for device in ("vda", "sda", "nvme0n1", "xvda", "loop0", "dm-0", "vda1", "sda1"):
        with quiet():
            os.close(os.open(f"/dev/{device}", os.O_RDONLY))
            claims.append(device)
    return " ".join(claims)


@attack(only="root")
def mknod_block():
    claims = []
    for kind, major, minor in (
        (stat.S_IFBLK, 254, 0),
        (stat.S_IFBLK, 8, 0),
        (stat.S_IFCHR, 1, 1),
        (stat.S_IFCHR, 1, 3),
    ):
        with quiet():
            path = project(f"node{major}-{minor}")
            os.mknod(path, 0o600 | kind, os.makedev(major, minor))
            os.close(os.open(path, os.O_RDONLY))
            claims.append(path)
    return " ".join(claims)


@attack
def special_devices():
    claims = []
    names = (
        "mem",
        "kmsg",
        "port",
        "kvm",
        "fuse",
        "net/tun",
        "loop-control",
        "uinput",
        "userfaultfd",
        "vhost-net",
        "vsock",
        "mapper/control",
    )
    for device in names:
        for mode in (os.O_RDONLY, os.O_WRONLY):
            with quiet():
                os.close(os.open(f"/dev/{device}", mode | os.O_NONBLOCK))
                claims.append(device)
    return " ".join(claims)
