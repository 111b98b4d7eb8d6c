"""The plugin ``isolation``: it loads plugins in processes of their own for the host, and ends these with the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import ConfigSection

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.host.discovery import EntryPoint
    from skillkit_core.host.manifest import Manifest

NAME = "isolation"
SECONDS = 4.0  # for the end of a plugin; the host gives five to all hooks of one


def load_isolated(entry: EntryPoint, manifest: Manifest | None, host: Host, seconds: float) -> Any:
    """Load a plugin in a process of its own, for the host; return what the host registers in its place."""
    from .loading import load

    return load(entry, manifest, host, seconds)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``isolation``."""
    register(ConfigSection(NAME, "skillkit_isolation.config:IsolationConfig"))


def _plugins(host: Host) -> list[Any]:
    return list(host.state(NAME).get("plugins", {}).values())


@hookimpl
def host_configure(host: Host) -> None:
    """Tell the processes what has changed."""
    for plugin in _plugins(host):
        plugin.configure()


@hookimpl
async def host_closing(host: Host) -> None:
    """End the processes, after what their plugins do at the end."""
    if plugins := _plugins(host):
        import asyncio

        await asyncio.gather(*(plugin.aclose(SECONDS) for plugin in plugins), return_exceptions=True)


@hookimpl
def host_shutdown(host: Host) -> None:
    """End the processes, of a host that could not wait for it."""
    for plugin in _plugins(host):
        plugin.close(SECONDS / len(_plugins(host)))
