"""Agents elsewhere where skills are: as steps of plans, as routes of requests, and as participants of a collaboration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_engines import Task, TaskResult, do_task, run_below

from skillkit_core import LoadedSkills, Skill, SkillLoader, SkillSource, ToolCall
from skillkit_core.errors import LimitReached
from skillkit_core.frozen import thaw
from skillkit_core.messages import Outcome
from skillkit_core.skills import SkillProblem

from ..errors import PeerError
from .settings import agents_of, target_of
from .tool import TOOL

if TYPE_CHECKING:
    from skillkit_core import DrivenRun, Host

__all__ = ["PREFIX", "AgentEngine", "AgentLoader", "AgentParticipants"]

ENGINE = "a2a"
PREFIX = "a2a:"


def _agent_of(skill: Skill) -> str:
    return str(skill.metadata.get("skillkit", {}).get(ENGINE) or skill.name.removeprefix(PREFIX))


class AgentEngine:
    """Gives a task to the agent elsewhere that its skill stands for, by the tool, under the guards of the run."""

    name = ENGINE
    fields: frozenset[str] = frozenset()
    outputs: Mapping[str, Any] = {
        "agent": {"type": "string"},
        "task": {"type": "string"},
        "state": {"type": "string"},
        "artifacts": {"type": "array"},
    }
    """Values that a task leaves for later steps of a plan: what was made, and by whom."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.limit: LimitReached | None = None
        """The limit that has ended its run."""

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Refuse a skill that stands for no agent of the settings."""
        try:
            target_of(host, _agent_of(skill))
        except PeerError as error:
            return (SkillProblem(ENGINE, error.message, "error"),)
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the one tool."""
        return (TOOL,)

    def prompt(self, task: Task) -> str:
        """Return nothing: no model of this host works on it."""
        return ""

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Call the tool, and return what the agent has made. What earlier steps found goes with the request."""
        if run is None:
            return await run_below(self, task)
        words = "\n\n".join(part for part in (task.context, task.query) if part.strip())
        try:
            (result,) = await run.call(ToolCall("", TOOL, {"agent": _agent_of(task.skill), "message": words}))
        except LimitReached as error:
            self.limit = error
            raise
        if result.outcome in (Outcome.denied, Outcome.blocked, Outcome.skipped):
            return TaskResult("failed", reason=f"denied: {TOOL}", denied=(TOOL,))
        told = thaw(result.details) if isinstance(result.details, Mapping) else {}
        if result.is_error:
            reason = f"{told.get('error') or result.outcome.value}: {told.get('message') or result.text}"
            return TaskResult("failed", reason=reason, data={"task": told["task"]} if told.get("task") else {})
        text = str(told.pop("text", ""))
        if not text.strip():
            return TaskResult("failed", reason=f"empty: {told.get('agent')} answered nothing", data=told)
        return TaskResult("completed", text=text, data={key: value for key, value in told.items() if value is not None})


class AgentLoader(SkillLoader):
    """Makes a skill of each agent of the settings, and of the skills of it that they name; no card is fetched."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def accepts(self, source: SkillSource) -> bool:
        """Return whether the source is the agents."""
        return source.loader == ENGINE

    def load(self, source: SkillSource) -> LoadedSkills:
        """Return the agents as skills. Without a description only who names it can call one."""
        found = []
        for name, one in agents_of(self._host).items():
            for which in (name, *(f"{name}/{skill}" for skill in one.skills)):
                described = one.description if which == name else ""
                found.append(
                    Skill(
                        name=f"{PREFIX}{which}",
                        description=described or f"The agent {which} of another host.",
                        engine=ENGINE,
                        source=source.name,
                        disable_model_invocation=not described,
                        metadata={"skillkit": {ENGINE: which}},
                    )
                )
        return LoadedSkills(tuple(found))


class AgentParticipants:
    """Agents elsewhere as participants of a collaboration: ``a2a:NAME``, ``a2a:NAME/SKILL``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def problem(self, name: str) -> str:
        """Refuse a name that the settings do not have."""
        try:
            target_of(self._host, name)
        except PeerError as error:
            return error.message
        return ""

    def tools(self, name: str, task: Task) -> Collection[str] | None:
        """Return the one tool."""
        return (TOOL,)

    async def speak(self, name: str, task: Task) -> TaskResult:
        """Let the agent take the turn."""
        skill = Skill(name=f"{PREFIX}{name}", engine=ENGINE, metadata={"skillkit": {ENGINE: name}})
        engine = AgentEngine(self._host)
        result = await do_task(engine, replace(task, skill=skill), None)
        if engine.limit is not None:
            raise engine.limit
        return result
