"""The words of approvals: how long an answer holds, which rules it makes, and what a call would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, ApprovalRequest
    from skillkit_core.contracts.approver import Question

__all__ = ["SCOPES", "Remember", "always_question", "preview_of", "rememberable", "rules_kept"]

Remember = Literal["session", "project", "ever"]
SCOPES: Mapping[str, Remember] = {"session": "session", "project": "project", "everywhere": "ever"}
"""How long an answer holds, in the words that a person reads."""


def rememberable(questions: Sequence[Question]) -> bool:
    """Return whether an answer to these questions can hold for later calls."""
    return bool(questions) and all(question.key is not None for question in questions)


def rules_kept(questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the rules that guards would keep of an answer; none: it holds for the session at most."""
    return tuple(question.rule for question in questions if question.rule is not None)


def always_question(questions: Sequence[Question]) -> str:
    """Return the question where these rules are to hold."""
    return f"Always allow {' and '.join(rules_kept(questions))}, where?"


async def preview_of(agent: AgentRunner, request: ApprovalRequest) -> str | None:
    """Return what the tool itself says a call would do; ``None``: it says nothing. A failure of the tool is raised."""
    from skillkit_core.descriptors import load_object

    tool = agent.offered(request.tool_name)
    target = tool.annotations.get("preview") if tool is not None else None
    if target is None:
        return None
    text = await load_object(target)(agent, request.tool_name, request.args)
    return str(text) if text else None
