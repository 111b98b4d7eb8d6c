"""What must hold while and after a plan is played; each check names its invariant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from core_kit import check_legal

from skillkit_core import StopReason
from skillkit_core.agent.repair import repair
from skillkit_core.events.tool_call import same_json
from skillkit_core.messages import ThinkingBlock, message_from_dict

SUMMARISER = "You summarise conversations."


@dataclass
class Books:
    """What happened outside of the session, noted while it happens."""

    problems: list[str] = field(default_factory=list)
    effects: Counter[str] = field(default_factory=Counter)
    safe: set[str] = field(default_factory=set)
    guarded: dict[str, Any] = field(default_factory=dict)
    allowed: dict[str, Any] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    accepted: dict[tuple[Any, str], str] = field(default_factory=dict)
    returned: list[str] = field(default_factory=list)
    compacted_at: list[tuple[Any, int]] = field(default_factory=list)
    lives: int = 1
    crashed: bool = False

    def must(self, holds: bool, what: str) -> None:
        """Note what does not hold: an exception in a handler or a tool would be one of the run's own."""
        if not holds:
            self.problems.append(what)

    def decided(self, call_id: str, args: Any, decision: str) -> None:
        """The approver decided about a call with these arguments."""
        if decision == "allow":
            self.allowed[call_id] = args
        elif decision == "deny":
            self.denied.add(call_id)

    def ran(self, call_id: str, args: Any, kept: Sequence[Any], *, safe: bool) -> None:
        """A tool runs, and ``kept`` is what the session holds."""
        self.effects[call_id] += 1
        if safe:
            self.safe.add(call_id)
        self.must(safe or self.effects[call_id] == 1, "9.38: a call that is not safe to repeat ran twice")
        self.must(same_json(self.guarded[call_id], args), "I12: a guard saw other arguments than those that run")
        self.must(call_id not in self.denied, "a call that was denied ran")
        if call_id in self.allowed:
            self.must(same_json(self.allowed[call_id], args), "I12: what was allowed is not what runs")
        for entry in (
            kept if not safe or self.lives == 1 else ()
        ):  # what is safe to repeat is asked about again after a crash
            told = entry.data.get("decisions", {}).get(call_id, {}) if entry.type == "custom" else {}
            self.must(told.get("decision") != "deny", "a call ran that was denied in the session")

    def next_life(self) -> None:
        """Another process goes on: what was decided and is not in the session is not known any more."""
        self.lives, self.crashed = self.lives + 1, False
        self.allowed, self.denied = {}, set()

    def after_a_crash(self, agent: Any) -> None:
        """I10 and I14, of what is left."""
        entries = [e.data["message"] for e in agent.session.entries if e.type == "message"]
        said = Counter("".join(b.get("text", "") for b in m["content"]) for m in entries if m["role"] == "user")
        assert all(said[text] <= 1 for text in self.accepted.values()), "I14: said twice"
        results = {m["tool_call_id"] for m in entries if m["role"] == "tool_result"}
        calls = {b["id"] for m in entries for b in m["content"] if b["type"] == "tool_call"}
        assert results <= calls and set(self.effects) <= calls, "I10: an effect whose call is not kept"

    def all_accounted_for(self, agents: Sequence[Any]) -> None:
        """I14: what was accepted was said once, was given back, or waits still."""
        said: Counter[str] = Counter()
        for entry in agents[-1].session.entries:
            if entry.type == "message" and entry.data["message"]["role"] == "user":
                said["".join(b.get("text", "") for b in entry.data["message"]["content"])] += 1
        gone = Counter(self.returned)
        for (agent, item), text in self.accepted.items():
            waiting = sum(item in agent.queues.waiting(kind) for kind in ("steer", "follow_up", "next_run"))
            places = said[text] + gone[text] + waiting
            assert places == 1 or not item, f"I14: {text!r} is in {places} places"


def check_requests(agent: Any, compacted_at: Sequence[int]) -> None:
    """I5, I15 and I16, of what one agent has sent."""
    sent = [(i, r) for i, r in enumerate(agent.scripted.requests) if r.system != SUMMARISER]
    assert all(request.messages for _, request in sent), "a request without a message"
    for message in (m for _, request in sent for m in request.messages if m.role == "assistant"):
        if message.stop_reason in (StopReason.aborted, StopReason.error):
            unsigned = [b for b in message.content if isinstance(b, ThinkingBlock) and not b.signature]
            assert not unsigned, "I5: unsigned thinking of a cut answer was sent"
    for (i, one), (j, two) in pairwise(sent):
        if not any(i < n <= j for n in compacted_at):
            assert one.messages == two.messages[: len(one.messages)], "I15: the prefix changed"
        assert one.tools is two.tools and one.system == two.system, "I15: tools or system prompt changed"
    assert all([t.name for t in r.tools] == sorted(t.name for t in r.tools) for _, r in sent), "I16"


def check_session(session: Any) -> None:
    """I1 to I4, of what any reader of the session finds."""
    waiting = session.suspension()
    open_calls = waiting.open_calls if waiting is not None else frozenset()
    legal = repair(tuple(session.messages), open_calls)
    check_legal(legal, open_calls)
    assert repair(legal, open_calls) is legal, "I3: repair is not idempotent"


def check_end(agent: Any, *, crashed: bool) -> None:
    """I4, that results are in the session itself and not only in its repaired view, and that a suspension is what a run says."""
    waiting = agent.suspension
    open_calls = waiting.open_calls if waiting is not None else frozenset()
    assert list(agent.conversation.context.messages()) == list(repair(tuple(agent.messages), open_calls)), "I4"
    results = {m.tool_call_id for m in agent.messages if m.role == "tool_result"}
    for message in (m for m in agent.messages if m.role == "assistant" and not crashed):
        if message.stop_reason not in (StopReason.aborted, StopReason.error):
            missing = {c.id for c in message.tool_calls} - results - open_calls
            assert not missing, f"I1: no results in the session for {missing}"
    ends = agent.seen.of("agent_end")
    if ends and ends[-1].run_id == agent.seen.of("agent_settled")[-1].run_id:  # the last run got as far as its start
        undecided = ("suspended", "aborted", "failed")  # a run that resumes may end before the decisions are kept
        assert ends[-1].outcome in undecided if waiting is not None else ends[-1].outcome != "suspended", (
            "a lost suspension"
        )


def check_shown(agent: Any) -> None:
    """I7: the text of every answer that was shown, and not tried again, is in the session."""
    messages = [e.data["message"] for e in agent.session.entries if e.type == "message"]
    kept = {message_from_dict(m).text for m in messages if m["role"] == "assistant"}
    text = ""
    for event in agent.seen.events:
        if event.type == "message_start" and event.role == "assistant":
            text = ""
        elif event.type == "message_update" and event.event.type == "text_delta":
            text += event.event.content
        elif event.type == "message_end" and event.message.role == "assistant" and event.entry_id:
            assert not text or text in kept, ("I7: shown, not kept", text)
