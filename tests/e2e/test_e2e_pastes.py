"""A long paste, in chat and at the terminal UI: it stands in the line as a few words that open, and is sent whole."""

import asyncio

import pytest
from front_ends import open_front
from textual import events

LINES = "\n".join(f"line {number}" for number in range(1, 501))


@pytest.fixture(params=["chat", "tui"])
def front(request, skillkit_home):
    """``async with front(turns) as on``."""
    return lambda *turns: open_front(request.param, skillkit_home, turns)


async def paste(on, text):
    if on.name == "chat":
        on._keys.send_text(f"\x1b[200~{text}\x1b[201~")
    else:
        on.ui.post_message(events.Paste(text))


async def press(on, key):
    if on.name == "chat":
        on._keys.send_text({"enter": "\r", "ctrl+o": "\x0f", "backspace": "\x7f", "up": "\x1b[A"}[key])
    else:
        await on.pilot.press(key)


async def until_line(on, text):
    await on.until(lambda: on.line == text, f"{text!r} in the line, which is {on.line[:80]!r}")


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_a_long_paste_is_a_few_words_and_is_sent_and_remembered_whole(front, newline):
    async def story():
        async with front("read", "again") as on:
            await paste(on, LINES.replace("\n", newline))
            await until_line(on, "[pasted 500 lines]")
            await paste(on, LINES.replace("1", "2"))
            await until_line(on, "[pasted 500 lines][pasted 500 lines, 2]")
            await press(on, "backspace")
            await until_line(on, "[pasted 500 lines]")
            await press(on, "enter")
            await on.sees("read")
            await on.idle()
            assert on.model.requests[0].messages[-1].text == LINES
            while not on.line:  # the history is read beside the keys
                await press(on, "up")
                await on.pause()
            await until_line(on, LINES)

    asyncio.run(story())


def test_a_long_paste_opens_and_one_line_may_be_long_too(front):
    async def story():
        async with front() as on:
            await paste(on, "x" * 5000)
            await until_line(on, "[pasted 5,000 characters]")
            await press(on, "ctrl+o")
            await until_line(on, "x" * 5000)

    asyncio.run(story())


def test_a_short_paste_stays_as_it_is(front):
    async def story():
        async with front() as on:
            await paste(on, "one\ntwo\nthree")
            await until_line(on, "one\ntwo\nthree")

    asyncio.run(story())


def test_a_long_message_is_shown_in_a_few_lines(front):
    async def story():
        async with front("read") as on:
            await paste(on, LINES)
            await press(on, "enter")
            await on.sees("read", "line 1")
            await on.idle()
            if on.name == "chat":
                assert "line 2\n" not in on.seen and "(500 lines)" in on.seen
            else:
                assert [block.open for block in on.ui.record.main.blocks if block.kind == "user"] == [False]

    asyncio.run(story())
