"""One round of a job: carry its session on until the run ends, or waits for an answer.

What is done already stands in the session, so that a round may be repeated after any crash: the request is said once, a decision
is taken once, and a run that ended is not run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_frontend import TITLE, Choices, DirectCall, TypedByAPerson, config_for, tool_of_action

from skillkit_core import (
    AgentError,
    AgentResponse,
    AgentRunner,
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    AssistantMessage,
    Deferred,
    NoticeLevel,
    Origin,
    RunAborted,
    Session,
    StopReason,
    Survey,
    SuspendedCall,
    UserInterface,
    resumption,
    thaw,
)
from skillkit_core.cli.output import shorten
from skillkit_core.errors import SkillKitError, UnknownName, UnknownSession, UsageError

from .database import Row
from .fence import Fence, FencedStore
from .jobs import MOST_TEXT, Job, question_id

if TYPE_CHECKING:
    from skillkit_core import Host, SessionEntry

__all__ = ["Carried", "Ended", "agent_of", "questions_of", "said_by"]

JOB = "job"  # the kind of the origin with which a job speaks
CUT = (StopReason.error, StopReason.aborted)


class Later(Approver, UserInterface):
    """Puts every question off: it waits in the session, and holds no worker."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Put an approval off."""
        return ApprovalDecision("defer", "somebody decides later")

    async def ask(self, survey: Survey) -> Answers | None:
        """Put a survey off."""
        raise Deferred("somebody answers later")

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        """Nobody looks."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a round ended.

    Attributes:
        status: ``completed``, ``failed``, ``cancelled`` or ``waiting``.
        result: the answer and what it cost.
        error: why it failed.
        waiting: the questions that wait.
        used: the questions whose answers the session has now.
    """

    status: str
    result: Mapping[str, Any] | None = None
    error: str | None = None
    waiting: Sequence[Mapping[str, Any]] = ()
    used: Sequence[str] = field(default_factory=tuple)


def questions_of(calls: Sequence[SuspendedCall]) -> list[dict[str, Any]]:
    """Return the questions about calls that wait, as clients see them; ``about`` is what an answer counts for."""
    found = []
    for waiting in (inner for call in calls for inner in call.waiting):
        if not waiting.questions:
            continue  # it waits for a call before it, and is asked about in its turn
        about: dict[str, Any] = {"tool": waiting.name, "args": thaw(waiting.args)}
        if waiting.survey is not None:
            about["survey"] = waiting.survey.to_dict()
        else:
            about["questions"] = [{"text": q.text, "plugin": q.plugin, "key": q.key} for q in waiting.questions]
        kind = "approval" if waiting.survey is None else "survey"
        found.append({"call": waiting.id, "kind": kind, "about": json.loads(json.dumps(about))})
    return found


def said_by(session: Session, job: Job) -> SessionEntry | None:
    """Return the entry with which a job spoke; ``None``: it has not spoken yet."""
    for entry in session.entries:
        message = entry.data.get("message", {}) if entry.type == "message" else {}
        origin = message.get("origin") or {}
        if message.get("role") == "user" and (origin.get("kind"), origin.get("id")) == (JOB, job.id):
            return entry
    return None


def agent_of(host: Host, name: str) -> Any:
    """Return who can make an agent of a file (the hook ``register_skill_agents``).

    Raises:
        UnknownName: no file defines it.
    """
    registry = host.registry("skill_agents") if "skill_agents" in host.kinds else None
    known = [registry.get(one) for one in registry.list()] if registry is not None else []
    if (found := next((one for one in known if name in one.names()), None)) is not None:
        return found
    names = sorted(other for one in known for other in one.names())
    raise UnknownName("agent", name, names, hint=None if names else "no file defines one: see 'skillkit agents list'")


class Carried:
    """A job that is carried on.

    Args:
        job: the job.
        host: the host of its folder.
        held: returns whether this worker holds its lease.
        answers: returns the answers that the session does not have yet, by question.

    Attributes:
        cancelled: a person wanted the end of the job.
    """

    def __init__(
        self, job: Job, host: Host, held: Callable[[], bool], answers: Callable[[], Mapping[str, Row]]
    ) -> None:
        self._job, self._host, self._held, self._answers = job, host, held, answers
        self._fence: Fence | None = None
        self._agent: AgentRunner | None = None
        self.cancelled = False
        typed = job.spec.options.get("action") is not None and job.spec.options.get("approvals") is None
        self._typed = TypedByAPerson() if typed else None  # typing an action with its arguments was the answer

    # --- from outside -----------------------------------------------------------------------------------------------

    @property
    def abandoned(self) -> bool:
        """Whether another worker goes on with the job, or will, so that nothing of this round counts."""
        return self._fence is not None and self._fence.down

    def cancel(self) -> None:
        """End the run, because a person said so."""
        self.cancelled = True
        if self._agent is not None:
            self._agent.abort("the job was cancelled")

    def let_go(self) -> None:
        """Write nothing more, and end what runs: the session stays as after a crash."""
        if self._fence is not None:
            self._fence.down = True
        if self._agent is not None:
            self._agent.abort("the worker stops")

    # --- the round --------------------------------------------------------------------------------------------------

    async def carry_on(self) -> Ended:
        """Carry the job on.

        Raises:
            SessionLocked: another process has the session.
            SessionTaken: another worker goes on with the job.
        """
        session = await self._open()
        agent = self._agent = AgentRunner(self._config(), host=self._host, session=session)
        try:
            await agent.open()
            if name := self._job.spec.options.get("agent"):
                await agent_of(self._host, name).become(agent, agent, name)
            if self._job.spec.options.get("action") is not None:
                tool = self._take_action(agent)
                if self._typed is not None:
                    self._typed.tool_name = tool
            return await self._until_it_rests(agent)
        finally:
            await agent.aclose()

    async def _open(self) -> Session:
        """Open the session, which the first round makes."""
        job, store = self._job, FencedStore(self._host.session_store(), self._held)
        try:
            session = await Session.open(store, job.session, time.time)
        except UnknownSession:
            if job.spec.session:
                raise
            session = await Session.create(store, time.time, cwd=job.spec.folder, session_id=job.id)
        self._fence = store.fence
        return session

    def _config(self) -> Any:
        options, later = self._job.spec.options, Later()
        known = {name: options[name] for name in Choices.__dataclass_fields__ if name in options}
        config = config_for(self._host, Choices(**known))
        if plan := options.get("plan"):
            config = replace(config, options={"plan": plan})
        asks = options.get("approvals") != "deny"
        approver = self._typed if self._typed is not None else later if asks else None
        return replace(config, approver=approver, ui=later if asks else None, cwd=Path(self._job.spec.folder))

    def _take_action(self, agent: AgentRunner) -> str:
        """Let the action that a person typed take the place of a model; return the name of its tool."""
        options = self._job.spec.options
        name = tool_of_action(agent, str(options["skill"]), str(options["action"]["name"]))
        agent.set_adapter(DirectCall(name, options["action"]["args"]))
        return name

    async def _until_it_rests(self, agent: AgentRunner) -> Ended:
        used: list[str] = []
        response: AgentResponse | None = None
        if said_by(agent.session, self._job) is None:
            if agent.suspension is not None:
                return Ended(
                    "failed", error=f"session {agent.session.id} waits for a decision; decide there, then retry"
                )
            response = await self._say(agent)
        while True:
            if (waiting := agent.suspension) is not None:
                decisions = self._decisions(waiting.calls, used)
                if not decisions:
                    return Ended("waiting", waiting=questions_of(waiting.calls), used=used)
                response = await self._run(agent.resume(decisions))
            elif response is not None:
                return self._ended(agent, response, used)
            elif self._open_end(agent.session):
                response = await self._run(agent.resume())
            elif (cut := self._cut(agent.session)) is not None and self._job.again == self._job.round:
                await agent.move_to(cut.parent_id)
                response = await self._run(agent.resume())
            else:
                return self._over(agent.session, used)

    async def _say(self, agent: AgentRunner) -> AgentResponse:
        spec = self._job.spec
        if not agent.session.entries:
            await agent.session.append("session_info", {"title": shorten(self._host.redact(spec.text), TITLE)})
        origin = Origin(
            JOB, str(spec.origin.get("principal", "owner")), self._job.id, dict(spec.origin.get("meta", {}))
        )
        return await self._run(agent.chat(spec.text, origin=origin))

    async def _run(self, work: Any) -> AgentResponse:
        try:
            response: AgentResponse = await work
        except RunAborted as error:
            response = error.response or AgentResponse(outcome="aborted", reason=error.message)
        except AgentError as error:
            if error.response is None or self.abandoned:
                raise
            response = _failed(error, error.response)
        return response

    def _decisions(self, calls: Sequence[SuspendedCall], used: list[str]) -> dict[str, ApprovalDecision]:
        """Return the answers to what waits; one that was given for other arguments or other questions does not count."""
        known, decisions = self._answers(), {}
        for question in questions_of(calls):
            name = question_id(question["call"], json.dumps(question["about"], sort_keys=True))
            if name in known and name not in used:
                given = json.loads(known[name]["decision"])
                origin = Origin.from_dict(json.loads(known[name]["origin"]))
                decisions[question["call"]] = ApprovalDecision(
                    given["decision"],
                    given.get("reason", ""),
                    given.get("remember", False),
                    given.get("answer"),
                    origin,
                )
                used.append(name)
        return decisions

    def _open_end(self, session: Session) -> bool:
        """Return whether a crash left something to do."""
        try:
            resumption(session.messages, None, None, None, session.driven)
        except UsageError:
            return False
        return True

    def _cut(self, session: Session) -> SessionEntry | None:
        """Return the entry of a last answer that failed or was aborted."""
        last = session.messages[-1] if session.messages else None
        if not isinstance(last, AssistantMessage) or last.stop_reason not in CUT:
            return None
        return next(entry for entry in session.entries if entry.id == session.context_ids[-1])

    # --- the end ----------------------------------------------------------------------------------------------------

    def _ended(self, agent: AgentRunner, response: AgentResponse, used: Sequence[str]) -> Ended:
        result = _result(agent.session, response.content, response.outcome, response.usage.to_dict(), response.cost)
        if response.outcome == "completed":
            return Ended("completed", result, used=used)
        if self.cancelled:
            return Ended("cancelled", result, used=used)
        why = response.reason or response.content or "no reason"
        return Ended("failed", result, why if response.outcome == "failed" else f"{response.outcome}: {why}", used=used)

    def _over(self, session: Session, used: Sequence[str]) -> Ended:
        """Return how a run ended that ended before this round."""
        last = next((m for m in reversed(session.messages) if isinstance(m, AssistantMessage)), None)
        text = last.text if last is not None else ""
        result = _result(session, text, "completed", session.usage.to_dict(), session.cost)
        if last is not None and last.stop_reason in CUT:
            return Ended(
                "failed", {**result, "outcome": "failed"}, f"the last answer was cut off: {last.stop_reason}", used=used
            )
        return Ended("completed", result, used=used)


def _failed(error: SkillKitError, response: AgentResponse) -> AgentResponse:
    return replace(response, reason=response.reason or str(error))


def _result(session: Session, text: str, outcome: str, usage: Mapping[str, Any], cost: float | None) -> dict[str, Any]:
    kept = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n... (the session has all of it)"
    return {"answer": kept, "outcome": outcome, "usage": dict(usage), "cost": cost, "session": session.id}
