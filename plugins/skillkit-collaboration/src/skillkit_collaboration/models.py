"""Messages, sessions, their configuration and their traces, as they enter and leave as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .protocol import STATUS_OF

__all__ = [
    "AgentMessage", "CollaborationConfig", "CollaborationSession", "CollaborationTrace", "Convergence", "Decision",
    "MessageType", "Refusal", "mistakes_in",
]  # fmt: skip

Status = Literal["active", "converged", "failed", "max_turns_reached"]
Outcome = Literal["active", "converged", "failed", "max_turns"]
_FROZEN = ConfigDict(extra="forbid", frozen=True)


class MessageType(StrEnum):
    """What a message is for."""

    PROPOSAL = "proposal"
    CRITIQUE = "critique"
    REVISION = "revision"
    APPROVAL = "approval"
    REJECTION = "rejection"
    REQUEST_INFO = "request_info"
    INFO_RESPONSE = "info_response"
    DELEGATION = "delegation"


class AgentMessage(BaseModel):
    """A message of a session.

    Attributes:
        sender: the participant, or ``supervisor``.
        recipient: another participant, or ``supervisor``.
        message_type: what it is for.
        content: what it says.
        structured_data: values for machines; ``no_further_changes: true``: the sender wants nothing changed any more.
        references: documents, addresses or steps that it names.
        status: the only one of its type; default: that.
    """

    model_config = _FROZEN

    sender: str
    recipient: str
    message_type: MessageType
    content: str
    structured_data: Mapping[str, Any] = Field(default_factory=dict)
    references: tuple[str, ...] = ()
    status: Literal["pending", "accepted", "rejected", "needs_revision"]

    @model_validator(mode="before")
    @classmethod
    def _status_of_type(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("status") is None and data.get("message_type") in STATUS_OF:
            return {**data, "status": STATUS_OF[data["message_type"]]}
        return data


class Convergence(BaseModel):
    """When a session ends; it ends in any case with an approval, and when ``max_turns`` are used up.

    Attributes:
        max_turns: most turns; default: ``collaboration.max_turns``.
        max_revisions: a rejection after so many revisions fails the session; default: ``collaboration.max_revisions``.
        require_approval: nothing but an approval converges.
        confidence: a model is asked after each proposal and revision how good it is, from 0 to 1; above this the session
            has converged. ``None``: nobody is asked.
    """

    model_config = _FROZEN

    max_turns: Annotated[int | None, Field(ge=1, le=100)] = None
    max_revisions: Annotated[int | None, Field(ge=0, le=100)] = None
    require_approval: bool = False
    confidence: Annotated[float | None, Field(ge=0, lt=1)] = None


class CollaborationConfig(BaseModel):
    """A session before it begins: a pattern in the settings, or a step of a plan.

    Attributes:
        participants: names of skills, or of participants of another kind with it in front (``agent:reviewer``); one that
            takes part twice needs an alias each time.
        supervisor_strategy: how the next speaker is chosen: ``round_robin``, ``role_based``, ``llm``, or a plugin's.
        convergence: when it ends.
        roles: the role of a participant, by name or alias: ``generator``, ``critic``, ``reviewer``, or any other word.
        aliases: what a participant is called in the session: the alias, and the name that it stands for.
        prompts: what a participant is told beside its own instructions, by name or alias.
        tool_packs: packs of tools for all participants, beside their own.
        optional: participants without which the session goes on.
        timeout_s: seconds of one turn; ``None``: no limit.
        on_violation: what follows a second message that breaks the rules.
        synthesis: a model makes the result of the whole thread; else it is the last proposal or revision.
        description: what the pattern is for.
    """

    model_config = _FROZEN

    participants: tuple[str, ...]
    supervisor_strategy: str = "round_robin"
    convergence: Convergence = Convergence()
    roles: Mapping[str, str] = Field(default_factory=dict)
    aliases: Mapping[str, str] = Field(default_factory=dict)
    prompts: Mapping[str, str] = Field(default_factory=dict)
    tool_packs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    timeout_s: Annotated[float | None, Field(gt=0)] = None
    on_violation: Literal["skip", "fail"] = "skip"
    synthesis: bool = False
    description: str = ""


class CollaborationSession(BaseModel):
    """A session as it stands.

    Attributes:
        session_id: its name, ``c1``, unique in the session of the agent that leads it.
        participants: what they are called.
        messages: the thread.
        convergence_criteria: when it ends.
        current_turn: how many turns have ended.
        status: ``active``, or how it ended.
    """

    model_config = _FROZEN

    session_id: str
    participants: tuple[str, ...]
    messages: tuple[AgentMessage, ...] = ()
    convergence_criteria: Mapping[str, Any] = Field(default_factory=dict)
    current_turn: int = 0
    status: Status = "active"


class Decision(BaseModel):
    """Who spoke next, or that the session ended, and how that came about.

    Attributes:
        what: ``speaker`` or ``end``.
        choice: the participant, or the status at the end.
        who: who decided: a strategy, ``protocol``, ``supervisor``, or a plugin.
        by: a rule of code, or a model.
        reason: why.
        inputs: SHA-256 of what it was decided from: the thread and the turn, in hexadecimal.
        turn: the turn, counted from 1.
    """

    model_config = _FROZEN

    what: Literal["speaker", "end"]
    choice: str
    who: str
    by: Literal["rule", "model"]
    reason: str = ""
    inputs: str = ""
    turn: int = 0


class Refusal(BaseModel):
    """What is not in the thread: a message that broke a rule, or a turn that failed.

    Attributes:
        turn: the turn, counted from 1.
        attempt: counted from 1 in the turn.
        sender: whose turn it was.
        rule: the rule that was broken; ``failed`` or ``timeout``: there was no message.
        text: the rule in words, or what went wrong.
        allowed: the types of messages that would have been allowed.
        message: the message as it came.
        outcome: what followed: ``resend``, ``retry``, ``skip`` or ``fail``.
        began, ended: seconds since the epoch.
    """

    model_config = _FROZEN

    turn: int
    attempt: int
    sender: str
    rule: str
    text: str
    allowed: tuple[str, ...] = ()
    message: Mapping[str, Any] = Field(default_factory=dict)
    outcome: Literal["resend", "retry", "skip", "fail"]
    began: float = 0.0
    ended: float = 0.0


class CollaborationTrace(BaseModel):
    """The whole of a session, also of one that failed or was cut off: the fold of its notes.

    Attributes:
        session_id: its name.
        participants: what they are called.
        total_turns: how many turns have ended.
        outcome: ``converged``, ``max_turns``, ``failed``; ``active``: it has not ended.
        messages: the thread.
        duration_ms: milliseconds of work, without the time between a crash and going on.
        model_calls: requests of all participants and of the supervisor.
        convergence_reason: why it ended.
        query: what it was about.
        result: what it came to.
        tokens: tokens of all requests.
        cost: US dollars, as far as prices are known.
        decisions: who spoke, and why it ended.
        refusals: messages that broke a rule, and turns that failed.
        turns: a row for each message: ``turn``, ``sender``, ``began`` and ``ended`` in seconds since the epoch, ``calls``,
            ``tokens``, ``session`` of the participant's agent.
    """

    model_config = _FROZEN

    session_id: str
    participants: tuple[str, ...]
    total_turns: int
    outcome: Outcome
    messages: tuple[AgentMessage, ...]
    duration_ms: int
    model_calls: int
    convergence_reason: str
    query: str = ""
    result: str = ""
    tokens: int = 0
    cost: float = 0.0
    roles: Mapping[str, str] = Field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    turns: tuple[Mapping[str, Any], ...] = ()


def mistakes_in(error: ValidationError) -> Sequence[str]:
    """Return what is wrong with a configuration, a line each."""
    return [f"{'.'.join(map(str, one['loc'])) or 'collaboration'}: {one['msg']}" for one in error.errors()]
