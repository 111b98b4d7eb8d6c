"""The tasks of a command: code of a plugin cancels those that it started, and none of somebody else."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Tasks", "run_tasks"]

T = TypeVar("T")
log = logging.getLogger("skillkit.frontend")


def run_tasks(host: Host, work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work, as :func:`asyncio.run` does, with :class:`Tasks` on its loop; return what it returns."""
    owner = host.load().acting(sys._getframe(1))
    with asyncio.Runner() as runner:
        runner.get_loop().set_task_factory(Tasks(host, owner))
        return runner.run(work)


class Tasks:
    """Makes the tasks of a loop, and notes for each one which plugin started it.

    A plugin whose handler cancels other tasks, as all of the loop, has failed: they go on, and it is said once in words. A
    handler that wants a run to end calls ``ctx.abort``.

    Args:
        host: it says whose code is running.
        owner: the plugin of the front end, which may cancel every task.

    Attributes:
        tell: is called with a line about a plugin; default: a warning of the log.
    """

    def __init__(self, host: Host, owner: str | None) -> None:
        self._plugins, self._owner = host.load(), owner
        self._told: set[str] = set()
        self.tell: Callable[[str], object] = log.warning

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
        """Make a task."""
        task = Task(work, loop=loop, **options)
        task.made_by, task.tasks = self._plugins.acting(sys._getframe(1)), self
        return task

    def may_cancel(self, task: Task, frame: FrameType) -> bool:
        """Return whether the code of a frame may cancel a task; say so the first time that a plugin's may not."""
        plugin = self._plugins.acting(frame)
        if plugin is None or plugin in (self._owner, task.made_by):
            return True
        if plugin not in self._told:
            self._told.add(plugin)
            self.tell(f"plugin {plugin!r} failed: it cancelled tasks that are not its own; they go on")
        return False


class Task(asyncio.Task[Any]):
    """A task that knows who started it."""

    made_by: str | None = None
    tasks: Tasks | None = None

    def cancel(self, msg: Any = None) -> bool:
        """Cancel the task, unless code of a plugin asks that did not start it."""
        if self.tasks is not None and not self.tasks.may_cancel(self, sys._getframe(1)):
            return False
        return super().cancel(msg)
