"""The events of plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from skillkit_core import Event
from skillkit_core.frozen import EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCreatedEvent(Event):
    """A plan was made or changed: ``steps`` are its steps as JSON, ``by`` says who made it."""

    type: ClassVar[str] = "plan_created"
    plan: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRejectedEvent(Event):
    """A plan is wrong: ``codes`` and ``reasons`` say why, ``round`` counts from 1."""

    type: ClassVar[str] = "plan_rejected"
    codes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFallbackEvent(Event):
    """No plan could be made, so ``skill`` does the whole request."""

    type: ClassVar[str] = "plan_fallback"
    skill: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStepEvent(Event):
    """A step has another state.

    Attributes:
        plan: the plan.
        step: number of the step.
        target: what does it.
        state: ``running``, ``retrying``, ``completed``, ``failed``, ``skipped``, ``cancelled``, ``not_started``, ``waiting``.
        attempt: counted from 1.
        reason: why it is not ``completed``.
        ms: milliseconds of the attempt that has ended.
        usage: ``calls``, ``tokens`` and ``cost`` of the step.
    """

    type: ClassVar[str] = "plan_step"
    plan: str = ""
    step: int = 0
    target: str = ""
    state: str = ""
    attempt: int = 1
    reason: str = ""
    ms: float = 0.0
    usage: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEndEvent(Event):
    """A plan has ended with ``status``; ``states`` are those of its steps by number."""

    type: ClassVar[str] = "plan_end"
    plan: str = ""
    status: str = ""
    states: Mapping[str, str] = EMPTY
    ms: float = 0.0
