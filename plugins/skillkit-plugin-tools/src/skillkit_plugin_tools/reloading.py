"""The watch of a plugin's files while a session is open: what is saved is imported anew, and takes the old version's place."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from contextvars import Context
from importlib import import_module, invalidate_caches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from skillkit_core import HandlerContext, SessionShutdownEvent, SessionStartEvent, SkillKitError, hookimpl

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

    from skillkit_core import AgentRunner, Host

    from .project import Project

__all__ = ["Reloading", "reload"]

SETTLED = 0.2  # seconds without a change after which a save is over
Stamps = Mapping[str, tuple[int, int]]


class Reloading:
    """A plugin of the host that ``skillkit dev`` makes: reloads the plugin of a project between two runs."""

    name = "dev"

    def __init__(self, host: Host, project: Project) -> None:
        self._host, self._project = host, project
        self._agents: WeakSet[AgentRunner] = WeakSet()
        self._task: asyncio.Task[None] | None = None
        self._seen = stamps(project)  # a save before the first session counts, too

    @hookimpl
    def session_start(self, event: SessionStartEvent, ctx: HandlerContext) -> None:
        """Begin with the first session."""
        if ctx.agent is None or len(ctx.agent_path) > 1:
            return
        self._agents.add(ctx.agent)
        if self._task is None:
            # a context of its own: the watch is no part of the handler that is called now
            self._task = asyncio.get_running_loop().create_task(self._work(), context=Context())

    @hookimpl
    async def session_shutdown(self, event: SessionShutdownEvent, ctx: HandlerContext) -> None:
        """End with the last session."""
        if ctx.agent is not None:
            self._agents.discard(ctx.agent)
        if self._task is not None and not self._agents:
            task, self._task = self._task, None
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _work(self) -> None:
        """Wait for a save, then for the end of the run, and reload."""
        from watchdog.observers import Observer

        touched = asyncio.Event()
        observer = Observer()
        handler: Any = _Handler(asyncio.get_running_loop(), touched)
        for top in self._project.tops:
            observer.schedule(handler, str(top if top.is_dir() else top.parent), recursive=top.is_dir())
        observer.start()
        touched.set()
        try:
            while True:
                await touched.wait()
                while touched.is_set():
                    touched.clear()
                    await asyncio.sleep(SETTLED)
                if (now := stamps(self._project)) == self._seen:
                    continue
                self._seen = now
                while (busy := next((agent for agent in self._agents if agent.running), None)) is not None:
                    await busy.wait_idle()
                await self._tell(*reload(self._host, self._project))
        finally:
            observer.stop()

    async def _tell(self, line: str, good: bool) -> None:
        people = {id(agent.ui): agent.ui for agent in self._agents if agent.ui is not None}
        for person in people.values():
            await person.notify(line, "info" if good else "warning")
        if not people:
            self._host.tell(line)


class _Handler:
    """Sets an event of a loop from the thread of the observer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, touched: asyncio.Event) -> None:
        self._loop, self._touched = loop, touched

    def dispatch(self, event: FileSystemEvent) -> None:
        """Note that something may have changed."""
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._touched.set)


def stamps(project: Project) -> Stamps:
    """Return time and size of each file of a project's packages."""
    found: dict[str, tuple[int, int]] = {}
    for top in project.tops:
        for path in top.rglob("*") if top.is_dir() else [top]:
            with contextlib.suppress(OSError):  # an editor's file that is gone again
                if "__pycache__" not in path.parts and path.is_file():
                    found[str(path)] = (path.stat().st_mtime_ns, path.stat().st_size)
    return found


def reload(host: Host, project: Project) -> tuple[str, bool]:
    """Import the plugins of a project anew, and let them take the old ones' place, all of them or none.

    Returns: a line for a person, and whether the new version runs.
    """
    names = ", ".join([*project.plugins, *project.packages]) or project.name
    old = {name: module for name, module in sys.modules.items() if _is_of(project, module)}
    before = {name: host.plugins[name].plugin for name in project.plugins if name in host.plugins}
    for name in old:
        del sys.modules[name]
    invalidate_caches()
    try:
        fresh = {name: _imported(value) for name, value in project.plugins.items()}
        _swap(host, fresh)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an author saved, the conversation goes on
        for name in [name for name, module in sys.modules.items() if _is_of(project, module)]:
            del sys.modules[name]
        sys.modules.update(old)
        _swap(host, before, restoring=True)
        return f"{names} stays as it was: {_said(project, error)}", False
    if project.packages:
        host.reload_skills()
    return f"{names} reloaded", True


def _swap(host: Host, plugins: Mapping[str, Any], *, restoring: bool = False) -> None:
    """Let these objects be the plugins of their names; raise what is wrong with one of them."""
    for name, plugin in plugins.items():
        if name in host.plugins:
            if restoring and host.plugins[name].plugin is plugin:
                continue
            host.remove_plugin(name)
        known = len(host.problems)
        host.add_plugin(plugin, name=name)
        host.collect_all()
        wrong = [p for p in host.problems[known:] if p.plugin == name and p.severity == "error"]
        if wrong and not restoring:
            raise _Refused(f"{wrong[0].stage}: {wrong[0].message}")


class _Refused(Exception):
    """The host takes the plugin, and something of the plugin is wrong."""


def _imported(value: str) -> Any:
    module, _, attribute = value.partition(":")
    found: Any = import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found() if isinstance(found, type) else found


def _is_of(project: Project, module: ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and any(Path(file) == top or Path(file).is_relative_to(top) for top in project.tops)


def _said(project: Project, error: BaseException) -> str:
    """Return what is wrong in one line, with the line of the project's file where it happened."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(project, error.filename)}:{error.lineno}: {error.msg}"
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(project.source)]
    where = f"{_shown(project, frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
    plain = isinstance(error, (_Refused, SkillKitError)) or not str(error)
    kind = "" if plain else f"{type(error).__name__}: "
    return f"{where}{kind}{' '.join(str(error).split()) or type(error).__name__}"


def _shown(project: Project, file: str) -> str:
    path = Path(file)
    return str(path.relative_to(project.folder)) if path.is_relative_to(project.folder) else file
