"""Suspension as data: tool calls that wait for a decision, persisted so that any process can resume them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..contracts.approver import ApprovalDecision, Question
from ..contracts.session_store import ASKED, DECISIONS, RESOLVED, SessionEntry, custom_type
from ..contracts.user_interface import Answers, Survey
from ..errors import SessionCorrupt, UsageError, close_matches
from ..frozen import EMPTY, copied, freeze, thaw
from ..host.secrets import MASK
from ..messages import AssistantMessage, Origin, StopReason, ToolCall, ToolResultMessage

if TYPE_CHECKING:
    from ..messages import AgentMessage

__all__ = [
    "NEW", "Resumption", "SuspendedCall", "Suspension", "asked_entry", "decisions_entry", "no_such_call", "resolved_entry",
    "resumption", "shown_answer", "survey_questions",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A tool call that waits for a decision.

    Attributes:
        id: the id of the call.
        name: the name of the tool.
        args: the arguments with which the call would run.
        questions: the questions of the guards; none when the call only waits for an earlier one. Of a call in which an agent
            waits: the questions about the calls of that agent.
        redacted: the arguments held a secret that was not kept, so that the call cannot run any more.
        allowed: the questions of the guards to which the answer for these arguments was yes.
        below: the sessions of the agents in the call that wait, that of the agent which the call started first.
        inner: the calls of these agents that wait for a decision; their ids have the id of their session in front.
        survey: what the tool asks a person; the decision has the answers.
        question: the name under which somebody was asked last; empty: nobody was.
    """

    id: str
    name: str
    args: Mapping[str, Any]
    questions: tuple[Question, ...] = ()
    redacted: bool = False
    allowed: tuple[Question, ...] = ()
    below: tuple[str, ...] = ()
    inner: tuple[SuspendedCall, ...] = ()
    survey: Survey | None = None
    question: str = ""

    @property
    def own_questions(self) -> tuple[Question, ...]:
        """The questions about this call itself."""
        return () if self.inner else self.questions

    @property
    def waiting(self) -> tuple[SuspendedCall, ...]:
        """The calls about which a person decides: those inside the call, else the call itself."""
        return self.inner or (self,)

    def to_dict(self) -> dict[str, Any]:
        """Return the call as JSON, without empty fields."""
        told: dict[str, Any] = {"id": self.id, "name": self.name, "args": self.args}
        told["questions"] = [asdict(q) for q in self.questions]
        if self.redacted:
            told["redacted"] = True
        if self.allowed:
            told["allowed"] = [asdict(q) for q in self.allowed]
        if self.survey is not None:
            told["survey"] = self.survey.to_dict()
        if self.question:
            told["question"] = self.question
        if self.inner:
            told |= {"below": list(self.below), "inner": [call.to_dict() for call in self.inner]}
        return told

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SuspendedCall:
        """Return the call that :meth:`to_dict` wrote; raise ``KeyError`` or another error for data that are none."""
        return cls(
            data["id"], data["name"], copied(data["args"]), _questions(data["questions"]), data.get("redacted", False),
            _questions(data.get("allowed", ())), tuple(data.get("below", ())),
            tuple(map(cls.from_dict, data.get("inner", ()))),
            Survey.from_dict(thaw(data["survey"])) if data.get("survey") else None, data.get("question", ""),
        )  # fmt: skip


def _questions(data: Iterable[Mapping[str, Any]]) -> tuple[Question, ...]:
    return tuple(Question(q["text"], *map(q.get, ("plugin", "key", "rule"))) for q in data)


def survey_questions(survey: Survey) -> tuple[Question, ...]:
    """Return what a person reads of a survey in a list of calls that wait."""
    return (Question(f"{survey.title}: {'; '.join(question.text for question in survey.questions)}"),)


@dataclass(frozen=True, slots=True)
class Suspension:
    """The tool calls of a session's last answer that wait for a decision.

    Attributes:
        entry_id: the entry that holds the suspension, or the newest question.
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
        return {"cwd": cwd, "calls": [call.to_dict() for call in calls]}

    @classmethod
    def at_end(cls, entries: Iterable[SessionEntry], calls: Sequence[ToolCall]) -> Suspension | None:
        """Return the calls that wait, or ``None``; raise :class:`SessionCorrupt` when an entry is broken.

        Args:
            entries: the entries since the last word of the conversation, the newest first.
            calls: the calls of the last answer.
        """
        decided: dict[str, str] = {}
        asked: list[SessionEntry] = []
        allowed: dict[str, tuple[Question, ...]] = {}
        for entry in entries:
            try:
                if entry.type == "suspension":
                    waiting = tuple(map(SuspendedCall.from_dict, entry.data["calls"]))
                    return cls(entry.id, waiting, _text(entry.data.get("cwd")))
                data, kind = entry.data, custom_type(entry)
                if kind == RESOLVED:
                    decided.setdefault(data["id"], data["decision"])
                elif kind == ASKED and decided.get(data["id"], "defer") == "defer":
                    asked.append(entry)
                elif kind == ASKED and decided[data["id"]] == "allow":
                    allowed[data["call"]] = _questions(data["questions"]) + allowed.get(data["call"], ())
            except (KeyError, TypeError, AttributeError) as error:
                raise SessionCorrupt(f"entry {entry.id!r} is no suspension: {error!r}") from None
        if not asked:
            return None
        return cls(asked[0].id, _asked_calls(asked, decided, allowed, calls), _text(asked[0].data.get("cwd")))


def _asked_calls(
    asked: Sequence[SessionEntry],
    decided: Mapping[str, str],
    allowed: Mapping[str, tuple[Question, ...]],
    calls: Sequence[ToolCall],
) -> tuple[SuspendedCall, ...]:
    """Return the calls about which somebody was asked when the process ended, and those that had not started then."""
    about = [{**entry.data, "id": entry.data["call"], "question": entry.data["id"]} for entry in reversed(asked)]
    found = {call["id"]: SuspendedCall.from_dict(call) for call in about}
    # a question that was put off says nothing of the other calls, which have gone on since
    unstarted = asked[0].data.get("unstarted", ()) if asked[0].data["id"] not in decided else ()
    waiting = []
    for call in calls:
        if call.id in found:
            waiting.append(found[call.id])
        elif call.id in unstarted:
            args = call.args or EMPTY
            redacted = MASK in str(args)
            waiting.append(SuspendedCall(call.id, call.name, args, (), redacted, allowed.get(call.id, ())))
    return tuple(waiting)


def asked_entry(question_id: str, call: SuspendedCall, unstarted: Sequence[str], cwd: str) -> dict[str, Any]:
    """Return the data of the ``custom`` entry that is written before somebody is asked about a call.

    Args:
        question_id: the name of the question.
        call: the call as it waits.
        unstarted: the ids of the other calls of the answer that have not started.
        cwd: the workspace in which the call would run.
    """
    about = {**replace(call, question="").to_dict(), "id": question_id, "call": call.id}
    return {"custom_type": ASKED, **about, "unstarted": list(unstarted), "cwd": cwd}


def resolved_entry(question_id: str, call_id: str, decision: ApprovalDecision) -> dict[str, Any]:
    """Return the data of the ``custom`` entry that is written when somebody has decided about a call."""
    return {"custom_type": RESOLVED, "id": question_id, "call": call_id, **_told(decision)}


def _told(decision: ApprovalDecision) -> dict[str, Any]:
    """Return a decision as sessions keep it."""
    told: dict[str, Any] = {"decision": decision.decision, "reason": decision.reason}
    if (answer := shown_answer(decision)) is not None:
        told["answer"] = answer
    if decision.origin is not None:
        told["origin"] = decision.origin.to_dict()
    return told


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def decisions_entry(suspension: Suspension, decisions: Mapping[str, ApprovalDecision]) -> dict[str, Any]:
    """Return the data of the ``custom`` entry that ends a suspension before any call of the suspension runs.

    After a crash, a call behind this entry without a result runs again only when its tool has ``replay="safe"``.
    """
    told = {call_id: _told(decision) for call_id, decision in decisions.items()}
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
        decisions: the decisions by the id of the call, or of a call inside it.
    """

    calls: tuple[ToolCall, ...]
    suspension: Suspension | None = None
    decisions: Mapping[str, ApprovalDecision] = freeze({})

    def stored(self, call_id: str) -> SuspendedCall | None:
        """Return the persisted form of a waiting call; ``None`` when the call does not wait."""
        waiting = self.suspension.calls if self.suspension is not None else ()
        return next((call for call in waiting if call.id == call_id), None)


NEW = Resumption(())  # the calls of a new answer: none waits


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
    given: dict[str, ApprovalDecision] = {}
    for name, value in (decisions or {}).items():
        found = _named(name, suspension)
        if not found:
            raise no_such_call(name, suspension)
        decision = _decision(name, value, origin)
        given |= {call_id: _checked(call_id, decision, suspension) for call_id in found}
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


def _checked(call_id: str, decision: ApprovalDecision, suspension: Suspension | None) -> ApprovalDecision:
    """Return a decision whose answer fits the survey of its call, and names the answers that nobody may keep."""
    calls = suspension.calls if suspension is not None else ()
    surveys = [waiting.survey for call in calls for waiting in call.waiting if waiting.id == call_id]
    if not surveys or surveys[0] is None or decision.decision != "allow" or decision.answer is None:
        return decision
    return replace(decision, answer=surveys[0].answer(dict(decision.answer)))


def _named(name: str, suspension: Suspension | None) -> list[str]:
    """Return the ids of the calls that a decision names: a waiting call, all calls that wait inside it, or one of these."""
    calls = suspension.calls if suspension is not None else ()
    for call in calls:
        if call.id == name:
            return [waiting.id for waiting in call.waiting]
    if asked := [waiting.id for call in calls for waiting in call.waiting if waiting.question == name]:
        return asked
    inner = [waiting.id for call in calls for waiting in call.inner]
    tails = [one for one in inner if one.rpartition("/")[2] == name]
    return [name] if name in inner else tails if len(tails) == 1 else []


def no_such_call(name: str, suspension: Suspension | None) -> UsageError:
    """Return the error for a decision about a call that does not wait, with close matches of its id."""
    waiting = sorted({c.id for call in suspension.calls for c in (call, *call.inner)}) if suspension is not None else []
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
