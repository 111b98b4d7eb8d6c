"""Indicators: the parts of a front end's status line that plugins bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_core.cli.output import escaped
from skillkit_core.descriptors import Factory, load_object

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["USUAL", "Indicator", "Indicators"]

USUAL = {"mode": "", "activity": "EXECUTE", "network": "NET on"}
"""What the indicators that have a place of their own say where nothing is special, or no plugin brings them."""


@dataclass(frozen=True, slots=True)
class Indicator:
    """A part of the status line.

    Attributes:
        name: ``mode``, ``activity`` and ``network`` have their places; others follow them.
        read: ``(agent) -> str``, or its import string; an empty text shows nothing. It is called often and must be quick.
    """

    name: str
    read: Callable[[AgentRunner], str] | str


class Indicators:
    """Reads the indicators of plugins, for the status line of a front end."""

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self._made: dict[str, tuple[str, Callable[[AgentRunner], str]]] | None = None

    def read(self) -> dict[str, str]:
        """Return what each one says, those of :data:`USUAL` first; one that fails is reported, and not asked again."""
        said = dict(USUAL)
        for name, (source, read) in list(self._all().items()):
            try:
                said[name] = escaped(str(read(self._agent))) or USUAL.get(name, "")
            except Exception as error:  # noqa: BLE001 - a plugin's indicator
                del self._all()[name]
                problem = f"the indicator {name!r} failed: {type(error).__name__}: {error}"
                self._agent.host.note(source, problem)
        return said

    def _all(self) -> dict[str, tuple[str, Callable[[AgentRunner], str]]]:
        if self._made is None:
            self._made, host = {}, self._agent.host
            for entry in host.registry("indicators").entries():
                item = entry.item
                try:
                    made = load_object(item.create)(host) if isinstance(item, Factory) else load_object(item.read)
                    self._made[item.name] = (entry.source, made)
                except Exception as error:  # noqa: BLE001 - a plugin's indicator
                    host.note(entry.source, f"the indicator {item.name!r} is left out: {error}")
        return self._made
