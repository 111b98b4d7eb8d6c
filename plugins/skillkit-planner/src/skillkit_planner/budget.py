"""What the steps of a plan have used, what the next one will use as far as that is known, and where that is too much."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.events.results import ModelRequestResult
from skillkit_core.models import TokenUsage

from .models import PlanStep
from .notes import PLAN, STEP, PlanView

if TYPE_CHECKING:
    from skillkit_core.events.types import BeforeModelRequestEvent, UsageEvent

__all__ = ["Budget", "Used", "estimates", "step_of"]

LAST = 5  # steps of a target that an estimate is made of
_STEP = re.compile(r"step(\d+):")


class Used(NamedTuple):
    """What was used, or will be. Seconds pass at the same time for several steps; everything else adds up."""

    calls: float = 0
    tokens: float = 0
    cost: float = 0.0
    seconds: float = 0.0


ADDED = ("calls", "tokens", "cost")


def estimates(notes: Sequence[tuple[str, float, Mapping[str, Any]]]) -> dict[str, Used]:
    """Return what a step of each target used on average, by the last steps of the branch."""
    return {name: _mean(rows) for name, rows in _last(notes).items()}


def _last(notes: Sequence[tuple[str, float, Mapping[str, Any]]]) -> dict[str, list[Used]]:
    """Return what the last completed steps of each target used."""
    targets: dict[tuple[str, int], str] = {}
    found: dict[str, list[Used]] = defaultdict(list)
    for kind, _, data in notes:
        if kind == PLAN:
            names = ("skill_name", "subgraph_name")
            for step in data["steps"]:
                targets[str(data["id"]), int(step["step_id"])] = str(next((step[n] for n in names if step.get(n)), ""))
        elif kind == STEP and data.get("state") == "completed" and data.get("usage"):
            usage = data["usage"]
            counts = (usage.get("calls") or 0, usage.get("tokens") or 0, usage.get("cost") or 0.0)
            used = Used(*counts, float(data.get("ms") or 0) / 1000)
            found[targets.get((str(data["plan"]), int(data["step_id"])), "")].append(used)
    return {name: rows[-LAST:] for name, rows in found.items()}


def _mean(rows: Sequence[Used]) -> Used:
    return Used(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


class Budget:
    """The budget of one plan: ``planner.calls``, ``tokens``, ``cost`` and ``seconds``.

    Args:
        settings: the section ``planner``.
        view: the plan, whose steps may have used something in an earlier process. Its seconds begin anew.
        notes: the notes of plans of the session, from which the use of a step is estimated.
        now: tells the time in seconds.
    """

    def __init__(
        self,
        settings: Any,
        view: PlanView,
        notes: Sequence[tuple[str, float, Mapping[str, Any]]],
        now: Callable[[], float],
    ) -> None:
        self._settings, self._now = settings, now
        self._last = _last(notes)
        self._used = Used(view.calls, view.tokens, view.cost)
        self._reserved: dict[int, Used] = {}
        self._by_step: dict[int, Used] = defaultdict(Used)
        self._began = now()

    def take(self, step: PlanStep) -> str | None:
        """Reserve what an attempt of a step will use; return what of the budget it would exceed, if any."""
        rows = self._last.get(step.target)
        expected = _mean(rows) if rows else Used(1 if step.skill_name else 0)
        taken = [self._used, *self._reserved.values(), expected]
        for name in ADDED:
            most, total = getattr(self._settings, name), sum(getattr(one, name) for one in taken)
            if most is None:
                continue
            if total > most:
                return f"{_shown(name, total)} would be more than the {_shown(name, most)} of planner.{name}"
            if not rows and not getattr(expected, name) and total >= most > 0:
                return f"the {_shown(name, most)} of planner.{name} are used up"
        most, passed = self._settings.seconds, self._now() - self._began
        if most is not None and passed >= most:
            return f"the {most:g} s of planner.seconds are over"
        if most is not None and passed + expected.seconds > most:
            return f"about {passed + expected.seconds:.3g} s would be more than the {most:g} s of planner.seconds"
        self._reserved[step.step_id] = expected
        return None

    def see(self, event: UsageEvent) -> None:
        """Count what a request of a step has used."""
        number = step_of(event.agent_path)
        if number is None or event.purpose == "nested":
            return
        used = Used(1 if event.request else 0, event.usage.total, event.cost or 0.0)
        self._used = _sum(self._used, used)
        self._by_step[number] = _sum(self._by_step[number], used)

    def guard(self, event: BeforeModelRequestEvent) -> ModelRequestResult | None:
        """Stop a step before the request that the budget has no room for."""
        if step_of(event.agent_path) is None:
            return None
        price = event.model.cost_of(TokenUsage(input=event.tokens)) or 0.0
        for name, coming in (("calls", 1), ("tokens", event.tokens), ("cost", price)):
            most, total = getattr(self._settings, name), getattr(self._used, name) + coming
            if most is not None and total > most:
                return ModelRequestResult(stop=True, reason=f"budget: planner.{name} is used up")
        return None

    def used_by(self, step: PlanStep, state: str, seconds: float) -> dict[str, Any]:
        """Return what an attempt of a step that has ended used; end its reservation, and learn from what is completed."""
        self._reserved.pop(step.step_id, None)
        used = self._by_step.pop(step.step_id, Used())._replace(seconds=seconds)
        if state == "completed":
            self._last[step.target] = [*self._last.get(step.target, ()), used][-LAST:]
        return {"calls": int(used.calls), "tokens": int(used.tokens), "cost": round(used.cost, 6)}


def _sum(a: Used, b: Used) -> Used:
    return Used(*(one + other for one, other in zip(a, b, strict=True)))


def step_of(path: Sequence[str]) -> int | None:
    """Return the number of the step in which an agent works, by the names of the agents above it."""
    found = next((match for part in path if (match := _STEP.match(part))), None)
    return int(found[1]) if found else None


def _shown(name: str, value: float) -> str:
    return f"${value:.4g}" if name == "cost" else f"{value:,.4g} {name}"
