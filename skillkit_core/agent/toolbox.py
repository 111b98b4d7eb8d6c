"""The tools of an agent at this moment: plugins', the agent's own, filtered, sorted, the same tuple for the same set."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..descriptors import load_object
from ..errors import in_words
from ..host.registries import note_unchecked
from ..host.registry import Entry, Registry
from ..tools import Tool, ToolSet
from .part import Part

if TYPE_CHECKING:
    from ..config import AgentConfig
    from .runner import AgentRunner

__all__ = ["Toolbox"]


class Toolbox(Part):
    """Gathers tools. Opt-in tools need to be allowed by name; where two plugins offer one name the first in order wins.

    Attributes:
        own: the tools of this agent alone.
    """

    _key: tuple[Any, ...]

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._host = agent.host
        self._nesting = agent.nesting
        self.own = tuple(agent.config.tools)
        self.configure(agent.config)
        self._factories: dict[int, tuple[ToolSet, Any]] = {}
        self._version = -1
        self._registry: Registry[Any] | None = None  # asked for when it is needed
        self._sets: tuple[Entry[ToolSet], ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._by_name: dict[str, Tool] = {}
        self._sources: dict[str, str | None] = {}
        self._failed: tuple[int, ...] = ()
        self._only: tuple[Any, ...] = ()  # what this agent and its ancestors may offer

    def configure(self, config: AgentConfig) -> None:
        """Take what an agent may offer from its configuration."""
        self._only_own = config.only_tools
        self._allowed = frozenset(config.allow_tools)
        self._key = ()

    def offer(self, tools: Sequence[Tool]) -> None:
        """Offer these tools of this agent alone, and no others of its own."""
        self.own = tuple(tools)

    def add(self, *tools: Tool) -> None:
        """Offer tools of this agent alone, in place of those of the same names."""
        names = {tool.name for tool in tools}
        self.own = (*(tool for tool in self.own if tool.name not in names), *tools)

    def remove(self, names: Collection[str]) -> None:
        """Offer tools of this agent no more."""
        self.own = tuple(tool for tool in self.own if tool.name not in names)

    def _dynamic(self, item: ToolSet, source: str | None) -> tuple[Tool, ...]:
        found = self._factories.get(id(item))
        if found is None:
            found = self._factories[id(item)] = (item, load_object(item.factory))
        try:
            answer = found[1](self._agent)
            return answer if type(answer) is tuple else tuple(answer)
        except Exception as error:  # noqa: BLE001 - a plugin that cannot list its tools now has none now
            if id(item) not in self._failed:
                self._failed = (*self._failed, id(item))
                text = f"tool set {item.name!r} failed: {in_words(error)}"
                self._host.note(source or "application", text, stage="tools")
            return ()

    def tools(self) -> tuple[Tool, ...]:
        """What the model may call now, sorted by name."""
        if self._registry is None:
            self._registry = self._host.tools
        registry = self._registry
        if self._version != registry.version:
            self._version = registry.version
            self._sets = tuple(e for e in registry.entries() if isinstance(e.item, ToolSet))
        dynamic = tuple([self._dynamic(e.item, e.source) for e in self._sets])
        self._only = (self._only_own,) if self._nesting.parent is None else self._nesting.only_tools()
        key = (registry.version, self.own, dynamic, self._only)
        if key != self._key:  # a set that has nothing new gives the same tuple, which compares by identity
            self._build(registry.entries(), dynamic)
            self._key = key
        return self._tools

    def _build(self, entries: Sequence[Entry[Any]], dynamic: Sequence[tuple[Tool, ...]]) -> None:
        answers = iter(dynamic)
        prefer = self._host.tools.prefer
        own = {tool.name for tool in self.own}
        by_name: dict[str, tuple[Tool, str | None]] = {tool.name: (tool, None) for tool in self.own}
        for entry in entries:
            for tool in next(answers) if isinstance(entry.item, ToolSet) else (entry.item,):
                chosen = prefer.get(tool.name) == entry.source and tool.name not in own
                if chosen or tool.name not in by_name:
                    by_name[tool.name] = (tool, entry.source)
        allowed = self._allowed | frozenset(self._host.config.get("tools.allow", ()))
        names = sorted(
            name
            for name, (tool, _) in by_name.items()
            if (not tool.opt_in or name in allowed) and all(only is None or name in only for only in self._only)
        )
        for name in names:
            if self._by_name.get(name) is not by_name[name][0]:
                note_unchecked(self._host, *by_name[name])
        self._by_name = {name: by_name[name][0] for name in names}
        self._sources = {name: by_name[name][1] for name in names}
        self._tools = tuple(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        """The tool that a call of ``name`` means, ``None`` when the model may not have it."""
        self.tools()
        return self._by_name.get(name)

    def permits(self, name: str) -> bool:
        """Return whether ``only_tools`` of the agent, and of the runs that it is a part of, let a tool be offered."""
        self.tools()
        return all(only is None or name in only for only in self._only)

    def source(self, name: str) -> str | None:
        """The plugin that brought the tool."""
        return self._sources.get(name)
