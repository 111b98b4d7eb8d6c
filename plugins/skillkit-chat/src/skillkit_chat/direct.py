"""A stand-in for a model that makes one given call: how ``--skill NAME ACTION`` takes the road of every other call."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from skillkit_core import (
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    LLMAdapter,
    LLMRequest,
    NoticeLevel,
    Outcome,
    StopReason,
    StreamEvent,
    Survey,
    TokenUsage,
    ToolResultMessage,
    UserInterface,
)
from skillkit_core.cli.output import echo, escaped

from .approval import clear_line

__all__ = ["DirectCall", "SecretsOfAPerson", "TypedByAPerson"]


class DirectCall(LLMAdapter):
    """Calls one tool with the given arguments and repeats its result as the answer.

    The call passes the same guards, runtime, events and session log as one that a model makes.
    """

    api = "direct"
    provider = "direct"

    def __init__(self, tool_name: str, args: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._args = dict(args)

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        """First the call, then its result."""
        last = request.messages[-1] if request.messages else None
        if isinstance(last, ToolResultMessage):
            yield StreamEvent("text_start", index=0)
            yield StreamEvent("text_delta", _answer(last), index=0)
            yield StreamEvent("text_end", index=0)
            stop = StopReason.stop if last.outcome is Outcome.ok else StopReason.refusal
            yield StreamEvent("done", usage=TokenUsage(), stop_reason=stop)
            return
        name, call_id = self._tool_name, f"direct_{len(request.messages)}"
        yield StreamEvent("tool_call_start", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_delta", json.dumps(self._args), index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("tool_call_end", index=0, tool_name=name, tool_call_id=call_id)
        yield StreamEvent("done", usage=TokenUsage(), stop_reason=StopReason.tool_calls)


class TypedByAPerson(Approver):
    """Agrees to the one action that a person typed with its arguments: typing it was the answer. Nothing else."""

    def __init__(self) -> None:
        self.tool_name: str | None = None  # set once the tool of the action is known

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Allow that call, deny any other."""
        if request.tool_name == self.tool_name:
            return ApprovalDecision("allow", "typed by a person")
        return ApprovalDecision("deny", "nobody can be asked")


class SecretsOfAPerson(UserInterface):
    """Asks at the terminal for the secrets of the action that a person typed, and declines any other survey."""

    async def ask(self, survey: Survey) -> Answers | None:
        """Ask for each secret in a line that nobody sees; an empty one declines."""
        from skillkit_frontend import answer_to

        clear_line()
        given: dict[str, str] = {}
        for question in survey.questions:
            if question.kind != "secret":
                return None
            text = f"{escaped(survey.title)}\n{escaped(question.text)}: "
            given[question.id] = await answer_to(text, hidden=True)
        return survey.answer(given) if all(given.values()) else None

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Print the text on stderr."""
        echo(escaped(text), err=True)


def _answer(result: ToolResultMessage) -> str:
    """What a person wants to read of a result: the action's own answer where it gives one, else the text."""
    details = result.details
    answer = details.get("answer") if isinstance(details, Mapping) and not result.is_error else None
    return answer if isinstance(answer, str) else result.text
