"""What keys mean: the modes, the leader key, the line, and the blocks that have the focus."""

import pytest
from skillkit_commands import SlashCommand
from skillkit_frontend import Block
from skillkit_tui import Chord, Indicator
from skillkit_tui.chords import OVERLAY_AFTER, TIMEOUT, Leader
from textual import events

from skillkit_core import UsageError, hookimpl
from skillkit_core.descriptors import Factory


def test_the_leader_key_waits_shows_its_keys_and_forgets():
    assert (OVERLAY_AFTER, TIMEOUT) == (0.2, 1.0)
    leader, keys = Leader(), {"c": "clear"}
    assert not leader.waiting and leader.press("c", keys) == "clear"
    leader.begin(0.0)
    assert leader.waiting and not leader.overlay(OVERLAY_AFTER - 0.01) and leader.overlay(OVERLAY_AFTER)
    assert not leader.expired(TIMEOUT - 0.01) and leader.waiting
    assert leader.expired(TIMEOUT) and not leader.waiting and not leader.expired(20.0)
    leader.begin(30.0)
    assert leader.press("c", keys) == "clear" and not leader.waiting
    leader.begin(40.0)
    assert leader.press("y", keys) is None and not leader.waiting


class Contributes:
    """A plugin with chords, one of which wants a key that is taken, a slash command, and indicators."""

    done = ()

    @hookimpl(optionalhook=True)
    def register_chords(self, register):
        async def count(front):
            self.done += (front.agent.session_id,)
            return f"counted {len(self.done)}"

        register(Chord("count", "z", "count", count))
        register(Chord("mine", "c", "something else", "/tools"))
        register(Chord("fails", "f", "fail", "skillkit_tui.nothing:here"))

    @hookimpl(optionalhook=True)
    def register_indicators(self, register):
        register(Indicator("network", lambda agent: "NET off"))
        register(Factory("activity", lambda host: lambda agent: "PLAN"))
        register(Indicator("weather", lambda agent: "sunny\x1b[2J"))
        register(Indicator("broken", lambda agent: 1 / 0))

    @hookimpl(optionalhook=True)
    def register_slash_commands(self, register):
        async def plan(agent, arguments, ui):
            return "a plan is made"

        async def fail(agent, arguments, ui):
            raise UsageError("this can not be done")

        register(SlashCommand("plan", "Plan.", plan))
        register(SlashCommand("edit-plan", "Edit.", fail))


def test_the_leader_key_forgets_by_itself(stage, play):
    async def story():
        async with stage(leader=0.05) as on:
            await on.press("escape", "space")
            await on.until(lambda: on.ui.mode == "NORMAL")
            await on.press("i")
            assert on.ui.mode == "INSERT"

    play(story())


@pytest.mark.smoke
def test_space_leads_and_plugins_bring_keys_of_which_the_missing_say_so(stage, play, snapshot):
    async def story():
        plugin = Contributes()
        async with stage(plugins=[("contributes", plugin)]) as on:
            assert on.ui.mode == "INSERT"
            await on.press("escape")
            assert on.ui.mode == "NORMAL"
            await on.press("space")
            assert on.ui.mode == "LEADER"
            await on.until("needs skillkit-sandbox")  # the overlay
            snapshot("leader.txt", on.screen + "\n")
            await on.press("z")
            await on.until("! counted 1")
            await on.press("space", "p")
            await on.until("! a plan is made")
            await on.press("space", "x")
            await on.until("pip install skillkit-planning")
            await on.press("space", "n")
            await on.until("no plugin brings /network (pip")
            await on.press("space", "f")
            await on.until("skillkit_tui.nothing")
            await on.press("space", "e")
            await on.until("this can not be done")
            assert on.ui.line.text == "", "nobody typed the command of a chord"
            await on.press("space", "y")
            await on.until("Space y does nothing")
            await on.press("space", "question_mark")
            await on.until("complete /commands and @files; history")
            assert "execute the plan (needs skillkit-planning)" in on.ui.record.main.blocks[-1].text
            await on.press("space", "c")
            await on.until(lambda: "counted" not in on.screen)
            assert plugin.done == (on.agent.session_id,)
            host = on.agent.host
            assert any("key 'c' does 'clear the screen'" in p.message for p in host.problems), "the clash is reported"

    play(story())


@pytest.mark.parametrize(
    "wrong", [("", "h", "/a"), ("zz", "h", "/a"), (" ", "h", "/a"), ("z", "", "/a"), ("z", "h", "a")]
)
def test_a_chord_that_nobody_can_press_is_refused(wrong):
    with pytest.raises(UsageError):
        Chord("name", *wrong)


def test_indicators_stand_in_the_status_line_and_one_that_fails_is_reported(stage, play):
    async def story():
        async with stage(plugins=[("contributes", Contributes())], size=(120, 24)) as on:
            await on.until("[INSERT] [PLAN] [i:0 o:0 | i:0 o:0] [NET off]")
            assert "sunny\\x1b[2J" in on.screen
            assert any("'broken' failed: ZeroDivisionError" in p.message for p in on.agent.host.problems)
        async with stage() as on:
            await on.until("[INSERT] [EXECUTE] [i:0 o:0 | i:0 o:0] [NET on]")

    play(story())


def test_brackets_focus_blocks_and_enter_or_space_opens_them_while_the_text_stays_in_place(stage, play):
    async def story():
        async with stage() as on:
            for number in range(40):
                on.ui.record.put(Block("thinking", f"thought {number}\nmore of {number}\nand more"))
            await on.until("thought: thought 39")
            await on.press("escape", "left_square_bracket", "left_square_bracket")
            assert on.ui.transcript.chosen == 38 and "▌ ▸ thought: thought 38" in on.screen
            await on.press("space")
            await on.until("more of 38")
            await on.press("right_square_bracket", "enter")
            await on.until("more of 39")
            await on.press("enter", "left_square_bracket", "space")
            await on.until(lambda: "more of" not in on.screen)
            await on.press("escape", "g")
            assert on.ui.transcript.chosen is None and on.screen.startswith("  ▸ thought: thought 0 ")
            await on.press("j", "j", "k")
            assert on.screen.startswith("  ▸ thought: thought 1 ")
            await on.press("pagedown", "pageup", "G", "space")
            assert on.ui.mode == "LEADER" and "thought: thought 39" in on.screen

    play(story())


def test_a_colon_runs_commands_and_completes_them_as_a_slash_does(stage, play):
    async def story():
        async with stage() as on:
            await on.press("escape", "colon")
            assert on.ui.mode == "COMMAND"
            await on.type("too")
            await on.until("❯ /tools")
            await on.press("enter")
            await on.until("The model has no tools.")
            assert on.ui.mode == "NORMAL"
            await on.press("colon", "escape")
            assert on.ui.mode == "NORMAL" and on.ui.line.text == ""
            await on.press("slash")
            await on.type("he")
            await on.press("tab", "enter")
            await on.until("leader, where no block has the focus")
            await on.type("/toools")
            await on.press("enter")
            await on.until("did you mean")
            assert on.ui.line.text == "/toools", "what was typed is not lost"
            await on.press("ctrl+c", "up")
            await on.until(lambda: on.ui.line.text == "/toools")
            await on.press("ctrl+c", "escape", "colon")
            await on.type("q\n")
            await on.until(lambda: on.ui.return_code == 0)

    play(story())


def test_keys_that_come_all_at_once_mean_what_they_mean_one_by_one(stage, play):
    keys = [*"ac", "left", "b", "escape", "colon", *"too", "tab", "enter", "space", "question_mark", "i", "end", "d"]

    async def story():
        async with stage() as on:
            for key in keys:
                on.ui.post_message(
                    events.Key(key, key if len(key) == 1 else {"question_mark": "?", "colon": ":"}.get(key))
                )
            on.ui.post_message(events.Paste("pasted"))
            on.ui.post_message(events.Key("backspace", None))
            await on.until(lambda: "The model has no tools." in [block.text for block in on.ui.record.main.blocks])
            await on.until("complete /commands and @files; history")
            await on.until(lambda: on.ui.line.text == "abcdpaste")
            await on.press("up", "down")
            assert on.ui.line.text == "abcdpaste" and on.ui.mode == "INSERT"

    play(story())


def test_a_line_takes_several_rows_files_and_what_was_said_before(stage, play, skillkit_home):
    (skillkit_home.cwd / "notes.md").write_text("x")

    async def story():
        async with stage(["one", "two"]) as on:
            await on.type("first")
            await on.press("ctrl+j")
            await on.type("second @no")
            await on.until("❯ notes.md")
            await on.press("tab", "enter")
            await on.idle()
            assert on.model.requests[0].messages[-1].text == "first\nsecond @notes.md"
            await on.type("again\\\nand more\n")
            await on.idle()
            assert on.model.requests[1].messages[-1].text == "again\nand more"
            await on.type("draft")
            await on.press("up")
            assert on.ui.line.text == "again\nand more"
            await on.press("up", "up", "down", "down", "down")
            await on.until(lambda: on.ui.line.text == "draft")

    play(story())
