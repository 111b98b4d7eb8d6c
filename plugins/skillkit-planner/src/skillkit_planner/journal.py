"""The records of a plan in the session of its agent, which every step is told by, and shown by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .events import PlanStepEvent
from .notes import STEP, PlanView, packed, unpacked
from .telling import MARKS, WORDS

if TYPE_CHECKING:
    from skillkit_core.tools import ToolContext

    from .budget import Budget

__all__ = ["SessionJournal"]

_SHOWN = 20  # lines of a step's output that are shown while others run


class SessionJournal:
    """The records of a plan in the session; each is on the disk before the work that it announces."""

    def __init__(self, ctx: ToolContext, view: PlanView, budget: Budget) -> None:
        self._ctx, self._plan, self._budget = ctx, view.plan, budget
        self._records = [
            {**record, **({"result": unpacked(ctx.agent.host, record)} if record["state"] == "completed" else {})}
            for record in view.records
        ]
        self._now = ctx.agent.clock.monotonic
        self._began: dict[int, float] = {}
        self.sessions: dict[int, str] = {}

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the records that were there when the work began."""
        return self._records

    async def append(self, record: Mapping[str, Any]) -> None:
        """Write a record, tell of it, and show it."""
        agent, number, state = self._ctx.agent, int(record["step_id"]), str(record["state"])
        data: dict[str, Any] = {"plan": self._plan.id, **{k: v for k, v in record.items() if k != "result"}}
        told: dict[str, Any] = {}
        if state == "running":
            self._began[number] = self._now()
        elif number in self._began:
            seconds = self._now() - self._began.pop(number)
            told = {"ms": round(seconds * 1000, 3)}
            told["usage"] = self._budget.used_by(self._plan.step(number), state, seconds)
            if number in self.sessions:
                data["session"] = self.sessions[number]
        if state == "completed":
            data |= packed(agent.host, record["result"])
        await agent.session.note(STEP, {**data, **told}, sync=True)
        target = self._plan.step(number).target
        about = {"plan": self._plan.id, "step": number, "target": target, "state": state, **told}
        about |= {"attempt": int(record.get("attempt") or 0), "reason": str(record.get("reason") or "")}
        await agent.events.emit(agent.events.make(PlanStepEvent, **about))
        self._show(number, target, state, record, told.get("ms"))

    def _show(self, number: int, target: str, state: str, record: Mapping[str, Any], ms: float | None) -> None:
        """Show a line for a state, and the output of a step that is done, while others run."""
        took = f" {ms / 1000:.1f} s" if ms is not None else ""
        why = f" ({record['reason']})" if record.get("reason") else ""
        self._ctx.on_output(f"{MARKS[state]} {number} {target}: {WORDS.get(state, state)}{took}{why}\n")
        if state == "completed":
            lines = str(record["result"].get("response_text") or "").strip().splitlines()
            more = [f"    ... {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
            self._ctx.on_output("".join(f"{line}\n" for line in [*(f"    {one}" for one in lines[:_SHOWN]), *more]))
