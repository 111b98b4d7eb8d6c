"""The engine: what to look for, rounds of search, what is missing, an answer from the sources, and whether its claims hold.

The keys of the skill's mode (:class:`~.modes.Mode`) decide which of these parts run; no part knows a mode by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import Task, TaskResult, node, run_below, run_fragments, tool_names

from skillkit_core.errors import LimitReached, UsageError
from skillkit_core.skills import SkillProblem

from .gathering import LOCAL, WEB, addresses_in
from .prompts import ANSWER, SHAPES, filled
from .work import Work

if TYPE_CHECKING:
    from skillkit_core import DrivenRun, Host, Skill

    from .modes import Mode

__all__ = ["ResearchEngine"]


class ResearchEngine:
    """Runs skills that look for something and answer with sources."""

    name = "research"
    fields = frozenset(
        ("system_prompt", "tool_packs", "optional_tools", "subgraphs", "context_loader", "supports_hitl")
    )

    def __init__(self, host: Host) -> None:
        self._host = host

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return what is wrong with the mode of a skill."""
        from .modes import mode_of, style_of

        try:
            style_of(host, mode_of(host, skill)[1].synthesis_style)
        except UsageError as error:
            hint = f" ({error.hint})" if error.hint else ""
            where = str(skill.path / "SKILL.md") if skill.path is not None else None
            return (SkillProblem("research-mode", f"{error.message}{hint}", "error", where),)
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools of the task: those of its skill and packs, and those of the sources that its mode has."""
        from .modes import mode_of

        _, mode = mode_of(self._host, task.skill)
        sources = [*(LOCAL if mode.local else ()), *(WEB if mode.web != "none" else WEB[1:] if mode.crawl else ())]
        allowed = (name for name in sources if task.tools is None or name in task.tools)
        others = (name for name in tool_names(task) if name not in LOCAL + WEB)
        return (*allowed, *others)

    def prompt(self, task: Task) -> str:
        """Return the system prompt of the answer: the rules of the engine, the skill's prompt, and what holds in all skills."""
        from skillkit_engines import compose

        from .modes import mode_of, style_of

        _, mode = mode_of(self._host, task.skill)
        about = {
            "style": style_of(self._host, mode.synthesis_style),
            "focus": mode.focus,
            "shape": SHAPES[mode.output_format],
        }
        return compose(filled(ANSWER, **about), task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task, from ``load_skill`` to ``format_response``."""
        if run is None:
            return await run_below(self, task)
        from .modes import mode_of

        async with node(task, "load_skill"):
            name, mode = mode_of(self._host, task.skill)
            work = await Work.begin(self, task, run, name, mode)
        if (why := _unable(task, mode, work.offered)) is not None:
            return TaskResult("rejected", reason=why)
        try:
            return await self._research(task, mode, work)
        except LimitReached:
            if text := work.sources_so_far():
                await run.say(text)  # what was found is not lost; the run ends at its limit
            raise

    async def _research(self, task: Task, mode: Mode, work: Work) -> TaskResult:
        if (why := await work.search()) is not None:
            return TaskResult("rejected", reason=f"rejected: {why}")
        if work.evidence.sources:
            if (why := await work.answer()) is not None:
                return TaskResult("rejected", reason=f"rejected: {why}")
            if mode.verify:
                await work.verify()
            if mode.relations:
                await work.relate()
        async with node(task, "format_response"):
            result = await work.result()
        return await _formed(task, result)


def _unable(task: Task, mode: Mode, offered: Mapping[str, Any]) -> str | None:
    """Return why a task cannot be done with the tools that there are; ``None``: it can."""
    needed = WEB if mode.web == "required" else WEB[1:] if mode.crawl else ()
    if not needed and mode.local and (mode.web == "none" or not offered):
        needed = LOCAL
    if missing := [name for name in needed if name not in offered]:
        return f"missing_tools: {', '.join(missing)}"
    if mode.crawl and not addresses_in(task.query):
        return "rejected: the request names no address to begin at"
    return None


async def _formed(task: Task, result: TaskResult) -> TaskResult:
    """Return the result as the fragments of the skill change it."""
    if not task.skill.subgraphs:
        return result
    given = {"query": task.query, "text": result.text, **result.data}
    values, failed = await run_fragments(task, task.skill.subgraphs, given)
    reason = "; ".join(filter(None, (result.reason, f"fragments: {', '.join(failed)} failed" if failed else "")))
    data = {name: value for name, value in values.items() if name not in ("query", "text")}
    status = "partial" if failed and result.status == "completed" else result.status
    return TaskResult(status, text=str(values["text"]), data=data, reason=reason, denied=result.denied)
