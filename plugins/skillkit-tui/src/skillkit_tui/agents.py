"""The tree of agents: those that work below this one, and sessions of earlier ones; each can be read, none can be talked to."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text
from skillkit_frontend import Block, Log, replay
from textual import events
from textual.binding import Binding
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from skillkit_core import Session, SkillKitError
from skillkit_core.cli.output import escaped, shorten

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["Agents", "children", "read_session"]

_LISTED = 200  # sessions, the newest ones
_STATES = {
    "running": ("◐", "yellow"), "completed": ("●", "green"), "aborted": ("✗", "yellow"), "failed": ("✗", "red"),
    "limit": ("●", "yellow"), "suspended": ("?", "yellow"),
}  # fmt: skip


async def children(host: Host, session_id: str, known: Iterable[str | None]) -> list[tuple[str, str]]:
    """Return id and title of the kept sessions of agents below that of ``session_id``, without those that are ``known``."""
    if not host.session_stores.list():
        return []
    rows, seen = await host.session_store().list(limit=_LISTED), set(known)
    below = [row for row in rows if row.get("nested") and row.get("parent_session") == session_id]
    return [(str(row["id"]), str(row.get("title") or row["id"])) for row in below if row["id"] not in seen]


async def read_session(host: Host, session_id: str) -> list[Block]:
    """Return the blocks of a kept session, which is only read."""
    try:
        session = await Session.open(host.session_store(), session_id, time.time, read_only=True)
    except SkillKitError as error:
        return [Block("error", str(error))]
    try:
        return replay(session, host.redact)
    finally:
        await session.close()


class Agents(OptionList):
    """The tree, at the side: Enter reads an agent's work, Esc goes back.

    Args:
        agent: the agent at the root.
        redraw: draws the UI again.
        back: hides the tree, and goes where the person was.
    """

    DEFAULT_CSS = """
    Agents { display: none; width: 33%; min-width: 34; max-width: 50%; height: 1fr; border: none;
             border-left: solid $primary; padding: 0 1; background: $background; }
    Agents:focus { background: $background; border: none; border-left: solid $primary; }
    Agents > .option-list--option-highlighted { color: $foreground; background: $panel; text-style: bold; }
    Agents:focus > .option-list--option-highlighted { color: $foreground; background: $panel; text-style: bold; }
    Agents:ansi > .option-list--option-highlighted { color: $block-cursor-foreground; background: $block-cursor-background; }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual has it
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def __init__(self, agent: AgentRunner, redraw: Callable[[], None], back: Callable[[], None]) -> None:
        super().__init__(markup=False, compact=True)
        self._agent, self._redraw, self._back = agent, redraw, back
        self._shown: list[Any] = []
        self.kept: list[tuple[str, str]] = []

    async def open(self, logs: Collection[Log]) -> None:
        """Show the agents and the sessions of earlier ones, and take the focus."""
        session_id = self._agent.session_id
        if session_id is not None:
            self.kept = await children(self._agent.host, session_id, [log.session_id for log in logs])
        self.display = True
        self.draw(logs)
        self.screen.set_focus(self)

    def draw(self, logs: Iterable[Log]) -> None:
        """Show the agents as they are now."""
        rows: list[tuple[str, Text]] = []
        room = max(30, self.size.width - 1)
        for log in logs:
            mark, style = _STATES.get(log.state, ("○", "dim"))
            depth = len(log.path) - 1
            lead = "  " * (depth - 1) + "└ " if depth else ""
            name = escaped(log.path[-1]) + (f": {log.task}" if log.task else "")
            told = log.doing or log.state
            text = Text.assemble(lead, (f"{mark} ", style), shorten(name, room - 2 - len(lead)), no_wrap=True)
            if told or log.tokens:
                text.append(f"\n{' ' * len(lead)}  {shorten(told, room - 12)} {log.tokens:,} tokens".rstrip(), "dim")
            rows.append(("/".join(log.path), text))
        if self.kept:
            rows.append(("", Text("kept sessions", "bold")))
        for session_id, title in self.kept:
            rows.append((f"session:{session_id}", Text(shorten(escaped(title), room), no_wrap=True)))
        now = [(name, text.plain) for name, text in rows]
        if now == self._shown:
            return
        self._shown = now
        at = self.highlighted
        self.clear_options()
        self.add_options([Option(text, id=name or None, disabled=not name) for name, text in rows])
        if rows:
            self.highlighted = min(at or 0, len(rows) - 1)

    def on_resize(self) -> None:
        """Use the new width."""
        self._redraw()

    def on_key(self, event: events.Key) -> None:
        """Go back with Esc."""
        if event.key in ("escape", "q"):
            self._back()
            event.stop()
            event.prevent_default()
