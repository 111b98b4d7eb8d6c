"""Which provider answers: the choice that families of providers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["chosen_provider", "provider_addresses"]

__version__ = "0.2.0"


async def chosen_provider(host: Host, kind: str, setting: str, what: str) -> Any:
    """Return the provider that a setting names, once nothing is missing for it (``await provider.usable()``).

    Args:
        host: the host.
        kind: the registry of the providers, such as ``weather_providers``.
        setting: the key whose value is the name of one, such as ``weather.provider``.
        what: what one of them is called in an error, with its article: ``a weather provider``.

    Raises:
        ToolError: none is named, there is none of that name, or something is missing for it.
    """
    registry, name = host.registry(kind), _named(host, setting)
    known = ", ".join(registry.list())
    if name is None:
        raise ToolError(f"needs {setting} in the configuration, one of: {known}")
    if name not in registry.list():
        raise ToolError(f"needs {what} {name!r}, which no plugin brings; {setting} is one of: {known}")
    provider = registry.get(name)
    if (lacks := await provider.usable()) is not None:
        raise ToolError(f"{name} {lacks}")
    return provider


def provider_addresses(host: Host, kind: str, setting: str) -> tuple[str, ...]:
    """Return the addresses that the provider named by a setting asks, which guards judge; none where it asks nobody."""
    name = _named(host, setting)
    return tuple(host.registry(kind).get(name).addresses) if name in host.registry(kind).list() else ()


def _named(host: Host, setting: str) -> str | None:
    section, _, field = setting.rpartition(".")
    config = host.config.section(section, None)
    name: str | None = getattr(config, field, None)
    return name
