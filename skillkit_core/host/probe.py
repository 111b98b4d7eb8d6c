"""The seam for tracers: what stands between a host and every hook of a plugin that it, its agents and their buses call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..events.bus import EventBus


class HookProbe(Protocol):
    """What :meth:`Host.watch` takes. ``impl`` is pluggy's: ``impl.plugin_name`` and ``impl.function`` say whose it is.

    A probe gives what the call gives and lets pass what it raises.
    """

    def hook(self, hook: str, impl: Any, call: Callable[[], Any]) -> Any:
        """A host, registration or resolution hook is called: ``call()`` gives its answer, or an awaitable of one.

        That of a registration hook is the list of what the plugin registered in it.
        """

    def around(
        self,
        hook: str,
        impl: Any,
        call: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
        call_next: Callable[[], Awaitable[Any]],
    ) -> Awaitable[Any]:
        """An around-hook is called: ``call(call_next)`` runs it, with whatever is handed to it as its ``call_next``."""

    def bus(self, bus: EventBus) -> None:
        """``bus`` calls the lifecycle hooks of an agent; it may get a probe of its own (``bus.probe``)."""


def called(host: Any, hook: str, impl: Any, call: Callable[[], Any]) -> Any:
    """``call()``, through the probe of ``host`` if it is watched."""
    probe: HookProbe | None = host.probe
    return call() if probe is None else probe.hook(hook, impl, call)
