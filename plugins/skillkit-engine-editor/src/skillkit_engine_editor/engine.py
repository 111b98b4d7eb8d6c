"""The engine: the document and its surroundings to a model, operations back, checked, then proposed or applied."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skillkit_engines import (
    Answered,
    EditorContext,
    Notebook,
    Task,
    TaskResult,
    compose,
    context_part,
    converse,
    earlier_notes,
    keep_note,
    load_context,
    messages_of,
    node,
    run_below,
    run_fragments,
    settings_of,
    task_tools,
    tool_names,
)

from skillkit_core.frozen import thaw
from skillkit_core.messages import Outcome, ToolCall, UserMessage, blocks_of

from .applying import APPLY, told
from .documents import current, refreshed
from .operations import Edited, edit

if TYPE_CHECKING:
    from skillkit_core import AgentMessage, DrivenRun, Host, Skill, SkillProblem

__all__ = ["EditorEngine", "Proposal", "proposal_of"]

PROPOSAL = "engine-editor.proposal"  # type of the note
MAX_REVISIONS = 3
BASE = """You edit the document that is open in an editor, as the request says. You do not rewrite what the request leaves alone.
Answer with one JSON object: {"message": "what you did, in a sentence", "operations": [...]}. An operation is one of
- {"op": "replace_range", "original_text": "text", "text": "new text"}
- {"op": "delete_range", "original_text": "text"}
- {"op": "insert_after_heading", "heading": "Heading", "text": "text"}
original_text is copied from the document letter by letter and long enough to be there exactly once. All operations see the \
document as it is now, and no two of them touch the same characters. A question about the document is answered in words, without \
an object. A request of another kind: {"rejected": true, "reason": "why"}"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model answered.

    Attributes:
        message: words for the person.
        operations: the operations; empty: an answer in words.
        rejected: why the skill does not do that; ``None``: it does.
    """

    message: str
    operations: tuple[Mapping[str, Any], ...] = ()
    rejected: str | None = None


class EditorEngine:
    """Runs skills that edit: what a document of a type needs, the skill says; the engine knows no type."""

    name = "editor"
    fields = frozenset(
        ("system_prompt", "tool_packs", "optional_tools", "subgraphs", "context_loader", "supports_hitl")
    )

    own_tools = frozenset((APPLY,))  # the engine calls it, and no model

    def __init__(self, host: Host) -> None:
        self._host = host

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return nothing: any skill will do; without an open document its gates are closed, or the task fails."""
        return ()

    def tools(self, task: Task) -> Sequence[str]:
        """Return the tools of the skill and of its packs, to look things up."""
        return tool_names(task)

    def prompt(self, task: Task) -> str:
        """Return the rules of edits, the prompt of the skill, and what holds in all skills."""
        return compose(BASE, task)

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task, from ``load_skill`` to ``format_response``."""
        if task.editor is None:
            return TaskResult("failed", reason="no_editor: no document is open in an editor")
        if run is None:
            return await run_below(self, task)
        state = run.agent.state("engine-editor")
        state["works"] = True
        run.agent.toolbox.changed()
        try:
            return await self._edit(task, run, task.editor)
        finally:
            state["works"] = False
            run.agent.toolbox.changed()

    async def _edit(self, task: Task, run: DrivenRun, editor: EditorContext) -> TaskResult:
        kept = _kept(run, task)
        if kept is None:
            async with node(task, "load_skill"):
                system = self.prompt(task)
            async with node(task, "load_editor_context"):
                editor = current(run.agent, editor)
                task = replace(task, editor=editor)
                document = _document(editor)
            async with node(task, "load_references"):
                messages = messages_of(task, run, document, await load_context(task))
            async with node(task, "route_execution"):
                attempt = _Attempt(self, task, run, system, messages)
                proposal, problems = await attempt.best(settings_of(self._host).max_tool_rounds)
            if proposal.rejected is not None:
                return TaskResult("rejected", reason=f"rejected: {proposal.rejected}", denied=tuple(attempt.denied))
            kept = await _keep(run, task, editor, proposal, problems, attempt.ended(proposal))
        async with node(task, "resolve_operations"):
            result = _told(await _resolved(task, run, editor, kept), kept)
        async with node(task, "format_response"):
            return result


class _Attempt:
    """Asks for a proposal, and again where operations are not clear or a validator is not content."""

    def __init__(
        self, engine: EditorEngine, task: Task, run: DrivenRun, system: str, messages: Sequence[AgentMessage]
    ) -> None:
        assert task.editor is not None
        self._engine, self._task, self._run = engine, task, run
        self._system, self._messages, self._editor = system, list(messages), task.editor
        self._book = Notebook(run, task.id)
        self._stopped = self._failed = ""
        self.used: dict[str, None] = {}
        self.denied: dict[str, None] = {}

    def ended(self, proposal: Proposal) -> Answered:
        """Return how the rounds of all attempts ended."""
        text = proposal.message or ("edits" if proposal.operations else "")
        return Answered(text, self._stopped, tuple(self.used), tuple(self.denied), self._failed)

    async def best(self, rounds: int) -> tuple[Proposal, str]:
        """Return the proposal, and what is wrong with it; empty: it is clear and valid."""
        for revision in range(MAX_REVISIONS + 1):
            answered = await converse(
                self._run,
                self._book,
                self._messages,
                system=self._system,
                tools=task_tools(self._engine, self._task),
                purpose="engine-editor.edit",
                max_rounds=rounds,
                role=self._task.role,
            )
            self.used |= dict.fromkeys(answered.used)
            self.denied |= dict.fromkeys(answered.denied)
            self._stopped, self._failed = answered.stopped, answered.failed
            proposal = proposal_of("" if answered.stopped == "loop" else answered.text)
            problems = "" if proposal.rejected is not None else await self._problems(proposal)
            if not problems or revision == MAX_REVISIONS:
                return proposal, problems
            again = f"Your answer was:\n{answered.text}\n\nIt was not applied. {problems}\nAnswer again, in full."
            self._messages.append(UserMessage(content=blocks_of(again)))
        raise AssertionError("the last revision returns")

    async def _problems(self, proposal: Proposal) -> str:
        """Return what is wrong with the operations, or what the skill's subgraphs say of the text that they make."""
        if not proposal.operations:
            return ""
        done = edit(self._editor.content, proposal.operations)
        if done.status != "applied":
            return told(done, self._editor.file or "the document")
        given = {
            "query": self._task.query,
            "text": done.document,
            "before": self._editor.content,
            "operations": [dict(one) for one in proposal.operations],
            "message": proposal.message,
            "front_matter": thaw(self._editor.front_matter),
            "problems": [],
        }
        values, failed = await run_fragments(self._task, self._task.skill.subgraphs, given)
        told_by = [str(problem) for problem in values.get("problems") or ()]
        if values.get("valid") is False and not told_by:
            told_by = ["it is not valid"]
        return "; ".join([*told_by, *(f"the check {name} failed" for name in failed)])


def proposal_of(text: str) -> Proposal:
    """Return what an answer proposes; an answer without an object is words."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            found, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
            continue
        if isinstance(found, Mapping) and found.get("rejected") is True:
            return Proposal("", rejected=str(found.get("reason") or "no reason given"))
        if isinstance(found, Mapping) and isinstance(found.get("operations"), list):
            operations = tuple(one if isinstance(one, Mapping) else {"op": str(one)} for one in found["operations"])
            return Proposal(str(found.get("message") or ""), operations)
        place = text.find("{", place + 1)
    return Proposal(text)


# --- what outlives the process ------------------------------------------------------------------------------------


async def _keep(
    run: DrivenRun, task: Task, editor: EditorContext, proposal: Proposal, problems: str, answered: Answered
) -> Mapping[str, Any]:
    """Write the proposal down before a person is asked: a resumed run makes exactly this call again."""
    kept = {
        "task": task.id,
        "path": editor.file,
        "pre_hash": editor.revision,
        "message": proposal.message,
        "operations": [thaw(one) for one in proposal.operations],
        "valid": not problems,
        "problems": problems[:2_000],
        "ended": list(answered.ended()),
        "denied": list(answered.denied),
    }
    await keep_note(run.agent, PROPOSAL, kept)
    return kept


def _kept(run: DrivenRun, task: Task) -> Mapping[str, Any] | None:
    found = earlier_notes(run, PROPOSAL, task.id)
    return found[-1] if found else None


def _told(result: TaskResult, kept: Mapping[str, Any]) -> TaskResult:
    """Return a result with what the rounds before it could not do."""
    status, reason = kept["ended"]
    denied = tuple(dict.fromkeys((*kept["denied"], *result.denied)))
    if result.status != "completed" or status == "completed":
        return replace(result, denied=denied)
    if kept["operations"]:
        status = "partial"
    return replace(result, status=status, reason=reason, denied=denied)


async def _resolved(task: Task, run: DrivenRun, editor: EditorContext, kept: Mapping[str, Any]) -> TaskResult:
    """Apply a proposal to its file, or hand it on to the editor that holds the document."""
    operations, message = thaw(kept["operations"]), str(kept["message"])
    data = {"operations": operations, "pre_hash": kept["pre_hash"], "path": kept["path"]}
    if not operations:
        return TaskResult("completed", text=message)
    unvalidated = "" if kept["valid"] else f"unvalidated: {kept['problems']}"
    if not kept["path"]:
        done = edit(editor.content, operations, str(kept["pre_hash"]))
        return _proposed(done, message, data, unvalidated)
    if unvalidated and not _clear(str(kept["problems"])):
        return TaskResult("failed", text=message, data=data, reason=str(kept["problems"]))
    args = {"path": kept["path"], "operations": operations, "pre_hash": kept["pre_hash"]}
    (result,) = await run.call(ToolCall("", APPLY, args))
    if result.outcome in (Outcome.denied, Outcome.blocked):
        text = f"{message}\nNothing was changed: {result.text}".strip()
        return TaskResult("failed", text=text, data=data, reason=f"denied: {APPLY}", denied=(APPLY,))
    if result.is_error:
        return TaskResult("failed", data=data, reason=result.text)
    refreshed(run.agent, editor)  # the next request is about the new text
    details = result.details if isinstance(result.details, Mapping) else {}
    data |= {"before": details.get("before"), "after": details.get("after")}
    return TaskResult(
        "partial" if unvalidated else "completed", text=message or result.text, data=data, reason=unvalidated
    )


def _clear(problems: str) -> bool:
    """Return whether operations can be applied, although a validator was not content."""
    return not problems.startswith(("rejected", "overlap", "conflict"))


def _proposed(done: Edited, message: str, data: dict[str, Any], unvalidated: str) -> TaskResult:
    if done.status != "applied":
        return TaskResult("failed", text=message, data=data, reason=told(done, "the document"))
    values = {**data, "document": done.document}
    return TaskResult("partial" if unvalidated else "completed", text=message, data=values, reason=unvalidated)


def _document(editor: EditorContext) -> str:
    """Return the document for a model: where the cursor stands, what is selected, and the text, marked as data."""
    about = [f"Type: {editor.type}", f"Cursor: character {editor.cursor}"]
    if editor.file:
        about.insert(0, f"File: {editor.file}")
    if editor.selection is not None:
        begin, end = editor.selection
        about.append(f"Selected: characters {begin} to {end}: {editor.content[begin:end]!r}")
    return context_part("editor", "\n".join([*about, "", editor.content]))
