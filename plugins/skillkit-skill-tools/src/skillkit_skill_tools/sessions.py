"""The watch of a host while sessions are open: it reloads between runs, and tells whoever is there."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .reload import Reload

__all__ = ["begin", "ended", "stop"]

_watches: WeakKeyDictionary[Host, _Watch] = WeakKeyDictionary()
_ending: set[asyncio.Task[None]] = set()


def begin(host: Host, agents: WeakSet[AgentRunner]) -> None:
    """Watch the skills of a host, and tell the people at ``agents``."""
    _watches[host] = _Watch(host, agents)


def stop(host: Host) -> None:
    """End the watch of a host."""
    if (watch := _watches.pop(host, None)) is not None:
        watch.cancel()


async def ended() -> None:
    """Wait for the end of watches that were stopped."""
    here = asyncio.get_running_loop()
    if tasks := [task for task in _ending if task.get_loop() is here]:
        await asyncio.wait(tasks)


class _Watch:
    """The task that watches."""

    def __init__(self, host: Host, agents: WeakSet[AgentRunner]) -> None:
        self._host, self._agents = host, agents
        self._task = asyncio.get_running_loop().create_task(self._work())
        self._task.add_done_callback(self._failed)

    def _failed(self, task: asyncio.Task[None]) -> None:
        _ending.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._host.note("skill-tools", f"skills are not reloaded any more: {type(error).__name__}: {error}")

    def cancel(self) -> None:
        """End soon."""
        loop = self._task.get_loop()
        if not self._task.done() and not loop.is_closed():
            _ending.add(self._task)
            loop.call_soon_threadsafe(self._task.cancel)

    async def _work(self) -> None:
        from skillkit_skills import places

        from skillkit_core.settings.trust import Trust

        from .config import WatchConfig
        from .folder_watch import FolderWatch
        from .reload import Reloads

        host = self._host
        config = host.config.section("watch") or WatchConfig()
        if not config.enabled:
            return
        told: list[str] = []
        reloads = Reloads(host)
        trust = Path(Trust(host.data_dir).path)  # what changed in a project counts once it was shown
        watch = FolderWatch(lambda: places(host), told.append, config, files=[trust])
        async with aclosing(watch.changes()) as changes:
            async for _ in changes:
                await self._idle()
                await self._tell(reloads.reload(), told)

    def _running(self) -> AgentRunner | None:
        return next((agent for agent in self._agents if agent.running), None)

    async def _idle(self) -> None:
        """Wait until no agent runs: a run ends with the skills that it began with."""
        while (agent := self._running()) is not None:
            await agent.wait_idle()

    async def _tell(self, reload: Reload, told: list[str]) -> None:
        people = {id(agent.ui): agent.ui for agent in self._agents if agent.ui is not None}
        for line in told:
            self._host.note("skill-tools", line)
        for person in people.values():
            for line in told:
                await person.notify(line, "warning")
            if reload.line:
                await person.notify(reload.line, "warning" if reload.problems else "info")
        told.clear()
