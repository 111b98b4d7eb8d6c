"""The network ``proxy``: the command has a network of its own, and its only way out is an HTTP proxy with a list of domains.

The proxy runs outside. Its listening socket is made inside the sandbox's network by a child that joins it, and handed out, so
that no socket file and no port of this machine is involved. Most commands never use it, so that the relay behind it, which
imports asyncio, is made when the first client knocks.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import select
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["PORT", "Proxy", "variables"]

PORT = 3128
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def variables() -> dict[str, str]:
    """Return the variables that tell programs inside about the proxy."""
    url = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {**dict.fromkeys(names, url), "NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
            "NODE_USE_ENV_PROXY": "1"}  # fmt: skip


class Proxy:
    """The proxy of one sandbox, in a thread of its own, which ends with this process.

    Args:
        pid: a process inside.
        domains: the domains that it connects to.
    """

    def __init__(self, pid: int, domains: Iterable[str]) -> None:
        self._listening, self._domains = _listen_inside(pid), tuple(domains)
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        select.select([self._listening], [], [])
        from .relay import serve

        serve(self._listening, self._domains)


def _listen_inside(pid: int) -> socket.socket:
    """Return a socket that listens in the network of a process.

    Raises:
        OSError: the network cannot be joined.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            ours.close()
            _join(pid)
            listening = socket.socket(socket.AF_INET)
            listening.bind(("0.0.0.0", PORT))  # noqa: S104 - nobody else is in this network
            listening.listen(128)
            socket.send_fds(theirs, [b"1"], [listening.fileno()])
        except OSError as error:
            theirs.send(f"{error.strerror}".encode())
        finally:
            os._exit(0)
    theirs.close()
    said, fds, _, _ = socket.recv_fds(ours, 200, 1)
    os.waitpid(child, 0)
    ours.close()
    if not fds:
        raise OSError(f"the network of the sandbox cannot be joined: {said.decode() or 'its helper ended'}")
    return socket.socket(fileno=fds[0])


def _join(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for name, kind in (("user", _CLONE_NEWUSER), ("net", _CLONE_NEWNET)):
        with open(f"/proc/{pid}/ns/{name}") as space:
            if libc.setns(space.fileno(), kind) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
