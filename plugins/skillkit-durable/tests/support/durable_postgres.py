"""A PostgreSQL server of the tests' own, on a socket, and stores in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
URL = "DURABLE_TEST_POSTGRES"


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a server in a folder, whose path must be short; yield the URL of its database."""
    folder.chmod(0o755)
    here, user = folder / "pg", []
    here.mkdir()
    if os.geteuid() == 0:  # which initdb refuses
        shutil.chown(here, "postgres")
        user = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *words: object) -> None:
        argv = [*user, str(BINARIES[-1] / program), *map(str, words)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd="/")

    run("initdb", "-D", here / "d", "-A", "trust", "--no-sync", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8")
    options = f"-c listen_addresses='' -k {here} -c fsync=off -c max_connections=100"
    run("pg_ctl", "-D", here / "d", "-w", "-s", "-o", options, "-l", here / "log", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={here}"
    finally:
        run("pg_ctl", "-D", here / "d", "-m", "immediate", "-s", "stop")


def forget_jobs(url: str) -> None:
    """Remove the tables of jobs."""
    import psycopg

    tables = ", ".join(f"skillkit_{name}" for name in ("durable", "job", "answer", "worker", "schedule", "fact"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {tables}".encode())


def store_at(folder: Path):
    """Return a store whose tables are of this folder alone, as the conformance suite wants it."""
    import psycopg
    from skillkit_durable import PostgresStore

    url, schema = os.environ[URL], "s" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
    return PostgresStore(url=url, lease=float(os.environ.get("DURABLE_TEST_LEASE", "30")), schema=schema)
