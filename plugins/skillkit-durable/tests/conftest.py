"""A PostgreSQL for the tests of this package, and jobs with workers as processes."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import durable_postgres
import pytest

PLUGIN = Path(__file__).parent / "support" / "works_plugin.py"


@pytest.fixture(scope="session")
def postgres():
    """The URL of a database; skipped where PostgreSQL is not installed."""
    if not durable_postgres.BINARIES:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="skpg"))
    try:
        with durable_postgres.server(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Bench:
    """Jobs of one database, and the workers that a test starts."""

    def __init__(self, cli, world):
        self.cli, self.world, self.workers = cli, world, []

    def submit(self, text, *options):
        """Submit a request; return the job."""
        return self.cli("submit", "--provider", "works", "--json", *options, text).ok().json

    def job(self, name):
        """Return a job as JSON."""
        return self.cli("jobs", "show", name, "--json").ok().json

    def jobs(self):
        """Return all jobs as JSON."""
        return self.cli("jobs", "list", "--json").ok().json

    def known_workers(self):
        """Return the ids of the workers that beat."""
        return [row["id"] for row in self.cli("jobs", "workers", "--json").ok().json]

    def wait(self, *names):
        """Wait until jobs end or ask; return their status."""
        done = self.cli("jobs", "wait", *names, "--timeout", "60", "--json")
        return [job["status"] for job in done.json]

    def worker(self, *options, before=(), env=None):
        """Start a worker, perhaps by a program ``before`` it; return its process once it takes jobs."""
        log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it is read until the test ends
        process = subprocess.Popen(
            [*before, *self.cli.argv, "worker", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **(env or {})},
            cwd=self.cli.home.cwd,
            start_new_session=True,
        )
        process.log = log
        self.workers.append(process)
        self.said(process, "takes jobs of")
        return process

    def said(self, process, words):
        """Wait until a worker has said something; return all that it said."""
        give_up = time.monotonic() + 60
        while words not in (text := self.text(process)):
            assert process.poll() is None and time.monotonic() < give_up, f"{words!r} is not in {text!r}"
            time.sleep(0.05)
        return text

    @staticmethod
    def text(process):
        """Return what a worker said until now."""
        process.log.seek(0)
        return process.log.read()

    @staticmethod
    def end(process, how=signal.SIGTERM):
        """End a worker; return its exit code."""
        os.killpg(process.pid, how)
        return process.wait(30)

    def did(self, name=""):
        """Return what tools did in the world: name, key and process of each time."""
        found = [json.loads(line) for line in self.world.read_text().splitlines()] if self.world.exists() else []
        return [one for one in found if one["name"].startswith(name)]

    def until_did(self, name, times=1):
        """Wait until a tool did something so often."""
        self.until(lambda: len(self.did(name)) >= times)

    def until(self, holds):
        """Wait until something is true, while a worker lives."""
        give_up = time.monotonic() + 90
        while not holds():
            alive = any(worker.poll() is None for worker in self.workers)
            assert alive and time.monotonic() < give_up, [self.text(worker) for worker in self.workers]
            time.sleep(0.1)


@pytest.fixture
def bench(skillkit_cli, install_plugin, skillkit_home, monkeypatch):
    """A bench with a database in SQLite, short leases, and the provider ``works``."""
    install_plugin("works", PLUGIN)
    world = skillkit_home.cwd / "world"
    monkeypatch.setenv("WORKS_WORLD", str(world))
    monkeypatch.setenv("SKILLKIT_DURABLE__LEASE", "3")
    monkeypatch.setenv("SKILLKIT_PLUGINS", "durable,sessions,works")
    made = Bench(skillkit_cli, world)
    yield made
    for process in made.workers:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGCONT)
            made.end(process, signal.SIGKILL)
        process.log.close()
