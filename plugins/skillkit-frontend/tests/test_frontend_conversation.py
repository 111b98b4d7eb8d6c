"""A conversation with a view that writes down what it is told."""

import asyncio
import contextlib

import pytest
import skillkit_commands.plugin
from skillkit_commands import Edit, SlashCommand
from skillkit_frontend import Block, Conversation, KeyQuestion, ListQuestion, Pieces, propose, run_editor

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalRequest,
    Host,
    SurveyOption,
    Tool,
    ToolCallEventResult,
    UsageError,
    hookimpl,
)
from skillkit_core.contracts.approver import Question
from skillkit_core.testing import Call, Fail, Hang, Reply, ScriptedModel


class Notes:
    """A view that writes down what it is told, and answers by script."""

    def __init__(self, answers=()):
        self.shown, self.hints, self.line, self.codes, self.edited = [], [], [], [], []
        self.sessions, self.asked, self._answers = 0, [], list(answers)

    def show_session(self):
        self.sessions += 1

    def changed(self, log, block):
        if block is not None and block.done:
            self.shown.append((block.kind, block.text, block.result))

    def status_changed(self):
        pass

    def hint(self, text):
        self.hints.append(text)

    async def ask(self, question):
        self.asked.append(question)
        return self._answers.pop(0) if self._answers else await question.answer

    def put_back(self, texts):
        self.line += texts

    def keep_line(self):
        kept, self.line = bool(self.line), []
        return kept

    def own(self, text):
        return text == "/mine"

    async def edit(self, path):
        self.edited.append(path)

    def leave(self, code=0):
        self.codes.append(code)


class Plugin:
    """Asks about ``change``, and offers ``/edit``."""

    @hookimpl
    def before_tool_call(self, event):
        return ToolCallEventResult(ask="Change it?", ask_key="k", ask_rule="Edit(**)") if event.args else None

    @hookimpl(optionalhook=True)
    def register_slash_commands(self, register, host):
        async def edit(agent, arguments, ui):
            async def done():
                return "it was edited"

            return Edit(host.cwd / "plan.md", done)

        register(SlashCommand("edit", "Edit.", edit))


@pytest.fixture
def talk(skillkit_home):
    """``async with talk(turns, answers=()) as (conversation, view)``."""

    @contextlib.asynccontextmanager
    async def open_(turns, answers=(), **how):
        tool = Tool("change", "Change.", lambda args, ctx: "changed", {"type": "object"})
        plugins = [("commands", skillkit_commands.plugin), ("mine", Plugin())]
        host = Host(plugins=plugins, discover=False, cwd=skillkit_home.cwd)
        view = Notes(answers)
        async with AgentRunner(AgentConfig(model="any", tools=(tool,)), host=host) as agent:
            agent.set_adapter(ScriptedModel(turns))
            conversation = Conversation(agent, view, **how)
            yield conversation, view
            await conversation.close()
        await host.aclose()

    return open_


CHANGE = Reply(calls=[Call("change", {"path": "a"})])


@pytest.mark.smoke
def test_what_is_said_is_asked_and_shown_in_blocks(talk):
    async def story():
        async with talk(["Hello."]) as (conversation, view):
            conversation.begin("hi")
            await conversation.idle()
            assert [kind for kind, *_ in view.shown if kind != "note"] == ["user", "text"]
            assert conversation.books.title == "hi" and view.sessions == 1

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        (["yes"], "allowed"), (["no"], "denied"), (["always", "project"], "allowed, in this project"),
        (["always", "back", "yes"], "allowed"), (["always", "everywhere"], "allowed, everywhere"),
    ],
)  # fmt: skip
def test_an_approval_is_answered(talk, answers, result):
    async def story():
        async with talk([CHANGE, "done"], answers) as (conversation, view):
            conversation.begin("change it")
            await conversation.idle()
            assert ("asked", "", result) in view.shown
            assert view.asked[0].lead == [("", "Change it? (mine)")]
            assert list(view.asked[0].choices.values()) == ["yes", "no", "always", "why not"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("kept", "deferrable", "offered"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_later_is_offered_where_a_decision_can_be_put_off(talk, kept, deferrable, offered):
    async def story():
        async with talk([], ["no"], kept=kept) as (conversation, view):
            request = ApprovalRequest("change", "c1", {}, (Question("Change it?"),), deferrable=deferrable)
            await conversation.person.approve(request)
            assert ("later" in view.asked[0].choices.values()) is offered

    asyncio.run(story())


def test_who_leaves_right_after_putting_a_decision_off_finds_it_waiting(talk):
    async def story():
        async with talk([CHANGE, "done"], ["later"], kept=True) as (conversation, _):
            left = asyncio.Event()

            async def slow(event):
                for _ in range(50):
                    await asyncio.sleep(0)

            conversation.agent.events.on("approval_resolved", slow)

            def changed(log, block):
                if block is not None and block.result == "put off" and not left.is_set():
                    left.set()
                    closing.append(asyncio.create_task(conversation.close()))

            closing = []
            conversation.record._changed = changed
            conversation.begin("change it")
            await left.wait()
            await closing[0]
            assert [call.name for call in conversation.agent.suspension.calls] == ["change"]

    asyncio.run(story())


def test_a_view_that_shows_a_part_is_asked_for_all_of_it(talk):
    async def story():
        async with talk([CHANGE, "done"], ["show all", "yes"]) as (conversation, view):
            wholes = []

            def changed(log, block):
                if block is not None and block.kind == "asked" and not block.done:
                    block.cut = not block.whole
                    wholes.append(block.whole)

            conversation.record._changed = changed
            conversation.begin("change it")
            await conversation.idle()
            assert wholes == [False, True]
            assert "show all" in view.asked[0].choices.values()
            assert "show all" not in view.asked[1].choices.values()

    asyncio.run(story())


def test_decisions_of_nobody_and_later(talk):
    async def story(approvals, outcome):
        async with talk([CHANGE, "done"], approvals=approvals) as (conversation, view):
            conversation.begin("change it")
            await conversation.idle()
            assert not view.asked and outcome in {result for _, _, result in view.shown} | {t for _, t, _ in view.shown}

    asyncio.run(story("deny", "denied"))
    asyncio.run(story("defer", "put off: another message denies what waits; --continue asks again"))


def test_an_error_is_shown_and_the_text_comes_back(talk):
    async def story():
        async with talk([Fail(message="no such thing", status=400)] * 5) as (conversation, view):
            conversation.entered("/nothing")
            await conversation.idle()
            assert view.line == ["/nothing"] and view.shown[-1][0] == "error"
            with pytest.raises(UsageError, match="takes no arguments"):
                await conversation.enter("/new things")
            await conversation.enter("/mine")

    asyncio.run(story())


def test_ctrl_c_interrupts_then_says_what_it_will_do_and_leaves(talk):
    async def story():
        started = asyncio.Event()
        async with talk([Hang("I go on", started=started)]) as (conversation, view):
            conversation.begin("talk")
            await started.wait()
            conversation.stop()
            assert view.hints[-1] == "interrupting; again leaves"
            await conversation.idle()
            assert view.shown[-1][:2] == ("note", "interrupted")
            view.line.append("half a line")
            conversation.stop()
            assert view.hints[-1].startswith("the line is in the history") and not view.line
            conversation.typed()
            conversation.stop()
            assert view.hints[-1] == "Ctrl-C again leaves" and not view.codes
            conversation.stop()
            assert view.codes == [0]

    asyncio.run(story())


def test_a_command_opens_the_editor_of_the_view(talk, skillkit_home):
    async def story():
        async with talk([]) as (conversation, view):
            await conversation.enter("/edit")
            await conversation.idle()
            assert view.edited == [skillkit_home.cwd / "plan.md"] and view.shown[-1][1] == "it was edited"

    asyncio.run(story())


def test_the_editor_is_run_and_its_failure_told(tmp_path):
    file = tmp_path / "a"
    asyncio.run(run_editor({"EDITOR": "touch"}, file))
    assert file.exists()
    for editor, told in (("no-such-editor", "does not start"), ("false", "ended with 1")):
        with pytest.raises(UsageError, match=told):
            asyncio.run(run_editor({"VISUAL": editor}, file))


def test_questions_take_keys_until_they_are_answered():
    async def story():
        key = KeyQuestion("Sure?", {"y": "yes", "n": "no"}, [("", "It costs 5 euros.\x1b")])
        assert not key.press("", "z") and key.press("", "N")
        assert await key.answer == "no"
        assert "".join(text for _, text in key.lines(80)) == "It costs 5 euros.\\x1b\nSure?  [y]es  [n]o"
        several = ListQuestion("Which?", [SurveyOption(word) for word in ("one", "two", "three")], several=True)
        for pressed, typed in (("space", " "), ("down", ""), ("down", ""), ("space", " "), ("", "w"), ("enter", "")):
            several.press(pressed, typed)
        assert await several.answer == ("one", "three")

    asyncio.run(story())


def test_commands_and_files_are_proposed(talk, skillkit_home):
    (skillkit_home.cwd / "notes.txt").write_text("x")

    async def story():
        async with talk([]) as (conversation, _):
            found = propose("/ne", conversation.commands, [("nest", "Mine.")], skillkit_home.cwd)
            assert [label for _, label, _ in found] == ["/nest", "/new"]
            assert propose("read @no", conversation.commands, [], skillkit_home.cwd)[0][0] == "read @notes.txt"
            assert propose("plain", conversation.commands, [], skillkit_home.cwd) == []

    asyncio.run(story())


def test_a_secret_in_pieces_is_never_shown(skillkit_home):
    host = Host(plugins=[], discover=False, cwd=skillkit_home.cwd)
    host.secrets.remember("hunter2hunter2")
    pieces = Pieces(host.secrets)
    shown = "".join(pieces.add("a", piece) for piece in ("say hun", "ter2hun", "ter2 now")) + pieces.rest("a")
    assert "hunter2hunter2" not in shown and shown.startswith("say ") and shown.endswith(" now")


def test_a_block_is_summed_up_in_a_line():
    block = Block("tool", "one\ntwo\n", head="bash ls")
    block.end(good=True, result="1.2 s")
    assert block.summary(60) == "bash ls — 1.2 s, 2 lines"


@pytest.mark.parametrize(
    ("result", "text", "told"),
    [
        ("denied", "Denied: too early", "bash ls — Denied: too early"),
        ("denied 0.3 s", "Denied: too early", "bash ls — 0.3 s, Denied: too early"),
        ("denied", "too early", "bash ls — denied, too early"),
    ],
)
def test_the_line_of_a_call_says_once_that_it_was_denied(result, text, told):
    block = Block("tool", text, head="bash ls", done=True, good=False, result=result)
    assert block.summary(60) == told
