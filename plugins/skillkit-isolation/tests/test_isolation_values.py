"""Values travel and come back as they were, and nothing else is made of what a process says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from skillkit_isolation.values import pack, unpack
from skillkit_isolation.wire import LARGEST, Frames, encoded

from skillkit_core import (
    AbortSignal,
    AssistantMessage,
    CompactionResult,
    CustomMessage,
    ErrorKind,
    FrozenDict,
    Limits,
    ModelDefinition,
    ProviderError,
    StreamEvent,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    Tool,
    ToolCall,
    ToolOutput,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.events import results, types
from skillkit_core.messages import Origin, Outcome, StopReason
from skillkit_core.models import ModelCost

MODEL = ModelDefinition(
    "m", "p", context_window=9, cost=ModelCost(1, 2, tiers=(ModelCost(3, 4, above=5),)), aliases=("x",)
)
MESSAGES = (
    UserMessage(content="hi \ud800 é", origin=Origin("web", "ann", meta={"a": [1]}), pinned=True),
    AssistantMessage(
        content=(ThinkingBlock("hm", signature="s"), TextBlock("t"), ToolCall("1", "now", {"$": [1, {"$": 2}]}, "{}")),
        stop_reason=StopReason.tool_calls, usage=TokenUsage(1, 2, raw={"x": 1}),
    ),
    ToolResultMessage(tool_call_id="1", content="x", outcome=Outcome.denied, details={"deep": [None, 1.5]}),
    CustomMessage(custom_type="a.b", content="c", in_context=True),
)  # fmt: skip
VALUES: list[Any] = [
    None, True, 1.5, "x", [1, [2]], (1, (2,)), {"a": {"b": ()}}, {1: "one", "$": 2}, {"$": "message", "v": {}}, frozenset({"a"}),
    b"\x00\xff", Path("/a/b"), *MESSAGES, MODEL, TokenUsage(1), Limits(turns=3, cost=0.5),
    ToolOutput((TextBlock("a"),), {"x": 1}, True, usage=TokenUsage(1)), CompactionResult("s", 2, {3: MESSAGES[2]}),
    StreamEvent("done", usage=TokenUsage(1), stop_reason=StopReason.stop, block=TextBlock("x")),
    results.Transform(text="x", images=()), results.Handled("x", keep=True), results.TurnStartResult(append=[MESSAGES[0]]),
    results.ToolCallEventResult(args=results.ReplaceArgs({"a": 1}), ask="?"), results.MessageEndResult(message=MESSAGES[1]),
    results.ContextTransformResult(messages=MESSAGES), results.BeforeAgentStartResult(limits=Limits(), parts={"a": "b"}),
    types.TurnStartEvent(messages=MESSAGES, tools=(), session_id="s", agent_path=("main", "sub")),
    types.ToolCallEvent(tool_name="t", args={"a": [1]}, annotations={"mutates": "none"}),
    types.BeforeModelRequestEvent(request="r", model=MODEL, runs=("a",)), types.UsageEvent(usage=TokenUsage(1), cost=0.1),
    types.MessageUpdateEvent(event=StreamEvent("text_delta", "x", index=0)), types.ToolExecutionEndEvent(outcome=Outcome.ok),
]  # fmt: skip


@pytest.mark.smoke
@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    (told,) = Frames().feed(encoded({"value": pack(value)}))
    back = unpack(told["value"])
    assert back == value and (type(back) is type(value) or isinstance(value, (dict, list)))


def test_tools_signals_and_errors_travel_as_what_they_tell() -> None:
    tool = unpack(pack(Tool("now", "The time.", print, annotations={"mutates": "none"}, timeout=3.0)))
    assert (tool.name, tool.timeout, tool.annotations["mutates"]) == ("now", 3.0, "none")
    assert isinstance(tool.execute, str)
    assert isinstance(unpack(pack(AbortSignal())), AbortSignal)
    error = unpack(pack(ProviderError("slow", kind=ErrorKind.rate_limit, status=429, retry_after=2.0)))
    assert (str(error.message), error.kind, error.retry_after, error.retryable) == (
        "slow",
        ErrorKind.rate_limit,
        2.0,
        True,
    )
    assert str(unpack(pack(KeyError("x")))) == "KeyError: 'x'"
    event = types.BeforeCompactEvent(reason="manual", preparation=object(), tokens=3, signal=AbortSignal())
    assert unpack(pack(event)).tokens == 3 and unpack(pack(event)).preparation is None
    for code in (print, object(), results.BeforeAgentStartResult(driver=object())):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="cannot be passed to another process"):
            pack(code)


@pytest.mark.parametrize(
    "told",
    [
        {"$": "Host"}, {"$": "os.system", "v": "id"}, {"$": "Tool"}, {"$": "message", "v": {"role": "root"}}, {"$": None},
        {"$": "StopReason", "v": "never"}, {"$": "Limits", "turns": "many"}, {"$": "pairs", "v": 3}, {"$": ["Tool"]},
        {"$": "provider_error", "message": "x", "kind": "x"},
    ],
)  # fmt: skip
def test_nothing_else_is_made_of_what_a_process_says(told: Any) -> None:
    with pytest.raises(ValueError):
        unpack(told)


def test_the_wire_takes_pieces_and_refuses_what_is_no_message() -> None:
    frames, data = Frames(), encoded({"a": "é" * 300}) + encoded({"b": 1})
    found = [message for n in range(0, len(data), 7) for message in frames.feed(data[n : n + 7])]
    assert found == [{"a": "é" * 300}, {"b": 1}]
    for wrong in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x01x"):
        with pytest.raises(ValueError):
            list(Frames().feed(wrong))
    with pytest.raises(ValueError, match="is larger than"):
        encoded({"a": "x" * LARGEST})
    assert json.loads(json.dumps(FrozenDict(a=1))) == {"a": 1}
