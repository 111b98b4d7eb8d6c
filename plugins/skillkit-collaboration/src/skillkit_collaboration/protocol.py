"""The protocol of a session: which message may follow which. A pure state machine: it knows no agent, no model and no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["JUDGES", "STATUS_OF", "SUPERVISOR", "TYPES", "Rules", "State", "Verdict", "Violation", "allowed", "receive"]

SUPERVISOR = "supervisor"
"""The name of who leads a session; no participant has it."""
STATUS_OF: Mapping[str, str] = {
    "proposal": "pending",
    "critique": "needs_revision",
    "revision": "pending",
    "approval": "accepted",
    "rejection": "rejected",
    "request_info": "pending",
    "info_response": "pending",
    "delegation": "pending",
}
"""The eight types of messages, and the only status that a message of each type has."""
TYPES = tuple(STATUS_OF)
JUDGES = frozenset(("critic", "reviewer"))
"""Roles that judge; where a session has one, nobody else does but the supervisor."""
_JUDGING = frozenset(("critique", "approval", "rejection"))
_TEXTS = frozenset(("proposal", "revision"))
_SENTENCES: Mapping[str, str] = {
    "sender": "the sender takes no part in the session",
    "recipient": "the recipient takes no part in the session, or is the sender",
    "type": f"a message is one of {', '.join(TYPES)}",
    "status": "this type of message has another status",
    "terminal": "the session has ended",
    "role": "only the supervisor delegates, only critics and reviewers judge where there are any, and nobody judges "
    "a text of their own",
    "rule-1": "a session begins with a proposal or a delegation",
    "rule-2": "a critique follows directly after a proposal or a revision",
    "rule-3": "a revision follows directly after a critique or a rejection",
    "rule-4": "an approval needs a proposal",
    "rule-5": "a rejection follows directly after a proposal or a revision",
    "rule-6": "a response answers an open request between the same two",
}
Phase: TypeAlias = Literal["active", "converged", "failed", "max_turns_reached"]


class Violation(NamedTuple):
    """Why a message is refused.

    Attributes:
        rule: ``sender``, ``recipient``, ``type``, ``status``, ``terminal``, ``role``, ``rule-1`` to ``rule-6``.
        text: the rule in words.
        allowed: the types of messages that the sender may send now.
    """

    rule: str
    text: str
    allowed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """What does not change during a session.

    Attributes:
        participants: their names.
        roles: the role of a participant, by its name; any word, of which :data:`JUDGES` have a meaning here.
        max_revisions: a rejection fails the session once so many revisions were made.
    """

    participants: Sequence[str]
    roles: Mapping[str, str] = field(default_factory=dict)
    max_revisions: int = 3

    @property
    def judges(self) -> frozenset[str]:
        """The participants with a role that judges."""
        return frozenset(name for name, role in self.roles.items() if str(role).strip().casefold() in JUDGES)


@dataclass(frozen=True, slots=True)
class State:
    """Where a session stands.

    Attributes:
        status: ``active``, or how it ended.
        last: the type of the last message that was no request or response; empty: there was none.
        author: who wrote the newest proposal or revision.
        proposed: a proposal was made.
        revisions: how many revisions were made.
        requests: the open requests: who asked whom.
    """

    status: Phase = "active"
    last: str = ""
    author: str = ""
    proposed: bool = False
    revisions: int = 0
    requests: tuple[tuple[str, str], ...] = ()


class Verdict(NamedTuple):
    """What a message does: the state behind it, and the violation that kept it out of the thread."""

    state: State
    violation: Violation | None = None


def receive(rules: Rules, state: State, message: Mapping[str, Any]) -> Verdict:
    """Take a message into a session, or refuse it; a refused message leaves the state as it is.

    Args:
        rules: the rules of the session.
        state: where it stands.
        message: ``sender``, ``recipient``, ``message_type``, ``status``.
    """
    rule = _broken(rules, state, message)
    if rule:
        return Verdict(state, Violation(rule, _SENTENCES[rule], allowed(rules, state, message.get("sender"))))
    return Verdict(_after(rules, state, message))


def allowed(rules: Rules, state: State, sender: Any) -> tuple[str, ...]:
    """Return the types of messages that somebody may send now, whoever they are for."""
    others = [name for name in (*rules.participants, SUPERVISOR) if name != sender]
    return tuple(
        kind
        for kind, status in STATUS_OF.items()
        if any(
            not _broken(rules, state, {"sender": sender, "recipient": one, "message_type": kind, "status": status})
            for one in others
        )
    )


# --- the rules, in the order in which they are checked ----------------------------------------------------------------


def _broken(rules: Rules, state: State, message: Mapping[str, Any]) -> str:
    """Return the first rule that a message breaks; empty: none."""
    sender, recipient, kind = message.get("sender"), message.get("recipient"), message.get("message_type")
    there = (*rules.participants, SUPERVISOR)
    if sender not in there:
        return "sender"
    if recipient not in there or recipient == sender:
        return "recipient"
    if not isinstance(kind, str) or kind not in STATUS_OF:
        return "type"
    if message.get("status") != STATUS_OF[kind]:
        return "status"
    if state.status != "active":
        return "terminal"
    if not _may(rules, state, str(sender), kind):
        return "role"
    return _out_of_order(state, str(sender), str(recipient), kind)


def _may(rules: Rules, state: State, sender: str, kind: str) -> bool:
    if kind == "delegation":
        return sender == SUPERVISOR
    if kind not in _JUDGING:
        return True
    judges = rules.judges
    return sender != state.author and (not judges or sender in judges or sender == SUPERVISOR)


def _out_of_order(state: State, sender: str, recipient: str, kind: str) -> str:
    if kind == "request_info":
        return ""
    if kind == "info_response":
        return "" if (recipient, sender) in state.requests else "rule-6"
    if not state.last and kind not in ("proposal", "delegation"):
        return "rule-1"
    if kind == "critique" and state.last not in _TEXTS:
        return "rule-2"
    if kind == "revision" and state.last not in ("critique", "rejection"):
        return "rule-3"
    if kind == "approval" and not state.proposed:
        return "rule-4"
    if kind == "rejection" and state.last not in _TEXTS:
        return "rule-5"
    return ""


def _after(rules: Rules, state: State, message: Mapping[str, Any]) -> State:
    """Return the state behind a message that breaks no rule."""
    sender, recipient, kind = str(message["sender"]), str(message["recipient"]), str(message["message_type"])
    if kind == "request_info":
        return replace(state, requests=(*state.requests, (sender, recipient)))
    if kind == "info_response":
        place = state.requests.index((recipient, sender))
        return replace(state, requests=(*state.requests[:place], *state.requests[place + 1 :]))
    state = replace(state, last=kind)
    if kind in _TEXTS:
        revisions = state.revisions + (kind == "revision")
        return replace(state, author=sender, proposed=True, revisions=revisions)
    if kind == "approval":
        return replace(state, status="converged")
    if kind == "rejection" and state.revisions >= rules.max_revisions:
        return replace(state, status="failed")
    return state
