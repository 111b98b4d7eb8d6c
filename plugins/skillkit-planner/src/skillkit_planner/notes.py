"""Plans in the session: the types of their notes, long texts in files, and what the notes of a plan come to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError
from skillkit_core.frozen import thaw

from .models import ExecutionPlan, PlanStep

if TYPE_CHECKING:
    from pathlib import Path

    from skillkit_core import Host

__all__ = [
    "END", "FALLBACK", "PLAN", "REJECTED", "STEP", "PlanView", "StepView", "keep_text", "kept_text", "notes_of",
    "packed", "plans_of", "unpacked", "views_of",
]  # fmt: skip

PLAN, STEP, END = "planner.plan", "planner.step", "planner.end"
REJECTED, FALLBACK = "planner.rejected", "planner.fallback"
IN_NOTE = 8 * 1024  # characters of a result; longer ones are in a file


def _folder(host: Host) -> Path:
    return host.data_dir / "planner"


def keep_text(host: Host, text: str) -> str:
    """Keep a long text in a file below the data folder, without the secrets that the host knows; return its handle."""
    data = str(host.redact(text)).encode()
    handle = sha256(data).hexdigest()
    folder = _folder(host)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / handle
    if not file.exists():
        made = folder / f".{handle}.{os.getpid()}"
        made.write_bytes(data)
        made.chmod(0o600)
        made.replace(file)
    return handle


def kept_text(host: Host, handle: str) -> str:
    """Return the text of a handle.

    Raises:
        ToolError: there is none.
    """
    file = _folder(host) / handle
    if len(handle) != 64 or not handle.isalnum() or not file.is_file():
        raise ToolError(f"no output is kept under the handle {handle!r}")
    return file.read_text("utf-8")


def packed(host: Host, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as a note holds it: itself, or the handle of a file with it."""
    data = json.dumps(thaw(result), ensure_ascii=False, default=str)
    return {"result": json.loads(data)} if len(data) <= IN_NOTE else {"kept": keep_text(host, data)}


def unpacked(host: Host, note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result that a note holds; one whose file is gone says so."""
    if "kept" not in note:
        return dict(thaw(note.get("result") or {}))
    try:
        found: dict[str, Any] = json.loads(kept_text(host, str(note["kept"])))
    except ToolError:
        return {"response_text": "[the output of this step is no longer kept]"}
    return found


# --- what the notes come to -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class StepView:
    """A step, as its notes tell it.

    Attributes:
        step: the step.
        state: ``pending`` where no note tells of it.
        attempt: how often it was begun.
        reason: why it is not ``completed``.
        ms: milliseconds of the last attempt.
        calls, tokens, cost: what all attempts used.
        session: the session of the agent that did it.
        result: what it left, if it is completed.
        began, ended: seconds since the epoch.
    """

    step: PlanStep
    state: str = "pending"
    attempt: int = 0
    reason: str = ""
    ms: float = 0.0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    session: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    began: float | None = None
    ended: float | None = None


@dataclass(slots=True)
class PlanView:
    """A plan, as its notes tell it.

    Attributes:
        plan: the plan, as it was changed last.
        query: the words of the request.
        input: the entry of the request.
        by: who made it: ``routing``, ``repair``, ``person``, ``template NAME``, ``replan``, or the name of a plugin.
        status: ``running`` where no note tells of its end.
        confirmed: a person wants it carried out.
        replaced: the steps that a new plan has replaced.
        records: its notes of steps, oldest first.
    """

    plan: ExecutionPlan
    query: str = ""
    input: str = ""
    by: str = ""
    status: str = "running"
    ms: float = 0.0
    confirmed: bool = False
    replaced: tuple[int, ...] = ()
    steps: dict[int, StepView] = field(default_factory=dict)
    records: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """The tokens of all steps."""
        return sum(step.tokens for step in self.steps.values())

    @property
    def cost(self) -> float:
        """The US dollars of all steps, as far as prices are known."""
        return sum(step.cost for step in self.steps.values())

    @property
    def calls(self) -> int:
        """The model calls of all steps."""
        return sum(step.calls for step in self.steps.values())


def views_of(host: Host, notes: Iterable[tuple[str, float, Mapping[str, Any]]]) -> list[PlanView]:
    """Return the plans of a branch, oldest first.

    Args:
        host: the host, which has the long results.
        notes: the notes of plans on the way to the root, oldest first: type, time, data.
    """
    found: dict[str, PlanView] = {}
    for kind, at, data in notes:
        if kind == PLAN:
            _take_plan(found, data)
        elif (view := found.get(str(data.get("plan")))) is None:
            continue
        elif kind == STEP:
            _take_step(host, view, at, data)
        elif kind == END:
            view.status, view.ms = str(data.get("status")), float(data.get("ms") or 0)
    return list(found.values())


def _take_plan(found: dict[str, PlanView], data: Mapping[str, Any]) -> None:
    name = str(data["id"])
    plan = ExecutionPlan.of(thaw(data["steps"]), reasoning=str(data.get("reasoning") or ""), plan_id=name)
    about: dict[str, Any] = {"query": str(data.get("query") or ""), "input": str(data.get("input") or "")}
    about |= {"by": str(data.get("by") or ""), "confirmed": bool(data.get("confirmed"))}
    old = found.get(name)
    view = found[name] = PlanView(plan, **about, replaced=tuple(data.get("replaced") or ()))
    view.steps = {step.step_id: StepView(step) for step in plan.steps}
    if old is not None:
        view.records = old.records
        view.steps |= {
            number: old.steps[number] for number in view.steps if number in old.steps and _same(view, old, number)
        }


def _same(view: PlanView, old: PlanView, number: int) -> bool:
    return view.steps[number].step == old.steps[number].step


def _take_step(host: Host, view: PlanView, at: float, data: Mapping[str, Any]) -> None:
    view.records.append(data)
    view.status = "running"
    step = view.steps.get(int(data["step_id"]))
    if step is None:
        return
    step.state, step.attempt = str(data["state"]), int(data.get("attempt") or 0)
    step.reason, step.ms = str(data.get("reason") or ""), float(data.get("ms") or 0)
    step.session = data.get("session") or step.session
    usage = data.get("usage") or {}
    step.calls += int(usage.get("calls") or 0)
    step.tokens += int(usage.get("tokens") or 0)
    step.cost += float(usage.get("cost") or 0)
    if step.state == "running":
        step.began, step.ended = at, None
    else:
        step.ended = at
    if step.state == "completed":
        step.result = unpacked(host, data)


def plans_of(host: Host, session: Any) -> list[PlanView]:
    """Return the plans of the current branch of an open session, oldest first."""
    return views_of(host, notes_of(session))


def notes_of(session: Any) -> Sequence[tuple[str, float, Mapping[str, Any]]]:
    """Return the notes of plans of an open session, oldest first."""
    return [(note.type, note.ts, note.data) for note in session.notes() if note.type in (PLAN, STEP, END)]
