"""Secrets: where the host looks for them, and which words must not leave it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .loading import Failure, isolated
from .probe import called

if TYPE_CHECKING:
    from .manager import Host

__all__ = ["Secrets"]

MIN_SECRET = 8  # shorter values would blank out ordinary text


class Secrets:
    """The secrets that a host has given out; they are replaced wherever text leaves."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._values: set[str] = set()

    def remember(self, value: str) -> None:
        """Have ``value`` replaced by :meth:`redact` from now on."""
        if len(value) >= MIN_SECRET:
            self._values.add(value)

    def learn(self) -> None:
        """Remember the keys that the environment holds for any provider, also for those that are not asked."""
        for entry in self._host.adapters.entries():
            for name in getattr(entry.item, "api_key_env", ()):
                self.remember(self._host.environ.get(name) or "")

    def redact(self, text: str) -> str:
        """``text`` with every remembered secret replaced by ``***``."""
        for value in sorted(self._values, key=len, reverse=True):  # one may be a part of another
            if value in text:
                text = text.replace(value, "***")
        return text

    def find(self, name: str) -> str | None:
        """The environment is asked first, then ``resolve_secret``, then the registered credential sources."""
        value = self._host.environ.get(name) or self._from_hooks(name) or self._from_sources(name)
        if value:
            self.remember(value)
        return value

    def _from_hooks(self, name: str) -> str | None:
        for impl in self._host.impls("resolve_secret"):
            arguments: dict[str, Any] = {"host": self._host, "name": name}
            call = partial(impl.function, **{n: arguments[n] for n in impl.argnames})
            found = self._ask(impl.plugin_name, partial(called, self._host, "resolve_secret", impl, call))
            if found:
                return found
        return None

    def _from_sources(self, name: str) -> str | None:
        sources = self._host.registry("credentials")
        for entry in sources.entries():
            found = self._ask(entry.source, lambda entry=entry: sources.get(entry.address).get(name))
            if found:
                return found
        return None

    def _ask(self, plugin: str | None, function: Any) -> str | None:
        """What one plugin knows; that it fails is its problem, not that of whoever needs the secret."""
        name = plugin or "application"
        try:
            with isolated(name, "resolve_secret", seconds=self._host.hook_seconds, **self._host.owner(name)):
                found = function()
        except Failure as failure:
            self._host.report(failure.diagnostic)
            return None
        return str(found) if found else None
