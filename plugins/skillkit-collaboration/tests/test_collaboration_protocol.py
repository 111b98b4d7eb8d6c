"""The protocol and the trace by the ids of phase 11."""

from __future__ import annotations

import json
from typing import Any

import pytest
from collaboration_stage import A, C, J, P, R, chat, message, types
from skillkit_collaboration import (
    CollaborationTrace,
    MessageType,
    Rules,
    State,
    allowed,
    as_json,
    as_spans,
    as_text,
    receive,
)

from skillkit_core import AgentError
from skillkit_core.testing import Call, Reply

STATUS = {
    "proposal": "pending", "critique": "needs_revision", "revision": "pending", "approval": "accepted",
    "rejection": "rejected", "request_info": "pending", "info_response": "pending", "delegation": "pending",
}  # fmt: skip
PAIR = Rules(("writer", "critic"), {"critic": "critic"}, max_revisions=1)
LETTERS = {
    "P": ("writer", "critic", "proposal"), "R": ("writer", "critic", "revision"), "C": ("critic", "writer", "critique"),
    "A": ("critic", "writer", "approval"), "J": ("critic", "writer", "rejection"),
    "Q": ("critic", "writer", "request_info"), "I": ("writer", "critic", "info_response"),
    "D": ("supervisor", "writer", "delegation"),
}  # fmt: skip
CRITIC = {"roles": {"research": "generator", "critic": "critic"}, "participants": ["research", "critic"]}


@pytest.fixture
def pair(engine_skill: Any) -> None:
    engine_skill("research")
    engine_skill("critic")


def sent(letter: str, **changes: Any) -> dict[str, Any]:
    sender, recipient, kind = LETTERS[letter]
    given = {"sender": sender, "recipient": recipient, "message_type": kind, "status": STATUS[kind]}
    return {**given, "content": "x", **changes}


def judged(letters: str, rules: Rules = PAIR) -> tuple[list[str], State]:
    """Return what becomes of messages: a rule or ``ok`` for each; and the state at the end."""
    state, found = State(), []
    for letter in letters.split():
        verdict = receive(rules, state, sent(letter))
        state = verdict.state
        found.append(verdict.violation.rule if verdict.violation else "ok")
    return found, state


@pytest.mark.parametrize(
    ("letters", "last", "status"),
    [
        ("P", "ok", "active"), ("D", "ok", "active"), ("Q D", "ok", "active"), ("C", "rule-1", "active"),
        ("R", "rule-1", "active"),
        ("P C", "ok", "active"), ("P C C", "rule-2", "active"), ("D C", "rule-2", "active"),
        ("P C R", "ok", "active"), ("P J R", "ok", "active"), ("P R", "rule-3", "active"),
        ("P A", "ok", "converged"), ("P C A", "ok", "converged"), ("D A", "rule-4", "active"),
        ("P J", "ok", "active"), ("P C J", "rule-5", "active"), ("P C R J", "ok", "failed"), ("P J R J", "ok", "failed"),
        ("Q I", "ok", "active"), ("P Q I", "ok", "active"), ("I", "rule-6", "active"), ("Q I I", "rule-6", "active"),
        ("P A C", "terminal", "converged"), ("P C R J P", "terminal", "failed"),
    ],
)  # fmt: skip
def test_s11_1_each_rule_holds_and_is_broken(letters, last, status):
    found, state = judged(letters)
    assert (found[-1], state.status) == (last, status) and set(found[:-1]) <= {"ok"}


def test_s11_1_there_are_eight_types_of_messages():
    assert [str(one) for one in MessageType] == list(STATUS)


def test_s11_1_requests_and_responses_change_nothing_of_what_is_pending():
    _, before = judged("P")
    _, after = judged("P Q I")
    assert (after.last, after.author, after.revisions) == (before.last, before.author, before.revisions)
    assert judged("P Q C")[0][-1] == "ok"  # directly behind the proposal


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"sender": "stranger"}, "sender"), ({"recipient": "stranger"}, "recipient"), ({"recipient": "writer"}, "recipient"),
        ({"message_type": "shout"}, "type"), ({"message_type": None}, "type"), ({"message_type": ["proposal"]}, "type"),
        ({"status": "accepted"}, "status"), ({"status": None}, "status"), ({"sender": None}, "sender"),
        ({"sender": ["writer"]}, "sender"), ({"recipient": {}}, "recipient"),
    ],
)  # fmt: skip
def test_s11_3_a_stranger_a_wrong_type_and_a_wrong_status_are_violations(changes, rule):
    verdict = receive(PAIR, State(), sent("P", **changes))
    assert verdict.violation is not None and verdict.violation.rule == rule and verdict.state == State()


def test_s11_2_what_is_allowed_is_what_would_be_taken_and_nothing_else():
    _, state = judged("P")
    assert allowed(PAIR, state, "critic") == ("proposal", "critique", "approval", "rejection", "request_info")
    assert allowed(PAIR, state, "writer") == ("proposal", "request_info")
    assert allowed(PAIR, judged("P A")[1], "critic") == () == allowed(PAIR, state, "stranger")


def test_s11_2_a_violation_is_not_in_the_thread_and_the_sender_is_told_the_rule_and_may_send_again(together, pair):
    agent, model = together({"research": [C, P], "critic": A}, **CRITIC)
    seen: list[Any] = []
    agent.events.observe(seen.append, ["collaboration_violation"])
    _, record = chat(agent)
    assert types(record) == ["research proposal", "critic approval"] and record.turn == 2
    (refusal,) = record.refusals
    assert (refusal.rule, refusal.outcome, refusal.allowed) == ("role", "resend", ("proposal", "request_info"))
    assert "Your last message was refused. role: " in model.texts("research")[1]
    assert "You may send now: proposal, request_info." in model.texts("research")[1]
    assert [(one.rule, one.outcome) for one in seen] == [("role", "resend")]


def test_s11_2_a_second_violation_leaves_the_turn_out_or_fails_the_session(together, pair):
    said = {"research": P, "critic": [R, R, A]}
    _, record = chat(together(said, **CRITIC)[0])
    assert [(one.rule, one.outcome) for one in record.refusals] == [("rule-3", "resend"), ("rule-3", "skip")]
    assert types(record) == ["research proposal", "research proposal", "critic approval"]
    agent, _ = together({"research": P, "critic": R}, **CRITIC, on_violation="fail")
    with pytest.raises(AgentError, match="protocol: critic broke rule-3 again"):
        chat(agent)


def test_s11_2_an_answer_without_an_object_is_a_text_of_who_writes_and_asked_for_of_who_judges(together, pair):
    said = {"research": "Ice flows.", "critic": "Fine with me.", "form": '{"message_type": "approval"}'}
    agent, model = together(said, **CRITIC)
    _, record = chat(agent)
    assert model.asked == ["research", "critic", "form"]
    assert [(one.message_type, one.content) for one in record.messages] == [
        ("proposal", "Ice flows."), ("approval", "Fine with me."),
    ]  # fmt: skip


def test_s11_2_an_answer_that_is_no_message_is_a_violation_of_its_type(together, pair):
    said = {"research": P, "critic": ["Hm.", A], "form": "no idea"}
    _, record = chat(together(said, **CRITIC)[0])
    assert [(one.rule, one.outcome) for one in record.refusals] == [("type", "resend")] and record.status == "converged"


def test_s11_1_a_rejection_behind_the_last_revision_fails_the_session(together, pair):
    agent, _ = together({"research": [P, R], "critic": [C, J]}, **CRITIC, convergence={"max_revisions": 1})
    with pytest.raises(AgentError, match="rejected by critic after 1 revisions"):
        chat(agent)
    (end,) = agent.session.notes("collaboration.end")
    assert end.data["status"] == "failed" and end.data["result"] == "revision text"


def test_s11_4_the_trace_counts_what_was_counted_elsewhere(together, engine_skill, pair):
    from skillkit_core import Tool

    async def look(args: Any, ctx: Any) -> str:
        return "seen"

    engine_skill("digger", tools=["look"])
    tool = Tool("look", "Look.", look, annotations={"mutates": "none"})
    said = {"digger": [Reply(calls=[Call("look")]), P, R], "critic": [C, A]}
    given = {"participants": ["digger", "critic"], "roles": {"critic": "critic"}}
    agent, model = together(said, **given, tools=(tool,))
    tokens = 0

    def count(event: Any) -> None:
        nonlocal tokens
        tokens += event.usage.total if event.purpose != "nested" else 0

    agent.events.observe(count, ["usage"])
    _, record = chat(agent)
    trace = record.trace()
    assert set(CollaborationTrace.model_fields) >= {
        "session_id", "participants", "total_turns", "outcome", "messages", "duration_ms", "model_calls",
        "convergence_reason",
    }  # fmt: skip
    assert trace.model_calls == len(model.asked) == 5 and trace.total_turns == 4 and trace.tokens == tokens > 0
    assert trace.duration_ms == round(sum(n.data["ms"] for n in agent.session.notes() if "ms" in n.data))
    assert sum(row["calls"] for row in trace.turns) == 5


@pytest.mark.parametrize(
    ("said", "given", "outcome"),
    [
        ({"research": P, "critic": A}, {}, "converged"),
        ({"research": P, "critic": C}, {"convergence": {"max_turns": 2}}, "max_turns"),
        ({"research": P, "critic": J}, {"convergence": {"max_revisions": 0}}, "failed"),
    ],
)
def test_s11_4_the_outcome_of_the_trace_follows_the_state_of_the_session(together, pair, said, given, outcome):
    agent, _ = together(said, **CRITIC, **given)
    try:
        chat(agent)
    except AgentError:
        assert outcome == "failed"
    (end,) = agent.session.notes("collaboration.end")
    assert {"max_turns_reached": "max_turns"}.get(end.data["status"], end.data["status"]) == outcome


def test_s11_5_the_notes_fold_to_the_same_session_wherever_they_are_cut(together, pair):
    from skillkit_collaboration.record import _folded

    agent, _ = together({"research": [C, P, R], "critic": [C, A]}, **CRITIC)
    _, record = chat(agent)
    notes = [(n.type, n.data, n.ts) for n in agent.session.notes() if n.type.startswith("collaboration.")]
    again = [_folded(agent.host, notes[:place]) for place in range(len(notes) + 1)]
    assert again[0] == [] and again[-1][0].trace() == record.trace() and again[-1][0].session() == record.session()
    turns = [folded[0].turn for folded in again[1:]]
    assert turns == sorted(turns) and again[1][0].status == "active"


def test_s11_5_a_message_that_is_too_large_for_a_note_is_in_a_file_and_comes_back(together, pair):
    text = "ä" * 100_000
    agent, _ = together({"research": message("proposal", text), "critic": A}, **CRITIC, session="new")
    response, record = chat(agent)
    assert response.content == text == record.result
    (file, *_) = (agent.host.data_dir / "collaboration").iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_s11_6_a_trace_is_exported_as_json_text_and_spans(together, pair):
    agent, _ = together({"research": [C, P], "critic": A}, **CRITIC)
    _, record = chat(agent)
    trace = record.trace()
    assert CollaborationTrace.model_validate_json(json.dumps(as_json(trace))) == trace
    text = as_text(trace)
    assert "research (generator) → supervisor · proposal (pending)" in text and "refused by role" in text
    assert "ended: approval received from critic (by protocol, rule" in text
    root, *turns = as_spans(trace)
    assert [one["name"] for one in turns] == ["research proposal", "critic approval", "research refused: role"]
    assert [one["status"]["code"] for one in turns] == [1, 1, 2]
    assert [one["parentSpanId"] for one in turns] == [root["spanId"]] * 3 and "parentSpanId" not in root
    about = {one["key"]: next(iter(one["value"].values())) for one in turns[1]["attributes"]}
    assert about["skillkit.message.type"] == "approval" and about["skillkit.message.role"] == "critic"
    assert int(about["skillkit.message.tokens"]) > 0
    assert all(int(one["startTimeUnixNano"]) <= int(one["endTimeUnixNano"]) for one in (root, *turns))
    assert as_spans(trace) == as_spans(trace) and len({one["spanId"] for one in (root, *turns)}) == 4


def test_s11_7_the_trace_is_said_where_it_is_wanted_and_no_exporter_tells_a_secret(together, pair):
    secret = "sk-live-0123456789abcdef"
    said = {"research": message("proposal", f"The key is {secret}."), "critic": A}
    agent, _ = together(said, **CRITIC, settings={"collaboration.show": True})
    agent.host.secrets.remember(secret)
    response, record = chat(agent)
    assert "critic (critic) → research · approval" in response.content
    shown = json.dumps([as_json(record.trace()), as_text(record.trace()), as_spans(record.trace()), response.content])
    assert secret not in shown


def test_s11_8_each_decision_says_who_made_it_by_what_and_from_which_inputs(together, pair):
    agent, _ = together({"research": P, "critic": A}, **CRITIC)
    _, record = chat(agent)
    assert [(d.what, d.choice, d.who, d.by, d.turn) for d in record.decisions] == [
        ("speaker", "research", "round_robin", "rule", 1), ("speaker", "critic", "round_robin", "rule", 2),
        ("end", "converged", "protocol", "rule", 2),
    ]  # fmt: skip
    digests = [d.inputs for d in record.decisions]
    assert len(set(digests)) == 3 and all(len(one) == 64 for one in digests)


def test_s11_8_the_same_answers_make_the_same_thread_and_the_same_decisions(together, pair):
    traces = [chat(together({"research": [P, R], "critic": [C, A]}, **CRITIC)[0])[1].trace() for _ in range(2)]
    assert traces[0].messages == traces[1].messages and traces[0].decisions == traces[1].decisions
