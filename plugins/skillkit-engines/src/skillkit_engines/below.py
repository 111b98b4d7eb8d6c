"""A task that is no turn: an agent of its own below the caller, driven by the same engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillkit_core import AgentConfig, AgentRunner, BeforeAgentStartResult, UsageError, resumption

from .guarding import guard_task
from .registries import catalog_of
from .types import Engine, Task, TaskResult

if TYPE_CHECKING:
    from skillkit_core import DrivenRun
    from skillkit_core.events.types import BeforeAgentStartEvent

__all__ = ["BELOW", "run_below"]

BELOW = "engines.below"  # type of the note: which session has the agent of a task
_TITLE = 80  # characters of a request that name its session


class _Step:
    """The driver of the agent below."""

    def __init__(self, engine: Engine, task: Task) -> None:
        self._engine, self._task = engine, task
        self.result: TaskResult | None = None

    async def drive(self, run: DrivenRun) -> None:
        task = replace(self._task, agent=run.agent, run=run)
        with guard_task(task):
            self.result = await self._engine.run(task, run)
        if self.result.text.strip():
            await run.say(self.result.text)


async def run_below(engine: Engine, task: Task) -> TaskResult:
    """Do a task in an agent of its own below the caller's, with the tools of the task alone.

    Args:
        engine: the engine, whose ``run`` gets the run of the agent.
        task: the task; ``images`` go with the request, and ``session``, ``resumed``, ``model``, ``grace`` say which agent it is.
            One that is to go on, and cannot, begins anew.

    Raises:
        Suspended: a call waits for a decision. A tool lets it pass (``docs/how-to/nest-agents.md``).
    """
    caller = task.agent
    config = AgentConfig(
        model=task.model or None,
        bare=True,
        settings=caller.config.settings,
        stream=caller.config.stream,
        retry=caller.config.retry,
        parallel_tools=caller.config.parallel_tools,
        tools=tuple(caller.config.tools),
        only_tools=_allowed(engine, task),
        options=dict(caller.config.options),
        abort_grace=caller.config.abort_grace if task.grace is None else task.grace,
    )
    step = _Step(engine, task)

    def begin(event: BeforeAgentStartEvent) -> BeforeAgentStartResult:
        return BeforeAgentStartResult(driver=step)

    name = task.name or f"engine-{engine.name}"
    async with AgentRunner(config, session=task.session, name=name) as agent:
        if task.resumed and not await _goes_on(agent):
            return await run_below(engine, replace(task, session="new", resumed=False))
        agent.events.on("before_agent_start", begin, phase="first")
        if task.session is not None and not task.resumed:
            await _keep(agent, task)
        response = await (agent.resume() if task.resumed else agent.chat(task.query, images=task.images))
        result = step.result or TaskResult("failed", text=response.content, reason=response.reason or response.outcome)
        return replace(result, session=agent.session_id if task.session is not None else None, usage=response.usage)


async def _goes_on(agent: AgentRunner) -> bool:
    """Return whether a session has something to go on with; not, where its agent had not begun, or had ended, in a crash."""
    session = await agent.open()
    try:
        resumption(session.messages, agent.suspension, None, None, session.driven)
    except UsageError:
        return False
    return True


def _allowed(engine: Engine, task: Task) -> frozenset[str]:
    """Return the tools that the agent may have: those of the task, of the engine, and those that a tool of it may grant."""
    names = frozenset(engine.tools(task)) | frozenset(getattr(engine, "own_tools", ()))
    if any(tool.name in names and tool.annotations.get("grants") for tool in task.agent.tools):
        names |= {name for pack in catalog_of(task.agent.host).packs.values() for name in pack.tools}
    return names


async def _keep(agent: AgentRunner, task: Task) -> None:
    """Note in the session of the caller which session the work is in, before it begins, and name that session."""
    session = await agent.open()
    title = f"{task.skill.name}: {' '.join(task.query.split())}"
    await session.append("session_info", {"title": title[:_TITLE]})
    await task.agent.session.note(BELOW, {"task": task.id, "session": session.id}, sync=True)
