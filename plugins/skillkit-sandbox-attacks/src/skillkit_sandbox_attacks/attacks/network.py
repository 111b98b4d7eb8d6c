# ruff: noqa
# mypy: ignore-errors
"""Attacks by sockets. Daemons outside note what they hear."""

from __future__ import annotations

import ctypes
import os
import socket
import struct

from .attack import STAGE, attack, call, first_ok, libc, number, project, quiet


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
