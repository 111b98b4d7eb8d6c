"""The command in a real terminal: tmux, a session, and a scripted server behind the model."""

import contextlib
import os
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from skillkit_testkit import Call, Fail, Gate, Reply

PLUGIN = Path(__file__).parent / "support" / "asking_plugin.py"
PATIENCE = 60.0


class Tmux:
    """A program in a window of tmux that nobody is attached to."""

    def __init__(self, folder, argv, cwd, env, columns=100, rows=30, before=":"):
        self._socket = str(folder / "tmux")
        self._env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "TMUX")}
        script = f"{before}; TERM=tmux-256color {shlex.join(argv)}; echo ended with $?; exec sleep 600"
        size = ["-x", str(columns), "-y", str(rows)]
        os.mkfifo(pipe := folder / "written")
        self._written = os.open(pipe, os.O_RDWR)  # what is written to the screen; open for both, so that nothing waits
        self._run("-f", os.devnull, "new-session", "-d", "-c", str(cwd), *size, "sh", "-c", script)
        self._run("pipe-pane", f"exec cat > {shlex.quote(str(pipe))}")

    def _run(self, *words):
        argv = ["tmux", "-u", "-S", self._socket, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True, env=self._env).stdout

    def keys(self, *keys):
        for key in keys:
            self._run("send-keys", key)

    def write(self, text):
        self._run("send-keys", "-l", text)

    def type(self, text):
        self.write(text)
        self.keys("Enter")

    @property
    def screen(self):
        return self._run("capture-pane", "-p")

    def expect(self, *texts, gone=()):
        until = time.monotonic() + PATIENCE
        while True:
            screen = self.screen
            missing = [text for text in texts if text not in screen] + [text for text in gone if text in screen]
            if not missing:
                return screen
            left = until - time.monotonic()
            assert left > 0 and select.select([self._written], [], [], left)[0], f"{missing} on:\n{screen}"
            os.read(self._written, 65_536)

    def close(self):
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True)
        if self._written is not None:
            os.close(self._written)
            self._written = None


@pytest.fixture
def terminal(skillkit_cli, llm_server, install_plugin, tmp_path):
    """``terminal("--continue", ...)`` opens the UI in tmux."""
    if shutil.which("tmux") is None:
        assert not os.environ.get("CI"), "CI must have tmux"
        pytest.skip("there is no tmux")
    install_plugin("asking", PLUGIN)
    opened = []

    def open_(*args, before=":", **env):
        asked = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "-m", "any")
        argv = [*skillkit_cli.argv, "-P", "asking", "tui", *asked, *args]
        whole = {**os.environ, "LC_ALL": "C.UTF-8", "OPENAI_API_KEY": "key-of-the-tests", **env}
        (tmp_path / str(len(opened))).mkdir()
        opened.append(Tmux(tmp_path / str(len(opened)), argv, skillkit_cli.home.cwd, whole, before=before))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def test_a_session_in_tmux_from_the_first_word_to_going_on_with_it(terminal, llm_server, skillkit_cli):
    home, gate = skillkit_cli.home, Gate(after_deltas=2)
    (home.cwd / "plan.md").write_text("old")
    llm_server.script(
        Reply(text="I write it.", tool_calls=[Call("jot", {"text": "by the model"})]),
        Reply(text=["# Done\n\n", "*all* of ", "it \x1b]0;owned\x07\u202e"], gate=gate),
        Reply(text="steered", tool_calls=[Call("mark")]),
        Reply(text="all is done"),
        Fail(status=400, message="no more"),
    )
    edits = "echo editing; until [ -e marked ]; do sleep 0.02; done; echo new"  # once the agent has gone on
    on = terminal(SKILLKIT_TUI__LEADER_TIMEOUT="60", EDITOR=f"sh -c 'touch begun; {edits} > \"$0\"'")
    on.expect("[INSERT] [EXECUTE]", "[NET on]", "any", "SkillKit 0.", "trusted", "/help: keys and commands")
    on.type("write it")
    on.expect("Write it? (asking)", "Run jot?", "[y]es", "by the model", "[ASK]")
    assert not (home.cwd / "made").exists()
    on.keys("y")
    on.expect("● jot by the model — 30 lines", "# Done", "*all*")
    assert (home.cwd / "made").read_text() == "by the model"
    on.type("and this")
    on.expect("↳ queued: and this")
    on.keys("Escape")
    on.expect("[NORMAL]")
    on.keys("Space")
    on.expect("[LEADER]", "edit a file")
    on.keys("w")
    on.expect("editing", gone=["[NORMAL]"])  # the editor has the terminal
    gate.open()
    on.expect("the plan is new", "● mark", "all is done", "[NORMAL]")
    screen = on.expect("  Done\n", "all of it \\x1b]0;owned\\x07\\u202e", "steered", gone=["# Done", "queued"])
    assert screen.index("all of it") < screen.index("› and this") < screen.index("steered")
    on.keys(*["["] * 7, "Enter")
    on.expect("▌", "│ text: by the model", "│ written")
    on.keys("Escape")
    on.expect("any", gone=["▌"])
    on.keys("i")
    on.type("fail")
    on.expect("✗", "no more")
    on.type("/quit")
    screen = on.expect("ended with 0", "Go on with: skillkit tui --session ")
    for going_on in (["--continue"], ["--session", screen.partition("--session ")[2].split()[0]]):
        again = terminal(*going_on)
        again.expect("› write it", "● jot by the model — 30 lines", "steered", "| i:", "write it")
        again.keys("C-c", "C-c")
        again.expect("ended with 0")


def test_what_is_typed_before_the_first_screen_is_for_the_line_and_enter_sends_it(terminal, llm_server, skillkit_cli):
    llm_server.script(Reply(text="first answer"), Reply(text="second answer"))
    go = skillkit_cli.home.cwd / "go"
    on = terminal(before=f"until [ -e {shlex.quote(str(go))} ]; do sleep 0.02; done")
    on.type("first question")
    on.type("secönd")
    on.keys("M-Enter")
    on.type("question")
    on.keys("x", "Left", "y")
    on.expect("secönd")  # the terminal has them
    go.touch()
    on.expect("› first question", "first answer", "› secönd\n    question", "second answer", "› yx", "[INSERT]")
    assert [r.body["messages"][-1]["content"] for r in llm_server.requests] == ["first question", "secönd\nquestion"]


def test_a_sentence_at_an_approval_runs_nothing_and_esc_is_a_no(terminal, llm_server, skillkit_cli):
    llm_server.script(Reply(tool_calls=[Call("jot", {"text": "by the model"})]), Reply(text="as you like"))
    on = terminal("write it")
    on.expect("Run jot?", "[ASK]")
    on.write("yes, but try another way")
    on.expect("› yes, but try another way", "no answer: Enter says it, Ctrl-C sets it aside, Esc is a no", "Run jot?")
    assert not (skillkit_cli.home.cwd / "made").exists()
    on.keys("Escape")
    on.expect("as you like", "Denied: a person said no", "› yes, but try another way", "[INSERT]")
    assert llm_server.last.tool_results[0].text == "Denied: a person said no"


def test_wrong_usage_is_said_in_a_line(skillkit_cli):
    piped = skillkit_cli("tui")
    assert piped.exit_code == 2 and "the UI needs a terminal" in piped.stderr
    both = skillkit_cli("tui", "--session", "a", "--continue")
    assert both.exit_code == 2 and "exclude each other" in both.stderr
    assert "--resume" in skillkit_cli("tui", "--help").ok().stdout


def test_a_plan_is_edited_while_the_agent_works(terminal, llm_server, skillkit_cli):
    gate = Gate(after_deltas=1)
    llm_server.script(Reply(text=["I work on ", "and it is done"], gate=gate))
    on = terminal(SKILLKIT_TUI__LEADER_TIMEOUT="60", EDITOR="sh -c 'echo do it well > \"$0\"'")
    on.expect("[INSERT] [EXECUTE]")
    on.type("go")
    on.expect("I work on")
    on.keys("Escape")
    on.expect("[NORMAL]")
    on.keys("Space")
    on.expect("[LEADER]", "edit the plan")
    on.keys("e")
    on.expect("The plan has changed: 1 line.", "I work on")
    gate.open()
    on.expect("and it is done")
    assert (skillkit_cli.home.cwd / ".skillkit" / "plan.md").read_text() == "do it well\n"


def test_a_window_that_is_closed_at_a_question_ends_the_ui_and_frees_the_session(terminal, llm_server, tmp_path):
    llm_server.script(Reply(tool_calls=[Call("jot", {"text": "by the model"})]), Reply(text="here again"))
    with lives(tmp_path) as alive:
        on = terminal(before=f"exec 9> {alive}")
        on.expect("[INSERT]")
        on.type("write it")
        on.expect("Run jot?", "[ASK]")
        on.close()
    again = terminal("--continue")
    again.expect("› write it", "the session waits for a decision", "Run jot?")
    again.keys("y")
    again.expect("here again")


def test_a_window_that_is_closed_while_a_plugin_loops_ends_the_ui_and_frees_the_session(terminal, llm_server, tmp_path):
    llm_server.script(Reply(tool_calls=[Call("spin")]), Reply(text="here again"))
    with lives(tmp_path) as alive:
        on = terminal("spin", before=f"exec 9> {alive}")
        on.expect("› spin")
        on.expect("spinning")
        on.close()
    again = terminal("--continue")
    again.expect("› spin", "[INSERT]")


@contextlib.contextmanager
def lives(folder):
    """A pipe that a program holds open; the block ends when the program has."""
    os.mkfifo(pipe := folder / "lives")
    alive = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    yield pipe
    assert select.select([alive], [], [], PATIENCE)[0], "the UI did not end"
    os.close(alive)
