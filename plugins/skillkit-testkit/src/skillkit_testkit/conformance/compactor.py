"""The compactor suite: a shorter history that is never empty and never splits a tool call from its result."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Sequence

import pytest

from skillkit_core.abort import AbortSignal
from skillkit_core.contracts.compactor import CompactionRequest, CompactionResult, Compactor
from skillkit_core.messages import (
    AgentMessage,
    AssistantMessage,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks_of,
    message_to_dict,
)
from skillkit_core.models import ModelDefinition

from .running import run

__all__ = ["CompactorConformance", "estimate", "make_history"]

MODEL = ModelDefinition("scripted-model", "scripted", context_window=8_000, max_output_tokens=1_000)
Complete = Callable[[str, Sequence[AgentMessage]], Awaitable[str]]


def estimate(messages: Sequence[AgentMessage]) -> int:
    """Tokens, at four characters each."""
    return sum(len(json.dumps(message_to_dict(m), default=str)) for m in messages) // 4


def make_history(seed: int, turns: int, *, words: int = 40) -> list[AgentMessage]:
    """A legal history: questions, answers, parallel calls with their results in call order."""
    rng = random.Random(seed)  # noqa: S311 - no secret, the same in every run
    out: list[AgentMessage] = []

    def text() -> str:
        return " ".join(rng.choice(("tests", "fail", "because", "the", "parser", "reads")) for _ in range(words))

    for turn in range(turns):
        out.append(UserMessage(content=blocks_of(f"Question {turn}: {text()}")))
        for step in range(rng.randrange(3)):
            calls = tuple(
                ToolCall(f"c{turn}-{step}-{n}", "bash", {"command": text()}) for n in range(rng.randint(1, 3))
            )
            out.append(AssistantMessage(content=(*blocks_of(text()), *calls)))
            out += [ToolResultMessage(tool_call_id=c.id, tool_name=c.name, content=blocks_of(text())) for c in calls]
        out.append(AssistantMessage(content=blocks_of(f"Answer {turn}: {text()}")))
    return out


async def _summary(prompt: str, messages: Sequence[AgentMessage]) -> str:
    return "The user asked about failing tests; the parser was at fault. Next step: run the tests again."


def _bound(message: AgentMessage) -> list[object]:
    """What other messages, or signatures, depend on."""
    blocks = [b for b in message.content if isinstance(b, (ToolCall, ThinkingBlock))]
    return [*blocks, message.tool_call_id] if isinstance(message, ToolResultMessage) else list(blocks)


class CompactorConformance:
    """Subclass it and give the fixture ``compactor``."""

    @pytest.fixture
    def compactor(self) -> Compactor:
        """Override: the compactor."""
        raise NotImplementedError("give the fixture compactor: -> Compactor")

    def compact(
        self,
        compactor: Compactor,
        messages: Sequence[AgentMessage],
        *,
        window: int = 8_000,
        complete: Complete = _summary,
        reason: str = "threshold",
    ) -> CompactionResult | None:
        """Compact once, with half of the window as the budget, and check what holds for every result."""
        request = CompactionRequest(
            messages=tuple(messages),
            model=MODEL,
            reason=reason,  # type: ignore[arg-type]
            tokens=estimate(messages),
            window=window,
            budget=window // 2,
            signal=AbortSignal(),
            estimate=estimate,
            complete=complete,
        )
        result = run(compactor.compact(request))
        if result is not None:
            self.check(messages, result)
        return result

    def check(self, messages: Sequence[AgentMessage], result: CompactionResult) -> None:
        """Something is left out, something is left, no call is separated from its results, and replacements fit."""
        least = 0 if result.replacements else 1
        assert least <= result.keep_from <= len(messages), f"keep_from {result.keep_from} of {len(messages)} messages"
        for index, new in result.replacements.items():
            assert result.keep_from <= index < len(messages), f"replacement {index} is of no kept message"
            old = messages[index]
            assert type(new) is type(old) and not getattr(old, "pinned", False), f"replacement {index} of {old!r}"
            assert _bound(new) == _bound(old), f"replacement {index} changes calls, thinking or the call's id"
        kept = messages[result.keep_from :]
        assert result.summary.strip() or kept, "the compacted history is empty"
        open_calls: set[str] = set()
        for message in messages[: result.keep_from]:
            if isinstance(message, AssistantMessage):
                open_calls |= {c.id for c in message.tool_calls}
            elif isinstance(message, ToolResultMessage):
                open_calls.discard(message.tool_call_id)
        assert not open_calls, f"keep_from {result.keep_from} lies between call and result of {sorted(open_calls)}"

    def context(self, messages: Sequence[AgentMessage], result: CompactionResult) -> list[AgentMessage]:
        """What the context is after the compaction."""
        cut = result.keep_from
        kept = [result.replacements.get(i, m) for i, m in enumerate(messages[cut:], cut)]
        pinned = [m for m in messages[:cut] if getattr(m, "pinned", False)]
        return [*([UserMessage(content=blocks_of(result.summary))] if cut else []), *pinned, *kept]

    @pytest.mark.parametrize("reason", ["threshold", "overflow", "manual"])
    def test_a_long_history_becomes_shorter(self, compactor: Compactor, reason: str) -> None:
        """Whatever the reason."""
        messages = make_history(1, 40)
        assert estimate(messages) > 8_000
        result = self.compact(compactor, messages, reason=reason)
        assert result is not None, "a history over the window can be shortened"
        assert estimate(self.context(messages, result)) < estimate(messages)

    @pytest.mark.parametrize("seed", range(12))
    def test_no_cut_is_illegal(self, compactor: Compactor, seed: int) -> None:
        """Histories of all shapes."""
        for turns in (1, 2, 5, 20):
            self.compact(compactor, make_history(seed, turns), window=2_000)

    def test_a_pinned_message_is_not_replaced(self, compactor: Compactor) -> None:
        """The core keeps it behind the summary; the compactor may count on it."""
        messages = make_history(4, 40)
        messages[0] = UserMessage(content=blocks_of("Always answer in French. " * 20), pinned=True)
        result = self.compact(compactor, messages)
        assert result is None or messages[0] in self.context(messages, result)

    @pytest.mark.parametrize("turns", [0, 1])
    def test_a_short_history_is_left_alone_or_stays_legal(self, compactor: Compactor, turns: int) -> None:
        """Nothing to gain is ``None``, never an empty history."""
        messages = [UserMessage(content=blocks_of("Hello.")), *make_history(3, turns)][: 1 + turns]
        self.compact(compactor, messages, reason="manual")

    def test_one_giant_turn_is_not_split_illegally(self, compactor: Compactor) -> None:
        """Edge case 36: one question, one call, one enormous result."""
        call = ToolCall("c1", "bash", {"command": "cat big"})
        messages = [
            UserMessage(content=blocks_of("Read it.")),
            AssistantMessage(content=(call,)),
            ToolResultMessage(tool_call_id="c1", tool_name="bash", content=blocks_of("x " * 40_000)),
        ]
        self.compact(compactor, messages, reason="overflow")

    def test_a_compacted_history_can_be_compacted_again(self, compactor: Compactor) -> None:
        """Edge case 36: compaction directly after compaction."""
        messages: list[AgentMessage] = make_history(5, 40)
        for _ in range(3):
            result = self.compact(compactor, messages)
            if result is None:
                return
            shorter = self.context(messages, result)
            assert estimate(shorter) <= estimate(messages)
            messages = shorter + make_history(6, 1)

    def test_a_failing_summary_never_gives_an_empty_history(self, compactor: Compactor) -> None:
        """Edge case 37: the error passes, or the result is legal without a summary."""

        async def fail(prompt: str, messages: Sequence[AgentMessage]) -> str:
            raise ConnectionError("no model")

        try:
            self.compact(compactor, make_history(7, 40), complete=fail)
        except ConnectionError:
            return

    def test_an_empty_summary_never_gives_an_empty_history(self, compactor: Compactor) -> None:
        """A model may say nothing."""

        async def silent(prompt: str, messages: Sequence[AgentMessage]) -> str:
            return "  "

        messages = make_history(8, 40)
        result = self.compact(compactor, messages, complete=silent)
        if result is not None and not result.summary.strip():
            assert result.keep_from < len(messages)
