"""What a task says in the end: the answer, its sources, what is missing, what was left out, and where it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_engines import Task, TaskResult

from .answers import Draft, Dropped, written

if TYPE_CHECKING:
    from .budget import Budget
    from .evidence import Evidence
    from .gathering import Gatherer
    from .modes import Mode

__all__ = ["Report"]

MOST_NOTICES = 10


class Report:
    """Collects what there is to say beside the answer.

    Attributes:
        mode_name: the name of the mode.
        rounds: how many rounds of search there were.
        stopped: which limit of the budget ended the search; empty: none.
        open_gaps: what is missing, after the last round.
        dropped: what was left out of the answer.
        unreadable: what is wrong with an answer that cannot be used.
        unchecked: why not every claim was held against its sources.
        relations: relations with their sources.
    """

    def __init__(self, task: Task, mode: Mode) -> None:
        self._task, self._mode = task, mode
        self.mode_name = ""
        self.rounds = 0
        self.stopped = ""
        self.open_gaps: list[str] = []
        self.dropped: list[Dropped] = []
        self.unreadable = ""
        self.unchecked = ""
        self.relations: list[Mapping[str, Any]] = []

    def result(
        self, draft: Draft, evidence: Evidence, gatherer: Gatherer, budget: Budget, words: Sequence[str]
    ) -> TaskResult:
        """Return the result of the task."""
        notices = [*gatherer.notices]
        gaps = list(dict.fromkeys([*self.open_gaps, *draft.gaps]))
        cited = [one for one in evidence.sources if any(one in claim.sources for claim in draft.claims)]
        text = "\n\n".join(
            filter(None, [
                written(draft) or self._without(evidence),
                _listed("Relations", [_relation(one) for one in self.relations]),
                _listed("Sources", [evidence.named(one, words, self._mode.chars) for one in cited]),
                _listed("Left out", [f'"{one.text}" {one.why}' for one in self.dropped]),
                _listed("Open", gaps),
                _listed("Not searched", _first(notices)),
                f"Stopped: the budget is spent ({self.stopped})." if self.stopped else "",
                f"Not checked against the sources: {self.unchecked}." if self.unchecked else "",
            ])
        )  # fmt: skip
        data = {
            "mode": self.mode_name,
            "rounds": self.rounds,
            "stopped": "budget" if self.stopped else "",
            "claims": [_claim(one, draft) for one in draft.claims],
            "columns": list(draft.headings) if draft.form == "tabular" else [],
            "relations": [dict(one) for one in self.relations],
            "sources": {one.id: {"kind": one.kind, "where": one.where, "title": one.title} for one in evidence.sources.values()},
            "gaps": gaps,
            "dropped": [{"text": one.text, "why": one.why} for one in self.dropped],
            "notices": notices,
            "used": dict(budget.used()),
        }  # fmt: skip
        status, reason = self._status(draft, evidence, gatherer)
        return TaskResult(status, text=text, data=data, reason=reason, denied=tuple(gatherer.denied))

    def _without(self, evidence: Evidence) -> str:
        if not evidence.sources:
            return "No source was found, so there is no answer."
        return "The answer could not be used; these are the sources:\n" + "\n".join(
            f"- [{one.id}] {one.where}" for one in evidence.sources.values()
        )

    def _status(self, draft: Draft, evidence: Evidence, gatherer: Gatherer) -> Any:
        """Return status and reason; the first word of the reason says what is missing most."""
        denied = ", ".join(gatherer.denied)
        if denied and not gatherer.used:
            return "failed", f"denied: {denied}"
        if self.unreadable:
            return "partial", f"unreadable: {self.unreadable}"
        reasons = []
        if self.stopped:
            reasons.append(f"budget: {self.stopped}")
        if denied:
            reasons.append(f"denied: {denied}")
        if self.dropped:
            reasons.append(f"unsourced: {len(self.dropped)} of the answer's claims, or their sources, were left out")
        if not evidence.sources:
            reasons.append("no_evidence: no source was found")
        if self.open_gaps:
            reasons.append(f"gaps: {'; '.join(self.open_gaps)[:300]}")
        if self.unchecked:
            reasons.append(f"unchecked: {self.unchecked}")
        return ("partial", "; ".join(reasons)) if reasons else ("completed", "")

    def found_only(self, evidence: Evidence, words: Sequence[str]) -> str:
        """Return the sources as a list, where a limit of the run lets nobody be asked for an answer; empty: there are none."""
        names = [evidence.named(one, words, self._mode.chars) for one in evidence.sources]
        return f"A limit of the run was reached before the answer. {_listed('Sources', names)}" if names else ""


def _claim(claim: Any, draft: Draft) -> dict[str, Any]:
    found: dict[str, Any] = {"text": claim.text, "sources": list(claim.sources)}
    if claim.cells:
        found["cells"] = list(claim.cells)
    elif claim.part < len(draft.headings):
        found["heading"] = draft.headings[claim.part]
    return found


def _relation(one: Mapping[str, Any]) -> str:
    return f"{one['subject']} → {one['relation']} → {one['object']} [{', '.join(one['sources'])}]"


def _first(notices: Sequence[str]) -> list[str]:
    more = len(notices) - MOST_NOTICES
    return [*notices[:MOST_NOTICES], *([f"{more} more"] if more > 0 else [])]


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"- {line}" for line in lines)]) if lines else ""
