"""What an agent is told to do: a listener in front of the public methods of one agent, and of the end of its runs."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeAlias

from skillkit_core import AgentRunner

__all__ = ["Directive", "put_before", "watch_directives"]

log = logging.getLogger("skillkit.recorder")
Listener: TypeAlias = Callable[["Directive"], object]
TALKING = ("chat", "chat_stream_events", "resume", "compact", "steer", "follow_up", "next_run", "cancel")
CHANGING = ("set_adapter", "set_model", "switch", "fork", "move_to", "reload")


@dataclass(frozen=True, slots=True)
class Directive:
    """One thing that an agent was told to do.

    Attributes:
        name: The method of :class:`~skillkit_core.AgentRunner`, ``chat`` also for the streaming ones; ``abort`` for all that
            ends a run: a caller, one who stopped listening, the run above.
        arguments: The arguments by the names of the parameters, defaults included.
    """

    name: str
    arguments: Mapping[str, Any]


def watch_directives(agent: AgentRunner, listener: Listener) -> Callable[[], None]:
    """Call ``listener(directive)`` for each directive before it is carried out, in order, on the thread of the caller.

    A listener that fails is logged and changes nothing. What was taken from the agent before, say ``talk = agent.chat``, is
    not heard.

    Returns:
        A function that ends this. Of several listeners the last one must be ended first.
    """

    def tell(name: str, arguments: Mapping[str, Any]) -> None:
        try:
            listener(Directive(name, arguments))
        except Exception as error:  # noqa: BLE001 - a listener has no say in what the agent does
            log.warning("a listener failed on %r: %s: %s", name, type(error).__name__, error)

    def aborts(abort: Callable[..., Any]) -> Callable[..., Any]:
        def told(run: Any, reason: str | None, **options: Any) -> Any:
            if run is agent.scheduler.run and run is not None and not (run.closing or run.signal.aborted):
                tell("abort", {"reason": reason})
            return abort(run, reason, **options)

        return told

    # ``chat_stream`` calls ``chat_stream_events``
    watched = [put_before(agent, n, _teller(n.removesuffix("_stream_events"), tell)) for n in (*TALKING, *CHANGING)]
    watched.append(put_before(agent.scheduler, "abort", aborts))

    def stop() -> None:
        for off in watched:
            off()

    return stop


def put_before(owner: Any, name: str, make: Callable[[Any], Any]) -> Callable[[], None]:
    """Put ``make(method)`` in the place of a method of this one object; return a function that puts the method back."""
    before = vars(owner).get(name)
    setattr(owner, name, make(getattr(owner, name)))

    def off() -> None:
        vars(owner).pop(name, None)
        if before is not None:
            setattr(owner, name, before)

    return off


def _teller(name: str, tell: Callable[[str, Mapping[str, Any]], None]) -> Callable[[Any], Any]:
    """Return what makes of a method one of the same kind that tells when it begins."""

    def make(method: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(method)

        def told(*args: Any, **options: Any) -> None:
            given = signature.bind(*args, **options)
            given.apply_defaults()
            tell(name, given.arguments)

        @functools.wraps(method)
        def plain(*args: Any, **options: Any) -> Any:
            told(*args, **options)
            return method(*args, **options)

        @functools.wraps(method)
        async def waits(*args: Any, **options: Any) -> Any:
            told(*args, **options)
            return await method(*args, **options)

        @functools.wraps(method)
        async def streams(*args: Any, **options: Any) -> Any:
            told(*args, **options)
            async with aclosing(method(*args, **options)) as items:
                async for item in items:
                    yield item

        if inspect.isasyncgenfunction(method):
            return streams
        return waits if inspect.iscoroutinefunction(method) else plain

    return make
