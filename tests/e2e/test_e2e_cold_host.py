"""Six threads use a host first, each with a loop and an agent of its own, in a process that has imported nothing yet."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import asyncio, json, sys, threading
from skillkit_core import AgentConfig, AgentRunner, Host

sys.setswitchinterval(1e-5)
found, failed = [], []

def use(host, barrier):
    async def ask():
        async with AgentRunner(AgentConfig(provider="offline"), host=host, session="new") as agent:
            answer = await agent.chat("what is 15% of 80")
            found.append((id(host.session_store()), type(host.session_store()).__name__, answer.content, len(agent.tools)))
    barrier.wait()
    try:
        asyncio.run(ask())
    except BaseException as error:
        failed.append(f"{type(error).__name__}: {error}")

hosts = [Host() for _ in range(2)]
for host in hosts:
    barrier = threading.Barrier(6)
    threads = [threading.Thread(target=use, args=(host, barrier)) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print(json.dumps({"found": found, "failed": failed, "problems": [str(p) for h in hosts for p in h.problems]}))
"""


@pytest.mark.parametrize("process", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 4))])
def test_six_threads_on_a_cold_host_all_have_its_session_store_its_tools_and_an_answer(
    process: int, skillkit_home: Any
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=skillkit_home.cwd, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] == [] and said["problems"] == []
    assert len(said["found"]) == 12
    assert len({store for store, *_ in said["found"]}) == 2  # one for each host
    assert {kind for _, kind, *_ in said["found"]} == {"JsonlStore"}
    assert all("12" in answer for _, _, answer, _ in said["found"])
    assert len({tools for *_, tools in said["found"]}) == 1
