"""A plan and its steps, as they enter from models, files and plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

__all__ = ["TARGETS", "ExecutionPlan", "PlanStep"]

TARGETS = ("skill_name", "subgraph_name", "collaboration")


class PlanStep(BaseModel):
    """A step of a plan: a skill, a fragment or a collaboration, with its part of the request.

    Attributes:
        step_id: number in the plan, from 1.
        skill_name: the skill that does the step.
        subgraph_name: the fragment that does it.
        collaboration: the session of several skills that does it: ``participants``, ``supervisor_strategy``, ...
        sub_query: what is to be done.
        depends_on: the steps whose responses the step gets; it begins when these have ended.
        context_keys: further values of these steps that it gets.
        tool_packs: packs of tools, beside those of the skill, for this step alone.
        input_mapping: inputs of the fragment by their source: ``sub_query``, ``prior_step_1_response``, ``step_1_KEY``.
        output_mapping: names of values for later steps, by outputs of the fragment.
        retries: how often the step is tried again after a failure.
        timeout_s: seconds of one attempt; ``None``: no limit.
        on_failure: ``skip``: the steps that need it are left out; ``fail_plan``: everything stops; ``replan``: the rest is
            planned once more.
        idempotent: the step may be done twice; ``None``: it may if its tools change nothing, or say that they may be run again.
        model: name of the model of the step; empty: that of the conversation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    step_id: Annotated[StrictInt, Field(ge=1)]
    skill_name: str | None = None
    subgraph_name: str | None = None
    collaboration: Mapping[str, Any] | None = None
    sub_query: Annotated[str, Field(min_length=1)]
    depends_on: tuple[StrictInt, ...] = ()
    context_keys: tuple[str, ...] = ()
    tool_packs: tuple[str, ...] = ()
    input_mapping: Mapping[str, str] = Field(default_factory=dict)
    output_mapping: Mapping[str, str] = Field(default_factory=dict)
    retries: Annotated[int, Field(ge=0, le=10)] = 0
    timeout_s: Annotated[float | None, Field(gt=0)] = None
    on_failure: Literal["skip", "fail_plan", "replan"] = "skip"
    idempotent: bool | None = None
    model: str = ""

    @model_validator(mode="after")
    def _one_target(self) -> PlanStep:
        if sum(getattr(self, name) is not None for name in TARGETS) != 1:
            raise ValueError(f"exactly one of {', '.join(TARGETS)} is needed")
        return self

    @property
    def target(self) -> str:
        """The name of what does the step."""
        if self.collaboration is not None:
            return f"collaboration of {', '.join(map(str, self.collaboration.get('participants') or ()))}"
        return self.skill_name or self.subgraph_name or ""

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON, without fields that have their default."""
        return {"depends_on": list(self.depends_on), **self.model_dump(mode="json", exclude_defaults=True)}


class ExecutionPlan(BaseModel):
    """A plan for a request of several parts.

    Attributes:
        is_compound: the request needs several steps.
        steps: the steps.
        reasoning: why this plan was chosen.
        id: name in its session, ``p1``; empty: it is in no session yet.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_compound: bool
    steps: tuple[PlanStep, ...] = ()
    reasoning: str = ""
    id: str = ""

    @classmethod
    def of(cls, steps: Sequence[Mapping[str, Any]], *, reasoning: str = "", plan_id: str = "") -> ExecutionPlan:
        """Return the plan of steps that were validated."""
        return cls(is_compound=True, steps=tuple(PlanStep(**dict(s)) for s in steps), reasoning=reasoning, id=plan_id)

    def step(self, step_id: int) -> PlanStep:
        """Return the step with a number."""
        return next(step for step in self.steps if step.step_id == step_id)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "is_compound": self.is_compound,
            "reasoning": self.reasoning,
            "steps": [step.to_dict() for step in self.steps],
        }
