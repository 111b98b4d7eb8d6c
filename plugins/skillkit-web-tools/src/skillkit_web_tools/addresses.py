"""Which addresses may be reached: everything that is public, and the private hosts that the user named.

The check is part of looking a name up, so that the address that was checked is the one that is connected to: a name that
answers differently the next time (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from skillkit_core import ToolError

__all__ = ["GuardedResolver", "check_host", "is_public"]


def is_public(address: str) -> bool:
    """Return True for an address that anybody on the internet reaches; also looks into embedded IPv4 addresses."""
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def refusal(host: str) -> ToolError:
    """Return the error for a host with a private address."""
    return ToolError(
        f"{host} has a private or local address; only hosts named in web.private_hosts may be fetched there"
    )


def check_host(host: str, port: int, allowed: Collection[str]) -> None:
    """Raise ToolError when the host is written as an address that may not be reached; names are checked when looked up.

    Other spellings of an address (``2130706433``, ``0x7f.1``) are read as the system reads them.
    """
    if host in allowed or f"{host}:{port}" in allowed:
        return
    try:
        literal = str(ipaddress.ip_address(host))
    except ValueError:
        try:
            literal = socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return
    if not is_public(literal):
        raise refusal(host)


class GuardedResolver(AbstractResolver):
    """Looks names up and leaves out the addresses that may not be reached.

    Args:
        allowed: hosts, or ``host:port``, whose private addresses may be reached.
    """

    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = frozenset(allowed)
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raise ToolError when none of them may be reached."""
        found = await self._inner.resolve(host, port, family)
        if host in self._allowed or f"{host}:{port}" in self._allowed:
            return found
        public = [one for one in found if is_public(one["host"])]
        if found and not public:
            raise refusal(host)
        return public

    async def close(self) -> None:
        """Release what the inner resolver holds."""
        await self._inner.close()
