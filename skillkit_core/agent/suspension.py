"""Suspension as data: tool calls that wait for a decision, persisted so that any process can resume them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..contracts.approver import ApprovalDecision, Question
from ..contracts.session_store import DECISIONS, SessionEntry
from ..contracts.user_interface import Answers
from ..errors import SessionCorrupt, UsageError, close_matches
from ..frozen import copied, freeze, thaw
from ..messages import AssistantMessage, Origin, StopReason, ToolCall, ToolResultMessage

if TYPE_CHECKING:
    from ..messages import AgentMessage

__all__ = [
    "Resumption", "SuspendedCall", "Suspension", "decisions_entry", "no_such_call", "resumption", "shown_answer",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A tool call that waits for a decision.

    Attributes:
        id: the id of the call.
        name: the name of the tool.
        args: the arguments with which the call would run.
        questions: the questions of the guards; none when the call only waits for an earlier one.
        redacted: the arguments held a secret that was not kept, so that the call cannot run any more.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    questions: tuple[Question, ...] = ()
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Suspension:
    """The tool calls of a session's last answer that wait for a decision.

    Attributes:
        entry_id: the entry that holds the suspension.
        calls: the waiting calls, in the order of the answer.
        cwd: the workspace in which the calls would run; ``None`` when the entry has none.
    """

    entry_id: str
    calls: tuple[SuspendedCall, ...]
    cwd: str | None = None

    @property
    def open_calls(self) -> frozenset[str]:
        """The ids of the waiting calls."""
        return frozenset(call.id for call in self.calls)

    @staticmethod
    def data(calls: Sequence[SuspendedCall], cwd: str) -> dict[str, Any]:
        """Return the data of the entry that suspends ``calls``."""
        return {
            "cwd": cwd,
            "calls": [
                {
                    "id": call.id,
                    "name": call.name,
                    "args": call.args,
                    "questions": [asdict(q) for q in call.questions],
                    **({"redacted": True} if call.redacted else {}),
                }
                for call in calls
            ],
        }

    @classmethod
    def of(cls, entry: SessionEntry) -> Suspension:
        """Return the suspension that an entry holds, or raise :class:`SessionCorrupt`."""
        try:
            calls = tuple(
                SuspendedCall(
                    call["id"],
                    call["name"],
                    copied(call["args"]),
                    tuple(Question(q["text"], *map(q.get, ("plugin", "key", "rule"))) for q in call["questions"]),
                    call.get("redacted", False),
                )
                for call in entry.data["calls"]
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise SessionCorrupt(f"entry {entry.id!r} is no suspension: {error!r}") from None
        cwd = entry.data.get("cwd")
        return cls(entry.id, calls, cwd if isinstance(cwd, str) else None)


def decisions_entry(suspension: Suspension, decisions: Mapping[str, ApprovalDecision]) -> dict[str, Any]:
    """Return the data of the ``custom`` entry that ends a suspension before any call of the suspension runs.

    After a crash, a call behind this entry without a result runs again only when its tool has ``replay="safe"``.
    """
    told: dict[str, dict[str, Any]] = {}
    for call_id, decision in decisions.items():
        told[call_id] = {"decision": decision.decision, "reason": decision.reason}
        if (answer := shown_answer(decision)) is not None:
            told[call_id]["answer"] = answer
        if decision.origin is not None:
            told[call_id]["origin"] = decision.origin.to_dict()
    return {"custom_type": DECISIONS, "suspension": suspension.entry_id, "decisions": told}


def shown_answer(decision: ApprovalDecision) -> Mapping[str, Any] | None:
    """Return the answer of a decision as events and sessions hold it: without the answers to secret questions."""
    answer = decision.answer
    return answer.to_dict() if isinstance(answer, Answers) else answer


@dataclass(frozen=True, slots=True)
class Resumption:
    """The work with which a resumed run begins.

    Attributes:
        calls: the calls of the last answer that have no result.
        suspension: the stored suspension; ``None`` when a crash left the calls open.
        decisions: the decisions by the id of the call.
    """

    calls: tuple[ToolCall, ...]
    suspension: Suspension | None = None
    decisions: Mapping[str, ApprovalDecision] = freeze({})

    def stored(self, call_id: str) -> SuspendedCall | None:
        """Return the persisted form of a waiting call; ``None`` when the call does not wait."""
        waiting = self.suspension.calls if self.suspension is not None else ()
        return next((call for call in waiting if call.id == call_id), None)


def resumption(
    messages: Sequence[AgentMessage],
    suspension: Suspension | None,
    decisions: Mapping[str, Any] | None,
    origin: Origin | None = None,
    driven: str | None = None,
) -> Resumption:
    """Return the open calls of the last answer, with the decisions about the calls, which come from ``origin``.

    Args:
        driven: the entry at which a driver began that has not come to its end, whatever the last message is.

    Raises:
        UsageError: no call is open, a decision names a call that does not wait, or it is neither allow nor deny.
    """
    given = {call_id: _decision(call_id, value, origin) for call_id, value in (decisions or {}).items()}
    unknown = set(given) - (suspension.open_calls if suspension is not None else set())
    if unknown:
        raise no_such_call(min(unknown), suspension)
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolResultMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AssistantMessage):
            cut = message.stop_reason in (StopReason.aborted, StopReason.error)
            calls = tuple(c for c in message.tool_calls if c.id not in answered)
            if cut or not (calls or answered):
                break
            return Resumption(calls, suspension, given)
        elif message.role == "user":
            return Resumption(())
    if driven is not None:
        return Resumption(())
    raise UsageError("there is nothing to resume: the conversation waits for the user", hint="use chat()")


def no_such_call(name: str, suspension: Suspension | None) -> UsageError:
    """Return the error for a decision about a call that does not wait, with close matches of its id."""
    waiting = sorted(suspension.open_calls) if suspension is not None else []
    close = close_matches(name, waiting)
    hint = f"did you mean {' or '.join(repr(c) for c in close)}?" if close else f"calls that wait: {', '.join(waiting)}"
    return UsageError(f"no call {name!r} waits for a decision", hint=hint if waiting else "none does")


def _decision(call_id: str, value: Any, origin: Origin | None) -> ApprovalDecision:
    if value in ("allow", "deny"):
        return ApprovalDecision(value, origin=origin)
    if isinstance(value, ApprovalDecision) and value.decision in ("allow", "deny"):
        try:
            json.dumps(shown_answer(value), default=thaw)
        except (TypeError, ValueError) as error:
            raise UsageError(f"the answer of the decision about call {call_id!r} is no JSON: {error}") from None
        return value if origin is None or value.origin is not None else replace(value, origin=origin)
    raise UsageError(f"the decision about call {call_id!r} must be allow or deny")
