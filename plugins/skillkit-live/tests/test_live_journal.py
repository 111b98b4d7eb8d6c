"""The journal: numbers, bounds, and merged deltas that a client gets exactly once wherever it left."""

import asyncio
import json

import pytest
from skillkit_live.journal import Client, FellBehind, Journal


def delta(text, path=("main",)):
    return {"type": "message_update", "agent_path": list(path), "event": {"type": "text_delta", "content": text}}


def filled(*texts, **how):
    journal = Journal("e", **how)
    for text in texts:
        journal.add("event", {"event": delta(text)}, delta=("main", None))
    return journal


def texts_after(journal, number):
    return "".join(m.data["event"]["event"]["content"] for m in journal.since(number))


@pytest.mark.parametrize("left_at", range(5))
def test_merged_deltas_are_cut_where_the_client_left(left_at):
    journal = filled("a", "bb", "ccc", "d")
    journal.merge(("main", None))()
    assert texts_after(journal, left_at) == "abbcccd"[len("".join(["a", "bb", "ccc", "d"][:left_at])) :]
    assert len(journal.since(0)) == 1 and journal.since(0)[0].id == "e.4"


def test_what_is_between_two_deltas_keeps_its_number_and_its_place():
    journal = filled("a")
    journal.add("notice", {"text": "hi", "level": "info"})
    journal.add("event", {"event": delta("b")}, delta=("main", None))
    journal.merge(("main", None))()
    assert [(m.id, m.type) for m in journal.since(0)] == [("e.2", "notice"), ("e.3", "event")]


def test_the_oldest_go_beyond_the_bound_of_messages_and_of_bytes():
    journal = filled(*map(str, range(10)), most=4)
    assert journal.since(5) is None and [m.id for m in journal.since(6)] == ["e.7", "e.8", "e.9", "e.10"]
    assert journal.number("e.5") is None and journal.number("e.6") == 6 and journal.number("f.6") is None
    small = filled(*["x" * 100] * 10, most_bytes=500)
    size = len(json.dumps({"event": delta("x" * 100)}))
    assert len(small.since(10 - 500 // size)) == 500 // size


def test_deltas_that_are_gone_already_are_not_merged():
    journal = filled(*"abcdef", most=3)
    journal.merge(("main", None))()
    assert texts_after(journal, 3) == "def"


def test_a_client_that_waits_is_never_behind_however_much_comes_at_once():
    async def main():
        journal = Journal("e")
        client = Client(journal, None, 0, frozenset(), lambda _: None)
        first = asyncio.ensure_future(anext(client))
        await asyncio.sleep(0)
        for n in range(1000):
            journal.add("notice", {"n": n})
        assert (await first).data == {"n": 0}
        assert [(await anext(client)).data["n"] for _ in range(999)] == list(range(1, 1000))

    asyncio.run(main())


def test_a_client_that_handles_too_long_is_dropped_with_its_place():
    async def main():
        journal = Journal("e")
        client = Client(journal, None, 0, frozenset(), lambda _: None)
        journal.add("notice", {})
        await anext(client)
        for _ in range(257):
            journal.add("notice", {})
        with pytest.raises(FellBehind) as behind:
            await anext(client)
        assert behind.value.after == "e.1"
        assert len(journal.since(1)) == 257

    asyncio.run(main())
