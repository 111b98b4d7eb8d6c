"""The killer of workers that others wrote, where it is: ``durable/chaos.py`` with the model of ``plugin``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import durable_postgres
import pytest

LEASE = 30


@pytest.mark.slow
@pytest.mark.parametrize("size", [(40, 6, 1), (500, 60, 5)], ids=["40 jobs", "500 jobs"])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_no_job_is_lost_and_none_done_twice_while_workers_are_killed(
    shared_data: Path,
    skillkit_cli: Any,
    install_plugin: Any,
    monkeypatch: Any,
    size: tuple[int, int, int],
    database: str,
) -> None:
    if database == "postgres" and not durable_postgres.BINARIES:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    servers = shared_data / "servers"
    forked, own = shlex.join(skillkit_cli.program), shlex.join(skillkit_cli.argv)  # killed are whole processes
    install_plugin("acceptance", servers / "plugin" / "src" / "skillkit_acceptance" / "plugin.py")
    monkeypatch.setenv("SKILLKIT_PLUGINS", "durable,sessions,acceptance")
    monkeypatch.setenv("SKILLKIT_DURABLE__LEASE", str(LEASE))
    if database == "postgres":
        monkeypatch.setenv("SKILLKIT_SESSION__STORE", "postgres")
    jobs, kills, pauses = map(str, size)
    chaos = [
        # all jobs are there before the first worker, and a worker does one at a time: so every blow falls while jobs are open
        *(sys.executable, str(servers / "durable" / "chaos.py"), "--worker", f"{own} worker --concurrency 1"),
        *("--submit", f"{forked} submit --provider acceptance --key {{job}} 'chaos {{job}}'", "--sequential-submit"),
        *("--jobs-cmd", f"{forked} jobs list --json", "--jobs", jobs, "--kills", kills, "--pause", pauses),
        *("--workers", "4", "--lease", str(LEASE), "--every", "2", "--timeout", "3000"),
        *(["--postgres"] if database == "postgres" else []),
    ]
    done = subprocess.run(chaos, capture_output=True, text=True, env=dict(os.environ), timeout=3400, check=False)
    print(done.stdout)
    assert done.returncode == 0 and done.stdout.endswith("OK\n"), done.stdout + done.stderr
