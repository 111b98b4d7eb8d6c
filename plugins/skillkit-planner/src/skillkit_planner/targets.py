"""What does a step that no engine of a plugin does: a fragment, or the agent itself with its own prompt and tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import (
    Fragment,
    Notebook,
    Task,
    TaskResult,
    converse,
    messages_of,
    node,
    run_below,
    settings_of,
    task_tools,
    tool_names,
)

from skillkit_core.descriptors import load_object
from skillkit_core.errors import SkillKitError, in_words
from skillkit_core.frozen import thaw

from .models import PlanStep

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun, Host, Skill, SkillProblem

__all__ = ["FragmentEngine", "PlainEngine", "inputs_of"]


def inputs_of(fragment: Fragment, step: PlanStep, results: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the inputs of a fragment for a step. Mappings of the step count after those of the fragment's definition.

    Args:
        fragment: the fragment.
        step: the step.
        results: what the steps that it depends on have left.
    """
    known: dict[str, Any] = {"sub_query": step.sub_query}
    said = [str(results[one].get("response_text") or "") for one in step.depends_on if one in results]
    if any(said):
        known["prior_response"] = "\n\n".join(filter(None, said))
    for one in step.depends_on:
        for key, value in results.get(one, {}).items():
            known[f"step_{one}_{key}"] = value
            known.setdefault(f"step_{key}", value)
        known[f"prior_step_{one}_response"] = results.get(one, {}).get("response_text", "")
    return {
        target: known[source]
        for source, target in (*fragment.input_mapping.items(), *step.input_mapping.items())
        if source in known
    }


class FragmentEngine:
    """Runs one fragment with its inputs, without the skill to which it belongs."""

    name = "fragment"
    fields: frozenset[str] = frozenset()

    def __init__(self, fragment: Fragment, values: Mapping[str, Any]) -> None:
        self._fragment, self._values = fragment, values

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return nothing: the plan was validated."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools that the fragment says it calls, and those of the packs of its step."""
        return tuple(dict.fromkeys((*self._fragment.tools, *tool_names(task))))

    def prompt(self, task: Task) -> str:
        """Return nothing: a fragment has prompts of its own."""
        return ""

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Run the fragment, and return what it leaves by the names of its output mapping."""
        if run is None:
            return await run_below(self, task)
        fragment = self._fragment
        missing = [
            name for name in fragment.inputs.get("required") or () if self._values.get(name) in (None, "", [], {})
        ]
        if missing:
            return TaskResult("failed", reason=f"missing_input: {fragment.name} needs {', '.join(missing)}")
        try:
            async with node(task, fragment.name):
                left = dict(await load_object(fragment.run)(dict(self._values), task))
        except SkillKitError:
            raise
        except Exception as error:  # noqa: BLE001 - code of a plugin
            return TaskResult("failed", reason=f"error: the fragment {fragment.name} failed: {in_words(error)}")
        data = {fragment.output_mapping.get(name, name): value for name, value in left.items()}
        text = data.pop("response_text", None)
        if not isinstance(text, str):
            text = json.dumps(thaw(data), ensure_ascii=False, indent=1, default=str)
        return TaskResult("completed", text=text, data=data)


class PlainEngine:
    """Does what the agent itself would: with its prompt and its tools, and the instructions of a skill without an engine."""

    name = "conversational"
    fields: frozenset[str] = frozenset()

    def __init__(self, caller: AgentRunner) -> None:
        self._caller = caller

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return nothing: any skill will do."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools that the skill names, else all of the caller."""
        return tool_names(task) or tuple(tool.name for tool in self._caller.tools if tool.name != "run_plan")

    def prompt(self, task: Task) -> str:
        """Return the prompt of the caller and that of the skill."""
        own = task.skill.system_prompt or task.skill.body
        return "\n\n".join(part.strip() for part in (self._caller.system_prompt(), own) if part.strip())

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Answer in rounds of a model and its tools."""
        if run is None:
            return await run_below(self, task)
        answered = await converse(
            run,
            Notebook(run, task.id),
            messages_of(task, run),
            system=self.prompt(task),
            tools=task_tools(self, task),
            purpose="planner.answer",
            max_rounds=settings_of(run.agent.host).max_tool_rounds,
        )
        if answered.stopped == "loop":
            return TaskResult("failed", reason=f"loop: the same call failed twice in a row: {answered.failed}")
        if answered.denied:
            return TaskResult("failed", reason=f"denied: {', '.join(answered.denied)}", denied=answered.denied)
        return TaskResult("completed", text=answered.text)
