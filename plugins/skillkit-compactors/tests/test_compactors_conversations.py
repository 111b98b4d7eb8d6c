"""The shared conversations: each strategy keeps what it promises, over hundreds of compactions."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import time
import zlib

import pytest
from skillkit_compactors import PruneCompactor, SlidingWindowCompactor, SummaryCompactor, TokenBudgetCompactor

from skillkit_core import (
    AbortSignal,
    AssistantMessage,
    CompactionRequest,
    CustomMessage,
    ImageBlock,
    ModelDefinition,
    Session,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    message_from_dict,
    thaw,
)

STRATEGIES = {
    "window": SlidingWindowCompactor,
    "budget": TokenBudgetCompactor,
    "prune": lambda: PruneCompactor(then=None),
    "prune, then summary": PruneCompactor,
    "summary": SummaryCompactor,
}
ROLES = {"user": UserMessage, "assistant": AssistantMessage, "tool_result": ToolResultMessage, "custom": CustomMessage}
FIELDS = (
    "pinned",
    "source",
    "stop_reason",
    "tool_call_id",
    "tool_name",
    "is_error",
    "outcome",
    "custom_type",
    "in_context",
)
BLOCKS = {"text": TextBlock, "thinking": ThinkingBlock, "image": ImageBlock, "tool_call": ToolCall}

# a representative third: one of each class, the longest ones left out
BY_DEFAULT = {
    "d-mixed-1", "d-one-giant-turn-1", "d-giant-result-1", "d-big-results-3", "d-talk-only-3", "d-interrupted-3", "d-images-2",
    "d-scripts-2", "d-pinned-heavy-1", "d-careless-model-2", "d-tiny-window-1", "d-parallel-3",
}  # fmt: skip
CASES = [f"d-{name}-{n}" for name, count in (
    ("mixed", 4), ("long", 3), ("parallel", 3), ("one-giant-turn", 3), ("giant-result", 3), ("big-results", 3), ("talk-only", 3),
    ("interrupted", 3), ("images", 2), ("scripts", 2), ("pinned-heavy", 2), ("careless-model", 2), ("tiny-window", 2),
) for n in range(1, count + 1)]  # fmt: skip


def ours(neutral):
    """A message of the neutral form as one of ours."""
    content = tuple(BLOCKS[b["type"]](**{k: v for k, v in b.items() if k != "type"}) for b in neutral["content"])
    fields = {name: neutral[name] for name in FIELDS if name in neutral}
    if neutral.get("synthetic"):
        return CustomMessage(custom_type="compaction_summary", content=content, in_context=True, ts=1.0)
    return ROLES[neutral["role"]](content=content, ts=1.0, **fields)


def neutral(message):
    """One of our messages in the neutral form, as a model would see it, without an id."""
    content = []
    for block in message.content:
        if isinstance(block, ToolCall):
            content.append({"type": "tool_call", "id": block.id, "name": block.name, "args": thaw(block.args)})
        elif isinstance(block, ImageBlock):
            content.append({"type": "image"})
        elif isinstance(block, ThinkingBlock):
            content.append({"type": "thinking", "thinking": block.thinking, "signature": block.signature})
        else:
            content.append({"type": "text", "text": block.text})
    seen = {"in_context": True} if isinstance(message, CustomMessage) and message.in_context else {}
    return {"role": message.role, "content": content, **seen}


class Bridge:
    """A compactor of ours as the checker's function; the core's session builds the history that follows."""

    def __init__(self, make, host):
        self.compactor, self.host = make(), host
        self.known = {}
        self.sizes = {}

    def __call__(self, request):
        return asyncio.run(self.compact(request))

    def of(self, message):
        if message.get("synthetic"):
            return ours(message)
        found = self.known.get(message["id"])
        if found is None or found[0] != message["content"]:
            found = self.known[message["id"]] = (message["content"], ours(message))
        return found[1]

    async def compact(self, request):
        messages = tuple(self.of(m) for m in request["messages"])

        def estimate(asked):
            total = 0
            for message in asked:
                held = self.sizes.get(id(message))
                if held is None or held[0] is not message:
                    held = self.sizes[id(message)] = (message, request["estimate"]([neutral(message)]))
                total += held[1]
            return total

        async def complete(prompt, asked):
            return request["complete"](prompt, [neutral(m) for m in asked])

        result = await self.compactor.compact(
            CompactionRequest(
                messages=messages, model=ModelDefinition("m", "scripted"), reason=request["reason"], tokens=request["tokens"],
                window=request["window"], budget=request["budget"], signal=AbortSignal(), estimate=estimate, complete=complete,
            )
        )  # fmt: skip
        return None if result is None else await self.applied(request["messages"], messages, result)

    async def applied(self, before, messages, result):
        """What the core's session makes of the result, and of moving the leaf back."""
        session = await Session.create(None, time.time)
        ids = {}
        for known, message in zip(before, messages, strict=True):
            ids[await session.append_message(message)] = known
        secrets = self.host.secrets
        session.keep_out(secrets)
        leaf = session.leaf_id
        entry = await session.append_compaction(
            result.summary, result.keep_from, 0, result.details, result.replacements
        )
        written = next(e for e in session.entries if e.id == entry).data
        after = []
        for entry_id, message in zip(session.context_ids, session.context, strict=True):
            if entry_id == entry:
                after.append({
                    "id": f"s{zlib.crc32(message.text.encode())}", "role": "user", "source": "compaction", "synthetic": "summary",
                    "content": [{"type": "text", "text": message.text}],
                })  # fmt: skip
            elif message is self.of(ids[entry_id]) or message == ours(ids[entry_id]):
                after.append(ids[entry_id])
            else:
                after.append({**ids[entry_id], "content": neutral(message)["content"]})
        await session.move_to(leaf)
        assert session.messages == messages, "moving the leaf back undoes it"
        assert len([e for e in session.entries if e.type == "compaction"]) == 1, "it is one entry"
        made = dict(zip(session.context_ids, before, strict=True))
        place = {entry_id: i for i, entry_id in enumerate(made)}
        return {
            "summary": written["summary"],
            "details": thaw(written["details"]),
            "keep_from": result.keep_from,
            "replacements": {
                place[entry_id]: {**made[entry_id], "content": neutral(message_from_dict(message))["content"]}
                for entry_id, message in written["replaced"].items()
            },
            "after": after,
        }  # fmt: skip


@pytest.fixture
def checker(shared_data, monkeypatch):
    """The checker's module, and its cases by id."""
    folder = shared_data / "context"
    monkeypatch.syspath_prepend(str(folder / "lib"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("convcheck")
    cases = json.loads((folder / "conversations.json").read_text(encoding="utf-8"))
    return module, {c["id"]: c for c in cases}, json.loads((folder / "lexicon.json").read_text(encoding="utf-8"))


def test_every_shared_conversation_is_among_the_cases(checker):
    assert sorted(checker[1]) == sorted(CASES)


@pytest.mark.sample(5, each="strategy")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", [c if c in BY_DEFAULT else pytest.param(c, marks=pytest.mark.slow) for c in CASES])
def test_a_conversation_keeps_what_the_strategy_promises(checker, make_host, case, strategy):
    convcheck, cases, lexicon = checker
    host = make_host()
    for secret in convcheck.generate(cases[case], lexicon)["secrets_known_to_host"]:
        host.secrets.remember(secret)
    bridge = Bridge(STRATEGIES[strategy], host)

    wrong, figures = convcheck.run(cases[case], lexicon, bridge, strategy.partition(",")[0])

    assert not wrong, f"{len(wrong)} rules broken: {wrong[:5]}, {figures}"
    print(case, strategy, figures)
