"""The plugin ``durable``: the commands ``submit``, ``worker`` and ``jobs``, and the session store ``postgres``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_schedule_tools import Schedule

    from skillkit_core import Host


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Declare the section ``durable``."""
    register(ConfigSection("durable", "skillkit_durable.config:DurableConfig"))


@hookimpl
def register_session_stores(register: Callable[[Factory], None], host: Host) -> None:
    """Offer the store ``postgres`` where ``session.store`` names it: a store that is only there must not become the default."""
    if host.config.get("session.store") == "postgres":
        what = "sessions in the PostgreSQL of durable.url, for workers on several machines"
        register(Factory("postgres", "skillkit_durable.postgres_store:PostgresStore", what))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit submit``, ``skillkit worker`` and ``skillkit jobs``."""
    register(Command("submit", "skillkit_durable.commands.submit:submit", "Give a request to the workers."))
    register(Command("worker", "skillkit_durable.commands.worker:worker", "Carry out jobs until it is ended."))
    register(Command("jobs", "skillkit_durable.commands.jobs:jobs", "List, show, answer, cancel and retry jobs."))


@hookimpl(optionalhook=True)
def register_fact_stores(register: Callable[[Factory], None]) -> None:
    """Keep facts of the plugin ``memory-tools`` in the database of jobs, where ``memory.store`` says so."""
    what = "facts in the database of jobs, for workers on several machines"
    register(Factory("durable", "skillkit_durable.facts:SharedFacts", what))


@hookimpl(optionalhook=True)
async def take_scheduled_run(schedule: Schedule, request: str, key: str, host: Host) -> str | None:
    """Make a job of a run that is due, where a worker beats and the plugin ``schedule-tools`` is there."""
    from .scheduled import job_for

    return await job_for(schedule, request, key, host)
