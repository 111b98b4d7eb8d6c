"""A conversation: what arrives, what is asked, what is said meanwhile, and the agents below."""

import asyncio
import threading
import time

import pytest
import skillkit_planning.plugin
from skillkit_frontend import Block
from skillkit_tui.paint import rows

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    BeforeCompactResult,
    Session,
    Survey,
    SurveyOption,
    SurveyQuestion,
    TokenUsage,
    Tool,
    ToolCallEventResult,
    UserMessage,
    hookimpl,
)
from skillkit_core.contracts.compactor import CompactionResult
from skillkit_core.testing import Call, Hang, Reply, ScriptedModel

CACHED = TokenUsage(input=400, cache_read=800, cache_write=34, output=500, reasoning=67)


def test_the_adapter_prepares_while_the_person_types(stage, play, monkeypatch):
    prepared = threading.Event()
    monkeypatch.setattr(ScriptedModel, "prepare", lambda adapter: prepared.set())

    async def story():
        async with stage():
            assert await asyncio.to_thread(prepared.wait, 60)

    play(story())


class Guard:
    """Asks about each call of ``change``."""

    @hookimpl
    def before_tool_call(self, event):
        if event.tool_name == "change":
            return ToolCallEventResult(ask="Change it?", ask_key="change")
        return None


async def change(args, ctx):
    return f"changed {args['path']}\nand wrote it"


async def shown(agent, tool, args):
    return f"--- {args['path']}\n+++ {args['path']}\n-before\n+after\u202e"


NONE = {"type": "object"}
CHANGE = Tool("change", "Change a file.", change, NONE, annotations={"paths": ["path"], "preview": shown})


def kinds(on):
    return [block.kind for block in on.ui.record.main.blocks if block.kind != "note"]


@pytest.mark.smoke
def test_thinking_text_and_tokens_arrive_as_blocks_and_in_the_status_line(stage, play):
    async def story():
        usage = TokenUsage(input=100, output=20)
        turns = [Reply("# Hello\n\n*world*", thinking="let me\nsee", usage=usage), Reply("again", usage=CACHED)]
        async with stage(turns, size=(120, 30)) as on:
            await on.type("hi\n")
            await on.idle()
            assert kinds(on) == ["user", "thinking", "text"]
            await on.until("▸ thought: let me  (2 lines)")
            assert "  Hello\n\n  world" in on.screen, "Markdown, now that it is complete"
            await on.until("[i:100 o:20 | i:100 o:20]")
            await on.type("more\n")
            await on.idle()
            await on.until("[i:1234(c:800) o:567 | i:1334(c:800) o:587]")
            assert on.agent.session.usage.cache_read == 800

    play(story())


def test_a_call_is_shown_as_what_it_would_do_and_the_answers_close_it(stage, play):
    async def story():
        calls = [Reply(calls=[Call("change", {"path": f"{name}.txt"})]) for name in "abc"]
        async with stage([*calls, Reply("done")], plugins=[("guard", Guard())], tools=[CHANGE], size=(100, 30)) as on:
            await on.type("change them\n")
            await on.until("Run change?  [y]es  [n]o  [a]lways")
            assert (
                on.ui.mode == "ASK"
                and "-before" in on.screen
                and "+after\\u202e" in on.screen
                and "Change it? (guard)" in on.screen
            )
            await on.press("z", "y", "ctrl+c", "n")
            await on.until("✗ change a.txt — Denied: a person said no")
            await on.until("Run change?")
            await on.press("a")
            await on.idle()
            assert on.screen.count("change a.txt") == on.screen.count("change b.txt") == 1, "a call is one block"
            assert "● change b.txt — allowed, in this session, 2 lines" in on.screen
            assert "✗ change a.txt — Denied: a person said no" in on.screen
            await on.press("escape", *["left_square_bracket"] * 3, "enter")
            await on.until("▾ ● change b.txt")
            assert 0 < on.screen.find("│ +after\\u202e") < on.screen.find("│ changed b.txt"), "and then the output"
            await on.press("escape", "i")
            assert "● change c.txt — changed c.txt" not in on.screen and "● change c.txt — 2 lines" in on.screen
            assert kinds(on)[-1] == "text" and on.ui.mode == "INSERT"

    play(story())


def test_a_survey_is_asked_question_by_question_and_a_secret_is_not_shown(stage, play):
    async def ask(args, ctx):
        answers = await ctx.agent.ui.ask(
            Survey(
                "Setup", "Some facts.",
                (
                    SurveyQuestion("c", "Colour?", "choice", (SurveyOption("red"), SurveyOption("blue", "as the sky"))),
                    SurveyQuestion("m", "Which?", "choices", (SurveyOption("one"), SurveyOption("two"))),
                    SurveyQuestion("n", "Name?", default="Ann"),
                    SurveyQuestion("s", "Key?", "secret"),
                    SurveyQuestion("ok", "Sure?", "confirm"),
                ),
            )
        )  # fmt: skip
        return "declined" if answers is None else repr(sorted(answers.given.items()))

    async def story():
        tool = Tool("setup", "Set up.", ask, NONE)
        turns = [Reply(calls=[Call("setup")]), "first", Reply(calls=[Call("setup")]), "second"]
        async with stage(turns, tools=[tool]) as on:
            await on.type("set up\n")
            await on.until("Some facts.\n Colour?")
            await on.press("down", "enter")
            await on.until("Which?")
            await on.press("1", "down", "space", "enter")
            await on.until("Name?")
            await on.press("backspace", "enter")
            await on.until("Key?")
            await on.type("hush")
            assert "hush" not in on.screen
            await on.press("enter")
            await on.until("[y]es  [n]o")
            await on.press("y")
            await on.idle()
            result = on.model.requests[1].messages[-1].text
            assert result == "[('c', 'blue'), ('m', ('one', 'two')), ('n', 'An'), ('ok', True), ('s', 'hush')]"
            assert "Colour? blue" in on.screen and "Key? •••" in on.screen
            await on.type("once more\n")
            await on.until("Colour?  Enter chooses")
            await on.press("escape")
            await on.until("Setup: declined")
            await on.idle()

    play(story())


def test_what_is_said_meanwhile_steers_and_an_interrupt_gives_it_back(stage, play):
    async def story():
        started, going = asyncio.Event(), asyncio.Event()

        async def slow(args, ctx):
            started.set()
            ctx.on_output("half done\n")
            await going.wait()
            return "slow is done"

        tool = Tool("slow", "Be slow.", slow, NONE)
        turns = [Reply(calls=[Call("slow")]), Reply("as you say"), Hang("I go on and")]
        async with stage(turns, tools=[tool]) as on:
            await on.type("begin\n")
            await started.wait()
            await on.type("rather this\n")
            await on.until("↳ queued: rather this")
            assert "slow — running, half done" in on.screen
            await on.type("/new\n")
            await on.until("has to wait for the end of the run")
            await on.press("ctrl+c")
            await on.until("! interrupted")
            await on.idle()
            assert on.ui.line.text == "rather this\n/new", "what nobody read is in the line"
            going.set()
            on.ui.line.put("")
            await on.type("go on\n")
            await on.idle()
            await on.until("as you say")
            await on.type("talk\n")
            await on.until("I go on and")
            await on.press("escape")
            assert on.ui.mode == "NORMAL"
            await on.press("escape")
            await on.until(lambda: on.screen.count("! interrupted") == 2)
            assert "I go on and" in on.screen, "what was said is kept"

    play(story())


def test_what_is_noted_while_an_answer_arrives_neither_cuts_nor_repeats_it(stage, play):
    async def story():
        async with stage([Hang("**half"), Reply("**half** and whole")]) as on:
            await on.type("go\n")
            await on.until("**half")
            on.ui.record.note("something is noted")
            await on.type("/help\n")
            await on.until("leader, where no block has the focus")
            await on.press("ctrl+c")
            await on.idle()
            assert kinds(on) == ["user", "text"]
            model = on.model
            play_ = model.stream

            async def noting(request):
                async for event in play_(request):
                    yield event
                    if event.type == "text_delta":
                        on.ui.record.note("noted in between")

            model.stream = noting
            await on.type("again\n")
            await on.idle()
            blocks = on.ui.record.main.blocks
            assert [b.text for b in blocks if b.kind == "text"] == ["**half", "**half** and whole"]
            assert blocks[-1].kind == "text", "the answer goes on below the note"
            await on.until("half and whole")

    play(story())


def test_agents_below_are_a_tree_whose_work_can_be_read(stage, play, snapshot):
    async def story():
        async def spawn(args, ctx):
            model = ScriptedModel([Reply("the work of a child", thinking="hm", usage=TokenUsage(input=7, output=3))])
            async with AgentRunner(AgentConfig(model="small"), name="scout") as child:
                child.set_adapter(model)
                return (await child.chat(args["task"])).content

        tool = Tool("spawn", "Ask a child.", spawn, NONE)
        turns = [Reply(calls=[Call("spawn", {"task": "look around"})]), Reply("all done")]
        async with stage(turns, tools=[tool], size=(100, 24)) as on:
            await on.type("send one\n")
            await on.idle()
            assert kinds(on) == ["user", "tool", "text"], "what a child says does not stand in the conversation"
            assert on.ui.talk.books.total.total == 7 + 3 + 15 + 15, "the books hold what children use"
            await on.press("escape", "space", "a")
            await on.until("└ ● scout")
            assert "look around" in on.screen and "10 tokens" in on.screen
            await on.press("j", "enter")
            await on.until("the work of a child")
            assert on.ui.mode == "REPLAY" and "all done" not in on.screen
            await on.press("x")
            await on.until("this is only read")
            await on.press("escape")
            await on.until("all done")
            await on.press("escape")
            await on.until(lambda: "└ ● scout" not in on.screen)

    play(story())


def test_an_agent_in_the_background_goes_on_being_shown_when_the_run_that_asked_it_is_over(stage, play):
    async def story():
        release, tasks = asyncio.Event(), []

        async def wait(args, ctx):
            await release.wait()
            return "waited"

        async def work():
            async with AgentRunner(AgentConfig(tools=(Tool("wait", "Wait.", wait, NONE),)), name="scout") as child:
                child.set_adapter(ScriptedModel([Reply("first", calls=[Call("wait")]), "at last"]))
                await child.chat("look around")

        async def leave(args, ctx):
            tasks.append(asyncio.create_task(work()))
            return "left"

        turns = [Reply(calls=[Call("leave")]), "done"]
        async with stage(turns, tools=[Tool("leave", "Leave.", leave, NONE)], size=(100, 24)) as on:
            await on.type("send one\n")
            await on.idle()
            await on.until(lambda: len(on.ui.record.logs) == 2 and list(on.ui.record.logs.values())[1].calls)
            on.ui.record.finish()
            scout = list(on.ui.record.logs.values())[1]
            assert scout.state == "running" and not scout.blocks[-1].done
            release.set()
            await on.until(lambda: scout.state == "completed")
            assert [(b.kind, b.text) for b in scout.blocks if b.kind != "note"] == [
                ("user", "look around"), ("text", "first"), ("tool", "waited"), ("text", "at last"),
            ]  # fmt: skip
            assert on.ui.talk.books.total.total == 4 * 15, "the books go on"
            await tasks[0]

    play(story())


def test_kept_sessions_of_agents_below_are_read_too(stage, play):
    import skillkit_sessions.plugin

    async def story():
        plugins = [("sessions", skillkit_sessions.plugin)]
        async with stage(["here"], plugins=plugins, session="new", kept=True, size=(100, 24)) as on:
            await on.type("hi\n")
            await on.idle()
            store = on.agent.host.session_store()
            for parent, said in ((on.agent.session.id, "a child did this"), (None, "a stranger did this")):
                child = await Session.create(store, time.time, parent=parent)
                await child.append("session_info", {"title": said.replace("did", "does")})
                await child.append_message(UserMessage(content=said))
                await child.close()
            await on.type("/agents\n")
            await on.until("a child does this")
            assert "stranger" not in on.screen
            await on.press("j", "enter")
            await on.until("› a child did this")
            assert on.ui.mode == "REPLAY"
            await on.press("q")
            await on.until("› hi")

    play(story())


def test_a_session_is_shown_again_with_its_calls_and_what_was_compacted(stage, play):
    async def story():
        turns = [Reply("I change it", calls=[Call("change", {"path": "a.txt"})], thinking="so"), Reply("done")]
        async with stage(turns, tools=[CHANGE]) as on:
            await on.type("change it\n")
            await on.idle()
            before = [(b.kind, b.text, b.good) for b in on.ui.record.main.blocks if b.kind != "note"]
            on.ui.talk.show_session()
            await on.pilot.pause(0.1)
            assert [(b.kind, b.text, b.good) for b in on.ui.record.main.blocks] == before
            assert "● change a.txt — 2 lines" in on.screen
            await on.press("up")
            assert on.ui.line.text == "change it"

    play(story())


def test_planning_is_said_and_which_plan_is_carried_out_in_the_new_session(stage, play, skillkit_home):
    async def story():
        turns, planning = ["I plan it.", "I carry it out."], ("planning", skillkit_planning.plugin)
        async with stage(turns, plugins=[planning], size=(120, 30), kept=True) as on:
            await on.type("/plan paint the wall\n")
            await on.until(
                "! Planning: nothing but .skillkit/plan.md is changed. /exec carries it out, /plan off ends planning."
            )
            await on.until("[INSERT] [PLAN]")
            await on.idle()
            (skillkit_home.cwd / ".skillkit").mkdir(exist_ok=True)
            (skillkit_home.cwd / ".skillkit" / "plan.md").write_text("1. paint")
            await on.type("/exec\n")
            await on.until("I carry it out.")
            assert "! Plan: .skillkit/plan.md of " in on.screen and "which no session made." in on.screen
            assert "[INSERT] [EXECUTE]" in on.screen and "I plan it." not in on.screen

    play(story())


class Shortens:
    """Compacts to a summary that is not shorter, and then to one that is."""

    summaries = ("word " * 5_000, "all of it")

    @hookimpl
    def before_compact(self, event):
        summary, *self.summaries = self.summaries
        return BeforeCompactResult(compaction=CompactionResult(summary, len(event.preparation.messages)))


def test_a_compaction_that_a_person_asks_for_is_told_in_one_line(stage, play):
    async def story():
        async with stage([Reply("word " * 100)], plugins=[("shortens", Shortens())]) as on:
            await on.type("hi\n")
            await on.idle()
            for told in ("Nothing was shortened: it would free too little.", "Shortened from about "):
                before = len(on.ui.record.main.blocks)
                await on.type("/compact\n")
                await on.until(told)
                await on.idle()
                said, answer = on.ui.record.main.blocks[before:]
                assert said.text == "/compact" and answer.text.startswith(told)

    play(story())


def test_deltas_are_drawn_at_most_thirty_times_a_second_and_nothing_is_lost(stage, play):
    words = [f"w{number}" + ("\n" if number % 9 == 8 else " ") for number in range(3_000)]

    async def story():
        async with stage(size=(100, 24)) as on:

            async def slowly():
                await asyncio.sleep(0)

            model = ScriptedModel([Reply(words)])
            play_, events = model.stream, 0

            async def yielding(request):
                nonlocal events
                async for event in play_(request):
                    events += 1
                    await slowly()
                    yield event

            model.stream = yielding
            on.agent.set_adapter(model)
            drawn, began = on.ui.transcript.repaints, time.monotonic()
            await on.agent.chat("go")
            took, drawn = time.monotonic() - began, on.ui.transcript.repaints - drawn
            assert events > 3_000 and drawn <= 30 * took + 2
            on.ui.record.finish()
            await on.until("w2999")
            assert on.ui.record.main.blocks[-1].text == "".join(words)

    play(story())


def test_a_view_that_follows_goes_on_to_follow_when_the_terminal_changes_its_size(stage, play):
    async def story():
        async with stage(size=(100, 30)) as on:
            for number in range(40):
                on.ui.record.put(Block("text", f"number {number}\n\n" + "some words and " * 30))
            await on.until("number 39")
            for number, size in enumerate([(80, 24), (100, 30), (60, 40), (120, 12), (100, 30), (100, 31), (100, 29)]):
                await on.pilot.resize_terminal(*size)
                on.ui.record.put(Block("note", f"after size {number}"))
                await on.until(f"after size {number}")
                assert on.ui.transcript.at_end

    play(story())


def test_of_ten_thousand_blocks_only_those_in_view_are_formatted(stage, play, monkeypatch):
    formatted = []
    monkeypatch.setattr(
        "skillkit_tui.transcript.rows", lambda block, *rest: formatted.append(block) or rows(block, *rest)
    )

    async def story():
        async with stage() as on:
            text = "Some *prose* of a few words, so that it is wrapped.\n\n- a list\n\n```python\nx = 1\n```"
            on.ui.record.main.blocks.extend(Block("text", f"number {number}\n\n{text}") for number in range(10_000))
            on.ui.redraw()
            await on.until("number 9999")
            assert len(formatted) < 10
            await on.press("escape", *["k"] * 30)
            seen = on.screen
            await on.press("j", "k")
            assert on.screen == seen, "a height that turned out otherwise moves nothing"
            await on.press("g")
            assert "number 0" in on.screen
            await on.press("pagedown", "pageup", "j", "j", "k", "k")
            assert "number 0" in on.screen
            assert len(formatted) < 60
            on.ui.transcript.scroll_to(y=on.ui.transcript.max_scroll_y // 2, animate=False)
            await on.pilot.pause(0.1)
            assert "number " in on.screen and "number 0\n" not in on.screen
            assert len(formatted) < 80

    play(story())
