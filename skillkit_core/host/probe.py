"""The seam for tracers: a probe stands between a host and every plugin hook that the host, its agents or their buses call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ..events.bus import EventBus


class HookProbe(Protocol):
    """A probe that :meth:`Host.watch` takes. A probe returns what the call returns, and lets pass what the call raises.

    ``impl`` is pluggy's object, whose ``plugin_name`` and ``function`` name the plugin and its code.
    """

    def hook(self, hook: str, impl: Any, call: Callable[[], Any]) -> Any:
        """Call a host, registration or resolution hook: ``call()`` returns its answer, or an awaitable of the answer.

        The answer of a registration hook is the list of the items that the plugin registered.
        """

    def around(
        self,
        hook: str,
        impl: Any,
        call: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
        call_next: Callable[[], Awaitable[Any]],
    ) -> Awaitable[Any]:
        """Call an around-hook: ``call(call_next)`` runs the hook, with any ``call_next`` that the probe passes."""

    def bus(self, bus: EventBus) -> None:
        """Take note of ``bus``, which calls the lifecycle hooks of an agent. The probe may set ``bus.probe``."""


def called(host: Any, hook: str, impl: Any, call: Callable[[], Any]) -> Any:
    """Return ``call()``, made by the probe of ``host`` if there is one."""
    probe: HookProbe | None = host.probe
    return call() if probe is None else probe.hook(hook, impl, call)
