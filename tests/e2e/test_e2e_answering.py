"""A text that is typed, pasted or sent at a question answers nothing, in chat and at the terminal UI; a key alone does."""

import asyncio
import random

import pytest
import skillkit_files.plugin
import skillkit_permissions.plugin
from front_ends import open_front
from skillkit_chat.approval import TerminalApprover
from skillkit_frontend import after
from textual import events
from textual.keys import _character_to_key

from skillkit_core import AgentConfig, AgentRunner, Host, Tool, ToolCallEventResult, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel

WORDS = [
    "y", "n", "a", "l", "s", "w", "yes", "no", "always", "later", "show", "why", "never", "try", "another", "way", "y/n",
    "nö", "sí", "Y", "N", "YES", "10", "1", "?", "say", "stay", "any", "all", "-y", "'y'", "…", "日本", "so", "wait",
]  # fmt: skip


class Guard:
    @hookimpl
    def before_tool_call(self, event):
        return ToolCallEventResult(ask="May it?", ask_key="change")


class Moments:
    """Moments pass when the test says so."""

    def __init__(self):
        self._waiting = []

    def __call__(self, seconds, call):
        moment = Moment(call)
        self._waiting.append(moment)
        return moment

    def pass_(self):
        due, self._waiting = self._waiting, []
        for moment in due:
            moment.call()


class Moment:
    def __init__(self, call):
        self.call = call

    def cancel(self):
        self.call = lambda: None


class Keys:
    """A person's keys at a front end."""

    def __init__(self, on):
        self.on, self.moments = on, Moments()
        self._screen = on.ui if on.name == "tui" else on.chat.screen
        self._screen._after = self.moments

    @property
    def talk(self):
        return self.on.ui.talk if self.on.name == "tui" else self.on.chat.talk

    @property
    def asked(self):
        return self._screen.asked

    async def question(self):
        """Wait for a question that takes keys."""
        await self.on.until(lambda: self.asked is not None, "a question")
        self.moments.pass_()
        return self.asked.question

    async def type(self, text, *, paste=False):
        """Type or paste a text; ``\\r`` is Enter."""
        if self.on.name == "chat":
            self.on._keys.send_text(f"\x1b[200~{text}\x1b[201~" if paste else text)
            return
        if paste:
            self.on.ui.post_message(events.Paste(text))
        for character in "" if paste else text:
            named = {"\r": "enter", "\x1b": "escape"}.get(character) or _character_to_key(character)
            self.on.ui.post_message(events.Key(named, character))

    async def until_line(self, text):
        await self.on.until(lambda: self.on.line == text, f"{text!r} in the line, which is {self.on.line!r}")


@pytest.fixture(params=["chat", "tui"])
def approval(request, skillkit_home):
    """``async with approval(turns...) as keys``: a call is asked about, and its question takes keys."""

    def open_(*turns):
        tool = Tool("change", "Change.", lambda args, ctx: "changed it", {"type": "object"})
        return open_front(request.param, skillkit_home, turns, tools=[tool], plugins=[("guard", Guard())])

    return open_


CHANGE = Reply(calls=[Call("change")])


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_sentences_at_an_approval_answer_nothing(approval, count):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def story():
        async with approval(CHANGE, "as you like") as on:
            keys = Keys(on)
            await on.say("change it")
            question = await keys.question()
            for _ in range(count):
                await sentence(chance, on, keys)
                assert keys.asked.question is question and not question.answer.done()
                await on.clear()
                keys.moments.pass_()
            await keys.type("\x1b")
            await on.sees("denied", "as you like")
            assert on.model.requests[1].messages[-1].text == "Denied: a person said no"

    asyncio.run(story())


async def sentence(chance, on, keys):
    """Type, paste or send one, with moments in between, and before and after the question took keys."""
    text = " ".join(chance.choices(WORDS, k=chance.randint(1, 4)))
    how = chance.choice(["typed", "slowly", "early", "pasted", "with enter", "lines"])
    if how == "pasted":
        await keys.type(text, paste=True)
    else:
        text = text if len(text) > 1 else text + " "
        cut = chance.randint(2, len(text)) if how != "early" else chance.randint(1, len(text))
        if how == "early":
            await keys.type(" ")  # no moment has passed since
            text = " " + text
            await keys.until_line(" ")
            keys.moments.pass_()
            await keys.type(text[1:])
        elif how == "lines":
            text = f"{chance.choice('yna')}\r{text}"
            await keys.type(text)
            text = text.replace("\r", "\n")
        else:
            await keys.type(text[:cut])
            await keys.until_line(text[:cut])
            if how == "slowly":
                keys.moments.pass_()
            await keys.type(text[cut:])
    await keys.until_line(text)
    if how == "with enter":
        await keys.type("\r")
        await on.until(lambda: keys.talk.record.queued, "a queued text")
        await keys.until_line("")
        keys.talk.unqueue()
    keys.moments.pass_()
    keys.moments.pass_()


@pytest.mark.sample(1, each="approval")
@pytest.mark.parametrize("how", ["y", "y\r"])
def test_a_key_that_nothing_follows_answers_and_one_that_is_followed_does_not(approval, how):
    async def story():
        async with approval(CHANGE, "done") as on:
            keys = Keys(on)
            await on.say("change it")
            question = await keys.question()
            await keys.type(how)
            await keys.until_line("y")
            await on.pause()
            assert not question.answer.done(), "something may follow"
            await on.until(lambda: keys.asked._may_answer == "y" and keys.asked._entered is (how != "y"), "the key")
            keys.moments.pass_()
            await on.sees("changed it", "done")
            assert on.line == ""

    asyncio.run(story())


def test_a_key_before_the_question_takes_keys_is_text_and_esc_denies_and_leaves_the_line(approval):
    async def story():
        async with approval(CHANGE, "fine") as on:
            keys = Keys(on)
            await on.say("change it")
            await on.until(lambda: keys.asked is not None, "a question")
            await keys.type("y")
            await keys.until_line("y")
            keys.moments.pass_()
            keys.moments.pass_()
            assert not keys.asked.question.answer.done()
            await on.sees("no answer: Enter says it, Ctrl-C sets it aside, Esc is a no")
            await keys.type("\x1b")
            await on.sees("denied", "fine")
            assert on.line == "y"

    asyncio.run(story())


def test_a_denial_takes_a_reason_that_the_model_reads(approval):
    async def story():
        async with approval(CHANGE, "I do that") as on:
            keys = Keys(on)
            await on.say("change it")
            await keys.question()
            await keys.type("w")
            await keys.until_line("w")
            await on.until(lambda: keys.asked._may_answer == "w", "the key")
            keys.moments.pass_()
            await on.until(lambda: keys.asked is not None and "Why not?" in keys.asked.question.text, "the question")
            keys.moments.pass_()
            await on.sees("Why not? The model reads it.")
            await keys.type("use rg instead\r")
            await on.sees("denied", "I do that")
            assert on.model.requests[1].messages[-1].text == "Denied: a person said no: use rg instead"

    asyncio.run(story())


def test_a_reason_that_is_typed_right_behind_the_key_for_it_is_no_text_of_the_line(approval):
    """Real moments pass: nobody waits between the key, the question that it asks for, and the reason."""

    async def story():
        async with approval(CHANGE, "I do that") as on:
            keys = Keys(on)
            keys._screen._after = after
            await on.say("change it")
            await on.until(lambda: keys.asked is not None and keys.asked.armed, "a question")
            await keys.type("w")
            await on.until(lambda: keys.asked is not None and "Why not?" in keys.asked.question.text, "it")
            await asyncio.sleep(0)
            await keys.type("use rg instead\r")
            await on.sees("denied", "I do that")
            assert on.model.requests[1].messages[-1].text == "Denied: a person said no: use rg instead"
            assert on.line == ""

    asyncio.run(story())


def test_ctrl_c_sets_a_text_aside_and_then_a_key_answers(approval):
    async def story():
        async with approval(CHANGE, "done") as on:
            keys = Keys(on)
            await on.say("change it")
            await keys.question()
            await keys.type("half a thought")
            await keys.until_line("half a thought")
            await on.interrupt()
            await keys.until_line("")
            keys.moments.pass_()
            await keys.type("n")
            await keys.until_line("n")
            await on.until(lambda: keys.asked._may_answer == "n", "the key")
            keys.moments.pass_()
            await on.sees("denied", "done")

    asyncio.run(story())


@pytest.fixture(params=["chat", "tui", "rpc"])
def editing(request, skillkit_home):
    """``async with editing(turns...)``: the file tools, and the permissions that ask about them."""
    (skillkit_home.cwd / "a.txt").write_text("one\ntwo\n")
    plugins = [("permissions", skillkit_permissions.plugin), ("files", skillkit_files.plugin)]

    def open_(*turns):
        return open_front(request.param, skillkit_home, turns, plugins=plugins)

    open_.name, open_.file = request.param, skillkit_home.cwd / "a.txt"
    return open_


def edit(old, new):
    return Reply(calls=[Call("edit", {"path": "a.txt", "old": old, "new": new})])


def test_an_edit_that_is_known_to_fail_is_not_asked_about(editing):
    async def story():
        async with editing(edit("three", "3"), "I see") as on:
            await on.say("edit it")
            await on.sees("I see")
            told = on.model.requests[1].messages[-1].text
            assert told == "Denied: nobody was asked, because the call would fail: old is not found in a.txt"

    asyncio.run(story())


@pytest.mark.sample(3)
@pytest.mark.parametrize("call", [
    Call("read", {"path": "/etc/hostname"}), Call("read", {"path": "../up"}), Call("ls", {"path": "/"}),
    Call("grep", {"pattern": "root", "path": "/etc"}), Call("glob", {"pattern": "*", "path": ".."}),
    Call("glob", {"pattern": "/etc/*"}),
], ids=lambda call: f"{call.name}-{len(str(call.args))}")  # fmt: skip
def test_reading_where_no_yes_would_make_the_tool_read_is_not_asked_about(editing, call):
    async def story():
        async with editing(Reply(calls=[call]), "I see") as on:
            await on.say("look there")
            await on.sees("I see")
            told = on.model.requests[1].messages[-1].text
            assert (
                told.startswith("Denied: nobody was asked, because the call would fail: ") and "is outside of" in told
            )

    asyncio.run(story())


class NobodyIsThere(TerminalApprover):
    """``run`` at a terminal, where a question is a failure."""

    async def ask(self, *args, **options):
        raise AssertionError("somebody was asked")


def test_run_at_a_terminal_does_not_ask_about_an_edit_that_is_known_to_fail(skillkit_home):
    (skillkit_home.cwd / "a.txt").write_text("one\ntwo\n")
    plugins = [("permissions", skillkit_permissions.plugin), ("files", skillkit_files.plugin)]

    async def story():
        host, approver = Host(plugins=plugins, discover=False, cwd=skillkit_home.cwd), NobodyIsThere()
        async with AgentRunner(AgentConfig(model="any", approver=approver), host=host) as agent:
            approver.answers_for(agent)
            agent.set_adapter(model := ScriptedModel([edit("three", "3"), "I see"]))
            await agent.chat("edit it")
            told = model.requests[1].messages[-1].text
            assert told == "Denied: nobody was asked, because the call would fail: old is not found in a.txt"
        await host.aclose()

    asyncio.run(story())


def test_shift_tab_changes_the_mode_and_the_status_shows_it(editing):
    if editing.name == "rpc":
        pytest.skip("a program has no keys")

    async def story():
        async with editing(edit("one", "1"), "edited") as on:
            keys = Keys(on)
            await (on.pilot.press("shift+tab") if on.name == "tui" else keys.type("\x1b[Z"))
            await on.sees("accept-edits")
            await on.say("edit it")
            await on.sees("edited")
            assert editing.file.read_text() == "1\ntwo\n"
            await (on.pilot.press("shift+tab") if on.name == "tui" else keys.type("\x1b[Z"))
            await on.sees("read-only")

    asyncio.run(story())
