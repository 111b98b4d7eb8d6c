"""A task that is no turn: an agent of its own below the caller, driven by the same engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillkit_core import AgentConfig, AgentRunner, BeforeAgentStartResult

from .types import Engine, Task, TaskResult

if TYPE_CHECKING:
    from skillkit_core import DrivenRun
    from skillkit_core.events.types import BeforeAgentStartEvent

__all__ = ["run_below"]


class _Step:
    """The driver of the agent below."""

    def __init__(self, engine: Engine, task: Task) -> None:
        self._engine, self._task = engine, task
        self.result: TaskResult | None = None

    async def drive(self, run: DrivenRun) -> None:
        self.result = await self._engine.run(replace(self._task, agent=run.agent), run)
        if self.result.text.strip():
            await run.say(self.result.text)


async def run_below(engine: Engine, task: Task, *, session: str | None = None, resume: bool = False) -> TaskResult:
    """Do a task in an agent of its own below the caller's, with the tools of the task alone.

    Args:
        engine: the engine, whose ``run`` gets the run of the agent.
        task: the task; ``images`` go with the request.
        session: as for :class:`AgentRunner`: ``"new"`` keeps it; default: in memory.
        resume: go on with ``session``, where a call waited for a decision.

    Raises:
        Suspended: a call waits for a decision. A tool lets it pass (``docs/how-to/nest-agents.md``).
    """
    caller = task.agent
    config = AgentConfig(
        bare=True,
        tools=tuple(caller.config.tools),
        only_tools=frozenset(engine.tools(task)),
        options=dict(caller.config.options),
    )
    step = _Step(engine, task)

    def begin(event: BeforeAgentStartEvent) -> BeforeAgentStartResult:
        return BeforeAgentStartResult(driver=step)

    name = task.name or f"engine-{engine.name}"
    async with AgentRunner(config, session=session, name=name) as agent:
        agent.events.on("before_agent_start", begin, phase="first")
        response = await (agent.resume() if resume else agent.chat(task.query, images=task.images))
        result = step.result or TaskResult("failed", text=response.content, reason=response.reason or response.outcome)
        return replace(result, session=agent.session_id if session is not None else None, usage=response.usage)
