"""Hosts of addresses: which one is meant, whether it is private, and whether a rule names it."""

from __future__ import annotations

import re
import socket
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

__all__ = ["Unclear", "host_of", "is_private", "names_host"]

_PRIVATE_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
_NAT64 = IPv6Network("64:ff9b::/96")
# all addresses of version 6 that are given out to anybody
_GIVEN_OUT = IPv6Network("2000::/3")
# letters of which the two versions of IDNA make different names
_DISPUTED = re.compile("[\u00df\u03c2\u200c\u200d]")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]*|[0-9]+)){0,3}\Z")
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\Z")


class Unclear(Exception):
    """Nobody can say which host is meant."""


def host_of(url: str) -> str:
    """Return the host of an address in one spelling: ASCII, small letters, no dot at the end, addresses by value.

    Raises:
        Unclear: it is no plain ``http`` or ``https`` address.
    """
    if not isinstance(url, str) or re.search(r"[\x00-\x20\x7f\\]", url):
        raise Unclear("an address with odd characters")
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise Unclear(f"not an address ({error})") from error
    if parts.scheme not in ("http", "https") or not host:
        raise Unclear("not an http address")
    if "@" in parts.netloc:
        raise Unclear("an address with a user name")
    found = _one_spelling(host)
    if found is None:
        raise Unclear("a host with odd characters")
    return found


def _one_spelling(host: str) -> str | None:
    name = _ascii(host).lower().removesuffix(".")
    if "%" in name:
        return None
    if ":" in name:
        try:
            six = IPv6Address(name)
        except ValueError:
            return None
        return str(six.ipv4_mapped or six.sixtofour or _translated(six) or six)
    if _NUMBER.match(name):
        try:
            return str(IPv4Address(socket.inet_aton(name)))
        except OSError:
            return None
    return name if _NAME.match(name) else None


def _ascii(host: str) -> str:
    """Return the form of a name that is looked up: ``bücher.example`` is ``xn--bcher-kva.example``.

    Empty for a name without such a form. A name in ASCII stays as it is.
    """
    if host.isascii():
        return host
    try:
        return "" if _DISPUTED.search(host) else host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""


def _translated(six: IPv6Address) -> IPv4Address | None:
    """Return the address that a NAT64 gateway would reach."""
    return IPv4Address(int(six) & 0xFFFFFFFF) if six in _NAT64 else None


def is_private(host: str) -> bool:
    """Return whether a host is not reached from the whole internet, by its address or by its name."""
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or any(host == n or host.endswith(f".{n}") for n in _PRIVATE_NAMES)
    if isinstance(address, IPv6Address) and address not in _GIVEN_OUT:
        return True
    return not address.is_global or address.is_multicast


def names_host(spec: str, host: str, *, approves: bool) -> bool:
    """Return whether ``domain:NAME`` covers a host; one that forbids covers sub-domains too.

    ``*.example.com`` covers sub-domains alone, ``a.*.example.com`` those with one label in place of the star, ``*`` every
    host. A star in an approval is a whole label, and never the last one; elsewhere it stands for anything.
    """
    wanted = spec.removeprefix("domain:").strip().strip("[]")
    if "*" in wanted:
        wanted = ".".join(label if "*" in label else _ascii(label) for label in wanted.split(".")).lower()
        if approves:
            return wanted == "*" or _covered(wanted, host)
        return fnmatchcase(host, wanted) or fnmatchcase(host, f"*.{wanted}") or host == wanted.removeprefix("*.")
    wanted = _one_spelling(wanted) or wanted.lower().removesuffix(".")
    return host == wanted or (not approves and host.endswith(f".{wanted}"))


def _covered(wanted: str, host: str) -> bool:
    """Return whether labels with stars cover those of a host. A star in front stands for one label or more."""
    labels, given = wanted.removesuffix(".").split("."), host.split(".")
    if any("*" in label and label != "*" for label in labels) or labels[-1] == "*":
        return False
    if labels[0] == "*" and len(given) > len(labels):
        given = given[len(given) - len(labels) :]
    return len(labels) == len(given) and all(label in ("*", one) for label, one in zip(labels, given, strict=True))
