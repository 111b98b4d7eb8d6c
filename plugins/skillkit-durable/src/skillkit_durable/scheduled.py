"""Runs of the plugin ``schedule-tools`` become jobs while a worker is there to do them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from skillkit_core.errors import UnknownName

from .config import settings_of
from .database import Database
from .jobs import Jobs, Spec
from .lease import workers

if TYPE_CHECKING:
    from skillkit_schedule_tools import Schedule

    from skillkit_core import Host

__all__ = ["job_for"]


async def job_for(schedule: Schedule, request: str, key: str, host: Host) -> str | None:
    """Return the job that does a scheduled run; ``None`` where no worker beats, and the run is done where it is due."""
    options = {"approvals": "deny"} if schedule.approvals == "deny" else {}
    if schedule.skill:
        options["skill"] = schedule.skill
    spec = Spec(
        text=request,
        folder=schedule.folder,
        kind="run_skill" if schedule.skill else "run_turn",
        distribution=host.distribution.name if host.distribution is not None else None,
        options=options,
        origin={"kind": "schedule", "principal": "owner", "id": schedule.id},
    )
    return await asyncio.to_thread(_submitted, settings_of(host).url, spec, key)


def _submitted(url: str, spec: Spec, key: str) -> str | None:
    database = Database(url)
    try:
        jobs = Jobs(database)
        if not any(row["silent"] <= row["lease"] for row in workers(database)):
            try:
                return jobs.get(key).id  # it was handed over before the workers went
            except UnknownName:
                return None
        return jobs.submit(spec, key=key)[0].id
    finally:
        database.close()
