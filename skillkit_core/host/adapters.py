"""The registry of providers and their adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ..descriptors import Provider
from ..errors import UnknownName, UsageError, close_matches
from .registry import Entry, Registry, make

if TYPE_CHECKING:
    from ..contracts.adapter import LLMAdapter
    from .manager import Host


Item: TypeAlias = "Provider | LLMAdapter"


class AdapterRegistry(Registry[Item]):
    """Adapters by provider name: providers that plugins registered (:class:`Provider`), and finished adapters.

    An adapter is made once per (provider, api, base_url, api_key) and shared by all agents of the host.
    """

    kind = "provider"

    def __init__(self, host: Host | None = None) -> None:
        super().__init__(host.load().describe if host is not None else None)
        self._host = host
        self._made: dict[tuple[Any, ...], LLMAdapter] = {}

    def register(self, name: str, adapter: Item, source: str | None = None) -> None:
        """Add an adapter or a provider as ``name``, also while agents are running."""
        super().register(name, adapter, source)

    def get(self, name: str) -> LLMAdapter:
        """Return the adapter of provider ``name`` with the default api, endpoint and credentials; raise as :meth:`resolve`."""
        return self.resolve(name)

    def provider(self, name: str) -> Provider | None:
        """Return the description of provider ``name``, ``None`` for a finished adapter."""
        item = self.entry(name).item
        return item if isinstance(item, Provider) else None

    def resolve(
        self, name: str, api: str | None = None, *, base_url: str | None = None, api_key: str | None = None
    ) -> LLMAdapter:
        """Return the adapter for ``name`` that speaks ``api`` at ``base_url`` with ``api_key``. Defaults are the provider's.

        Raises:
            UnknownName: there is no such provider, or the provider does not speak ``api``.
            AmbiguousName: several plugins offer the provider.
            UsageError: the key is missing. The message names the variable that should hold the key.
        """
        entry = self.entry(name)
        item = entry.item
        if not isinstance(item, Provider):
            return item
        api = api or next(iter(item.apis))
        spoken = self.api_of(item, api)
        if spoken is None:
            close = "".join(f"; did you mean {c!r}?" for c in close_matches(api, item.apis, 1))
            raise UnknownName("api", api, hint=f"provider {name!r} speaks {', '.join(sorted(item.apis))}{close}")
        target = item.apis[spoken]
        own = base_url or self._own_base_url(item)
        if own is not None and not own.startswith(("http://", "https://")):
            raise UsageError(f"base URL {own!r} is not an http:// or https:// address")
        base_url = own or item.base_url
        api_key = api_key or self.api_key(item)
        if not api_key and item.api_key_env and own is None:
            hint = f"set {' or '.join(item.api_key_env)}, or name another provider with --provider"
            raise UsageError(f"provider {name!r} needs an API key", hint=hint)
        key = (id(entry), spoken, base_url, api_key)
        options = {"provider": entry.name, "base_url": base_url, "api_key": api_key, "headers": dict(item.headers)}
        host = self._required_host()
        with host.lock:
            if key not in self._made:
                made = make(host, "provider", entry, target, host, **options, **item.options)
                self._made[key] = cast("LLMAdapter", made)
            return self._made[key]

    def api_of(self, item: Provider, name: str) -> str | None:
        """Return the api of ``item`` called ``name``, which may be an alias that any provider declares, or ``None``."""
        if name in item.apis:
            return name
        for other in self.items():
            api = other.api_aliases.get(name) if isinstance(other, Provider) else None
            if api in item.apis:
                return api
        return None

    async def refresh(self, adapter: LLMAdapter) -> LLMAdapter | None:
        """Return ``adapter``, whose key was refused, with the secret that ``refresh_secret`` gives in place of the key.

        Return ``None`` if nobody gives another secret, or if the key does not come from the provider's variables.
        """
        made = next((key for key, known in self._made.items() if known is adapter), None)
        entry = next((e for e in self.entries() if made is not None and id(e) == made[0]), None)
        if made is None or entry is None or self._host is None:
            return None
        _, api, base_url, stale = made
        name = self._host.secrets.name_of(stale) if stale else None
        if name not in cast("Provider", entry.item).api_key_env:
            return None
        fresh = await self._host.secrets.refresh(name, stale)
        return self.resolve(entry.address, api, base_url=base_url, api_key=fresh) if fresh else None

    def _required_host(self) -> Host:
        if self._host is None:
            raise UsageError("a registry without a host cannot make adapters", hint="register a finished adapter")
        return self._host

    def _own_base_url(self, item: Provider) -> str | None:
        """Return the endpoint that the user put in place of the provider's. Such an endpoint may need no key."""
        if not item.base_url_env or self._host is None:
            return None
        return self._host.environ.get(item.base_url_env) or None

    async def find(
        self, name: str, api: str | None = None, *, base_url: str | None = None, api_key: str | None = None
    ) -> LLMAdapter:
        """Return an adapter as :meth:`resolve` does, and await async plugins for the key."""
        item = self.entry(name).item
        if api_key is None and isinstance(item, Provider):
            api_key = await self.find_key(item)
        return self.resolve(name, api, base_url=base_url, api_key=api_key)

    def api_key(self, item: Provider) -> str | None:
        """Return the provider's key: the first secret among its variables, ``None`` if no variable and no plugin holds one."""
        if self._host is None:
            return None
        return next((key for name in item.api_key_env if (key := self._host.secret(name))), None)

    async def find_key(self, item: Provider) -> str | None:
        """Return the key as :meth:`api_key` does, and await async plugins."""
        if self._host is None:
            return None
        for name in item.api_key_env:
            if key := await self._host.find_secret(name):
                return key
        return None

    def usable(self, item: Provider) -> bool:
        """Return whether the provider can be asked without further settings."""
        if not item.api_key_env:
            return True
        return self._own_base_url(item) is not None or self.api_key(item) is not None

    async def find_usable(self, item: Provider) -> bool:
        """Return the same as :meth:`usable`, and await async plugins for the key."""
        return not item.api_key_env or self._own_base_url(item) is not None or await self.find_key(item) is not None

    def _ranked(self) -> list[tuple[str, Provider]]:
        """Return the providers that a bare run may choose, best first."""
        entries = [(self.name_of(e), e.item) for e in self.entries() if isinstance(e.item, Provider)]
        return sorted((pair for pair in entries if pair[1].rank is not None), key=lambda pair: pair[1].rank or 0)

    def default(self) -> str | None:
        """Return the provider of a bare run, the usable one with the lowest rank, or ``None``."""
        return next((name for name, item in self._ranked() if self.usable(item)), None)

    async def find_default(self) -> str | None:
        """Return the same as :meth:`default`, and await async plugins for the keys."""
        for name, item in self._ranked():
            if await self.find_usable(item):
                return name
        return None

    def way_out(self) -> str:
        """Return what to do when :meth:`default` finds no provider: which variables to set, best first."""
        keys = " or ".join(item.api_key_env[0] for _, item in self._ranked() if item.api_key_env)
        return f"set {keys}" if keys else "install the plugin of a provider"

    def _forget(self, entry: Entry[Item]) -> None:
        for key in [k for k in self._made if k[0] == id(entry)]:
            del self._made[key]

    def made(self) -> list[LLMAdapter]:
        """Return the adapters that exist already."""
        return list(self._made.values())

    async def close(self) -> None:
        """Close every adapter that this registry made."""
        made, self._made = list(self._made.values()), {}
        for adapter in made:
            await adapter.close()
