"""A conversation at a pseudo-terminal, with a scripted server behind the model."""

import base64
import os
import re
import signal
import stat
import time
from pathlib import Path

import pyte
import pytest
from skillkit_chat.conversation.status import status_line
from skillkit_testkit import Call, Fail, Gate, Hang, Reply, Terminal, screen_text

from skillkit_core import TokenUsage

PLUGIN = Path(__file__).parent / "support" / "talking_plugin.py"
UP, DOWN, ESC, CTRL_C, CTRL_D = "\x1b[A", "\x1b[B", "\x1b", "\x03", "\x04"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PATIENCE, ROWS = 60.0, 200


class Chat(Terminal):
    """``skillkit chat`` at a terminal that is emulated, and so high that nothing leaves its screen."""

    def __init__(self, argv, **options):
        super().__init__(argv, rows=ROWS, **options)
        self._screen = pyte.Screen(options["columns"], ROWS)
        self._stream, self._fed = pyte.ByteStream(self._screen), 0

    @property
    def screen(self):
        """What a person sees."""
        self._stream.feed(self.seen[self._fed :])
        self._fed = len(self.seen)
        return screen_text(self._screen)

    def expect(self, *texts, times=1):
        """Wait until all texts stand on the screen."""
        until = time.monotonic() + PATIENCE
        while missing := [text for text in texts if self.screen.count(text) < times]:
            if not self._read() or time.monotonic() > until:
                raise AssertionError(f"{missing} never stood on the screen:\n{self.screen}")

    def ready(self):
        """Wait until keys are read."""
        self.expect("/help shows commands and keys", "\n›")

    def say(self, text):
        """Type a line and Enter."""
        self.send(text + "\r")

    def leave(self):
        """Press Ctrl-D; return the exit code."""
        self.send(CTRL_D)
        return self.wait()


@pytest.fixture
def open_chat(skillkit_cli, llm_server, install_plugin):
    """``open_chat("--continue", ...)`` opens a conversation with the scripted server and the plugin of ``support``."""
    install_plugin("talking", PLUGIN)

    def open_(*args, columns=100, bare=False, fresh=False):
        env = {"NO_COLOR": "1", **({} if bare else {"OPENAI_API_KEY": "key-of-the-tests"})}
        asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
        words = () if bare else ("chat", *asked, *args)
        return skillkit_cli.terminal("-P", "talking", *words, kind=Chat, env=env, columns=columns, fresh=fresh)

    open_.home = skillkit_cli.home
    return open_


def sessions(cli):
    return cli("sessions", "list", "--json").ok().json


def test_the_program_alone_opens_a_conversation_at_a_terminal_and_needs_no_key(open_chat, skillkit_cli):
    with open_chat(bare=True) as chat:
        chat.say("what is 15% of 80")  # before anybody reads: the terminal makes a line feed of Enter
        chat.expect(
            "› what is 15% of 80",
            "\n15% of 80 = 12",
            "offline ·",
            "For a model set ",
            "OPENAI_API_KEY",
        )
        assert chat.leave() == 0
        chat.expect("Go on with: skillkit chat --session ")
    assert skillkit_cli().ok().stdout.startswith("Usage: skillkit"), "a pipe gets the help, as before"
    piped = skillkit_cli("chat")
    assert piped.exit_code == 2 and "needs a terminal" in piped.stderr


TELLS = """
import sys
from importlib.abc import MetaPathFinder

class Tells(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "jiter":  # a library of the SDK
            sys.meta_path.remove(self)
            with open({pipe!r}, "w") as pipe:
                pipe.write(name)

sys.meta_path.insert(0, Tells())
"""


def test_the_sdk_of_the_provider_is_imported_while_the_person_types(open_chat, llm_server, install_plugin, tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe")
    (plugin := tmp_path / "telling.py").write_text(TELLS.format(pipe=str(pipe)))
    install_plugin("telling", plugin)
    with open_chat(fresh=True) as chat:
        chat.ready()
        assert pipe.read_text() == "jiter"
        assert not llm_server.requests
        assert chat.leave() == 0


def test_what_can_be_asked_without_a_key_is_a_list(open_chat):
    with open_chat(bare=True) as chat:
        chat.ready()
        chat.say("write me a poem")
        chat.expect("so nothing ran", "\n • csv-stats", "\n • calculate", "a model (--model")
        assert chat.leave() == 0


def test_a_note_does_not_stand_in_the_middle_of_an_answer(open_chat, llm_server):
    llm_server.script(Reply(text="First block.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nLast block."))
    with open_chat("Tell me") as chat:
        chat.expect("First block.", "Last block.", "the price and the window of openai/any are not known")
        assert chat.screen.index("Last block.") < chat.screen.index("the price and the window")
        assert chat.leave() == 0


def test_the_lines_of_a_plain_table_stay_lines(open_chat, llm_server):
    llm_server.script(Reply(text="region  rows\neast       2\nwest      10"))
    with open_chat("Rows by region?") as chat:
        chat.expect("region  rows\neast       2\nwest      10")
        assert chat.leave() == 0


def test_an_answer_is_shown_as_it_streams_and_finished_blocks_are_printed_once(open_chat, llm_server):
    gate = Gate(after_deltas=3)
    llm_server.script(Reply(text=["# Title\n\n", "- one\n- **two**\n\n", "last wo", "rds"], gate=gate))
    with open_chat("hello") as chat:
        chat.expect("› hello", "Title", "• one", "• two", "last wo")
        gate.open()
        chat.expect("last words")
        assert chat.leave() == 0
        assert chat.screen.count("• two") == chat.screen.count("last words") == 1


def test_the_output_of_a_tool_is_live_and_folded_with_a_count(open_chat, llm_server):
    os.mkfifo(open_chat.home.cwd / "go")
    llm_server.script(Reply(tool_calls=[Call("build")]), Reply(text="built"))
    with open_chat("build it") as chat:
        chat.expect("build", "… 95 lines above", "step 99")
        (open_chat.home.cwd / "go").write_text("on")
        chat.expect("● build", "│ step 1\n  │ … 95 more lines\n  │ step 97", "built")
        assert chat.leave() == 0


def test_an_edit_is_shown_as_a_difference_and_always_is_remembered(open_chat, llm_server):
    calls = [Reply(tool_calls=[Call("change", {"path": f"{name}.txt", "text": "after\tit\u202e"})]) for name in "ab"]
    llm_server.script(*calls, Reply(text="done"))
    with open_chat("change two files") as chat:
        chat.expect("--- a.txt", "-before", "+after", "it\\u202e", "Change a.txt? (talking)", "Run change?", "[a]lways")
        assert not (open_chat.home.cwd / "a.txt").exists()
        chat.send("a")
        chat.expect("allowed, in this session", '● change path="a.txt"', '● change path="b.txt"', "done")
        assert chat.leave() == 0
    assert (open_chat.home.cwd / "b.txt").read_text() == "after\tit\u202e"


def test_a_shell_command_is_offered_asked_about_and_run(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("bash", {"command": "echo 'by \"bash\"' > made"})]), Reply(text="done it"))
    with open_chat("make it") as chat:
        chat.expect("""\n  $ echo 'by "bash"' > made\n""", "Run bash?")
        assert not (open_chat.home.cwd / "made").exists()
        chat.send("y")
        chat.expect("done it")
        assert chat.leave() == 0
    assert {"bash", "web_fetch", "web_search"} <= set(llm_server.requests[0].tool_names)
    assert (open_chat.home.cwd / "made").read_text() == 'by "bash"\n'


def test_always_shows_its_rule_asks_where_it_holds_and_is_shown_and_revoked(open_chat, llm_server, skillkit_cli):
    line = Call("bash", {"command": "git --version"})
    llm_server.script(Reply(tool_calls=[line]), Reply(tool_calls=[line]), Reply(text="both done"))
    with open_chat("which git?", columns=80) as chat:
        chat.expect("Run bash?", "[a]lways")
        chat.send("a")
        chat.expect("Always allow Bash(git --version), for 30 days, where?\n[s]ession  [p]roject  [e]verywhere  [b]ack")
        chat.send("b")
        chat.expect("[y]es  [n]o  [a]lways")
        chat.send("a")
        chat.expect("[p]roject")
        chat.send("p")
        chat.expect("allowed, in this project", "both done")
        chat.say("/permissions")
        chat.expect("Bash(git --version)", "project")
        assert chat.leave() == 0
    (answer,) = skillkit_cli("permissions", "list", "--json").ok().json["remembered"]
    assert (answer["rule"], answer["scope"]) == ("Bash(git --version)", "project")
    assert answer["where"] == str(open_chat.home.cwd.resolve()) and answer["expires"] is not None
    assert "Forgotten" in skillkit_cli("permissions", "revoke", answer["id"]).ok().stdout


def test_always_at_an_edit_offers_all_edits_of_the_session(open_chat, llm_server):
    edits = [Call("write", {"path": f"{name}.txt", "content": name}) for name in ("one", "two")]
    llm_server.script(*(Reply(tool_calls=[edit]) for edit in edits), Reply(text="both are written"))
    with open_chat("write them") as chat:
        chat.expect("Run write?", "[a]lways")
        chat.send("a")
        chat.expect("Always allow Edit(", "[e]verywhere  [a]ll edits of the session  [b]ack")
        chat.send("a")
        chat.expect("both are written", "accept-edits")
        chat.say("/permissions")
        screen = chat.expect("Mode: accept-edits")
        assert chat.leave() == 0
    assert "remembered" not in str(screen)
    assert (open_chat.home.cwd / "two.txt").read_text() == "two"


def test_a_long_difference_is_cut_and_shown_whole_and_a_no_is_told_to_the_model(open_chat, llm_server):
    long = "\n".join(f"line {n}" for n in range(199)) + "\nline 199" + " and on" * 30
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "a", "text": long})]), Reply(text="as you like"))
    with open_chat("change") as chat:
        chat.expect("line 15", "lines are hidden", "line 199", "[s]how all")
        assert "line 100" not in chat.screen
        assert re.search(r"\n      \S* ?and on", chat.screen), "no row begins where those of the conversation begin"
        chat.send("s")
        chat.expect("line 150", "[y]es  [n]o  [a]lways  [l]ater  [w]hy not")
        chat.send("n")
        chat.expect("denied", "as you like")
        assert chat.leave() == 0
    assert llm_server.last.tool_results[0].text == "Denied: a person said no"


def test_a_denial_takes_a_reason(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "a", "text": "x"})]), Reply(text="I do that"))
    with open_chat("change") as chat:
        chat.expect("Run change?", "[w]hy not")
        chat.send("w\r")
        chat.expect("Why not? The model reads it.")
        chat.send("use the other file\r")
        chat.expect("denied", "I do that")
        assert chat.leave() == 0
    assert llm_server.last.tool_results[0].text == "Denied: a person said no: use the other file"


def test_a_preview_that_fails_leaves_the_arguments(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "broken", "text": "x"})]), Reply(text="fine"))
    with open_chat("change") as chat:
        chat.expect("no preview: ValueError: no such file", '{"path": "broken", "text": "x"}', "Run change?")
        chat.send("y")
        chat.expect("allowed", "fine")


def test_what_a_person_was_typing_answers_no_question(open_chat, llm_server):
    gate = Gate(after_deltas=None)
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "a", "text": "x"})], gate=gate), Reply(text="fine"))
    with open_chat("change") as chat:
        chat.expect("thinking")
        gate.open()
        chat.expect("Change a? (talking)")
        chat.send("y")
        chat.expect("Run change?", "› y", "no answer: Enter says it")
        chat.send("et another way")
        chat.expect("› yet another way")
        assert not (open_chat.home.cwd / "a").exists(), "the y was part of a text"
        chat.send(ESC)
        chat.expect("denied", "fine", "› yet another way")
        chat.send(CTRL_C)
        chat.expect("in the history")
        chat.send(CTRL_C)
        assert chat.wait() == 0


def test_enter_steers_while_a_run_goes_on(open_chat, llm_server):
    gate = Gate(after_deltas=1)
    llm_server.script(Reply(text=["I beg", "in"], gate=gate), Reply(text="as you say"))
    with open_chat("begin") as chat:
        chat.expect("I beg")
        chat.say("rather end")
        chat.expect("queued: rather end")
        gate.open()
        chat.expect("I begin", "› rather end", "as you say")
        assert chat.leave() == 0
    assert len(llm_server.requests) == 2


@pytest.mark.parametrize("at_once", [False, True], ids=["when it is over", "while it ends"])
def test_a_key_interrupts_and_what_waited_comes_back_into_the_line(open_chat, llm_server, at_once):
    llm_server.script(Reply(tool_calls=[Call("linger")]), Reply(text="again"))
    with open_chat("wait") as chat:
        chat.expect("printed by a plugin")
        chat.expect("lingering")
        chat.say("and then")
        chat.expect("queued: and then")
        chat.send("half a li")
        chat.expect("half a li")
        if at_once:
            chat.send(CTRL_C + "ne\r")
        else:
            chat.send(ESC)
            chat.expect("interrupted", "and then", "half a li")
            chat.send("ne\r")
        chat.expect("› and then", "  half a line", "again")
        assert chat.leave() == 0


def test_ctrl_c_twice_leaves_at_once_and_keeps_the_session(open_chat, llm_server, skillkit_cli):
    llm_server.script(Reply(tool_calls=[Call("linger")]))
    with open_chat("wait") as chat:
        chat.expect("lingering")
        chat.send("unsent" + CTRL_C + CTRL_C)
        assert chat.wait() == 0
        chat.expect("Go on with")
    assert sessions(skillkit_cli)[0]["title"] == "wait"
    assert "unsent" in (open_chat.home.data_dir / "chat_history").read_text()


def test_a_session_goes_on_where_it_was(open_chat, llm_server):
    llm_server.script(Reply(text="the first answer"), Reply(text="the second answer"))
    with open_chat("the first question") as chat:
        chat.expect("the first answer")
        assert chat.leave() == 0
    with open_chat("--continue") as chat:
        chat.expect("› the first question", "the first answer", "\n›\n")
        chat.say("and now?")
        chat.expect("the second answer")
        assert chat.leave() == 0
    said = [item.text for item in llm_server.last.items if item.kind in ("user", "assistant")]
    assert [text for text in said if "<environment>" not in text] == [
        "the first question",
        "the first answer",
        "and now?",
    ]


def test_a_session_that_goes_on_shows_its_calls(open_chat, llm_server):
    llm_server.script(Reply(text="I ask.", tool_calls=[Call("bash", {"command": "ls -a"})]), Reply(text="listed"))
    with open_chat("list") as chat:
        chat.expect("listed")
        assert chat.leave() == 0
    with open_chat("--continue") as chat:
        chat.expect("› list\n", "I ask.\n● bash ls -a", "listed")
        assert chat.leave() == 0


class Numbers:
    """The books of a session that used much."""

    total, turn, cost, context, window = TokenUsage(input=431_000, output=65_000), TokenUsage(), 1.25, 99_000, 200_000
    model, title = "vendors/anthropic/claude-large-4-20260101", "why does average() fail?"

    def indicators(self):
        return {"mode": "accept-edits", "activity": "PLAN", "network": "NET on"}


def test_a_narrow_status_line_keeps_cost_and_context_and_drops_tokens():
    line = status_line(Numbers(), 80)
    assert len(line) < 80 and "$1.25 · 50% of 200k" in line and "↑431k" not in line and "accept-edits" in line
    assert "↑431k ↓65.0k · $1.25 · 50% of 200k" in status_line(Numbers(), 120)


def test_a_decision_that_was_put_off_is_asked_about_when_the_session_goes_on(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "a", "text": "x"})]), Reply(text="changed it"))
    with open_chat("change") as chat:
        chat.expect("Run change?", "[l]ater")
        chat.send("l")
        chat.expect("put off: another message denies what waits")
        assert chat.leave() == 0
    with open_chat("--continue") as chat:
        chat.expect("waits for a decision", "+x", "Run change?")
        assert b"\x1b]2;SkillKit: a question waits\x07" in chat.seen, "and the bell rings"
        chat.send("y")
        chat.expect("changed it")
        assert chat.leave() == 0
    assert (open_chat.home.cwd / "a").read_text() == "x"


def test_commands_are_completed_and_a_prompt_file_is_asked(open_chat, llm_server):
    llm_server.script(Reply(text="reviewed"))
    (open_chat.home.config_dir / "commands").mkdir(parents=True)
    (open_chat.home.config_dir / "commands" / "review.md").write_text("Review $ARGUMENTS strictly.")
    with open_chat() as chat:
        chat.ready()
        chat.send("/re")
        chat.expect("/resume", "/review")
        chat.send("v\t")
        chat.expect("› /review")
        chat.send("a.py\r")
        chat.expect("› /review a.py", "reviewed")
        assert chat.leave() == 0
    assert llm_server.last.user_text == "Review a.py strictly."


def test_skills_are_listed_completed_and_called(open_chat, llm_server, echoes):
    llm_server.script(Reply(text="I repeat"))
    with open_chat("/skills") as chat:
        chat.expect("echoes: Repeats words")
        chat.send("/ech\tgood morning\r")
        chat.expect("› /echoes good morning", "I repeat")
        assert chat.leave() == 0
    assert "Repeats what it is told." in llm_server.last.user_text


def test_files_are_completed_after_an_at_a_pasted_path_becomes_one_and_images_are_sent(open_chat, llm_server):
    (open_chat.home.cwd / "pictures").mkdir()
    (open_chat.home.cwd / "pictures" / "pixel.png").write_bytes(PIXEL)
    (open_chat.home.cwd / "a picture.png").write_bytes(PIXEL)
    llm_server.script(Reply(text="one pixel"))
    with open_chat() as chat:
        chat.ready()
        chat.send(f"\x1b[200~'{open_chat.home.cwd}/a picture.png'\x1b[201~")
        chat.expect('a picture.png"')
        chat.send(CTRL_C)
        chat.expect("in the history")
        chat.send("what is @pix")
        chat.expect("pictures/pixel.png")
        chat.send("\t")
        chat.expect("› what is @pictures/pixel.png")
        chat.send("\r\r")
        chat.expect("› what is @pictures/pixel.png", "one pixel")
        assert chat.leave() == 0
    assert base64.b64encode(PIXEL).decode() in llm_server.last.raw.decode()


def test_a_text_may_have_several_lines(open_chat, llm_server):
    llm_server.script(Reply(text="four lines"))
    with open_chat() as chat:
        chat.ready()
        for line in ("first\x1b\r", "second\n", "third\\\r"):
            chat.send(line)
            chat.expect(line[:5])
        chat.send("last\r")
        chat.expect("› first\n  second\n  third\n  last", "four lines")
        assert chat.leave() == 0


def test_the_history_is_kept_for_the_person_alone(open_chat, llm_server):
    llm_server.always(Reply(text="an answer"))
    with open_chat() as chat:
        chat.ready()
        chat.say("remember me")
        chat.expect("an answer")
        assert chat.leave() == 0
    file = open_chat.home.data_dir / "chat_history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with open_chat() as chat:
        chat.ready()
        chat.send(UP)
        chat.expect("› remember me")
        chat.send("\r")
        chat.expect("an answer")


def test_help_is_a_line_a_command_an_unknown_one_comes_back_and_nothing_said_leaves_no_session(
    open_chat, llm_server, skillkit_cli, echoes
):
    llm_server.script(Reply(text="which hosts?"))
    with open_chat(columns=60) as chat:
        chat.ready()
        chat.expect("\nany")
        chat.say("/help")
        chat.expect("Commands", "/clear", "/compact", "/quit", "Keys", "Alt-Enter")
        assert re.search(r"\n  /echoes \[TEXT\] +Repeats words.*…\n  /", chat.screen)
        chat.say("/quit")
        assert chat.wait() == 0
    assert sessions(skillkit_cli) == []
    with open_chat() as chat:
        chat.ready()
        chat.say("/modell")
        chat.expect("Error: unknown slash command 'modell'", "model")
        chat.send(CTRL_C)
        chat.say("/etc/hosts is wrong")
        chat.expect("which hosts?")
        assert chat.leave() == 0


def test_a_compaction_that_a_person_asks_for_is_told_in_one_line(open_chat, llm_server):
    llm_server.script(Reply(text="hi"))
    with open_chat("hello") as chat:
        chat.expect("hi", "↓5")
        assert chat.leave() == 0
    with open_chat("--continue") as chat:
        chat.ready()
        chat.say("/compact")
        chat.expect("Nothing was shortened: it would free too little.")
        chat.say("/session")
        chat.expect(" messages, about ")
        assert chat.screen.count("shorten") == 1
        assert chat.leave() == 0


def test_a_survey_is_answered_question_by_question_or_declined(open_chat, llm_server):
    asking = Reply(tool_calls=[Call("interview")])
    llm_server.script(asking, Reply(text="thank you"), asking, Reply(text="never mind"))
    with open_chat("ask me") as chat:
        chat.expect("A bicycle", "For whom we build it.", "What is it called?", "Enter ends")
        chat.send("Rocket\r")
        chat.expect("What is it called? Rocket", "Which colour?", "1. red", "like fire")
        chat.send("wat")
        chat.expect("/wat")
        chat.send("\r")
        chat.expect("Which colour? blue", "Which other colours?", "[ ] red")
        chat.send(" " + DOWN + DOWN + " \r")
        chat.expect("Which other colours? red, green", "Is it fast?", "[y]es")
        chat.send("y")
        chat.expect("Is it fast? yes", "The code of its lock?", "nobody sees")
        chat.send("1234\r")
        chat.expect("•••", "the bicycle is ordered", "thank you")
        chat.say("once more")
        chat.expect("What is it called?  Enter ends")
        chat.send(ESC)
        chat.expect("declined", "nobody said", "never mind")
        assert chat.leave() == 0
        assert "1234" not in chat.screen
    assert "'fast': True} and a code of 4 characters" in llm_server.requests[1].tool_results[0].text
    assert "1234" not in (open_chat.home.data_dir / "chat_history").read_text()


def test_a_failure_is_one_line_and_the_text_comes_back_and_a_retry_is_said(open_chat, llm_server):
    llm_server.script(Fail(400, message="no such thing"), Fail(503, retry_after=0), Reply(text="better"))
    with open_chat("hello") as chat:
        chat.expect("Error: ", "no such thing")
        assert "Traceback" not in chat.screen
        chat.say("again")
        chat.expect("trying again in", "better")
        assert chat.leave() == 0


def test_the_status_line_counts_and_the_model_is_chosen_by_a_command(open_chat, llm_server):
    llm_server.script(
        Reply(text="hi"), Reply(text="ho \u202eeh", usage=TokenUsage(input=434, cache_read=800, output=567))
    )
    with open_chat("hello") as chat:
        chat.expect("hi", "any · ↑10 ↓5 · context 15 · hello")
        chat.say("/session")
        chat.expect("Used 15 tokens")
        chat.say("/usage")
        chat.expect("\nhello    10             0    5  not known\nin all", "Context: about 15 tokens.")
        chat.say("more")
        chat.expect("ho \\u202eeh")
        chat.expect("any · ↑1.2k (800 cached) ↓567 of ↑1.2k (800 cached) ↓572 · context 1.8k · hello")
        chat.say("/new")
        chat.expect("Now in a new session")
        assert chat.leave() == 0


def test_the_status_line_shows_what_plugins_indicate_and_first_what_is_not_as_usual(open_chat, llm_server):
    cwd = open_chat.home.cwd
    llm_server.script(Reply(text="hi"))
    (cwd / "activity").write_text("PLAN")
    (cwd / "weather").write_text("sun\x1b[2Jny")
    with open_chat("hello") as chat:
        chat.expect("hi", "\nPLAN · any · ↑10 ↓5 · context 15 · sun\\x1b[2Jny · hello")
        (cwd / "activity").write_text("EXECUTE")
        (cwd / "network").write_text("NET off")
        chat.say("/session")
        chat.expect("\nNET off · any · ")
        assert chat.leave() == 0


def test_a_signal_ends_it_and_keeps_what_was_typed(open_chat, llm_server):
    llm_server.script(Hang())
    with open_chat("hello") as chat:
        chat.expect("thinking")
        chat.send("not yet sent")
        chat.expect("not yet sent")
        chat.process.send_signal(signal.SIGTERM)
        assert chat.wait() == 143
    assert "not yet sent" in (open_chat.home.data_dir / "chat_history").read_text()


def test_a_signal_ends_it_while_a_plugin_loops_and_frees_the_session(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("spin")]))
    with open_chat("spin") as chat:
        chat.expect("spinning")
        chat.process.send_signal(signal.SIGTERM)
        assert chat.wait() == 143
    with open_chat("--continue") as chat:  # nobody holds the session
        chat.expect("› spin", "\n›")


def test_a_question_waits_in_the_session_of_a_conversation_that_a_signal_ends(open_chat, llm_server):
    llm_server.script(Reply(tool_calls=[Call("change", {"path": "a", "text": "x"})]), Reply(text="changed it"))
    with open_chat("change") as chat:
        chat.expect("Run change?")
        chat.process.send_signal(signal.SIGHUP)
        assert chat.wait() == 129
    with open_chat("--continue") as chat:
        chat.expect("waits for a decision", "Run change?")
        chat.send("y")
        chat.expect("changed it")
        assert chat.leave() == 0
