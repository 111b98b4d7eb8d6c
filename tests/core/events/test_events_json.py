"""Events as JSON: with and without the history, and with images apart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from skillkit_core import DocumentBlock, Event, ImageBlock, Origin, TextBlock, ToolOutput, event_to_dict
from skillkit_core.testing import Call, Reply

IMAGE = ImageBlock("aW1hZ2U=" * 1000)


def test_without_history_the_events_of_a_turn_do_not_grow_with_the_conversation(kit: Any, go: Any) -> None:
    async def main() -> None:
        turns = [Reply(calls=[Call("act", {"n": 1}, f"c{i:02}")]) if i % 2 else "An answer." for i in range(1, 81)]
        agent = kit.agent(*turns, tools=[kit.tool("act")])
        short, whole = [], []
        for _ in range(40):
            agent.seen.events.clear()
            await agent.chat("A question.")
            short.append(sum(len(json.dumps(event_to_dict(e, history=False))) for e in agent.seen.events))
            whole.append(sum(len(json.dumps(event_to_dict(e))) for e in agent.seen.events))
        assert max(short[1:]) - min(short[1:]) < 200, "numbers grow, nothing else does"
        assert whole[-1] > 10 * whole[0]

    go(main)


def test_what_is_new_is_told_without_history_too(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(calls=[Call("act", {}, "A")]), "done", tools=[kit.tool("act")])
        await agent.chat("go", origin=Origin("web"))
        told = [event_to_dict(event, history=False) for event in agent.seen.events]
        assert next(e for e in told if e["type"] == "input")["origin"] == {"kind": "web", "principal": "owner"}
        assert [e["message"]["role"] for e in told if e["type"] == "message_end"] == [
            "assistant",
            "tool_result",
            "assistant",
        ]
        assert len(next(e for e in told if e["type"] == "agent_end")["messages"]) == 4
        marked = [e for e in told if e["type"] in ("turn_start", "context_transform", "before_agent_end")]
        assert len(marked) == 5 and not any("messages" in e for e in marked)

    go(main)


def test_images_and_documents_are_kept_apart(kit: Any, go: Any) -> None:
    async def main() -> None:
        kept: list[Any] = []

        def keep(block: Any) -> str:
            kept.append(block)
            return f"blob:{len(block.data)}"

        async def act(args: Any, ctx: Any) -> ToolOutput:
            return ToolOutput([TextBlock("seen"), DocumentBlock("cGRm"), ImageBlock(url="https://example.org/a.png")])

        agent = kit.agent(Reply(calls=[Call("act")]), "done", tools=[kit.tool("act", act)])
        await agent.chat("look", images=[IMAGE])
        told = json.dumps([event_to_dict(event, blobs=keep) for event in agent.seen.events])
        assert IMAGE.data not in told and '"data": "cGRm"' not in told
        assert '"type": "image", "blob": "blob:8000"' in told or '"blob": "blob:8000"' in told
        assert {type(block) for block in kept} == {ImageBlock, DocumentBlock}
        assert "https://example.org/a.png" in told

    go(main)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftEvent(Event):
    """An event of a plugin."""

    type = "mine_draft"
    text: str = ""
    before: tuple[str, ...] = field(default=(), metadata={"history": True})


def test_an_event_of_a_plugin_marks_its_history() -> None:
    event = DraftEvent(text="new", before=("old",))
    assert event_to_dict(event)["before"] == ["old"]
    assert "before" not in event_to_dict(event, history=False)
