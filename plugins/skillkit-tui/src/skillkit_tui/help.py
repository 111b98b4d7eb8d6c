"""What ``/help`` says: the keys of each mode, those behind the leader key, and the commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .chords import Chord, Missing

if TYPE_CHECKING:
    from skillkit_commands import SlashCommand

__all__ = ["OWN", "help_text"]

OWN = {
    "agents": "Show the agents below this one.",
    "clear": "Clear the screen; the session is kept.",
    "help": "Show commands and keys.",
    "quit": "Leave; the session is kept.",
}
"""The commands of the UI itself."""
_KEYS = (
    ("INSERT", "Enter", "send, also into a run that goes on"),
    ("", "Alt-Enter Ctrl-J \\ Enter", "a new line"),
    ("", "Tab, Up, Down", "complete /commands and @files; history"),
    ("", "!command", "a shell line; the model reads it"),
    ("", "Ctrl-O", "open a long paste"),
    ("", "Alt-Up", "take back what waits for the model"),
    ("", "Esc", "mode NORMAL"),
    ("NORMAL", "j k, Ctrl-D Ctrl-U, g G", "scroll"),
    ("", "[ ]", "focus a block"),
    ("", "Enter, Space", "open or close the block"),
    ("", "Space", "leader, where no block has the focus"),
    ("", "i  :  /", "type; a command; a slash command"),
    ("", "Esc", "drop the focus; interrupt the run"),
    ("always", "PgUp, PgDn", "scroll"),
    ("", "Shift-Tab", "the next mode of permissions"),
    ("", "Ctrl-C", "interrupt; twice: leave"),
    ("", "Ctrl-D", "leave, where nothing is typed"),
)


def help_text(chords: Mapping[str, Chord | Missing], commands: Iterable[SlashCommand]) -> str:
    """Return the text, with what keys do behind the leader key now and the commands that there are."""
    rows = [(f"/{name}", told) for name, told in OWN.items()]
    rows += [(f"/{c.name} {c.arguments}".rstrip(), c.help) for c in commands]
    wide = min(30, max(len(name) for name, _ in rows))
    leading = [
        ("", f"Space {key}", does.help + (f" ({does.needs})" if isinstance(does, Missing) else ""))
        for key, does in sorted(chords.items())
    ]
    keys, behind = ("\n".join(f"{mode:<7} {key:<25}{told}" for mode, key, told in part) for part in (_KEYS, leading))
    known = "\n".join(f"{name:<{wide}}  {told}" for name, told in sorted(rows))
    return f"Keys\n{keys}\nleader\n{behind}\n\nCommands\n{known}"
