"""A run that code drives, killed while a person thinks and again after the answer: each effect happens once (I21)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DESK = """
import asyncio, os, pathlib, signal, sys
from skillkit_core import (
    AgentConfig, AgentRunner, ApprovalDecision, Approver, BeforeAgentStartResult, Host, Tool, ToolCall, ToolCallEventResult,
)

folder, step = pathlib.Path(sys.argv[1]), sys.argv[2]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def act(args, ctx):
    with (folder / "effects").open("a") as file:
        file.write(args["what"] + "\\n")
    return "did " + args["what"]

class Killed(Approver):
    async def approve(self, request):
        die()

class Driver:
    async def drive(self, run):
        if step == "finish":
            assert run.resumed and run.query == "move the files"
        await run.say("I begin.")
        await run.call(ToolCall("", "act", {"what": "copy"}))
        (removed,) = await run.call(ToolCall("", "act", {"what": "remove"}))
        if step == "answer":
            die()
        (told,) = await run.call(ToolCall("", "act", {"what": "tell"}))
        await run.say(f"{removed.text}, {told.text}")

async def main():
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    config = AgentConfig(tools=(Tool("act", "Act.", act, schema),), approver=Killed())
    known = folder / "session"
    agent = AgentRunner(config, host=Host(), session=known.read_text() if known.exists() else "new")
    agent.events.on("before_agent_start", lambda event: BeforeAgentStartResult(driver=Driver()))
    agent.events.on(
        "before_tool_call",
        lambda event: ToolCallEventResult(ask="Remove?") if event.args["what"] == "remove" else None, phase="guard",
    )
    async with agent:
        known.write_text(agent.session_id)
        if step == "begin":
            await agent.chat("move the files")
        elif step == "answer":
            (call,) = agent.suspension.calls
            assert call.args == {"what": "remove"}, call
            await agent.resume({call.id: ApprovalDecision("allow")})
        else:
            response = await agent.resume()
            print(response.outcome, response.content, [m.text for m in agent.messages if m.text and m.role == "assistant"])

asyncio.run(main())
"""


@pytest.mark.spec("I21", "9.38")
def test_each_effect_of_a_driven_run_happens_once_over_two_kills(skillkit_home: Any, tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(DESK)

    def run(step: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(tmp_path / "desk.py"), str(tmp_path), step]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=skillkit_home.cwd)

    for step, effects in (("begin", ["copy"]), ("answer", ["copy", "remove"])):
        killed = run(step)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert (tmp_path / "effects").read_text().split() == effects
    finished = run("finish")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == ("completed did remove, did tell ['I begin.', 'did remove, did tell']")
    assert (tmp_path / "effects").read_text().split() == ["copy", "remove", "tell"]
