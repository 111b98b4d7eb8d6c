"""``ask``: one approval for all questions, denied where nobody agrees, remembered by tool and key (spec, section 6.3)."""

from __future__ import annotations

from typing import Any

import pytest
from call_bench import Bench

from skillkit_core import ApprovalDecision, ApprovalRequest, Approver, ToolCallEventResult
from skillkit_core.testing import Call, Reply

Answer = ToolCallEventResult


class Asked(Approver):
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Any:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


ALLOW, DENY = ApprovalDecision("allow"), ApprovalDecision("deny", "not today")


def test_all_questions_become_one_approval_of_exactly_what_runs(kit: Any, go: Any) -> None:
    approver = Asked(ALLOW)
    bench = Bench(kit, approver=approver)
    bench.on("tool_call", lambda e: Answer(args={"x": 5}), phase="rewrite")
    bench.on("tool_call", lambda e: Answer(ask="first?"))
    bench.on("tool_call", lambda e: Answer(ask="second?", ask_key="k"), phase="guard")
    assert go(bench.result()).outcome == "ok"
    (request,) = approver.requests
    assert [q.text for q in request.questions] == ["first?", "second?"]
    assert request.args == {"x": 5} and bench.ran == [{"x": 5}]
    assert bench.seen.one("approval_request").questions == ("first?", "second?")
    assert bench.seen.one("approval_resolved").decision == "allow"


def test_a_denial_gives_the_outcome_denied_with_the_reason(kit: Any, go: Any) -> None:
    bench = Bench(kit, approver=Asked(DENY))
    bench.on("tool_call", lambda e: Answer(ask="sure?"))
    result = go(bench.result())
    assert (result.outcome, result.text) == ("denied", "Denied: not today") and bench.ran == []


@pytest.mark.parametrize("answer", [RuntimeError("window closed"), None, "yes", True], ids=repr)
def test_an_approver_that_fails_or_answers_nonsense_has_not_agreed(kit: Any, go: Any, answer: Any) -> None:
    bench = Bench(kit, approver=Asked(answer))
    bench.on("tool_call", lambda e: Answer(ask="sure?"))
    assert go(bench.result()).outcome == "denied" and bench.ran == []


def test_without_an_approver_what_would_be_asked_is_denied(kit: Any, go: Any) -> None:
    bench = Bench(kit)
    bench.on("tool_call", lambda e: Answer(ask="sure?"))
    result = go(bench.result())
    assert result.outcome == "denied" and "sure?" in result.text and bench.ran == []


def test_block_beats_ask_and_ask_beats_substitute(kit: Any, go: Any) -> None:
    approver = Asked(DENY)
    bench = Bench(kit, approver=approver)
    bench.on("tool_call", lambda e: Answer(ask="sure?"))
    bench.on("tool_call", lambda e: Answer(block=True, reason="no"), phase="guard")
    assert go(bench.result()).outcome == "blocked" and approver.requests == []

    bench = Bench(kit, approver=approver)
    bench.on("tool_call", lambda e: Answer(result="cached"))
    bench.on("tool_call", lambda e: Answer(ask="sure?"), phase="guard")
    assert go(bench.result()).outcome == "denied"


def test_an_approved_substitute_is_used_instead_of_running(kit: Any, go: Any) -> None:
    bench = Bench(kit, approver=Asked(ALLOW))
    bench.on("tool_call", lambda e: Answer(result="cached", ask="sure?"))
    assert go(bench.result()).text == "cached" and bench.ran == []


@pytest.mark.parametrize(
    ("keys", "remember", "asked"),
    [
        (["a", "a"], True, 1),
        (["a", "b"], True, 2),
        (["a", "a"], False, 2),
        ([None, None], True, 2),
    ],
)
def test_approvals_stick_to_tool_and_key_never_to_the_tool_alone(
    kit: Any, go: Any, keys: list[str | None], remember: bool, asked: int
) -> None:
    async def main() -> None:
        approver = Asked(*[ApprovalDecision("allow", remember=remember)] * 2)
        turns = [Reply(calls=[Call("act", {"i": i})]) for i in range(2)]
        agent = kit.agent(*turns, "end", tools=[kit.tool("act", "done")], approver=approver)
        agent.events.on("tool_call", lambda e: Answer(ask="sure?", ask_key=keys[e.args["i"]]))
        await agent.chat("go")
        assert len(approver.requests) == asked
        assert [m.outcome for m in agent.messages if m.role == "tool_result"] == ["ok", "ok"]

    go(main)


def test_a_sticky_approval_of_one_tool_says_nothing_about_another(kit: Any, go: Any) -> None:
    async def main() -> None:
        approver = Asked(*[ApprovalDecision("allow", remember=True)] * 2)
        tools = [kit.tool("act", "done"), kit.tool("other", "done")]
        agent = kit.agent(
            Reply(calls=[Call("act")]), Reply(calls=[Call("other")]), "end", tools=tools, approver=approver
        )
        agent.events.on("tool_call", lambda e: Answer(ask="sure?", ask_key="same"))
        await agent.chat("go")
        assert [r.tool_name for r in approver.requests] == ["act", "other"]

    go(main)


def test_a_denial_never_sticks(kit: Any, go: Any) -> None:
    async def main() -> None:
        approver = Asked(ApprovalDecision("deny", remember=True), ALLOW)
        agent = kit.agent(*[Reply(calls=[Call("act")])] * 2, "end", tools=[kit.tool("act", "done")], approver=approver)
        agent.events.on("tool_call", lambda e: Answer(ask="sure?", ask_key="k"))
        await agent.chat("go")
        assert [m.outcome for m in agent.messages if m.role == "tool_result"] == ["denied", "ok"]

    go(main)
