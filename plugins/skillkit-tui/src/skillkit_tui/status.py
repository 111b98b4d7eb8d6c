"""The status line: mode, activity, tokens from the session's books, network; then model, cost, context, title."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.text import Text
from skillkit_commands import context_tokens

from skillkit_core import TokenUsage
from skillkit_core.cli.output import escaped
from skillkit_core.descriptors import Factory, load_object
from skillkit_core.models import BUCKETS

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["Status", "counted"]

_MODES = {
    "INSERT": "green",
    "NORMAL": "blue",
    "COMMAND": "magenta",
    "ASK": "yellow",
    "LEADER": "cyan",
    "REPLAY": "cyan",
}


def counted(used: TokenUsage) -> str:
    """Return tokens as ``i:1234(c:800) o:567``: in with those that came from a cache, and out."""
    cached = f"(c:{used.cache_read})" if used.cache_read else ""
    return f"i:{used.input + used.cache_read + used.cache_write}{cached} o:{used.output + used.reasoning}"


def _less(all_: TokenUsage, before: TokenUsage) -> TokenUsage:
    """Return what was used since ``before``."""
    return TokenUsage(**{name: getattr(all_, name) - getattr(before, name) for name in BUCKETS})


class Status:
    """Reads the books of an agent's session.

    Attributes:
        title: what the session is called.
    """

    def __init__(self, agent: AgentRunner) -> None:
        self._agent = agent
        self.title = ""
        self._before = TokenUsage()
        self._context = (-1, 0)
        self._indicators: dict[str, Callable[[AgentRunner], str]] | None = None

    def begin(self) -> None:
        """Take over another session."""
        session = self._agent.open_session
        entries = session.entries if session is not None else ()
        titles = [e.data.get("title") for e in entries if e.type == "session_info"]
        self.title = next((str(title) for title in reversed(titles) if title), "")
        self.begin_turn()

    def begin_turn(self) -> None:
        """Count from here what the turn uses."""
        self._before = self.total

    @property
    def total(self) -> TokenUsage:
        """What the session used."""
        session = self._agent.open_session
        return session.usage if session is not None else TokenUsage()

    @property
    def turn(self) -> TokenUsage:
        """What was used since the person said something last."""
        return _less(self.total, self._before)

    def _read(self) -> dict[str, str]:
        """Return what the indicators of plugins say; one that fails is reported, and not asked again."""
        host = self._agent.host
        if self._indicators is None:
            self._indicators = {}
            for entry in host.registry("indicators").entries():
                item = entry.item
                try:
                    made = load_object(item.create)(host) if isinstance(item, Factory) else load_object(item.read)
                    self._indicators[item.name] = made
                except Exception as error:  # noqa: BLE001 - a plugin's indicator
                    host.note(entry.source, f"the indicator {entry.item.name!r} is left out: {error}")
        said: dict[str, str] = {}
        for name, read in list(self._indicators.items()):
            try:
                said[name] = escaped(str(read(self._agent)))
            except Exception as error:  # noqa: BLE001 - a plugin's indicator
                del self._indicators[name]
                host.note("tui", f"the indicator {name!r} failed: {type(error).__name__}: {error}")
        return said

    def _context_part(self) -> str:
        session, target = self._agent.open_session, self._agent.target
        if session is None:
            return ""
        entries = len(session.entries)
        if self._context[0] != entries:
            self._context = (entries, context_tokens(self._agent))
        window, used = (target.model.context_window if target is not None else 0), self._context[1]
        if not used:
            return ""
        return f"{used / window:.0%} of {window // 1000}k" if window else f"context {used:,}"

    def line(self, mode: str, hint: str, width: int) -> Text:
        """Return the line; on a narrow terminal the last parts are left out."""
        told = self._read()
        agent, said = self._agent, Text(no_wrap=True)
        said.append(f"[{mode}]", f"bold {_MODES.get(mode, 'cyan')}").append(" ")
        said.append(f"[{told.pop('activity', '') or 'EXECUTE'}]", "bold").append(" ")
        said.append(f"[{counted(self.turn)} | {counted(self.total)}]").append(" ")
        network = told.pop("network", "") or "NET on"
        said.append(f"[{network}]", "red" if network.endswith("off") else "green")
        if hint:
            said.append(f" {hint}", "yellow")
        session, choice = agent.open_session, agent.config
        named: Any = choice.model if isinstance(choice.model, str) or choice.model is None else choice.model.id
        model = agent.target.model.id if agent.target is not None else named or choice.provider or "no model yet"
        cost = session.cost if session is not None else 0.0
        parts = [escaped(str(model)), f"${cost:.4f}" if cost else "", *told.values(), self._context_part()]
        parts.append(escaped(self.title))
        for number, part in enumerate(part for part in parts if part):
            sep = "  " if not number else " · "
            if said.cell_len + len(sep) + len(part) > width:
                room = width - said.cell_len - len(sep)
                if room >= 8:
                    said.append(f"{sep}{part[: room - 1]}…", "dim")
                break
            said.append(sep + part, "dim" if number else "")
        said.truncate(width, overflow="ellipsis")
        return said
