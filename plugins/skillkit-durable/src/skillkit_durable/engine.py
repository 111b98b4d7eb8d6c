"""The engine: DBOS keeps the queues, their limits and what was begun, and hands rounds of jobs to this worker.

There are four workflows for everything, and no plugin registers one: installing or removing a plugin strands no job. Each has
one step, "carry the job on until its run ends or waits", which reads in the session what is done already.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .config import QueueConfig
from .database import Database
from .jobs import Job

__all__ = ["WORKFLOWS", "Engine"]

WORKFLOWS = ("run_turn", "run_skill", "run_plan", "run_subagent")
VERSION = "skillkit-1"  # until what a workflow is given changes incompatibly
POLL = 0.5  # seconds between two looks at a queue
Work = Callable[[str, int], Mapping[str, Any]]


class Engine:
    """DBOS in this process.

    Args:
        database: the database of jobs, in which the engine has tables of its own.
        executor: names this worker for the engine.
        work: carries out a round of a job, in a thread of the engine.
    """

    def __init__(self, database: Database, executor: str, work: Work) -> None:
        self._database, self._executor, self._work = database, executor, work

    def launch(self, queues: Mapping[str, QueueConfig], listen: Sequence[str], concurrency: int) -> None:
        """Begin to take rounds.

        Args:
            queues: all queues with their limits.
            listen: the queues from which this worker takes.
            concurrency: most jobs of a queue that a worker runs at once, where the queue says nothing else.
        """
        from dbos import DBOS

        # it logs every start and every worker that waits for another one
        logging.getLogger("dbos").setLevel(logging.ERROR)
        with self._database.alone():
            DBOS(
                config={
                    "name": "skillkit",
                    "system_database_url": self._url,
                    "executor_id": self._executor,
                    "application_version": VERSION,
                    "serializer": _json(),
                    "use_listen_notify": False,
                    "enable_otlp": False,
                    "sys_db_pool_size": 5,
                    "log_level": "ERROR",
                }
            )
            for name in WORKFLOWS:
                self._define(name)
            DBOS.listen_queues(list(listen))
            DBOS.launch()
            for name, limits in queues.items():
                self._register(name, limits, concurrency)

    @property
    def _url(self) -> str:
        return self._database.url

    def _define(self, name: str) -> None:
        from dbos import DBOS

        @DBOS.step(name="advance")
        def advance(job: str, number: int) -> Any:
            return self._work(job, number)

        # how often is counted in the job, where it can be told from an orderly end: the engine need not
        @DBOS.workflow(name=name, max_recovery_attempts=1_000_000)
        def workflow(spec: dict[str, Any]) -> Any:
            return advance(spec["job"], spec["round"])

    def _register(self, name: str, limits: QueueConfig, concurrency: int) -> None:
        from dbos import DBOS

        worker = limits.worker or concurrency
        DBOS.register_queue(
            name,
            worker_concurrency=worker if limits.everywhere is None else min(worker, limits.everywhere),
            global_concurrency=limits.everywhere,
            partition_concurrency=limits.partition,
            limiter={"limit": limits.rate, "period": limits.period} if limits.rate is not None else None,
            polling_interval_sec=POLL,
            on_conflict="always_update",
        )

    def enqueue(self, job: Job, partitioned: bool) -> None:
        """Put the round of a job into its queue; a round that is there already is left alone."""
        from dbos import DBOS

        options: dict[str, Any] = {
            "workflow_name": job.spec.kind,
            "queue_name": job.queue,
            "workflow_id": job.run,
            "priority": job.priority,
            "app_version": VERSION,
        }
        if partitioned:
            options["queue_partition_key"] = job.partition or job.spec.folder
        DBOS.enqueue_workflow_with_options(options, {"job": job.id, "round": job.round, "spec": asdict(job.spec)})  # type: ignore[arg-type]

    def recover(self, executor: str) -> None:
        """Put what a worker has begun back into its queues.

        The only public way, ``resume_workflow``, would take work from workers that live, too. This one changes only what still
        belongs to ``executor``, so that two workers who give up a third one start nothing twice.
        """
        from dbos import DBOS

        DBOS._recover_pending_workflows([executor])

    def forget(self, rounds: Sequence[str]) -> None:
        """Forget rounds that ended long ago."""
        from dbos import DBOS

        if rounds:
            DBOS.delete_workflows(list(rounds))


def _json() -> Any:
    """Return the serializer of everything that the engine keeps: JSON, because the default, pickle, runs what it reads."""
    from dbos import Serializer

    class Json(Serializer):
        def serialize(self, data: Any) -> str:
            return json.dumps(data, default=str)

        def deserialize(self, serialized_data: str) -> Any:
            return json.loads(serialized_data)

        def name(self) -> str:
            return "skillkit_json"

    return Json()
