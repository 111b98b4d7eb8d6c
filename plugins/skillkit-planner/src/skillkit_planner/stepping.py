"""One step of a plan: what it gets from others, the agent that does it, and what it leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_engines import (
    BELOW,
    CHAT,
    Engine,
    Fragment,
    Task,
    TaskResult,
    catalog_of,
    context_part,
    do_task,
    editor_of,
    engine_of,
)

from skillkit_core import Skill
from skillkit_core.errors import RunAborted, SkillKitError, Suspended
from skillkit_core.frozen import thaw

from .bridge import asked, fenced, read
from .executor import StepFailed
from .known import outputs_of
from .models import PlanStep
from .notes import PlanView, keep_text
from .offering import PLAN_PACK
from .settings import settings_of
from .targets import FragmentEngine, PlainEngine, inputs_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner
    from skillkit_core.tools import ToolContext

    from .budget import Budget
    from .journal import SessionJournal

__all__ = ["StepRunner"]

GRACE = 0.3
"""Seconds that tools of a step have to end once it is stopped; then they get them once more, and a stop takes under a second."""
Result = Mapping[str, Any]


class StepRunner:
    """Does the steps of a plan."""

    def __init__(self, ctx: ToolContext, view: PlanView, journal: SessionJournal, budget: Budget) -> None:
        self._ctx, self._view, self._journal, self._budget = ctx, view, journal, budget
        self._agent: AgentRunner = ctx.agent
        self._rules = str(self._agent.state("engines").get("rules") or "")
        self._wanted = {step.step_id: _wanted_of(step, view) for step in view.plan.steps}

    def prepared(self, step: PlanStep) -> PlanStep:
        """Return a step that says whether it may be done twice: if it does not itself, its tools tell."""
        if step.idempotent is not None:
            return step
        return step.model_copy(update={"idempotent": self._harmless(step)})

    def _harmless(self, step: PlanStep) -> bool:
        if step.collaboration is not None:
            return False
        engine, task = self._target(step, {})
        if getattr(engine, "own_tools", ()):
            return False  # what an engine calls itself, and no model is offered, changes something
        offered = {tool.name: tool for tool in self._agent.tools}
        tools = [offered[name] for name in engine.tools(task) if name in offered]
        return all(tool.annotations.get("mutates") == "none" or tool.replay == "safe" for tool in tools)

    async def run(self, step: PlanStep, results: Mapping[int, Result], attempt: int) -> Result:
        """Do an attempt of a step, and return what it leaves.

        Raises:
            StepFailed: it could not be done.
            Suspended: a call of its agent waits for a decision.
        """
        try:
            result = await self._done(step, results, attempt)
        except (Suspended, RunAborted, StepFailed):
            raise
        except SkillKitError as error:
            raise StepFailed(f"error: {error}") from error
        if result.session:
            self._journal.sessions[step.step_id] = result.session
        denied = result.status == "partial" and result.reason.startswith("denied")
        if result.status not in ("completed", "partial") or denied:
            raise StepFailed(result.reason or result.status)
        return self._left(step, result)

    async def _done(self, step: PlanStep, results: Mapping[int, Result], attempt: int) -> TaskResult:
        engine, task = self._target(step, results)
        self._require_tools(step, engine, task)
        name = f"{self._view.plan.id}.{step.step_id}" + (f"#{attempt}" if attempt > 1 else "")
        task = _with(task, **{"id": name, **self._where(step)})
        if step.collaboration is not None:
            return await self._collaborate(step, task)
        about = {"plan": self._view.plan.id, "step": step.step_id, "attempt": attempt}
        return await do_task(engine, task, None, about=about)

    # --- what does it -------------------------------------------------------------------------------------------------

    def _target(self, step: PlanStep, results: Mapping[int, Result]) -> tuple[Engine, Task]:
        """Return the engine of a step, and its task without an id."""
        agent, host = self._agent, self._agent.host
        context, cut = self._context(step, results)
        packs = (*step.tool_packs, *((PLAN_PACK,) if cut else ()))
        given: dict[str, Any] = {"context": context, "packs": packs, "rules": self._rules, "editor": editor_of(agent)}
        given |= {"name": f"step{step.step_id}", "model": step.model, "grace": GRACE}
        if step.subgraph_name is not None:
            fragment: Fragment = catalog_of(host).fragments[step.subgraph_name]
            engine: Engine = FragmentEngine(fragment, inputs_of(fragment, step, results))
            return engine, Task("", agent, Skill(name=fragment.name), step.sub_query, **given)
        if step.skill_name is None:
            return PlainEngine(agent), Task("", agent, Skill(name=step.target), step.sub_query, **given)
        skill = host.skills.get(step.skill_name) if host.skills.has(step.skill_name) else Skill(name=CHAT)
        query = asked(step.sub_query, self._schemas(step, skill))
        return engine_of(host, skill) or PlainEngine(agent), Task("", agent, skill, query, **given)

    def _context(self, step: PlanStep, results: Mapping[int, Result]) -> tuple[str, bool]:
        if not step.depends_on or not results:
            return "", False
        host = self._agent.host
        chars = settings_of(host).bridge_chars
        return fenced(step, results, context_part, chars=chars, keep=lambda text: keep_text(host, text))

    def _schemas(self, step: PlanStep, skill: Skill) -> dict[str, Any]:
        """Return the values that a skill declares, as far as later steps want them."""
        declared = outputs_of(self._agent.host, skill)
        native = getattr(engine_of(self._agent.host, skill), "outputs", {})
        return {name: declared[name] for name in self._wanted[step.step_id] if name in declared and name not in native}

    def _require_tools(self, step: PlanStep, engine: Engine, task: Task) -> None:
        """Refuse a step whose packs need a tool that is not there.

        Raises:
            StepFailed: ``unknown_pack`` or ``missing_tools``, with the name.
        """
        packs, offered = catalog_of(self._agent.host).packs, {tool.name for tool in self._agent.tools}
        for name in (*step.tool_packs, *(step.collaboration or {}).get("tool_packs", ())):
            if name not in packs:
                raise StepFailed(f"unknown_pack: no plugin here brings the pack {name!r}")
            pack = packs[name]
            optional = {*pack.optional, *task.skill.optional_tools}
            if missing := [tool for tool in pack.tools if tool not in offered and tool not in optional]:
                raise StepFailed(f"missing_tools: the pack {name} needs {', '.join(missing)}")

    def _where(self, step: PlanStep) -> dict[str, Any]:
        """Return the session of the agent of a step: that in which a call waited or a crash left it, else a new one.

        Only what may be done twice goes on unasked after a crash: so its tools find the keys of the first time.
        """
        own = [record for record in self._journal.records() if record["step_id"] == step.step_id]
        state = own[-1]["state"] if own else ""
        if state == "waiting" or (state == "running" and step.idempotent):
            failed = max((int(record["attempt"]) for record in own if record["state"] == "retrying"), default=0)
            for note in reversed(self._agent.session.notes(BELOW)):
                name, _, attempt = str(note.data["task"]).partition("#")
                if name == f"{self._view.plan.id}.{step.step_id}" and int(attempt or 1) > failed:
                    return {"id": note.data["task"], "session": str(note.data["session"]), "resumed": True}
        return {"session": "new" if self._agent.session.location is not None else None}

    async def _collaborate(self, step: PlanStep, task: Task) -> TaskResult:
        for impl in self._agent.host.impls("run_collaboration"):
            given = {"collaboration": step.collaboration, "task": task}
            result = await impl.function(*(given[name] for name in impl.argnames))
            if isinstance(result, TaskResult):
                return result
        raise StepFailed("no_engine: no plugin here lets skills collaborate")

    # --- what it leaves -----------------------------------------------------------------------------------------------

    def _left(self, step: PlanStep, result: TaskResult) -> Result:
        """Return what a step leaves: its text, who did it, its data, and the values that were declared."""
        name = step.skill_name or step.subgraph_name or "collaboration"
        text, values, wrong = result.text, dict[str, Any](), tuple[str, ...]()
        host = self._agent.host
        if step.skill_name is not None and host.skills.has(step.skill_name):
            schemas = self._schemas(step, host.skills.get(step.skill_name))
            if schemas:
                text, values, wrong = read(result.text, schemas)
        data = json.loads(json.dumps(thaw(result.data), ensure_ascii=False, default=str))
        renamed = {target: data[source] for source, target in step.output_mapping.items() if source in data}
        notes = [*([result.reason] if result.status == "partial" and result.reason else []), *wrong]
        told = {"partial": "; ".join(notes)} if notes else {}
        base = {"response_text": text, "skill_name": name, "structured_data": data}
        return {**data, **values, **renamed, **base, **told}


def _wanted_of(step: PlanStep, view: PlanView) -> tuple[str, ...]:
    later = (one for one in view.plan.steps if step.step_id in one.depends_on)
    return tuple(dict.fromkeys(key for one in later for key in one.context_keys))


def _with(task: Task, **given: Any) -> Task:
    from dataclasses import replace

    return replace(task, **given)
