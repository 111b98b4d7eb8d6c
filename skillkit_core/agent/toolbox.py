"""The tools that an agent offers now, of plugins and of the agent, filtered and sorted by name, and where they run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..descriptors import load_object
from ..errors import in_words
from ..host.registries import note_unchecked
from ..host.registry import Entry, Registry
from ..tools import Tool, ToolSet
from .part import Part

if TYPE_CHECKING:
    from ..config import AgentConfig
    from ..contracts.tool_executor import ToolExecutor
    from .runner import AgentRunner

__all__ = ["Toolbox"]


class Toolbox(Part):
    """Collects the tools of an agent.

    An opt-in tool must be allowed by its name, or a tool set offers it.
    Of two plugins' tools with one name, the first in order is offered.

    Attributes:
        own: the tools of this agent alone.
        offered: what :meth:`tools` returned last.
    """

    def __init__(self, agent: AgentRunner) -> None:
        super().__init__(agent)
        self._host = agent.host
        self._nesting = agent.nesting
        self.own = tuple(agent.config.tools)
        self.configure(agent.config)
        self._executor: tuple[int, ToolExecutor | None] = (-1, None)
        self._factories: dict[int, tuple[ToolSet, Any]] = {}
        self._asked_for: tuple[Any, ...] | None = None  # what lasting answers of tool sets belong to
        self._version = -1
        self._registry: Registry[Any] | None = None
        self._entries: Sequence[Entry[Any]] = ()
        self._sets: tuple[Entry[ToolSet], ...] = ()
        self._answers: tuple[tuple[Tool, ...], ...] = ()
        self.offered: tuple[Tool, ...] = ()
        self._sources: dict[str, str | None] = {}
        self._failed: tuple[int, ...] = ()
        self._only: tuple[Collection[str] | None, ...] = ()

    def configure(self, config: AgentConfig) -> None:
        """Set the tools that the agent may offer from ``only_tools`` of ``config``."""
        self._only_own = config.only_tools
        self._key: tuple[Any, ...] = ()
        self._by_name: dict[str, Tool] = {}

    def offer(self, tools: Sequence[Tool]) -> None:
        """Replace the tools of this agent alone."""
        self.own, self._by_name = tuple(tools), {}

    async def executor(self) -> ToolExecutor | None:
        """Return the configured executor, else that of the host's current plugins; ``None``: tools run in this process."""
        if self._agent.config.executor is not None:
            return self._agent.config.executor
        generation, found = self._executor
        if generation != self._host.generation:
            found = await self._host.find_executor()
            self._executor = self._host.generation, found
        return found

    def _dynamic(self, item: ToolSet, source: str | None) -> tuple[Tool, ...]:
        found = self._factories.get(id(item))
        if found is None:
            found = self._factories[id(item)] = (item, load_object(item.factory))
        try:
            return tuple(found[1](self._agent))
        except Exception as error:  # noqa: BLE001 - a tool set that fails offers no tool and is reported
            if id(item) not in self._failed:
                self._failed = (*self._failed, id(item))
                text = f"tool set {item.name!r} failed: {in_words(error)}"
                self._host.note(source or "application", text, stage="tools")
            return ()

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools that the model may call now, sorted by name; the same tuple for an unchanged set."""
        if self._registry is None:
            self._registry = self._host.tools
        if self._version != self._registry.version:
            self._version, self._entries = self._registry.version, self._registry.entries()
            self._sets = tuple(e for e in self._entries if isinstance(e.item, ToolSet))
            self._answers, self._asked_for = (), None
        if self._sets:
            self._answers = self._ask_sets()
        self._only = (self._only_own,) if self._nesting.parent is None else self._nesting.only_tools()
        key = (self._version, self.own, self._answers, self._only)
        if key != self._key:
            self._build()
            self._key = key
        return self.offered

    def _ask_sets(self) -> tuple[tuple[Tool, ...], ...]:
        agent = self._agent
        now = (agent.events.run_id, agent.events.session_id, agent.target, agent.ui)
        # between runs people change settings, rules and skills
        kept = self._answers if now == self._asked_for and now[0] is not None else [None] * len(self._sets)
        self._asked_for = now
        return tuple(
            [
                answer if answer is not None and entry.item.lasting else self._dynamic(entry.item, entry.source)
                for entry, answer in zip(self._sets, kept, strict=True)
            ]
        )

    def changed(self) -> None:
        """Ask the lasting tool sets again before the next request. A set whose answer does not last says so while it is asked."""
        self._asked_for = None

    def of_plugins(self) -> Iterator[tuple[Tool, str | None]]:
        """Yield what plugins had at the last :meth:`tools`, offered or not, each tool with its plugin."""
        answers = iter(self._answers)
        for entry in self._entries:
            for tool in next(answers) if isinstance(entry.item, ToolSet) else (entry.item,):
                yield tool, entry.source

    def _build(self) -> None:
        prefer = self._host.tools.prefer
        allowed = frozenset(self._host.config.get("tools.allow", ()))
        limits = [only for only in self._only if only is not None]
        own = {tool.name for tool in self.own}
        by_name: dict[str, tuple[Tool, str | None]] = {}
        for tool, source in (*((tool, None) for tool in self.own), *self.of_plugins()):
            name = tool.name
            if (tool.opt_in and name not in allowed) or (limits and not all(name in only for only in limits)):
                continue
            if name not in by_name or (name not in own and prefer.get(name) == source):
                by_name[name] = (tool, source)
        self._by_name = {name: by_name[name][0] for name in sorted(by_name)}
        self._sources = {name: source for name, (_, source) in by_name.items()}
        for name, tool in self._by_name.items():
            note_unchecked(self._host, tool, self._sources[name])
        self.offered = tuple(self._by_name.values())

    def get(self, name: str) -> Tool | None:
        """Return a tool that :meth:`tools` returned last, else one that is offered since; ``None`` when there is none."""
        if name not in self._by_name or self._registry is None or self._version != self._registry.version:
            self.tools()
        return self._by_name.get(name)

    def permits(self, name: str) -> bool:
        """Return whether ``only_tools`` of the agent and of all its ancestors allow a tool."""
        limits = (self._only_own,) if self._nesting.parent is None else self._nesting.only_tools()
        return all(only is None or name in only for only in limits)

    def source(self, name: str) -> str | None:
        """Return the plugin that registered a tool; ``None`` for a tool of the agent."""
        return self._sources.get(name)
