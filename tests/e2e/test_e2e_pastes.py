"""Pastes, in chat and at the terminal UI: a long one is a few words that open, and is sent whole; none is lost at a question."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from front_ends import open_front
from textual import events

from skillkit_core import Survey, SurveyOption, SurveyQuestion, Tool
from skillkit_core.testing import Call, Reply

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


async def type_(on, text):
    if on.name == "chat":
        on._keys.send_text(text)
    else:
        await on.pilot.press(*("space" if character == " " else character for character in text))


async def press(on, key):
    if on.name == "chat":
        on._keys.send_text({"enter": "\r", "ctrl+o": "\x0f", "backspace": "\x7f", "up": "\x1b[A"}[key])
    else:
        await on.pilot.press(key)


async def until_line(on, text):
    await on.until(lambda: on.line == text, f"{text!r} in the line, which is {on.line[:80]!r}")


@pytest.mark.sample(1)
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


# --- at questions -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["chat", "tui"])
def asking(request, skillkit_home):
    """``async with asking(question) as on``: a tool has asked it, and it takes keys; the tool says the answer."""

    @asynccontextmanager
    async def open_(question):
        async def ask(args, ctx):
            answers = await ctx.ui.ask(Survey("A name", "", (question,)))
            return f"answered: {answers and answers['it']!r}"

        tool = Tool("ask", "Ask.", ask, {"type": "object"})
        turns = (Reply(calls=[Call("ask")]), "thank you")
        async with open_front(request.param, skillkit_home, turns, tools=[tool]) as on:
            on.asked = lambda: on.ui.asked if on.name == "tui" else on.chat.screen.asked
            await on.say("ask me")
            await on.until(lambda: on.asked() is not None and on.asked().armed, "a question")
            yield on

    return open_


COLOUR = SurveyQuestion("it", "Which one?", "choice", (SurveyOption("red"), SurveyOption("blue")))


@pytest.mark.sample(1, each="asking")
@pytest.mark.parametrize("secret", [False, True])
def test_lines_that_are_pasted_into_an_answer_are_all_of_them_the_answer(asking, secret):
    async def story():
        async with asking(SurveyQuestion("it", "What is it?", "secret" if secret else "text")) as on:
            await paste(on, "first line\r\nsecond line\n")
            await press(on, "enter")
            await on.sees("thank you")
            assert on.model.requests[1].messages[-1].text == r"answered: 'first line\nsecond line'"
            assert on.line == ""

    asyncio.run(story())


def test_what_is_pasted_at_a_list_goes_into_the_line_and_chooses_nothing(asking):
    async def story():
        async with asking(COLOUR) as on:
            for text in ("1", "blue", "neither,\nthe green one"):
                await paste(on, text)
            await until_line(on, "1blueneither,\nthe green one")
            assert not on.asked().question.answer.done()
            await on.answer("2")
            await on.sees("thank you")
            assert on.model.requests[1].messages[-1].text == "answered: 'blue'"
            assert on.line == "1blueneither,\nthe green one"

    asyncio.run(story())


@pytest.mark.sample(1, each="asking")
@pytest.mark.parametrize("question", [COLOUR, SurveyQuestion("it", "What is it?", "text")], ids=["list", "text"])
def test_what_was_typed_at_a_question_that_is_declined_is_in_the_line(asking, question):
    async def story():
        async with asking(question) as on:
            await paste(on, "and I said:") if question is COLOUR else None
            await type_(on, "none of them")
            await on.until(lambda: on.name == "tui" or "none of them" in on.seen, "what was typed")
            await on.answer(None)
            await on.sees("thank you")
            assert on.line == ("none of them\nand I said:" if question is COLOUR else "none of them")

    asyncio.run(story())


def test_a_secret_that_is_declined_is_nowhere(asking):
    async def story():
        async with asking(SurveyQuestion("it", "Which key?", "secret")) as on:
            await type_(on, "hush-hush")
            await on.answer(None)
            await on.sees("thank you")
            assert on.line == "" and "hush" not in on.seen

    asyncio.run(story())
