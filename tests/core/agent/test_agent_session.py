"""The session tree: entries, branches, reload (spec, section 12; edge case 41)."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from skillkit_core import (
    AssistantMessage,
    CustomMessage,
    MemoryStore,
    SessionCorrupt,
    SessionEntry,
    SessionError,
    SessionLocked,
    UnknownName,
    UsageError,
    UserMessage,
)
from skillkit_core.agent.session import SUMMARY_PREFIX, Session, new_session_id
from skillkit_core.messages import (
    DocumentBlock,
    ImageBlock,
    Outcome,
    ProviderBlock,
    RefusalBlock,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultMessage,
    blocks_of,
    message_from_dict,
    message_to_dict,
)
from skillkit_core.models import TokenUsage
from skillkit_core.testing import Call, Reply

PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)


def user(text: str, ts: float = 1.0) -> UserMessage:
    return UserMessage(content=blocks_of(text), ts=ts)


def answer(text: str, ts: float = 1.0) -> AssistantMessage:
    return AssistantMessage(content=blocks_of(text), ts=ts)


def texts(session: Session) -> list[str]:
    return [m.text for m in session.messages]


def reload(session: Session) -> Session:
    return Session(session.handle, lambda: 9.0)


async def talk(*parts: str) -> Session:
    session = await Session.create(None, lambda: 1.0)
    for part in parts:
        await session.append_message(user(part))
    return session


# --- the tree -------------------------------------------------------------------------------------------------------


def test_entries_form_a_chain_and_notes_stand_beside_it(go: Any) -> None:
    async def main() -> None:
        session = await talk("a")
        await session.append("usage", {"input": 3})
        await session.append("label", {"entry_id": "e1", "label": "start"})
        await session.append_message(answer("b"))
        assert [(e.seq, e.id, e.parent_id, e.type) for e in session.entries] == [
            (1, "e1", None, "message"), (2, "e2", "e1", "usage"), (3, "e3", "e1", "label"), (4, "e4", "e1", "message"),
        ]  # fmt: skip
        assert session.leaf_id == "e4" and texts(session) == texts(reload(session)) == ["a", "b"]
        assert session.usage == TokenUsage(3)

    go(main)


@pytest.mark.spec("9.41")
class _Slow:
    """A store's handle that takes a while to write, and refuses entries of a type."""

    def __init__(self, session: Session, refuses: str = "") -> None:
        self._handle, self._refuses = session.handle, refuses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    async def append(self, entry: SessionEntry, *, sync: bool = False) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        if entry.type == self._refuses:
            raise SessionError("the disk is full")
        await self._handle.append(entry, sync=sync)


def test_notes_that_are_written_at_the_same_time_are_all_on_the_branch(go: Any) -> None:
    async def main() -> None:
        session = await Session.create(None, clock=lambda: 1.0)
        session.handle = _Slow(session)  # type: ignore[assignment]
        await asyncio.gather(*(session.note("test.one", {"n": n}, sync=True) for n in range(5)))
        assert [note.data["n"] for note in reload(session).notes("test.one")] == [0, 1, 2, 3, 4]

    go(main())


def test_an_entry_that_the_store_refuses_is_none_of_the_session(go: Any) -> None:
    async def main() -> None:
        session = await Session.create(None, clock=lambda: 1.0)
        kept = await session.note("test.one", {"n": 1})
        for kind, data in (("custom", {"custom_type": "test.one"}), ("usage", {"input": 5, "cost": 1.0})):
            session.handle = _Slow(session, kind)  # type: ignore[assignment]
            with pytest.raises(SessionError):
                await session.append(kind, data)
        assert session.leaf_id == kept and len(session.notes("test.one")) == 1
        assert (session.usage.total, session.cost) == (0, 0.0)

    go(main())


def test_a_branch_starts_at_an_earlier_entry_and_the_leaf_survives_a_reload(go: Any) -> None:
    async def main() -> None:
        session = await talk("a", "b", "c")
        await session.move_to("e2")
        assert texts(session) == texts(reload(session)) == ["a", "b"]
        await session.append_message(user("other"))
        assert texts(session) == texts(reload(session)) == ["a", "b", "other"]
        await session.move_to("e3")
        assert texts(reload(session)) == ["a", "b", "c"]
        await session.move_to(None)
        assert texts(session) == texts(reload(session)) == []
        await session.append_message(user("a new root"))
        assert texts(reload(session)) == ["a new root"] and session.entries[-1].parent_id is None
        with pytest.raises(SessionError, match="e99"):
            await session.move_to("e99")

    go(main)


def test_an_entry_of_an_unknown_type_is_refused_and_the_session_stays_writable(go: Any) -> None:
    async def main() -> None:
        store = MemoryStore()
        session = await Session.create(store, lambda: 1.0, session_id="s")
        with pytest.raises(
            UsageError, match=r"unknown type 'plan' .*; a plugin writes session\.note\('<plugin>\.<what>', data\)"
        ):
            await session.append("plan", {"step": 1})
        await session.close()
        again = await Session.open(store, "s", lambda: 1.0)
        await again.append_message(user("a"))
        assert [(e.seq, e.id, e.type) for e in again.entries] == [(1, "e1", "message")]

    go(main)


def test_notes_of_plugins_follow_the_branch_and_survive_a_reload(go: Any) -> None:
    async def main() -> None:
        session = await talk("a")
        first = await session.note("planning.step", {"n": 1})
        await session.append("custom", {"custom_type": "skills_dirs", "dirs": []})
        await session.append("custom", {"of": "nobody"})
        await session.note("files.seen", {"paths": ["x"]}, sync=True)
        await session.move_to(first)
        await session.note("planning.step", {"n": 2})
        for kept in (session, reload(session)):
            assert [(n.type, n.data) for n in kept.notes()] == [
                ("planning.step", {"n": 1}),
                ("planning.step", {"n": 2}),
            ]
            assert kept.notes("planning.step")[0] == ("planning.step", {"n": 1}, first, 1.0)
            assert kept.notes("planning.step")[1].entry_id == session.leaf_id
            assert kept.notes("files.seen") == []
        assert texts(session) == texts(reload(session)) == ["a"]
        with pytest.raises(TypeError):
            session.notes()[0].data["n"] = 3

    go(main)


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("plan", {}, "'plan' is no type of a note; write '<plugin>.<what>'"),
        ("a.b ", {}, "is no type of a note"),
        ("a.b", {"x": object()}, "note 'a.b': its data are no JSON"),
        ("a.b", {"x": float("nan")}, "note 'a.b': its data are no JSON"),
        ("a.b", [1], "note 'a.b': its data must be a mapping without 'custom_type'"),
        ("a.b", {"custom_type": "x"}, "note 'a.b': its data must be a mapping without 'custom_type'"),
        ("a.b", {"x": "y" * 70_000}, "note 'a.b' has 70009 characters of JSON; at most 65536 are kept"),
    ],
)
def test_a_note_that_no_session_should_keep_is_refused(go: Any, kind: str, data: Any, said: str) -> None:
    async def main() -> None:
        session = await talk("a")
        with pytest.raises(UsageError, match=re.escape(said)):
            await session.note(kind, data)
        assert len(session.entries) == 1

    go(main)


@pytest.mark.spec("9.41", "I4")
def test_an_agent_goes_on_from_a_branch_inside_a_tool_turn(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent(
            Reply("look", [Call("a", id="1"), Call("a", id="2")]), "end", "again", tools=[kit.tool("a", "r")]
        )
        await agent.chat("go")
        messages = [e for e in agent.session.entries if e.type == "message"]
        first_result = next(e for e in messages if e.data["message"]["role"] == "tool_result")
        await agent.session.move_to(first_result.id)
        await agent.chat("instead")
        sent = agent.scripted.requests[-1].messages
        assert [m.role for m in sent] == ["user", "assistant", "tool_result", "tool_result", "user"]
        assert sent[2].text == "r" and sent[3].outcome == "interrupted"
        kit.check(agent)

    go(main)


def test_a_compaction_replaces_what_is_before_it_and_only_on_its_branch(go: Any) -> None:
    async def main() -> None:
        session = await talk("a", "b", "c")
        await session.append_compaction("short", 2, 100, {"by": "test"})
        await session.append_message(user("d"))
        assert texts(session) == texts(reload(session)) == [SUMMARY_PREFIX + "short", "c", "d"]
        await session.append_compaction("shorter", 3, 50)
        assert texts(session) == texts(reload(session)) == [SUMMARY_PREFIX + "shorter"]
        await session.move_to("e3")
        assert texts(session) == texts(reload(session)) == ["a", "b", "c"]

    go(main)


def test_a_compaction_keeps_what_is_pinned_and_replaces_what_it_names(go: Any) -> None:
    async def main() -> None:
        session = await talk("a", "b", "c")
        await session.append_message(replace(user("rule"), pinned=True))
        skill = ToolResultMessage(tool_call_id="c1", content=blocks_of("steps"), pinned=True)
        for message in (skill, user("d"), user("long e")):
            await session.append_message(message)
        before = texts(session)
        await session.append_compaction("short", 5, 100, replacements={6: user("e")})
        kept = [SUMMARY_PREFIX + "short", "rule", "steps", "d", "e"]
        assert texts(session) == texts(reload(session)) == kept
        assert [m.role for m in session.context] == ["custom", "user", "custom", "user", "user"]
        await session.append_compaction("", 0, 50, replacements={3: user("D")})  # a second one that only prunes
        kept[3] = "D"
        assert texts(session) == texts(reload(session)) == kept
        await session.append_compaction("shorter", 5, 50)
        assert texts(session) == texts(reload(session)) == [SUMMARY_PREFIX + "shorter", "rule", "steps"]
        await session.move_to("e7")
        assert texts(session) == texts(reload(session)) == before

    go(main)


def test_messages_of_plugins_and_branch_summaries_are_in_the_context(go: Any) -> None:
    async def main() -> None:
        session = await talk("a")
        await session.append_message(CustomMessage(custom_type="note", content=blocks_of("n"), in_context=True))
        await session.append("branch_summary", {"summary": "tried it"})
        await session.append("custom", {"x": 1})
        loaded = reload(session)
        assert texts(loaded) == ["a", "n", "tried it"] and loaded.entries[1].type == "custom_message"
        assert loaded.messages[1] == session.messages[1]

    go(main)


@pytest.mark.parametrize(
    "broken",
    [
        SessionEntry(1, "e1", "e0", "message", 1.0, {"message": {"role": "user"}}),
        SessionEntry(1, "e1", "e1", "message", 1.0, {"message": {"role": "user"}}),
        SessionEntry(1, "e1", None, "message", 1.0, {"message": {"role": "emperor"}}),
        SessionEntry(1, "e1", None, "message", 1.0, {"message": {"role": "user", "content": [{"type": "smell"}]}}),
        SessionEntry(1, "e1", None, "message", 1.0, {}),
        SessionEntry(1, "e1", None, "message", 1.0, {"message": {"role": "tool_result"}}),
    ],
    ids=["missing parent", "circle", "role", "block", "no message", "missing field"],
)
def test_entries_that_make_no_sense_are_refused_by_name(go: Any, broken: SessionEntry) -> None:
    async def main() -> None:
        store = MemoryStore()
        session = await Session.create(store, lambda: 1.0, session_id="s")
        await session.handle.append(broken)
        await session.close()
        with pytest.raises(SessionCorrupt, match=r"entr|e0|circle"):
            await Session.open(store, "s", lambda: 1.0)

    go(main)


@pytest.mark.parametrize(("data", "opens"), [({}, False), ({"entry_id": None}, True), ({"entry_id": "e1"}, True)])
def test_a_leaf_without_entry_id_is_refused_and_none_is_before_the_first(go: Any, data: Any, opens: bool) -> None:
    async def main() -> None:
        store = MemoryStore()
        session = await Session.create(store, lambda: 1.0, session_id="s")
        await session.append_message(user("hello"))
        await session.handle.append(SessionEntry(9, "e9", "e1", "leaf", 1.0, data))
        await session.close()
        if not opens:
            with pytest.raises(SessionCorrupt, match="'e9': a leaf without entry_id"):
                await Session.open(store, "s", lambda: 1.0)
            return
        assert (await Session.open(store, "s", lambda: 1.0)).leaf_id == data["entry_id"]

    go(main)


def test_ids_sort_by_time() -> None:
    assert new_session_id(1_700_000_000) < new_session_id(1_700_000_001)
    assert new_session_id(1.0) != new_session_id(1.0)


@PROPERTY
@given(
    st.lists(
        st.one_of(st.sampled_from(["say", "pin", "result", "note", "compact", "prune"]), st.integers(0, 12)),
        max_size=14,
    )
)
def test_the_live_context_is_what_a_reload_gives(steps: list[Any]) -> None:
    async def main() -> None:
        session = await Session.create(None, lambda: 1.0)
        for n, step in enumerate(steps):
            if step == "say":
                await session.append_message(user(f"m{n}"))
            elif step == "pin":
                await session.append_message(replace(user(f"p{n}"), pinned=True))
            elif step == "result":
                await session.append_message(
                    ToolResultMessage(tool_call_id=f"c{n}", content=blocks_of(f"r{n}"), pinned=bool(n % 2))
                )
            elif step == "note":
                await session.append("usage", {"input": 1})
            elif step == "prune" and session.context:
                at = n % len(session.context)
                short = replace(session.context[at], content=blocks_of(f"short{n}"))
                await session.append_compaction("", min(at, n % 3), 9, None, {at: short})
            elif step == "compact" and len(session.context) > 1:
                await session.append_compaction(f"s{n}", n % len(session.context) or 1, 9)
            elif isinstance(step, int):
                ids = [None, *(e.id for e in session.entries)]
                await session.move_to(ids[step % len(ids)])
            again = reload(session)
            assert again.messages == session.messages and again.context_ids == session.context_ids
            assert again.leaf_id == session.leaf_id and again.usage == session.usage

    asyncio.run(main())


@pytest.mark.spec("9.53")
def test_long_sessions_build_their_context_in_linear_time(go: Any) -> None:
    """Twice the entries, not four times the work (counted in steps, not in seconds)."""
    import sys

    def steps(n: int) -> int:
        async def main() -> int:
            session = await talk(*["x"] * n)
            count = 0

            def tracer(frame: Any, event: str, arg: Any) -> Any:
                nonlocal count
                count += event in ("call", "c_call")

            sys.setprofile(tracer)
            try:
                reload(session)
            finally:
                sys.setprofile(None)
            return count

        return asyncio.run(main())

    assert steps(2_000) < 2.2 * steps(1_000)


# --- the store in memory --------------------------------------------------------------------------------------------


@pytest.mark.spec("9.40", "I18")
def test_one_writer_at_a_time_and_readers_beside_it(go: Any) -> None:
    async def main() -> None:
        store = MemoryStore()
        session = await Session.create(store, lambda: 1.0, session_id="s", cwd="/w")
        await session.append_message(user("needle in here"))
        with pytest.raises(SessionLocked, match="by this process already; close the agent or session that has it open"):
            await Session.open(store, "s", lambda: 1.0)
        reader = await Session.open(store, "s", lambda: 1.0, read_only=True)
        assert texts(reader) == ["needle in here"]
        with pytest.raises(SessionError, match="read-only"):
            await reader.append_message(user("no"))
        await session.close()
        with pytest.raises(SessionError, match="closed"):
            await session.append_message(user("no"))
        again = await Session.open(store, "s", lambda: 1.0)
        await again.append_message(user("more"))
        with pytest.raises(SessionError, match="exists"):
            await Session.create(store, lambda: 1.0, session_id="s")
        with pytest.raises(UnknownName, match="did you mean"):
            await Session.open(store, "ss", lambda: 1.0)
        (row,) = await store.list()
        assert (row["id"], row["messages"], row["cwd"]) == ("s", 2, "/w")
        assert [f["entry_id"] async for f in store.search("NEEDLE")] == ["e1"]

    go(main)


def test_an_agent_opens_a_session_of_the_hosts_store_by_id(kit: Any, go: Any) -> None:
    async def main() -> None:
        host = kit.host()
        agent = kit.agent("one", "two", host=host, session="new")
        await agent.chat("hello")
        name = agent.session.id
        await agent.aclose()
        again = kit.agent(host=host, session=name)
        again.scripted = agent.scripted
        assert (await again.chat("more")).content == "two"
        assert texts(again.session) == ["hello", "one", "more", "two"]
        assert again.seen.one("session_start").reason == "resume"
        kit.check(again)

    go(main)


# --- messages as JSON -----------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=2)
BLOCKS = st.one_of(
    st.builds(TextBlock, TEXT, st.tuples() | st.tuples(OBJECTS)),
    st.builds(ThinkingBlock, TEXT, st.none() | TEXT, st.booleans(), st.none() | TEXT, OBJECTS),
    st.builds(ImageBlock, st.none() | TEXT, TEXT, st.none() | TEXT),
    st.builds(DocumentBlock, st.none() | TEXT, TEXT, st.none() | TEXT, st.none() | TEXT),
    st.builds(RefusalBlock, TEXT),
    st.builds(ToolCall, TEXT, TEXT, st.none() | OBJECTS, TEXT, st.booleans(), OBJECTS),
    st.builds(ProviderBlock, TEXT, OBJECTS),
)
CONTENT = st.lists(BLOCKS, max_size=3).map(tuple)
NUMBERS = st.integers(0, 5)
USAGE = st.builds(TokenUsage, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, OBJECTS)
MESSAGES = st.one_of(
    st.builds(UserMessage, content=CONTENT, ts=st.floats(0, 9), source=TEXT),
    st.builds(
        AssistantMessage, content=CONTENT, provider=TEXT, api=TEXT, model=TEXT, stop_reason=st.sampled_from(StopReason),
        raw_stop_reason=st.none() | TEXT, usage=USAGE, response_id=st.none() | TEXT, error=st.none() | TEXT,
    ),
    st.builds(
        ToolResultMessage, content=CONTENT, tool_call_id=TEXT, tool_name=TEXT, is_error=st.booleans(),
        outcome=st.sampled_from(Outcome), details=JSON,
    ),
    st.builds(
        CustomMessage, content=CONTENT, custom_type=TEXT, in_context=st.booleans(), display=st.booleans(), details=JSON
    ),
)  # fmt: skip


@settings(PROPERTY, max_examples=300)
@given(MESSAGES)
def test_every_message_survives_its_json_form(message: Any) -> None:
    import json

    data = message_to_dict(message)
    again = message_from_dict(json.loads(json.dumps(data)))
    assert type(again) is type(message) and again == message
    assert message_to_dict(again) == data
    assert math.isclose(again.ts, message.ts)


@pytest.mark.parametrize("data", [{}, {"role": 5}, {"role": "user", "content": [{"type": "text"}]}, {"role": "custom"}])
def test_json_that_is_no_message_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        message_from_dict(data)


def test_a_call_without_arguments_and_one_with_broken_ones_stay_different() -> None:
    for args in (None, {}):
        message = AssistantMessage(content=(ToolCall("1", "a", args, "{", incomplete=args is None),))
        assert message_from_dict(message_to_dict(message)) == message


@pytest.mark.spec("I11")
def test_a_message_gets_the_id_that_message_end_told_whatever_handlers_write_before_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        told: dict[str, str] = {}
        agent = kit.agent(Reply("one", calls=[Call("a")]), "two", tools=[kit.tool("a", "fine")])

        async def note(event: Any, ctx: Any) -> None:
            told[event.entry_id] = event.message.text
            await ctx.agent.session.append("custom", {"custom_type": "note", "about": event.entry_id})

        agent.events.on("message_end", note)
        await agent.chat("go")

        kept = {e.id: e for e in agent.session.entries}
        assert list(told.values()) == ["one", "fine", "two"]
        assert [kept[i].data["message"]["content"][0]["text"] for i in told] == ["one", "fine", "two"]
        assert len(kept) == len(agent.session.entries) == 9
        kit.check(agent)
        again = Session(agent.session.handle, lambda: 0.0)
        assert await again.append("custom", {}) not in kept

    go(main())
