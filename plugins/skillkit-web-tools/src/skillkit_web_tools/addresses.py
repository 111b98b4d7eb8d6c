"""Which addresses may be reached: everything that is public, and the private hosts that the user named.

An address is read once, by the library that connects (yarl), so that no spelling of a host means one thing here and another
thing there: full-width and circled digits, dots of other scripts and capital letters are gone before anything is compared. The
last word has :func:`open_public`, which makes each socket: it sees the address that is connected to, after the name was looked
up, so that a name that answers differently the next time (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection
from typing import Any

from yarl import URL

from skillkit_core import ToolError

__all__ = ["check", "is_named", "is_public", "open_public", "web_address"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_GIVEN_OUT = ipaddress.IPv6Network("2000::/3")  # site-local, compatible and all other addresses outside are nobody's
_NOT_PUBLIC = [
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32",  # protocols, 6to4 relays, a cloud's own services
        "2001::/23", "2001:db8::/32", "3fff::/20",  # Teredo and other protocols, documentation
    )
]  # fmt: skip
# The last 32 bits of these are an IPv4 address, which a gateway reaches: mapped, translated, NAT64.
_GATEWAYS = [ipaddress.IPv6Network(text) for text in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")]
_REFUSED = "a private or local address; only hosts named in web.private_hosts may be fetched there"


def is_public(address: str) -> bool:
    """Return True for an address that anybody on the internet reaches, and that leads to no other one behind a gateway."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        last = str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        if any(ip in net for net in _GATEWAYS):
            return is_public(last)
        tunnel = str(ip.sixtofour) if ip.sixtofour is not None else last if _is_isatap(ip) else None
        if ip not in _GIVEN_OUT or (tunnel is not None and not is_public(tunnel)):
            return False
    inside = any(ip.version == net.version and ip in net for net in _NOT_PUBLIC)
    return ip.is_global and not ip.is_multicast and not inside


def _is_isatap(ip: ipaddress.IPv6Address) -> bool:
    return (int(ip) >> 32) & 0xFFFFFFFF in (0x00005EFE, 0x02005EFE)


def web_address(text: str) -> URL:
    """Return the address of a web page, as the library that connects reads it.

    Raises:
        ToolError: it is none.
    """
    try:
        url = URL(text)
        known = url.scheme in ("http", "https") and url.host and url.port
    except (ValueError, UnicodeError):
        raise ToolError(f"{text!r} is no URL") from None
    if not known or _CONTROL.search(text):
        raise ToolError(f"{text!r} is no http or https URL")
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolError("a URL with a user name or password is not fetched")
    return url


def check(url: URL, allowed: Collection[str]) -> None:
    """Raise ToolError when the host is written as a private address, or its name means this machine.

    Nothing is looked up, so that this can be asked before a person allowed the call. Other names are checked when they are
    looked up. Other spellings of an address (``2130706433``, ``0x7f.1``) are read as the system reads them.
    """
    if is_named(url, allowed):
        return
    host = _host(url)
    name = not re.fullmatch(r".*:.*|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", host)  # the last label of an address is a number
    if host == "localhost" or host.endswith(".localhost") or not (name or is_public(_literal(host))):
        raise ToolError(f"{url.host} has {_REFUSED}")


def is_named(url: URL, allowed: Collection[str]) -> bool:
    """Return True when a list (``web.private_hosts``) names the host, or host and port."""
    host, port = _literal(_host(url)), url.port
    for text in allowed:
        bare = text.count(":") > 1 and not text.startswith("[")
        try:
            named = URL(f"http://[{text}]" if bare else f"http://{text}")
            same = named.raw_host is not None and _literal(_host(named)) == host
        except (ValueError, UnicodeError):
            continue
        if same and named.explicit_port in (None, port):
            return True
    return False


def _host(url: URL) -> str:
    return (url.raw_host or "").lower().rstrip(".")


def _literal(host: str) -> str:
    """Return an address in its one spelling; what is none stays as it is."""
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return host


def open_public(info: tuple[Any, ...]) -> socket.socket:
    """Return a socket for the address of ``info`` (as of ``getaddrinfo``), which is connected to next.

    Raises:
        PermissionError: the address is not public.
    """
    family, kind, protocol, _, address = info
    if not is_public(str(address[0])):
        raise PermissionError(f"the host has {_REFUSED}")
    return socket.socket(family, kind, protocol)
