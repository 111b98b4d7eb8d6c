"""Crash proof (spec, section 9, edge cases 38 and 39): SIGKILL at the gates of a set of runs, then another process goes on.

By default a run is killed at the first gate of each kind that it comes by, with ``-m slow`` at every gate. What is killed is a
real process, forked by ``support/crash_server.py``; what is checked stands in ``support/crash_plays.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import crash_server
import pytest
from crash_plays import SCENARIOS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
Kill = Callable[..., list[str]]
GATES = pytest.mark.parametrize(
    "every", [pytest.param(False, id="each kind"), pytest.param(True, id="every gate", marks=pytest.mark.slow)]
)


@pytest.fixture(scope="module")
def killed() -> Iterator[Kill]:
    """Kill a scenario at each kind of gate, or at every gate; gives the gates."""
    server = subprocess.Popen(
        [sys.executable, crash_server.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None

    def kill(scenario: str, folder: Path, every: bool, *, plugin: bool = False) -> list[str]:
        job = {"scenario": scenario, "folder": str(folder), "plugin": plugin, "every": every}
        print(json.dumps(job), file=server.stdin, flush=True)
        answer = json.loads(server.stdout.readline() or "null")
        assert answer is not None, f"the server of processes ended with status {server.wait()}"
        assert answer["failures"] == [], "\n\n".join(answer["failures"])
        return answer["gates"]

    with server:
        yield kill
        server.stdin.close()
    assert server.returncode == 0


@pytest.mark.spec("9.38", "I1", "I10", "I14", "I17")
@GATES
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_process_killed_at_any_gate_loses_and_repeats_nothing(
    killed: Kill, tmp_path: Path, name: str, every: bool
) -> None:
    gates = killed(name, tmp_path, every)
    assert len(gates) > 15, f"only {len(gates)} gates: the scenario does not do what it is for"
    for what in SCENARIOS[name].passes:
        assert any(gate.startswith(what) for gate in gates), (
            f"no gate {what!r}: the scenario does not do what it is for"
        )


@pytest.mark.spec("9.38", "9.39", "9.40")
@pytest.mark.skipif(find_spec("skillkit_sessions") is None, reason="skillkit-sessions is not installed")
@GATES
@pytest.mark.parametrize("name", ["two parallel tools", "steer", "suspension, decided in another process"])
def test_the_session_files_of_the_plugin_survive_as_well(killed: Kill, tmp_path: Path, name: str, every: bool) -> None:
    """The lock of the killed process is taken over."""
    killed(name, tmp_path, every, plugin=True)
