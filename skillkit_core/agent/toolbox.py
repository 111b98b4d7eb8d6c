"""The tools of an agent at this moment: plugins', the agent's own, filtered, sorted, the same tuple for the same set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..containment import in_words
from ..descriptors import load_object
from ..host.registries import note_unchecked
from ..registry import Entry
from ..tools import Tool, ToolSet
from .part import Part

if TYPE_CHECKING:
    from .runner import AgentRunner

__all__ = ["Toolbox"]


class Toolbox(Part):
    """Gathers tools. Opt-in tools need to be allowed by name; where two plugins offer one name the first in order wins."""

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._factories: dict[int, tuple[ToolSet, Any]] = {}
        self._version = -1
        self._sets: tuple[Entry[ToolSet], ...] = ()
        self._key: tuple[Any, ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._by_name: dict[str, Tool] = {}
        self._sources: dict[str, str | None] = {}
        self._failed: tuple[int, ...] = ()
        self._only: tuple[Any, ...] = ()  # what this agent and its ancestors may offer

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
                self._agent.host.note(source or "application", text, stage="tools")
            return ()

    def tools(self) -> tuple[Tool, ...]:
        """What the model may call now, sorted by name."""
        agent = self._agent
        registry = agent.host.tools
        if self._version != registry.version:
            self._version = registry.version
            self._sets = tuple(e for e in registry.entries() if isinstance(e.item, ToolSet))
        dynamic = tuple([self._dynamic(e.item, e.source) for e in self._sets])
        self._only = tuple(a.config.only_tools for a in agent.nesting.ancestors() if a.config.only_tools is not None)
        key = (registry.version, agent.own_tools, dynamic, self._only)
        if key != self._key:  # a set that has nothing new gives the same tuple, which compares by identity
            self._build(registry.entries(), dynamic)
            self._key = key
        return self._tools

    def _build(self, entries: Sequence[Entry[Any]], dynamic: Sequence[tuple[Tool, ...]]) -> None:
        answers = iter(dynamic)
        config = self._agent.config
        prefer = self._agent.host.tools.prefer
        own = {tool.name for tool in self._agent.own_tools}
        by_name: dict[str, tuple[Tool, str | None]] = {tool.name: (tool, None) for tool in self._agent.own_tools}
        for entry in entries:
            for tool in next(answers) if isinstance(entry.item, ToolSet) else (entry.item,):
                chosen = prefer.get(tool.name) == entry.source and tool.name not in own
                if chosen or tool.name not in by_name:
                    by_name[tool.name] = (tool, entry.source)
        allowed = frozenset(config.allow_tools) | frozenset(self._agent.host.config.get("tools.allow", ()))
        names = sorted(
            name
            for name, (tool, _) in by_name.items()
            if (not tool.opt_in or name in allowed) and all(name in only for only in self._only)
        )
        for name in names:
            if self._by_name.get(name) is not by_name[name][0]:
                note_unchecked(self._agent.host, *by_name[name])
        self._by_name = {name: by_name[name][0] for name in names}
        self._sources = {name: by_name[name][1] for name in names}
        self._tools = tuple(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        """The tool that a call of ``name`` means, ``None`` when the model may not have it."""
        self.tools()
        return self._by_name.get(name)

    def source(self, name: str) -> str | None:
        """The plugin that brought the tool."""
        return self._sources.get(name)
