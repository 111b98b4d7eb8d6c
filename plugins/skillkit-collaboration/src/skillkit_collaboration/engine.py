"""The engine: a task that several participants do together, in one call of a tool that can wait and go on."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from skillkit_engines import RouteRequest, Task, TaskResult, editor_of, gated_now, last_route, run_below

from skillkit_core.errors import AgentError, LimitReached, ToolError
from skillkit_core.frozen import thaw
from skillkit_core.messages import Outcome, ToolCall
from skillkit_core.skills import SkillProblem
from skillkit_core.tools import Tool, ToolContext, ToolOutput

from .checking import fold, kind_of, named, reasons, roles_of
from .exports import as_text
from .models import CollaborationConfig, mistakes_in
from .participants import ENGINE
from .record import BEGIN, Record, records_of, write
from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun, Host, Skill

__all__ = ["TOOL", "TOOLS", "CollaborationEngine", "config_of"]

TOOL = "lead_collaboration"


def config_of(given: Any, host: Host) -> CollaborationConfig:
    """Return a configuration with the defaults of the settings filled in.

    Raises:
        ValidationError: it is none.
    """
    config = given if isinstance(given, CollaborationConfig) else CollaborationConfig(**thaw(given or {}))
    settings, own = settings_of(host), config.convergence
    filled = {name: getattr(settings, name) for name in ("max_turns", "max_revisions") if getattr(own, name) is None}
    return config.model_copy(update={"convergence": own.model_copy(update=filled)})


class CollaborationEngine:
    """Runs skills that are sessions of others: ``metadata.skillkit.collaboration`` says which, and how.

    Args:
        host: the host.
        config: the session of every task, for a task whose skill says nothing of it.
    """

    name = ENGINE
    fields = frozenset(("tool_packs",))
    outputs: Mapping[str, Any] = {
        "collaboration": {"type": "string"},
        "outcome": {"type": "string"},
        "turns": {"type": "integer"},
        "model_calls": {"type": "integer"},
        "reason": {"type": "string"},
    }
    """Values that a session leaves for later steps of a plan."""

    def __init__(self, host: Host, config: Mapping[str, Any] | None = None) -> None:
        self._host, self._config = host, config

    def _given(self, skill: Skill) -> Any:
        return self._config if self._config is not None else skill.metadata.get("skillkit", {}).get(ENGINE)

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return what is wrong with the session of a skill."""
        try:
            found = [reason.text for reason in reasons(config_of(self._given(skill), host), host)]
        except ValidationError as error:
            found = list(mistakes_in(error))
        where = str(skill.path / "SKILL.md") if skill.path is not None else None
        return tuple(SkillProblem("collaboration", text, "error", where) for text in found)

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools of all participants, and the one that leads them."""
        config = config_of(self._given(task.skill), self._host)
        given = replace(task, packs=(*task.packs, *task.skill.tool_packs, *config.tool_packs))
        found: dict[str, None] = {TOOL: None}
        for name in config.participants:
            kind, own = kind_of(name)
            names = self._host.registry("participants").get(kind).tools(own, given)
            found |= dict.fromkeys(names if names is not None else (tool.name for tool in task.agent.tools))
        return tuple(found)

    def prompt(self, task: Task) -> str:
        """Return nothing: each participant has a prompt of its own."""
        return ""

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Lead the session of a task, or go on with it; its trace is in the notes of the session of the run."""
        if why := refused(task.agent, self._given(task.skill), self._host):
            return TaskResult("failed", reason=why)
        if run is None:
            return await run_below(self, task)
        agent, host = run.agent, run.agent.host
        record = _kept(agent, task.id)
        if record is None:
            config = config_of(self._given(task.skill), host)
            record = await _begun(agent, task, config)
        state = agent.state(ENGINE)
        state["leads"] = True
        agent.toolbox.changed()
        try:
            limited = await _carried_out(run, record.id)
        finally:
            state["leads"] = False
            agent.toolbox.changed()
        record = next(one for one in records_of(host, agent.session) if one.id == record.id)
        result = result_of(record, show=settings_of(host).show)
        if limited is not None and not result.text:
            raise limited
        return result


def refused(agent: AgentRunner, given: Any, host: Host) -> str:
    """Return why a session may not begin here, before any model is asked; empty: it may."""
    try:
        config = config_of(given, host)
    except ValidationError as error:
        return f"invalid: {'; '.join(mistakes_in(error))}"
    if found := reasons(config, host):
        return "; ".join(f"{reason.code}: {reason.text}" for reason in found)
    if why := _ineligible(agent, config):
        return f"ineligible_participant: {why}"
    above = list(agent.ancestors())
    if any(one.state(ENGINE).get("leads") for one in above):
        return "depth: a session of several skills begins none of its own"
    most = settings_of(host).depth
    if len(above) > most:
        return f"depth: this would be {len(above)} agents below the outermost one; collaboration.depth is {most}"
    return _ring(above, config)


def _ineligible(agent: AgentRunner, config: CollaborationConfig) -> str:
    """Return which skill may not work now, and why."""
    request = RouteRequest("", editor=editor_of(agent), caller="planner")
    dropped = {fold(name): (name, why) for name, why in gated_now(agent, request).dropped.items()}
    for one in config.participants:
        kind, own = kind_of(one)
        found = dropped.get(fold(own)) if kind == "skill" else None
        if found is not None and not found[1].startswith("requires_explicit_keywords"):
            return f"{found[0]}: {found[1]}"
    return ""


def _ring(above: Sequence[AgentRunner], config: CollaborationConfig) -> str:
    """Return why a participant may not take part whose own work has led here."""
    for one in above:
        found = last_route(one)
        route = found[1] if found is not None else None
        if route is None or route.plan:
            continue
        for name in config.participants:
            kind, own = kind_of(name)
            if kind == "skill" and fold(own) == fold(route.skill):
                return f"cycle: {route.skill}→collaboration→{own}"
    return ""


def _kept(agent: AgentRunner, task: str) -> Record | None:
    """Return the session of a task that an earlier run has begun."""
    found = records_of(agent.host, agent.session)
    return next((one for one in reversed(found) if one.task == task), None)


async def _begun(agent: AgentRunner, task: Task, config: CollaborationConfig) -> Record:
    record = Record(f"c{len(records_of(agent.host, agent.session)) + 1}")
    about = {
        "task": task.id,
        "skill": task.skill.name,
        "query": task.query,
        "context": task.context,
        "system": task.rules,
        "packs": [*task.packs, *task.skill.tool_packs],
        "config": config.model_dump(mode="json"),
        "names": named(config),
        "roles": roles_of(config),
    }
    await write(agent, record, BEGIN, about)
    return record


async def _carried_out(run: DrivenRun, name: str) -> LimitReached | None:
    """Let the tool lead the session; a call that an abort has cut off is made once more. Return the limit that ended it."""
    for again in itertools.count():
        args: dict[str, Any] = {"collaboration": name, **({"again": again} if again else {})}
        try:
            (result,) = await run.call(ToolCall("", TOOL, args))
        except LimitReached as error:
            return error
        if result.outcome is not Outcome.interrupted:
            if result.is_error:
                raise AgentError(f"the session was not carried out: {result.text}")
            return None
    raise AssertionError("the count has no end")


def result_of(record: Record, *, show: bool = False) -> TaskResult:
    """Return what a session came to, as the result of its task."""
    text = record.result
    if show:
        text = f"{text}\n\n{as_text(record.trace())}".strip()
    data = {
        "collaboration": record.id,
        "outcome": record.trace().outcome,
        "turns": record.turn,
        "model_calls": record.calls,
        "reason": record.reason,
    }
    if record.status == "converged":
        return TaskResult("completed" if record.result.strip() else "failed", text=text, data=data, reason="")
    if record.status == "max_turns_reached" and record.result.strip():
        return TaskResult("partial", text=text, data=data, reason=f"max_turns: {record.reason}")
    if record.reason.startswith("budget") and record.result.strip():
        return TaskResult("partial", text=text, data=data, reason=record.reason)
    word = "" if record.reason.partition(":")[0].isidentifier() else "protocol: "
    return TaskResult("failed", text=text, data=data, reason=f"{word}{record.reason}")


# --- the tool ---------------------------------------------------------------------------------------------------------


async def lead_collaboration(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Lead a session of this agent to its end, from where it stands."""
    from .leading import Leader

    found = records_of(ctx.agent.host, ctx.agent.session)
    record = next((one for one in found if one.id == args["collaboration"]), None)
    if record is None:
        raise ToolError(f"there is no collaboration {args['collaboration']!r} in this session")
    await Leader(ctx, record).lead()
    trace = record.trace()
    return ToolOutput(as_text(trace, lines_of_message=6), {"collaboration": record.id, "outcome": trace.outcome})


TOOLS = (
    Tool(
        TOOL,
        "Lead a session of several skills.",
        f"{__name__}:lead_collaboration",
        {
            "type": "object",
            "properties": {"collaboration": {"type": "string"}, "again": {"type": "integer"}},
            "required": ["collaboration"],
            "additionalProperties": False,
        },
        sequential=True,
        replay="safe",
        suspends=True,
        annotations={"mutates": "none"},
    ),
)
