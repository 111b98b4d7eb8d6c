"""A run that code drives, killed while a person thinks and again after the answer: each effect happens once (I21)."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from skillkit_live import Lives

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    Approver,
    BeforeAgentStartResult,
    Host,
    Tool,
    ToolCall,
    ToolCallEventResult,
)
from skillkit_core.testing import Call, Reply, ScriptedModel

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


def test_a_driver_whose_tool_runs_an_agent_that_waits_goes_on_with_the_agents_answer(skillkit_home: Any) -> None:
    """The run, its call and the agent in it wait together; each effect happens once (I21, I22)."""
    ran: list[str] = []

    async def act(args: Any, ctx: Any) -> str:
        ran.append(args["what"])
        return f"did {args['what']}"

    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    act_tool = Tool("act", "Act.", act, schema)

    class Below:
        async def drive(self, run: Any) -> None:
            await run.call(ToolCall("", "act", {"what": "below"}))
            (result,) = await run.call(ToolCall("", "act", {"what": "risky"}))
            await run.say(result.text)

    class Above:
        async def drive(self, run: Any) -> None:
            await run.call(ToolCall("", "act", {"what": "above"}))
            (result,) = await run.call(ToolCall("", "nest", {}))
            await run.say(f"{result.outcome}: {result.text}")

    def begin(driver: Any) -> Any:
        return lambda event: BeforeAgentStartResult(driver=driver)

    def guard(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask="Sure?") if event.args.get("what") == "risky" else None

    async def nest(args: Any, ctx: Any) -> str:
        waiting = ctx.below[0] if ctx.below else "new"
        async with AgentRunner(AgentConfig(tools=(act_tool,)), session=waiting) as child:
            child.events.on("before_agent_start", begin(Below()))
            response = await (child.resume() if ctx.below else child.chat("below"))
            return str(response.content)

    class Later(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    async def main() -> None:
        config = AgentConfig(tools=(act_tool, Tool("nest", "Nest.", nest, suspends=True)), approver=Later())
        session = "new"
        for step in ("begin", "finish"):
            async with AgentRunner(config, host=Host(cwd=skillkit_home.cwd), session=session) as agent:
                session = str(agent.session_id)
                agent.events.on("before_agent_start", begin(Above()))
                agent.events.on("before_tool_call", guard, phase="guard")
                if step == "begin":
                    assert (await agent.chat("go")).outcome == "suspended"
                    assert ran == ["above", "below"]
                else:
                    waits = [inner.id for call in agent.suspension.calls for inner in call.inner]
                    response = await agent.resume(dict.fromkeys(waits, "allow"))
                    assert response.content == "ok: did risky" and ran == ["above", "below", "risky"]

    asyncio.run(main())


def test_a_decision_about_a_call_is_none_about_a_call_inside_with_the_same_id(skillkit_home: Any) -> None:
    ran: list[str] = []
    act_tool = Tool("act", "Act.", lambda args, ctx: ran.append(args["what"]) or "done", {"type": "object"})
    asks = [Reply(calls=[Call("nest", {}, "first"), Call("act", {"what": "outer"}, "same")]), "ok"]

    async def nest(args: Any, ctx: Any) -> str:
        waiting = ctx.below[0] if ctx.below else "new"
        async with AgentRunner(AgentConfig(tools=(act_tool,)), session=waiting) as child:
            begins = Reply(calls=[Call("act", {"what": "inner"}, "same")])
            child.set_adapter(ScriptedModel(["ok"] if ctx.below else [begins, "ok"]))
            return str((await (child.resume() if ctx.below else child.chat("below"))).content)

    class Later(Approver):
        async def approve(self, request: Any) -> ApprovalDecision:
            return ApprovalDecision("defer")

    async def main() -> None:
        config = AgentConfig(tools=(act_tool, Tool("nest", "Nest.", nest, suspends=True)), approver=Later())
        async with AgentRunner(config, host=Host(cwd=skillkit_home.cwd), session="new") as agent:
            agent.set_adapter(ScriptedModel(asks))
            agent.events.on(
                "before_tool_call", lambda event: ToolCallEventResult(ask="Sure?"), tools=["act"], phase="guard"
            )
            assert (await agent.chat("go")).outcome == "suspended"
            async with Lives(agent.host) as lives:
                waits = [(one.session, one.question["id"].partition("#")[0]) for one in await lives.inbox()]
            inside = next(call.inner[0].id for call in agent.suspension.calls if call.inner)
            assert waits == [(agent.session_id, inside), (agent.session_id, "same")], (
                "each question once, where it is answered"
            )
            assert (await agent.resume({"same": "allow"})).outcome == "suspended"
            assert ran == ["outer"]
            (waiting,) = agent.suspension.calls
            assert (await agent.resume({waiting.inner[0].id: "allow"})).outcome == "completed"
            assert ran == ["outer", "inner"]

    asyncio.run(main())
