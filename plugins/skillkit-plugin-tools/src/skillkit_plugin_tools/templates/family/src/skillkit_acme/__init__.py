"""The family "acme": other plugins bring greetings, a kind of items, and a hook changes what is said.

A plugin that joins the family depends on this package. It marks its hooks as optional, so that it loads where
this plugin is missing:

    @hookimpl(optionalhook=True)
    def register_acme_greetings(register):
        register(AcmeGreeting("french", "Bonjour, {name}!"))
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from skillkit_core import Host, UsageError, hookimpl, hookspec

__all__ = ["AcmeGreeting", "acme_greet", "acme_said", "register_acme_greetings"]


class AcmeGreeting(NamedTuple):
    """An item of the family. ``text`` holds ``{name}``."""

    name: str
    text: str


@hookspec
def register_acme_greetings(register: Callable[[AcmeGreeting], None], host: Host, config: Any) -> None:
    """Offer greetings: ``register(AcmeGreeting(...))``, as often as there are some."""


@hookspec
def acme_said(text: str) -> str | None:
    """Change what is said. Each plugin gets what the one before made of it; ``None`` changes nothing."""


@hookimpl
def register_hookspecs(add: Callable[..., None]) -> None:
    """Define the hooks above, and the kind of items that ``register_acme_greetings`` fills."""
    add(sys.modules[__name__], kinds={"acme_greetings": AcmeGreeting})


def acme_greet(host: Host, name: str, greeting: str) -> str:
    """Greet somebody with an item of the family.

    Raises:
        UsageError: no plugin brings the greeting.
    """
    known = host.registry("acme_greetings")
    if greeting not in known:
        there = ", ".join(known.list()) or "none"
        raise UsageError(f"no plugin brings the greeting {greeting!r}", hint=f"there are: {there}")
    text: str = known.entry(greeting).item.text.format(name=name)
    for impl in host.impls("acme_said"):
        text = impl.function(text) or text
    return text
