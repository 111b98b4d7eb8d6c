"""Print how many jobs a second workers do: ``python plugins/skillkit-durable/benchmarks/jobs.py [--jobs 200] [--workers 1 2 4]``.

A job is a run of two model calls of a stand-in and a tool call of no effect, so that what is measured is what SkillKit, the
engine and the database cost, and no model. With ``--postgres`` a PostgreSQL of its own is started. Load of the machine is
printed beside the figures, because other programs take part in them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests" / "support"
sys.path.insert(0, str(TESTS))


def install(folder: Path) -> None:
    """Install the stand-in as a plugin of the processes that are started."""
    info = folder / "site" / "works-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(TESTS / "works_plugin.py", info.parent)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: works\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[skillkit.plugins]\nworks = works_plugin\n")


def size_of(url: str) -> int:
    """Return the bytes of the database."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    import psycopg

    with psycopg.connect(url) as connection:
        return int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0])  # type: ignore[index]


def measure(url: str, folder: Path, count: int, workers: int, concurrency: int) -> None:
    """Submit jobs, start workers, and print how long they take."""
    from skillkit_durable.database import Database
    from skillkit_durable.jobs import Jobs, Spec

    database, name = Database(url), f"{workers}-{time.time()}"
    jobs = Jobs(database)
    spec = {"folder": str(folder), "machine": os.uname().nodename, "options": {"provider": "works"}}
    before = jobs.counts().get("default", {}).get("completed", 0)
    begun = time.perf_counter()
    for n in range(count):
        jobs.submit(Spec(text=f"note {name}-{n}", **spec))
    submitted = time.perf_counter() - begun
    store = {"SKILLKIT_SESSION__STORE": "postgres"} if database.postgres else {}
    env = {
        **os.environ,
        **store,
        "SKILLKIT_DURABLE_URL": url,
        "SKILLKIT_HOME": str(folder / "home"),
        "SKILLKIT_PLUGINS": "durable,sessions,works",
        "PYTHONPATH": str(folder / "site"),
        "WORKS_WORLD": str(folder / "world"),
    }
    argv = [str(Path(sys.executable).with_name("skillkit")), "worker", "--concurrency", str(concurrency)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    running = [subprocess.Popen(argv, env=env, cwd=folder, **quiet) for _ in range(workers)]
    try:
        first, done = 0.0, 0
        while done < count:
            done = jobs.counts().get("default", {}).get("completed", 0) - before
            if done and not first:
                first, already = time.perf_counter(), done
            time.sleep(0.1)
            if done == count:
                break
        took = time.perf_counter() - first
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait(30)
    database.close()
    load, size = os.getloadavg()[0], size_of(url)
    print(
        f"{url.partition(':')[0]:<11} {workers} workers of {concurrency}: {(count - already) / took:6.1f} jobs/s"
        f"   ({count} jobs; {count / submitted:.0f}/s submitted; the database has {size >> 10:,} KiB;"
        f" load {load:.1f} on {os.cpu_count()} cores)",
        flush=True,
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--postgres", action="store_true")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="skjobs"))
    try:
        install(folder)
        import durable_postgres

        server = (
            durable_postgres.server(folder)
            if given.postgres
            else contextlib.nullcontext(f"sqlite:///{folder}/jobs.sqlite")
        )
        with server as url:
            for workers in given.workers:
                measure(url, folder, given.jobs, workers, given.concurrency)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
