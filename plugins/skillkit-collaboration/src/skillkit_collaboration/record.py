"""A session in the notes of its agent's session, each written before the work that it announces; all else is their fold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from skillkit_core.frozen import thaw

from .models import AgentMessage, CollaborationConfig, CollaborationSession, CollaborationTrace, Decision, Refusal
from .protocol import Rules, State, receive

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Session

__all__ = ["BEGIN", "END", "MESSAGE", "TURN", "VIOLATION", "Record", "records_of", "write"]

BEGIN, TURN, MESSAGE = "collaboration.begin", "collaboration.turn", "collaboration.message"
VIOLATION, END = "collaboration.violation", "collaboration.end"
NOTES = (BEGIN, TURN, MESSAGE, VIOLATION, END)
OUTCOMES = {"active": "active", "converged": "converged", "failed": "failed", "max_turns_reached": "max_turns"}
MOST = 48 * 1024  # characters of JSON in a note; more is in a file
KEPT = "kept"
GONE = "[this text is no longer kept]"


@dataclass(slots=True)
class Record:
    """A session, as its notes tell it.

    Attributes:
        id: its name, ``c1``.
        task: the task that it does.
        query: what it is about.
        context: what the participants are given beside the thread.
        config: its configuration, with all defaults filled in.
        names: the participants: what each is called, and what it stands for.
        roles: the role of a participant, by what it is called.
        rules: the rules of its protocol.
        state: where it stands, by its protocol and its end.
        messages: the thread.
        turn: how many turns have ended.
        open: the turn that has begun and not ended: ``turn``, ``speaker``, ``attempt``.
        reason: why it ended.
        result: what it came to.
        budgeted: its end came from a budget or a cancellation, so that it may go on.
    """

    id: str
    task: str = ""
    query: str = ""
    context: str = ""
    system: str = ""
    packs: tuple[str, ...] = ()
    config: CollaborationConfig = field(default_factory=lambda: CollaborationConfig(participants=()))
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    rules: Rules = field(default_factory=lambda: Rules(()))
    state: State = State()
    messages: list[AgentMessage] = field(default_factory=list)
    turn: int = 0
    open: Mapping[str, Any] | None = None
    reason: str = ""
    result: str = ""
    budgeted: bool = False
    ms: float = 0.0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    decisions: list[Decision] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    rows: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``active``, or how it ended."""
        return self.state.status

    @property
    def best(self) -> str:
        """The newest proposal or revision; empty: there is none."""
        return next((m.content for m in reversed(self.messages) if m.message_type in ("proposal", "revision")), "")

    def inputs(self) -> str:
        """Return the digest of what a decision is made from: the thread, and the turn."""
        data = [self.id, self.turn, *(message.model_dump(mode="json") for message in self.messages)]
        return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def session(self) -> CollaborationSession:
        """Return the session as it stands."""
        return CollaborationSession(
            session_id=self.id,
            participants=tuple(self.names),
            messages=tuple(self.messages),
            convergence_criteria=self.config.convergence.model_dump(mode="json"),
            current_turn=self.turn,
            status=self.state.status,
        )

    def trace(self) -> CollaborationTrace:
        """Return the whole of the session."""
        return CollaborationTrace(
            session_id=self.id,
            participants=tuple(self.names),
            total_turns=self.turn,
            outcome=OUTCOMES[self.state.status],  # type: ignore[arg-type]
            messages=tuple(self.messages),
            duration_ms=round(self.ms),
            model_calls=self.calls,
            convergence_reason=self.reason,
            query=self.query,
            result=self.result,
            tokens=self.tokens,
            cost=round(self.cost, 6),
            roles=dict(self.roles),
            decisions=tuple(self.decisions),
            refusals=tuple(self.refusals),
            turns=tuple(self.rows),
        )

    # --- the fold -----------------------------------------------------------------------------------------------------

    def take(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        """Take the next note in."""
        self.ms += float(data.get("ms") or 0)
        self.calls += int(data.get("calls") or 0)
        self.tokens += int(data.get("tokens") or 0)
        self.cost += float(data.get("cost") or 0)
        if data.get("decision"):
            self.decisions.append(Decision(**data["decision"]))
        {BEGIN: self._begin, TURN: self._turn, MESSAGE: self._message, VIOLATION: self._refused, END: self._end}[kind](
            data, at
        )

    def _begin(self, data: Mapping[str, Any], at: float) -> None:
        self.task, self.query, self.context = str(data["task"]), str(data["query"]), str(data.get("context") or "")
        self.system, self.packs = str(data.get("system") or ""), tuple(data.get("packs") or ())
        self.config = CollaborationConfig(**data["config"])
        self.names, self.roles = dict(data["names"]), dict(data["roles"])
        self.rules = Rules(tuple(self.names), self.roles, self.config.convergence.max_revisions or 0)

    def _turn(self, data: Mapping[str, Any], at: float) -> None:
        self.open = data
        if self.budgeted:
            self.state, self.budgeted, self.reason, self.result = self._before_end(), False, "", ""

    def _before_end(self) -> State:
        state = State()
        for message in self.messages:
            state = receive(self.rules, state, message.model_dump(mode="json")).state
        return state

    def _message(self, data: Mapping[str, Any], at: float) -> None:
        message = AgentMessage(**data["message"])
        self.messages.append(message)
        self.state = receive(self.rules, self.state, message.model_dump(mode="json")).state
        row = {name: data[name] for name in ("turn", "began", "calls", "tokens", "session") if name in data}
        self.rows.append({**row, "sender": message.sender, "ended": at})
        if int(data["turn"]) > self.turn:
            self.turn, self.open = int(data["turn"]), None

    def _refused(self, data: Mapping[str, Any], at: float) -> None:
        given = {name: data[name] for name in Refusal.model_fields if name in data}
        refusal = Refusal(**{**given, "began": at - float(data.get("ms") or 0) / 1000, "ended": at})
        self.refusals.append(refusal)
        if refusal.outcome in ("skip", "fail"):
            self.turn, self.open = refusal.turn, None

    def _end(self, data: Mapping[str, Any], at: float) -> None:
        self.state = State(**{**_fields(self.state), "status": data["status"]})
        self.reason, self.result = str(data["reason"]), str(data["result"])
        self.budgeted, self.open = bool(data.get("budgeted")), None


def _fields(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in State.__slots__}


def records_of(host: Host, session: Session) -> list[Record]:
    """Return the sessions of the current branch of an agent's session, oldest first."""
    return _folded(host, ((note.type, note.data, note.ts) for note in session.notes() if note.type in NOTES))


def _folded(host: Host, notes: Iterable[tuple[str, Mapping[str, Any], float]]) -> list[Record]:
    found: dict[str, Record] = {}
    for kind, data, at in notes:
        name = str(data.get("id"))
        if kind == BEGIN:
            found[name] = Record(name)
        if name in found:
            found[name].take(kind, _unpacked(host, data), at)
    return list(found.values())


# --- notes ------------------------------------------------------------------------------------------------------------


async def write(agent: AgentRunner, record: Record, kind: str, data: Mapping[str, Any]) -> None:
    """Write a note of a session, wait until it is on the disk, and take it into the record as it will be read again."""
    given = json.loads(json.dumps(thaw(agent.host.redact({"id": record.id, **data})), default=str))
    await agent.session.note(kind, _packed(agent, given), sync=True)
    note = agent.session.notes(kind)[-1]
    record.take(kind, _unpacked(agent.host, note.data), note.ts)


def _packed(agent: AgentRunner, data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of a note; what is too large for it is in a file, named by its digest."""
    text = json.dumps(data)
    if len(text) <= MOST:
        return data
    digest = sha256(text.encode()).hexdigest()
    if agent.session.location is None:  # a session in memory leaves nothing on the disk
        agent.host.state("collaboration").setdefault(KEPT, {})[digest] = text
    else:
        folder = agent.host.data_dir / "collaboration"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = folder / f".{digest}.{os.getpid()}"
        made.touch(mode=0o600)
        made.write_text(text, "utf-8")
        made.replace(folder / digest)
    return {**_shortened(data), KEPT: digest}


def _shortened(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data without their long texts, so that a session can be folded where the file is gone."""

    def short(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= 500 else GONE
        if isinstance(value, dict):
            return {key: short(one) for key, one in value.items()}
        return [short(one) for one in value[:50]] if isinstance(value, list) else value

    return {key: short(value) for key, value in data.items()}


def _unpacked(host: Host, data: Mapping[str, Any]) -> Mapping[str, Any]:
    digest = data.get(KEPT)
    if not isinstance(digest, str):
        found: Mapping[str, Any] = thaw(data)
        return found
    text = host.state("collaboration").get(KEPT, {}).get(digest)
    if text is None and digest.isalnum():
        file = host.data_dir / "collaboration" / digest
        text = file.read_text("utf-8") if file.is_file() else None
    if text is None or sha256(text.encode()).hexdigest() != digest:
        return {key: value for key, value in thaw(data).items() if key != KEPT}
    found = json.loads(text)
    return found
