"""The leader key at work: its overlay, the key that follows it, and what that does."""

from __future__ import annotations

from typing import Protocol

from rich.text import Text
from skillkit_frontend import Conversation
from textual.widgets import Static

from skillkit_core import SkillKitError
from skillkit_core.cli.output import escaped
from skillkit_core.descriptors import load_object

from .chords import Chord, Front, Leader, Missing, bound

__all__ = ["Leading"]

_OWN = (
    Chord("clear", "c", "clear the screen", "/clear"),
    Chord("agents", "a", "agents", "/agents"),
    Chord("help", "?", "all keys", "/help"),
)


class Telling(Front, Protocol):
    """The terminal UI, as a chord needs it besides its handler."""

    talk: Conversation

    def hint(self, text: str) -> None:
        """Show a few words in the status line for a while."""

    def tell(self, text: str, *, error: bool = False) -> None:
        """Add a line to the conversation, and go there."""


class Leading(Static):
    """The overlay with the keys that may follow."""

    DEFAULT_CSS = """
    Leading { layer: overlay; display: none; width: auto; max-width: 90%; height: auto; border: round $primary; padding: 0 1;
              background: $background; }
    """

    def __init__(self, front: Telling, timeout: float) -> None:
        super().__init__()
        self._front, self._leader = front, Leader(timeout)
        self._keys: dict[str, Chord | Missing] = {}

    @property
    def waiting(self) -> bool:
        """Whether the next key is a chord's."""
        return self._leader.waiting

    def bound(self) -> dict[str, Chord | Missing]:
        """Return what each key does now."""
        commands = self._front.talk.commands
        return bound(self._front.agent.host, {c.key: c for c in _OWN}, lambda: {c.name for c in commands.all()})

    def begin(self, now: float) -> None:
        """Wait for the key that follows."""
        self._keys = self.bound()
        shown = Text.assemble(("Space", "bold"))
        for key, does in sorted(self._keys.items(), key=lambda item: (not item[0].isalnum(), item[0])):
            missing = isinstance(does, Missing)
            shown.append("\n ").append(key, "dim" if missing else "bold cyan").append("  ")
            shown.append(does.help, "dim" if missing else "")
            shown.append(f"  {does.needs}" if isinstance(does, Missing) else "", "dim")
        self.update(shown)
        self._leader.begin(now)

    def pass_time(self, now: float) -> None:
        """Show the keys, or forget that the leader key was pressed."""
        if self._leader.expired(now):
            self._front.hint("no key followed Space")
        overlay = self._leader.overlay(now)
        if self.display != overlay:
            self.display = overlay

    def cancel(self) -> None:
        """Forget that the leader key was pressed."""
        self._leader.cancel()

    def press(self, key: str, character: str) -> None:
        """Do what the key that follows means."""
        found = self._leader.press(character or key, self._keys)
        if found is None:
            self._front.hint("" if key == "escape" else f"Space {escaped(character or key)} does nothing")
        elif isinstance(found, Missing):
            self._front.tell(found.text)
        else:
            self._front.talk.spawn(self._play(found))

    async def _play(self, chord: Chord) -> None:
        try:
            if isinstance(chord.handler, str) and chord.handler.startswith("/"):
                await self._front.talk.enter(chord.handler, typed=False)
                return
            answer = await load_object(chord.handler)(self._front)
        except Exception as error:  # noqa: BLE001 - a plugin's chord
            kind = "" if isinstance(error, SkillKitError) else f"{type(error).__name__}: "
            self._front.tell(f"Space {chord.key}: {kind}{' '.join(str(error).split())}", error=True)
            return
        if answer:
            self._front.tell(str(answer))
