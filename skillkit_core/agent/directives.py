"""What an agent is told to do, for whoever keeps a record of it: an audit log, a recorder, a front end in another process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..containment import in_words
from ..frozen import EMPTY

__all__ = ["Directive", "Directives"]

log = logging.getLogger("skillkit.agent")
Listener: TypeAlias = Callable[["Directive"], object]


@dataclass(frozen=True, slots=True)
class Directive:
    """One thing that an agent was told to do.

    Attributes:
        name: the method of :class:`~skillkit_core.AgentRunner`: ``chat`` (also for the streaming ones), ``resume``,
            ``compact``, ``steer``, ``follow_up``, ``next_run``, ``cancel``, ``abort``, ``set_adapter``, ``set_model``,
            ``add_tool``, ``switch``, ``fork``, ``move_to``, ``reload``.
        arguments: what it was called with, by the names of its parameters.
    """

    name: str
    arguments: Mapping[str, Any] = EMPTY


class Directives:
    """Tells listeners of every directive of one agent, in the order in which they come, before it is carried out.

    An ``abort`` is told when it ends a run, whoever asked for it: the caller, one who stopped listening, the run above.
    """

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(directive)`` on the thread of whoever tells the agent; gives a function to stop that."""
        self._listeners = (*self._listeners, listener)

        def stop() -> None:
            self._listeners = tuple(known for known in self._listeners if known is not listener)

        return stop

    def tell(self, name: str, **arguments: Any) -> None:
        """Tell the listeners; one that fails is logged and changes nothing."""
        for listener in self._listeners:
            try:
                listener(Directive(name, arguments))
            except Exception as error:  # noqa: BLE001 - who only listens has no say
                log.warning("a listener failed on %r: %s", name, in_words(error))
