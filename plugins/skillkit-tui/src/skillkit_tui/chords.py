"""The leader key: which keys follow it, who provides them, and when the overlay shows and the wait is over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from skillkit_core import UsageError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, UserInterface

__all__ = ["OVERLAY_AFTER", "TIMEOUT", "Chord", "Front", "Leader", "Missing", "bound"]

OVERLAY_AFTER = 0.2
"""Seconds after the leader key until its keys are shown."""
TIMEOUT = 1.0
"""Seconds after the leader key until it is forgotten."""


class Front(Protocol):
    """The terminal UI, as the handler of a chord sees it."""

    @property
    def agent(self) -> AgentRunner:
        """The agent of the conversation."""

    @property
    def ui(self) -> UserInterface:
        """How a person is asked and told."""

    async def command(self, line: str) -> None:
        """Run a line that a person could have typed: ``/plan``."""

    async def edit(self, path: Path) -> None:
        """Open a file in ``$VISUAL`` or ``$EDITOR``, and return when the editor has ended."""


Handler: TypeAlias = Callable[[Front], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Chord:
    """What a key after the leader key does.

    Attributes:
        name: unique among the chords of a plugin.
        key: one character.
        help: a few words.
        handler: ``async (front) -> str | None``, its import string, or a slash command (``"/plan"``) that is run.
            A str is shown to the person.

    Raises:
        UsageError: the key is not one character that can be seen, or there is no help.
    """

    name: str
    key: str
    help: str
    handler: Handler | str

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or len(self.key) != 1 or not self.key.isprintable() or self.key == " ":
            raise UsageError(f"chord {self.name!r}: the key must be one character that can be seen")
        if not isinstance(self.help, str) or not self.help.strip() or "\n" in self.help:
            raise UsageError(f"chord {self.name!r}: help must be one line")
        if not callable(self.handler) and not str(self.handler).startswith("/") and ":" not in str(self.handler):
            raise UsageError(f"chord {self.name!r}: handler must be a function, 'module:function' or '/command'")


@dataclass(frozen=True, slots=True)
class Missing:
    """A key whose provider is not there.

    Attributes:
        key: the key.
        help: what it would do.
        command: the slash command that does it, without the slash.
        plugin: the distribution that brings it.
    """

    key: str
    help: str
    command: str
    plugin: str

    @property
    def needs(self) -> str:
        """What is missing."""
        return f"needs {self.plugin}"

    @property
    def text(self) -> str:
        """What is missing, and what to do."""
        return f"{self.help}: no plugin brings /{self.command} (pip install {self.plugin})"


EXPECTED = (
    Missing("n", "network on or off", "network", "skillkit-sandbox"),
    Missing("p", "plan", "plan", "skillkit-planning"),
    Missing("x", "execute the plan", "exec", "skillkit-planning"),
    Missing("e", "edit the plan", "edit-plan", "skillkit-planning"),
)
"""Keys with a fixed meaning, which other plugins provide: as a chord, else as a slash command of that name."""


def bound(host: Host, own: Mapping[str, Chord], commands: Callable[[], set[str]]) -> dict[str, Chord | Missing]:
    """Return what each key does now: the UI's own, then those of plugins in their order, then the expected ones.

    Args:
        own: the UI's chords by key, which no plugin takes.
        commands: the names of the slash commands there are.
    """
    keys: dict[str, Chord | Missing] = dict(own)
    for entry in host.registry("chords").entries():
        chord = entry.item
        held = keys.setdefault(chord.key, chord)
        if held is not chord:
            host.note(entry.source, f"chord {chord.name!r} is left out: key {chord.key!r} does {held.help!r}")
    open_ = [missing for missing in EXPECTED if missing.key not in keys]
    known = commands() if open_ else set()
    for missing in open_:
        there = missing.command in known
        keys[missing.key] = (
            Chord(missing.command, missing.key, missing.help, f"/{missing.command}") if there else missing
        )
    return keys


class Leader:
    """The state of the leader key: idle, or waiting for the key that follows, ``timeout`` seconds of any clock."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._began: float | None = None

    @property
    def waiting(self) -> bool:
        """Whether the next key is a chord's."""
        return self._began is not None

    def begin(self, now: float) -> None:
        """Wait for a key."""
        self._began = now

    def overlay(self, now: float) -> bool:
        """Return whether the keys are shown."""
        return self._began is not None and now - self._began >= OVERLAY_AFTER

    def expired(self, now: float) -> bool:
        """Return whether the wait is over; if so it ends."""
        if self._began is None or now - self._began < self._timeout:
            return False
        self.cancel()
        return True

    def press(self, key: str, keys: Mapping[str, Any]) -> Any:
        """Take the key that follows; return what ``keys`` has for it, ``None``: nothing. The wait ends."""
        self.cancel()
        return keys.get(key)

    def cancel(self) -> None:
        """End the wait."""
        self._began = None
