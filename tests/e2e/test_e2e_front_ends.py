"""What a person does and sees is the same in every front end: the same stories at chat, at the terminal UI, and over rpc."""

import asyncio
import base64

import pytest
from front_ends import FRONTS, open_front

from skillkit_core import (
    AgentRunner,
    BeforeCompactResult,
    ImageBlock,
    Limits,
    Survey,
    SurveyOption,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    hookimpl,
)  # fmt: skip
from skillkit_core.contracts.compactor import CompactionResult
from skillkit_core.errors import ErrorKind
from skillkit_core.testing import Call, Fail, Hang, Reply, ScriptedModel

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}


class Guard:
    """Asks about each call of ``change``, and keeps answers by path."""

    @hookimpl
    def before_tool_call(self, event):
        if event.tool_name == "change":
            return ToolCallEventResult(ask=f"May {event.args['path']} change?", ask_key="change")
        return None


class Blocks:
    @hookimpl
    def before_tool_call(self, event):
        return ToolCallEventResult(block=True, reason="nobody may")


class Breaks:
    @hookimpl
    def on_turn_end(self, event):
        raise ValueError("no turn ends here")


class Shortens:
    """Compacts to a summary."""

    @hookimpl
    def before_compact(self, event):
        return BeforeCompactResult(compaction=CompactionResult("all of it", len(event.preparation.messages)))


async def preview(agent, name, args):
    return f"--- {args['path']}\n+++ {args['path']}\n@@ -1 +1 @@\n-before\n+after"


def change(args, ctx):
    return f"changed {args['path']}"


async def shout(args, ctx):
    ctx.on_output("half of it\n")
    return "all of it"


async def linger(args, ctx):
    ctx.on_output("lingering\n")
    await asyncio.Event().wait()


def wrong(args, ctx):
    raise ValueError("it broke")


async def interview(args, ctx):
    colours = (SurveyOption("red"), SurveyOption("blue", "as the sky"))
    survey = Survey(
        "A bicycle", "For whom we build it.",
        (
            SurveyQuestion("name", "What is it called?"),
            SurveyQuestion("colour", "Which colour?", "choice", colours),
            SurveyQuestion("fast", "Is it fast?", "confirm"),
        ),
    )  # fmt: skip
    answers = await ctx.ui.ask(survey)
    return "nobody said" if answers is None else repr(sorted(answers.to_dict().items()))


async def tell(args, ctx):
    await ctx.ui.notify("the bicycle is ordered", "warning")
    return "told"


async def send(args, ctx):
    async with AgentRunner(ctx.agent.config, name="scout", host=ctx.agent.host) as scout:
        scout.set_adapter(ScriptedModel([Reply(calls=[Call("shout")]), "the scout is back"]))
        return (await scout.chat("look around")).content


TOOLS = (
    Tool("change", "Change a file.", change, PATH, annotations={"paths": ["path"], "preview": preview}),
    *(Tool(f.__name__, f"{f.__name__}.", f, {"type": "object"}) for f in (shout, linger, wrong, interview, tell, send)),
)


@pytest.fixture(params=FRONTS)
def front(request, skillkit_home, monkeypatch):
    """``front(turns, ...)`` opens the front end; its questions take keys at once."""
    monkeypatch.setattr("skillkit_frontend.answering.PAUSE", 0.0)

    def open_(turns, more=(), **how):
        return open_front(request.param, skillkit_home, turns, tools=[*TOOLS, *more], **how)

    open_.home, open_.name = skillkit_home, request.param
    return open_


def story(*turns, guarded=False, **how):
    """Make a test of what a person does at a front end whose model answers with ``turns``."""
    how["plugins"] = [*how.get("plugins", ()), *([("guard", Guard())] if guarded else [])]

    def made(play):
        def test(front):
            async def go():
                async with front(turns, **how) as on:
                    on.home = front.home
                    await play(on)

            asyncio.run(go())

        test.__name__ = play.__name__
        return test

    return made


def calls(name, **args):
    return Reply(calls=[Call(name, args)])


# --- what the model says ------------------------------------------------------------------------------------------


@story("Hello there.")
async def test_a_question_is_answered(on):
    await on.say("hello")
    await on.sees("hello", "Hello there.")
    await on.idle()


@story("as asked", request="what the command line says")
async def test_the_request_of_the_command_line_is_said_first(on):
    await on.sees("what the command line says", "as asked")


@story("one", "two")
async def test_a_second_question_follows_the_first(on):
    await on.say("first")
    await on.sees("one")
    await on.idle()
    await on.say("second")
    await on.sees("two")
    assert on.said() == ["first", "one", "second"]


@story(Reply("so it is", thinking="let me think"))
async def test_thinking_is_seen_before_the_answer(on):
    await on.say("hm?")
    await on.sees("let me think", "so it is")


@story(Reply(["word " * 20, "and the ", "end"]))
async def test_an_answer_in_pieces_is_whole(on):
    await on.say("tell me")
    await on.sees("and the end")


@story(Reply("two lines of it"))
async def test_a_text_of_several_words_and_signs_arrives_as_it_was_typed(on):
    await on.say("a <b> & 'c' \"d\" [e]")
    await on.sees("two lines of it")
    assert on.said() == ["a <b> & 'c' \"d\" [e]"]


@story("which hosts?")
async def test_a_line_with_a_path_in_front_is_no_command(on):
    await on.say("/etc/hosts is wrong")
    await on.sees("which hosts?")


# --- tools --------------------------------------------------------------------------------------------------------


@story(calls("shout"), "shouted")
async def test_a_tool_shows_its_result(on):
    await on.say("shout")
    await on.sees("shout", "all of it", "shouted")


@story(calls("linger"), "again")
async def test_the_output_of_a_tool_is_live(on):
    await on.say("wait")
    await on.sees("linger", "lingering")
    await on.interrupt()
    await on.idle()


@story(calls("wrong"), "too bad")
async def test_a_tool_that_fails_is_seen(on):
    await on.say("break it")
    await on.sees("it broke", "too bad")


@story(Reply(calls=[Call("shout"), Call("tell")]), "both")
async def test_two_calls_of_one_answer_are_both_seen(on):
    await on.say("both")
    await on.sees("all of it", "told", "both")


@story(calls("shout"), "as you say", plugins=[("blocks", Blocks())])
async def test_a_call_that_a_guard_blocks_is_seen_with_the_reason(on):
    await on.say("shout")
    await on.sees("nobody may", "as you say")


@story(calls("nothing"), "no such thing")
async def test_a_tool_that_is_not_there_is_seen(on):
    await on.say("do it")
    await on.sees("nothing", "no such thing")


@story(calls("send"), "all done")
async def test_a_sub_agent_works_and_its_answer_comes_back(on):
    await on.say("send one")
    await on.sees("the scout is back", "all done")


# --- approvals ----------------------------------------------------------------------------------------------------


@story(calls("change", path="a.txt"), "done", guarded=True)
async def test_a_call_is_asked_about_and_allowed(on):
    await on.say("change it")
    await on.sees("May a.txt change?", "Run change?")
    assert "changed a.txt" not in on.seen
    await on.press("yes")
    await on.sees("changed a.txt", "done")


@story(calls("change", path="a.txt"), "done", guarded=True)
async def test_an_edit_is_shown_as_a_difference_before_it_is_made(on):
    await on.say("change it")
    await on.sees("a.txt", "Run change?")
    if on.name != "rpc":  # a program gets the arguments
        await on.sees("--- a.txt", "-before", "+after")
    await on.press("no")
    await on.sees("done")


@story(calls("change", path="a.txt"), "as you like", guarded=True)
async def test_a_denial_is_told_to_the_model_with_the_reason(on):
    await on.say("change it")
    await on.press("no")
    await on.sees("denied", "as you like")
    assert "a person said no" in on.model.requests[1].messages[-1].text


@story(calls("change", path="a.txt"), calls("change", path="b.txt"), "both done", guarded=True)
async def test_always_holds_for_the_next_call(on):
    await on.say("change two")
    await on.press("always")
    await on.sees("changed a.txt", "changed b.txt", "both done")
    assert on.seen.count("Run change?") <= 1


@story(calls("change", path="a.txt"), calls("change", path="b.txt"), "one done", guarded=True)
async def test_each_call_is_asked_about(on):
    await on.say("change two")
    await on.press("yes", "no")
    await on.sees("changed a.txt", "one done")
    assert "changed b.txt" not in on.seen


@story(calls("change", path="a.txt"), "never mind", guarded=True)
async def test_an_interrupt_takes_a_question_away(on):
    await on.say("change it")
    await on.sees("Run change?")
    await on.interrupt()
    await on.sees("interrupted")
    await on.idle()
    assert "changed a.txt" not in on.seen


@story(calls("change", path="a.txt"), guarded=True, kept=True)
async def test_a_decision_that_is_put_off_suspends_the_run(on):
    await on.say("change it")
    await on.press("later")
    await on.until(lambda: on.agent.suspension is not None)
    await on.idle()


def test_a_suspended_session_is_taken_up_and_decided(front):
    async def go():
        guard = {"plugins": [("guard", Guard())], "kept": True}
        async with front([calls("change", path="a.txt")], **guard) as on:
            await on.say("change it")
            await on.press("later")
            await on.until(lambda: on.agent.suspension is not None)
            await on.idle()
            session = on.agent.session.id
        async with front(["changed it"], session=session, **guard) as on:
            await on.sees("waits for a decision", "Run change?")
            await on.press("yes")
            await on.sees("changed a.txt", "changed it")

    asyncio.run(go())


def test_who_leaves_at_a_survey_finds_it_again(front):
    if front.name == "rpc":
        pytest.skip("a program leaves by closing its pipe")

    async def ask(args, ctx):
        answers = await ctx.ask(Survey("A name", "Which one?", (SurveyQuestion("name", "Which one?", "text"),)))
        return f"called {answers['name']}" if answers else "nobody said"

    tool = Tool("name_it", "Ask.", ask, {"type": "object"}, annotations={"asks": True})

    async def go():
        async with front([calls("name_it")], more=[tool], kept=True) as on:
            await on.say("name it")
            await on.sees("Which one?")
            session = on.agent.session.id
        async with front(["a good name"], more=[tool], session=session, kept=True) as on:
            await on.sees("waits for a decision", "Which one?")
            await on.answer("Rocket")
            await on.sees("called Rocket", "a good name")

    asyncio.run(go())


def test_nothing_can_be_put_off_where_nothing_is_kept(front):
    async def go():
        async with front([calls("change", path="a.txt"), "done"], plugins=[("guard", Guard())]) as on:
            await on.say("change it")
            await on.sees("Run change?")
            assert "[l]ater" not in on.seen
            await on.press("yes")
            await on.sees("done")

    asyncio.run(go())


# --- surveys and notices ------------------------------------------------------------------------------------------


@story(calls("interview"), "thank you")
async def test_a_survey_is_answered_question_by_question(on):
    await on.say("ask me")
    await on.sees("A bicycle", "For whom we build it.", "What is it called?")
    await on.answer("Rocket", "2", "y")
    await on.sees("thank you")
    assert on.model.requests[1].messages[-1].text == "[('colour', 'blue'), ('fast', True), ('name', 'Rocket')]"


@story(calls("interview"), "never mind")
async def test_a_survey_is_declined(on):
    await on.say("ask me")
    await on.answer(None)
    await on.sees("declined", "nobody said", "never mind")


@story(calls("interview"), "never mind")
async def test_a_survey_is_declined_in_its_middle(on):
    await on.say("ask me")
    await on.answer("Rocket", None)
    await on.sees("declined", "never mind")


@story(calls("tell"), "all told")
async def test_a_notice_of_a_plugin_is_seen(on):
    await on.say("tell me")
    await on.sees("the bicycle is ordered", "all told")


@story("fine", plugins=[("breaks", Breaks())])
async def test_a_plugin_that_fails_does_not_fail_the_run(on):
    await on.say("hello")
    await on.sees("fine")
    await on.idle()


# --- steering, the queue, interrupting ----------------------------------------------------------------------------


@story(Hang("I begin"), "again")
async def test_an_interrupt_in_the_middle_of_an_answer_keeps_what_was_said(on):
    await on.say("talk")
    await on.sees("I begin")
    await on.interrupt()
    await on.sees("interrupted")
    await on.idle()
    await on.say("once more")
    await on.sees("again")
    assert "I begin" in on.said()[1]


@story(calls("linger"), "again")
async def test_an_interrupt_ends_a_tool(on):
    await on.say("wait")
    await on.sees("lingering")
    await on.interrupt()
    await on.sees("interrupted")
    await on.idle()
    await on.say("go on")
    await on.sees("again")


@story(calls("linger"))
async def test_what_was_said_meanwhile_comes_back_with_an_interrupt(on):
    await on.say("wait")
    await on.sees("lingering")
    await on.say("and then")
    await on.sees("queued: and then")
    await on.interrupt()
    await on.until(lambda: "and then" in on.line)
    await on.idle()


def slow():
    """A tool that waits until it may go on, and the event that lets it."""
    going = asyncio.Event()

    async def wait(args, ctx):
        ctx.on_output("waiting\n")
        await going.wait()
        return "waited"

    return Tool("wait", "Wait.", wait, {"type": "object"}), going


def test_what_is_said_meanwhile_steers(front):
    async def go():
        tool, going = slow()
        async with front([calls("wait"), "as you say"], more=[tool]) as on:
            await on.say("begin")
            await on.sees("waiting")
            await on.say("rather end")
            await on.sees("queued: rather end")
            going.set()
            await on.sees("as you say")
            assert "rather end" in on.said()

    asyncio.run(go())


def test_a_follow_up_is_said_when_the_answer_is_there(front):
    async def go():
        tool, going = slow()
        async with front([calls("wait"), "the answer", "the next answer"], more=[tool]) as on:
            await on.say("begin")
            await on.sees("waiting")
            await on.queue("and then")
            await on.sees("queued: and then")
            going.set()
            await on.sees("the answer", "the next answer")
            assert on.said()[-2:] == ["the answer", "and then"]

    asyncio.run(go())


def test_what_waits_is_taken_back_to_be_changed(front):
    async def go():
        tool, going = slow()
        async with front([calls("wait"), "the only answer"], more=[tool]) as on:
            await on.say("begin")
            await on.sees("waiting")
            await on.queue("with a mistqke")
            await on.sees("queued: with a mistqke")
            await on.unqueue()
            await on.until(lambda: "with a mistqke" in on.line)
            going.set()
            await on.sees("the only answer")
            await on.idle()
            assert len(on.model.requests) == 2

    asyncio.run(go())


@story(Hang("I go on"))
async def test_an_interrupt_ends_a_run_and_two_more_leave(on):
    await on.say("talk")
    await on.sees("I go on")
    await on.interrupt()
    await on.sees("interrupted")
    await on.idle()
    await on.interrupt()
    await on.interrupt()
    if on.name != "rpc":  # a program leaves when it likes
        assert await on.left() == 0
    assert not on.agent.running


# --- what goes wrong ----------------------------------------------------------------------------------------------


@story(Fail(message="overloaded"), "better")
async def test_a_retry_is_said_and_the_answer_comes(on):
    await on.say("hello")
    await on.sees("overloaded", "trying again", "better")


@story(Fail(ErrorKind.invalid_request, "no such thing", status=400), "better")
async def test_an_error_of_the_provider_is_one_line_and_one_can_go_on(on):
    await on.say("hello")
    await on.sees("no such thing")
    await on.idle()
    await on.clear()
    await on.say("again")
    await on.sees("better")
    assert "Traceback" not in on.seen


@story(calls("shout"), calls("shout"), limits=Limits(turns=1))
async def test_a_limit_is_said(on):
    await on.say("shout twice")
    await on.sees("limit")
    await on.idle()


# --- commands -----------------------------------------------------------------------------------------------------


@story()
async def test_a_slash_command_answers_without_the_model(on):
    await on.say("/tools")
    await on.sees("change: Change a file.")
    assert not on.model.requests


@story()
async def test_an_unknown_slash_command_is_an_error_and_comes_back(on):
    await on.say("/modell")
    await on.sees("unknown slash command", "modell")
    await on.until(lambda: "/modell" in on.line)


@story()
async def test_a_command_that_takes_no_arguments_says_so(on):
    await on.say("/new things")
    await on.sees("takes no arguments")


@story("hi")
async def test_what_was_used_is_told_by_a_command(on):
    await on.say("hello")
    await on.sees("hi")
    await on.idle()
    await on.say("/usage")
    await on.sees("in all")


@story("word " * 100, plugins=[("shortens", Shortens())])
async def test_a_conversation_is_shortened_by_a_command(on):
    await on.say("hi")
    await on.sees("word word")
    await on.idle()
    await on.say("/compact")
    await on.sees("Shortened from about ")


def test_a_prompt_file_is_asked(front):
    folder = front.home.config_dir / "commands"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Review $ARGUMENTS strictly.")

    async def go():
        async with front(["reviewed"]) as on:
            await on.say("/review a.py")
            await on.sees("reviewed")
            assert on.said() == ["Review a.py strictly."]

    asyncio.run(go())


@story("I plan it.", kept=True)
async def test_planning_is_begun_by_a_command(on):
    await on.say("/plan paint the wall")
    await on.sees("I plan it.")


def test_an_image_that_is_mentioned_is_sent(front):
    (front.home.cwd / "pixel.png").write_bytes(PIXEL)

    async def go():
        async with front(["one pixel"]) as on:
            await on.say("what is @pixel.png")
            await on.sees("one pixel")
            (image,) = (b for b in on.model.requests[0].messages[-1].content if isinstance(b, ImageBlock))
            assert base64.b64decode(image.data) == PIXEL

    asyncio.run(go())


# --- sessions -----------------------------------------------------------------------------------------------------


@story("hi", kept=True)
async def test_the_first_words_are_the_title(on):
    await on.say("paint the wall")
    await on.sees("hi")
    await on.idle()
    (row,) = await on.agent.host.session_store().list()
    assert row["title"] == "paint the wall"


@story("hi", "here", kept=True)
async def test_a_new_session_is_begun_by_a_command(on):
    await on.say("first")
    await on.sees("hi")
    await on.idle()
    before = on.agent.session.id
    await on.say("/new")
    await on.sees("Now in a new session")
    await on.idle()
    await on.say("second")
    await on.sees("here")
    assert on.agent.session.id != before and on.said() == ["second"]


def test_a_session_goes_on_where_it_was(front):
    async def go():
        async with front(["the first answer"], kept=True) as on:
            await on.say("the first question")
            await on.sees("the first answer")
            await on.idle()
            session = on.agent.session.id
        async with front(["the second answer"], kept=True, session=session) as on:
            await on.say("and now?")
            await on.sees("the second answer")
            assert on.said() == ["the first question", "the first answer", "and now?"]

    asyncio.run(go())


def test_resume_offers_the_sessions_of_this_folder_first(front):
    async def go():
        async with front(["hi"], kept=True) as on:
            await on.say("paint the wall")
            await on.sees("hi")
            await on.idle()
            session = on.agent.session.id
        async with front(["again"], kept=True) as on:
            await on.say("/resume")
            await on.sees("Go on with which session of this folder?")
            await on.answer("1")
            await on.sees(f"Now in {session}")
            await on.idle()
            await on.say("more")
            await on.sees("again")
            assert on.said() == ["paint the wall", "hi", "more"]

    asyncio.run(go())


@story("hi", "hi again", kept=True)
async def test_a_fork_is_a_copy(on):
    await on.say("hello")
    await on.sees("hi")
    await on.idle()
    before = on.agent.session.id
    await on.say("/fork")
    await on.sees(f"a copy of {before}")
    assert len(on.agent.messages) == 2
