"""What may stand behind a participant: a skill, or an agent of a file. Other kinds come from plugins."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from skillkit_engines import (
    BELOW,
    Engine,
    Notebook,
    Task,
    TaskResult,
    catalog_of,
    compose,
    converse,
    do_task,
    engine_of,
    load_context,
    messages_of,
    run_below,
    settings_of,
    task_tools,
    tool_names,
)

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.errors import LimitReached
from skillkit_core.skills import EngineType

from .checking import fold

if TYPE_CHECKING:
    from skillkit_core import DrivenRun, Host, Skill, SkillProblem

__all__ = ["ENGINE", "AgentParticipants", "Participants", "SkillParticipants"]

ENGINE = "collaboration"
_TALKS = "You do one part of a common work, as described below."


@runtime_checkable
class Participants(Protocol):
    """A kind of participants."""

    def problem(self, name: str) -> str:
        """Return why nobody of that name can take part; empty: it can."""

    def tools(self, name: str, task: Task) -> Collection[str] | None:
        """Return the names of the tools that a participant may call; ``None``: all of the agent that leads."""

    async def speak(self, name: str, task: Task) -> TaskResult:
        """Take a turn, in an agent below that of the task, and return the text of the message.

        ``task`` has the request, the thread in ``context``, the ``role``, and in ``name`` the name of the agent.

        Raises:
            LimitReached: a limit of a run above forbids it.
        """


class SkillParticipants:
    """Skills, on their engines."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def _skill(self, name: str) -> Skill | None:
        skills = self._host.skills
        found = next((one for one in skills.list() if fold(one) == fold(name)), None)
        return skills.get(found) if found is not None else None

    def problem(self, name: str) -> str:
        """Refuse what is no skill, has no engine here, or is a session itself."""
        skill = self._skill(name)
        if skill is None:
            return f"there is no skill {name!r}"
        if skill.engine == ENGINE:
            return f"{name} is a collaboration itself, and takes part in none"
        if engine_of(self._host, skill) is None and skill.engine != EngineType.CONVERSATIONAL:
            return f"{name} needs the engine {skill.engine}, which no plugin here brings"
        errors = catalog_of(self._host).errors(skill)
        return f"{name}: {errors[0]}" if errors else ""

    def tools(self, name: str, task: Task) -> Collection[str] | None:
        """Return what the engine of the skill says."""
        skill = self._skill(name)
        return self._engine(skill).tools(replace(task, skill=skill)) if skill is not None else ()

    async def speak(self, name: str, task: Task) -> TaskResult:
        """Let the engine of the skill do the turn as a task."""
        skill = self._skill(name)
        if skill is None:
            return TaskResult("failed", reason=f"unknown_participant: there is no skill {name!r}")
        engine = _Limited(self._engine(skill))
        result = await do_task(engine, replace(task, skill=skill), None)
        if engine.limit is not None:
            raise engine.limit
        return result

    def _engine(self, skill: Skill) -> Engine:
        return engine_of(self._host, skill) or _Talks()


class _Limited:
    """An engine whose run remembers that a limit ended it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name, self.fields = engine.name, engine.fields
        self.limit: LimitReached | None = None

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        return self._engine.problems(skill, host)

    def tools(self, task: Task) -> Sequence[str]:
        return self._engine.tools(task)

    def prompt(self, task: Task) -> str:
        return self._engine.prompt(task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        if run is None:
            return await run_below(self, task)
        try:
            return await self._engine.run(task, run)
        except LimitReached as error:
            self.limit = error
            raise


class _Talks:
    """Does the turns of a skill without an engine: its instructions, and the tools that it names."""

    name = "conversational"
    fields: frozenset[str] = frozenset()

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        return tool_names(task)

    def prompt(self, task: Task) -> str:
        return compose(_TALKS, task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        if run is None:
            return await run_below(self, task)
        answered = await converse(
            run,
            Notebook(run, task.id),
            messages_of(task, run, await load_context(task)),
            system=self.prompt(task),
            tools=task_tools(self, task),
            purpose="collaboration.answer",
            max_rounds=settings_of(run.agent.host).max_tool_rounds,
            role=task.role,
        )
        status, reason = answered.ended()
        return TaskResult(status, text=answered.text, reason=reason, denied=answered.denied)


class AgentParticipants:
    """Agents of files (``agents/NAME.md``), where a plugin knows them; ``skillkit-subagents`` does."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def _who_knows(self, name: str) -> Any:
        if "skill_agents" not in self._host.kinds:
            return None
        known = self._host.registry("skill_agents")
        return next((one for one in map(known.get, known.list()) if name in one.names()), None)

    def problem(self, name: str) -> str:
        """Refuse a name that no file defines."""
        if self._who_knows(name) is not None:
            return ""
        return f"no file defines an agent {name!r} (skillkit agents list)"

    def tools(self, name: str, task: Task) -> Collection[str] | None:
        """Return nothing: the file narrows the tools of the agent that leads."""
        return None

    async def speak(self, name: str, task: Task) -> TaskResult:
        """Let an agent of the file answer once."""
        caller = task.agent
        config = AgentConfig(tools=tuple(caller.config.tools), retry=caller.config.retry, options=caller.config.options)
        async with AgentRunner(config, session=task.session, name=task.name) as agent:
            await self._who_knows(name).become(agent, caller, name)
            if task.session is not None and not task.resumed:
                session = await agent.open()
                await caller.session.note(BELOW, {"task": task.id, "session": session.id}, sync=True)
            words = "\n\n".join(filter(None, (task.context, task.query)))
            response = await (agent.resume() if task.resumed else agent.chat(words))
        if response.outcome == "limit":
            raise LimitReached(response.reason or "a limit of the run")
        status = "completed" if response.outcome == "completed" else "failed"
        reason = "" if status == "completed" else f"{response.outcome}: {response.reason}"
        session_id = response.session_id if task.session is not None else None
        return TaskResult(status, text=response.content, reason=reason, session=session_id, usage=response.usage)  # type: ignore[arg-type]
