"""A session over the death of its process: what was said is not asked for again, and the trace is whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import collaboration_desk
import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def play(home: Path, **job: Any) -> Any:
    """Play a job in a process of its own; ``None``: it was killed."""
    paths = os.pathsep.join([os.path.dirname(collaboration_desk.__file__), *sys.path])
    argv = [sys.executable, collaboration_desk.__file__, str(home), json.dumps(job)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths})
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("dies", "asked"),
    [
        ("ask:3", ["research", "critic", "research", "research", "critic"]),
        ("message:2", ["research", "critic", "research", "critic"]),
    ],
)
def test_s11_5_a_killed_session_goes_on_where_its_notes_end_and_its_trace_is_whole(tmp_path, dies, asked):
    home = tmp_path / "home"
    home.mkdir()
    assert play(home, dies=dies) is None, "it was not killed"
    (file,) = home.rglob(f"*{(home / 'session').read_text()}*.jsonl")
    with file.open("ab") as torn:  # as a write that was cut off leaves it
        torn.write(b'{"type": "custom", "id": "00')
    done = play(home, resume=True)
    assert done["content"] == "revision text" and (home / "asked").read_text().split() == asked
    trace = done["trace"]
    assert [f"{m['sender']} {m['message_type']}" for m in trace["messages"]] == [
        "research proposal", "critic critique", "research revision", "critic approval",
    ]  # fmt: skip
    assert trace["outcome"] == "converged" and trace["total_turns"] == 4
    assert [d["choice"] for d in trace["decisions"]] == ["research", "critic", "research", "critic", "converged"]
