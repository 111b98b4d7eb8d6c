"""A long tool loop with the standard plugins, counted in calls: a number that no busy machine changes."""

import asyncio
import sys
from types import FrameType

from skillkit_core import AgentConfig, AgentRunner, Host, Limits, Tool
from skillkit_core.agent import session
from skillkit_core.testing import Call, Reply, ScriptedModel


async def _loop(steps: int) -> int:
    """Return how many calls the session made, and its methods received, while a model called a tool so often."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call") and frame.f_code.co_filename == session.__file__

    async def add(arguments, ctx):
        return "1"

    config = AgentConfig(tools=(Tool("add", "Add.", add, {"type": "object"}),), limits=Limits(turns=steps + 2))
    async with AgentRunner(config, host=Host()) as agent:
        agent.set_adapter(ScriptedModel([*[Reply(calls=[Call("add")]) for _ in range(steps)], "done"]))
        sys.setprofile(count)
        try:
            answer = await agent.chat("go")
        finally:
            sys.setprofile(None)
        assert answer.content == "done" and len(agent.session.entries) > 3 * steps
    return calls


def test_a_step_costs_the_session_as_much_late_in_a_loop_as_early(skillkit_home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    few, more, many = (asyncio.run(_loop(steps)) for steps in (20, 40, 80))

    assert few > 0
    assert many - more < 1.1 * 2 * (more - few)
