"""The hook of the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillkit_core import hookspec

if TYPE_CHECKING:
    from skillkit_core import Host

    from .store import Schedule


@hookspec
async def take_scheduled_run(schedule: Schedule, request: str, key: str, host: Host) -> str | None:
    """Take a run that is due, to do it elsewhere, such as in a queue of workers; the first answer counts.

    When: before a run begins here. Answer: the name of the job that will do it, for people; ``None``: it is done here.

    Args:
        schedule: what is due, with ``folder``, ``skill`` and ``approvals``.
        request: the words of the run.
        key: the same for the same run, also after this process died, so that no job is made twice.
        host: the host.
    """
