"""Ending: a process whose plugins hang at the end still ends, everybody else is called, and its children are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, subprocess, sys, threading
from pathlib import Path
from skillkit_core import AgentConfig, AgentRunner, Host, ModelDefinition, Tool, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel

def log(line):
    with open("log", "a") as file:
        print(line, file=file)

class Hangs:
    @hookimpl(timeout=0.2)
    async def session_shutdown(self, event):
        log("session_shutdown of hangs")
        await asyncio.Event().wait()

    @hookimpl
    def host_shutdown(self, host):
        log("host_shutdown of hangs")
        threading.Event().wait()

class Fails:
    @hookimpl
    def session_shutdown(self, event):
        log("session_shutdown of fails")
        raise SystemError("no")

    @hookimpl
    def host_shutdown(self, host):
        log("host_shutdown of fails")
        raise SystemExit(7)

class Works:
    @hookimpl
    async def session_shutdown(self, event):
        log("session_shutdown of works")

    @hookimpl
    def host_shutdown(self, host):
        log("host_shutdown of works")

async def child(args, ctx):
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(600)")
    try:
        Path("child").write_text(str(process.pid))
        await process.wait()
    finally:
        process.kill()
        await process.wait()

async def main():
    host = Host(discover=False, plugins=[("works", Works()), ("fails", Fails()), ("hangs", Hangs())], environ={
        "HOME": ".", "SKILLKIT_PLUGINS__HOOK_TIMEOUT": "0.2",
    })
    host.adapters.register("scripted", ScriptedModel([Reply(calls=[Call("child")])]))
    config = AgentConfig(model=ModelDefinition("m", "scripted"), tools=(Tool("child", "starts one", child),))
    agent = AgentRunner(config, host=host)
    task = asyncio.create_task(agent.chat("go"))
    while not Path("child").exists() or not Path("child").read_text():
        await asyncio.sleep(0)
    await agent.aclose()
    await asyncio.wait([task])
    await host.aclose()
    log("the end")

asyncio.run(main())
"""


@pytest.mark.spec("9.51", "I20")
def test_a_process_ends_though_handlers_of_its_end_hang_and_leaves_no_child(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = ("works", "fails", "hangs")
    assert (tmp_path / "log").read_text().splitlines() == [
        *(f"session_shutdown of {name}" for name in names),
        *(f"host_shutdown of {name}" for name in reversed(names)),
        "the end",
    ]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
