"""The around-hooks: ``wrap_model_call`` and ``wrap_tool_call``, the first one outermost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import PluginError

if TYPE_CHECKING:
    from ..host.manager import Host

__all__ = ["AroundHooks", "wrapped"]


class AroundHooks:
    """Prepares the implementations of the around-hooks once for each set of plugins."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._found: dict[str, tuple[Any, ...]] = {}
        self._found_for = -1

    def of(self, hook: str) -> tuple[Any, ...]:
        """Return the implementations of ``wrap_model_call`` or ``wrap_tool_call``, outermost first."""
        if self._host.generation != self._found_for:
            self._found_for, self._found = self._host.generation, {}
        found = self._found.get(hook)
        if found is None:
            found = self._found[hook] = tuple(_positional(self._host, hook, impl) for impl in self._host.impls(hook))
        return found


def _positional(host: Host, hook: str, impl: Any) -> Any:
    """Return a pluggy implementation as a function of ``(subject, call_next, ctx)``."""
    names = tuple(impl.argnames)

    async def call(subject: Any, call_next: Any, ctx: Any) -> Any:
        if hook == "wrap_tool_call":
            call_next = _once(impl, call_next)
        given = {"request": subject, "call": subject, "call_next": call_next, "ctx": ctx}
        if host.probe is None:
            return await impl.function(**{n: given[n] for n in names})

        def body(inner: Any) -> Any:
            return impl.function(**{n: inner if n == "call_next" else given[n] for n in names})

        return await host.probe.around(hook, impl, body, call_next)

    return call


def _once(impl: Any, inner: Callable[[], Any]) -> Callable[[], Any]:
    """Return ``inner`` as a function that refuses a second call: the guards agreed to one execution of the tool."""
    left = [inner]

    def call_next() -> Any:
        if left:
            return left.pop()()
        raise PluginError("wrap_tool_call called call_next() twice", where=f"plugin {impl.plugin_name!r}")

    return call_next


def wrapped(hooks: Sequence[Any], subject: Any, body: Callable[[], Any], ctx: Any) -> Callable[[], Any]:
    """Return ``body`` inside the hooks. No hook can change what the guards saw: ``call_next`` takes no arguments."""
    call = body
    for hook in reversed(hooks):
        call = partial(hook, subject, call, ctx)
    return call
