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
SMALL = {"jobs": 6, "workers": 1, "kills": 2, "pause": 0, "every": 5, "seed": 27}
LARGE = {"jobs": 500, "workers": 4, "kills": 60, "pause": 5, "every": 1.5, "seed": 1}


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=["6 jobs", "500 jobs"])
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def test_no_job_is_lost_and_none_done_twice_while_workers_are_killed(
    shared_data: Path,
    skillkit_cli: Any,
    install_plugin: Any,
    monkeypatch: Any,
    size: dict[str, float],
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
    chaos = [
        # all jobs are there before the first worker, and a worker does one at a time: so every blow falls while jobs are open
        *(sys.executable, str(servers / "durable" / "chaos.py"), "--worker", f"{own} worker --concurrency 1"),
        *("--submit", f"{forked} submit --provider acceptance --key {{job}} 'chaos {{job}}'", "--sequential-submit"),
        *("--jobs-cmd", f"{forked} jobs list --json", "--lease", str(LEASE), "--timeout", "3000"),
        *(word for name, value in size.items() for word in (f"--{name}", str(value))),
        *(["--postgres"] if database == "postgres" else []),
    ]
    done = subprocess.run(chaos, capture_output=True, text=True, env=dict(os.environ), timeout=3400, check=False)
    print(done.stdout)
    assert done.returncode == 0 and done.stdout.endswith("OK\n"), done.stdout + done.stderr
