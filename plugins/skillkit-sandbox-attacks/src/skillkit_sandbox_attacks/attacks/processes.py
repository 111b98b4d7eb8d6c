# ruff: noqa
# mypy: ignore-errors
"""Attacks on processes of the machine, and life after the end of the command."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import time

from .attack import STAGE, attack, call, done, first_ok, libc, number, project, put, quiet


@attack(lack="processes")
def see_host():
    return open(f"/proc/{STAGE['decoy']}/cmdline").read().replace("\0", " ")


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


@attack(lack="signals")
def kill_host():
    def by_fd():
        signal.pidfd_send_signal(os.pidfd_open(STAGE["decoy"]), signal.SIGUSR1)

    claim = done(
        lambda: os.kill(STAGE["decoy"], signal.SIGUSR1),
        lambda: call(number(234, 131), STAGE["decoy"], STAGE["decoy"], signal.SIGUSR1),
        by_fd,
    )
    # the decoy counts them; another process with its number is no claim
    return claim if "untouched" in open(f"/proc/{STAGE['decoy']}/cmdline").read() else None


@attack
def pidfd_getfd():
    return call(438, os.pidfd_open(STAGE["decoy"]), 0, 0) and "pidfd_getfd"


@attack
def prlimit_host():
    resource.prlimit(STAGE["decoy"], resource.RLIMIT_CORE, resource.prlimit(STAGE["decoy"], resource.RLIMIT_CORE))
    return "prlimit"


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
