"""Odd and hostile servers: each case of the corpus ends as its manifest says."""

import json
import os
import select
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from skillkit_testkit.shared import find_shared

HERE = Path(__file__).parent
# takes longest; the others of its class are as good
LONG = {
    "start-slow-8s",
    "start-discover-silent",
    "id-mismatch",
    "http-drip",
    "http-sse-drop-and-resume",
    "size-50mb-result",
}
ALWAYS = 2  # cases of each class that always run; the others are slow


def cases():
    shared = find_shared(HERE, os.environ.get("SKILLKIT_SHARED"))
    manifest = shared / "mcp" / "manifest.json" if shared is not None else None
    if manifest is None or not manifest.exists():
        return [pytest.param(None, id="absent")]
    params, seen = [], Counter()
    for case in json.loads(manifest.read_text()):
        seen[case["class"]] += case["id"] not in LONG
        slow = case["id"] in LONG or seen[case["class"]] > ALWAYS
        params.append(pytest.param(case, id=case["id"], marks=pytest.mark.slow if slow else ()))
    return params


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Gives the verdict of a case; starts one process for all cases of this worker."""
    home = tmp_path_factory.mktemp("corpus")
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPYCACHEPREFIX", "PYTHONPATH", "TMPDIR")}
    shared = find_shared(HERE, os.environ.get("SKILLKIT_SHARED"))
    runner = subprocess.Popen(
        [sys.executable, HERE / "support" / "mcp_corpus_runner.py", shared / "mcp"],
        cwd=home,
        env={**kept, "HOME": str(home), "SKILLKIT_HOME": str(home / "skillkit")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def play(case):
        runner.stdin.write(f"{case['id']}\n".encode())
        runner.stdin.flush()
        ready, _, _ = select.select([runner.stdout], [], [], case["limit_s"] + 60)
        assert ready, "the runner of cases hangs"
        return json.loads(runner.stdout.readline())

    yield play
    runner.stdin.close()
    runner.wait(30)
    runner.stdout.close()


@pytest.mark.parametrize("case", cases())
def test_each_odd_server_ends_as_its_manifest_says(case, request):
    if case is None:
        request.getfixturevalue("shared_data")  # skips, or fails where it is required
        pytest.fail("the third-party test data have no folder 'mcp'")
    verdict = request.getfixturevalue("corpus")(case)
    tally = request.getfixturevalue("tally")
    tally.add("MCP servers", {"class": [case["class"]]}, passed=not verdict["problems"])
    assert verdict["problems"] == [], case["good"]
