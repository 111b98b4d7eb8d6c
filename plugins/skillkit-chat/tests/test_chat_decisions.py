"""Decisions that are put off, through the command line: one process suspends, another one goes on."""

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).parent / "support" / "guarded_plugin.py"


@dataclass
class Desk:
    """The command line with the plugin of ``support/guarded_plugin.py`` beside the installed ones."""

    cli: Any

    def __call__(self, *args, **options):
        return self.cli("-P", "guarded", *args, **options)

    def run(self, *args, **options):
        return self("run", "--provider", "obeys", *args, **options)

    def suspended(self, request="pay 5 7 1", *args):
        """A new session that waits for a decision; gives its id."""
        done = self.run("--approvals", "defer", "--json", *args, request)
        assert (done.exit_code, done.json["outcome"]) == (1, "suspended"), str(done)
        return done.json["session"]

    def typed(self, command, **options):
        """Run a command that was printed, word by word."""
        program, *args = shlex.split(command)
        assert program == "skillkit"
        return self.cli(*args, **options)

    def lines(self, name):
        """What the plugin has written: ``paid`` or ``guarded``."""
        file = self.cli.home.cwd / name
        return file.read_text().split() if file.exists() else []

    @property
    def paid(self):
        return self.lines("paid")

    def outcomes(self, session):
        """The results in the session, in the order in which they were kept."""
        entries = self("sessions", "show", session, "--json").ok().json["entries"]
        messages = [e["data"]["message"] for e in entries if e["type"] == "message"]
        return [(m["tool_call_id"], m.get("outcome", "ok")) for m in messages if m["role"] == "tool_result"]

    def at_a_terminal(self, *args, steps=(), columns=100, before=b""):
        """Type at a terminal: each step waits for a text and answers it, or calls a function for the answer.

        Keys of ``before`` are typed as soon as the program starts. Give what was seen, and the exit code.
        """
        with self.cli.terminal("-P", "guarded", *args, columns=columns) as terminal:
            terminal.send(before)
            for text, answer in steps:
                terminal.wait_for(text)
                terminal.send(answer() if callable(answer) else answer)
            code = terminal.wait()
            return terminal.text, code


@pytest.fixture
def desk(skillkit_cli, install_plugin):
    install_plugin("guarded", PLUGIN)
    return Desk(skillkit_cli)


# --- putting a decision off ---------------------------------------------------------------------------------------


def test_a_run_is_suspended_and_the_printed_command_goes_on(desk):
    done = desk.run("--approvals", "defer", "pay 5 7 1")
    assert done.exit_code == 1 and desk.paid == ["1"], "what nobody asks about runs"
    assert "Suspended: 2 calls wait for a decision" in done.stderr
    for shown in ('call_5  pay {"amount": 5}', "Pay 5 euros? (guarded)", 'call_7  pay {"amount": 7}'):
        assert shown in done.stderr
    command = next(line for line in done.stderr.splitlines() if line.startswith("Go on with: ")).partition(": ")[2]
    again = desk.typed(command)
    assert again.exit_code == 0, str(again)
    assert again.stdout == "paid 5; paid 7; paid 1\n", "the results are sent in the order of the calls"
    assert desk.paid[0] == "1" and sorted(desk.paid) == ["1", "5", "7"], "calls of one answer run at the same time"
    assert desk.lines("guarded") == ["5", "7", "1", "5", "7"]


def test_json_says_what_waits_and_how_to_go_on(desk):
    done = desk.run("--approvals", "defer", "--json", "pay 5")
    assert done.exit_code == 1 and done.stderr == ""
    found = done.json
    assert (found["ok"], found["outcome"], found["error"]["type"]) == (False, "suspended", "suspended")
    asked = [{"text": "Pay 5 euros?", "plugin": "guarded"}]
    assert found["waiting"] == [{"id": "call_5", "tool": "pay", "args": {"amount": 5}, "questions": asked}]
    again = desk.typed(found["resume"] + " --json").ok().json
    assert again["ok"] and again["session"] == found["session"]
    assert (again["waiting"], again["resume"], again["denied"]) == ([], None, [])
    assert [(c["id"], c["outcome"]) for c in again["tool_calls"]] == [("call_5", "ok")]


def test_who_answers_without_a_terminal(desk):
    assert desk.run("pay 5").stdout.startswith("Denied: nobody can be asked: Pay 5 euros?")
    assert desk.run("--approvals", "deny", "pay 5").ok() and desk.paid == []
    asks = desk.run("--approvals", "ask", "pay 5")
    assert asks.exit_code == 2 and "needs a terminal" in asks.stderr
    lost = desk.run("--approvals", "defer", "--no-session", "pay 5")
    assert lost.exit_code == 2 and "needs a session that is kept" in lost.stderr


def test_an_action_that_a_person_types_can_be_put_off_too(desk, echoes):
    done = desk.run("--approvals", "defer", "--skill", "echoes", "sure", "--json")
    assert done.exit_code == 1 and done.json["waiting"][0]["tool"] == "echoes__sure"
    again = desk("sessions", "resume", done.json["session"], "--allow", "all", "--json").ok().json
    assert (again["answer"], again["provider"]) == ("it was asked for", "direct"), "no model is asked for an answer"


# --- deciding -----------------------------------------------------------------------------------------------------


def test_the_guards_look_again_at_the_stored_arguments_and_have_the_last_word(desk):
    session = desk.suspended("pay 5")
    done = desk("sessions", "resume", session, "--allow", "all", env={"PAY_NOTHING": "1"}).ok()
    assert done.stdout == "Blocked: the rules changed\n" and desk.paid == []
    assert desk.lines("guarded") == ["5", "5"] and desk.outcomes(session) == [("call_5", "blocked")]


def test_calls_are_decided_one_by_one_and_the_rest_waits_on(desk):
    session = desk.suspended("pay 5 7 9")
    first = desk("sessions", "resume", session[:-3], "--allow", "call_9", "--json")
    assert first.exit_code == 1 and [c["id"] for c in first.json["waiting"]] == ["call_5", "call_7"]
    assert desk.paid == ["9"]
    last = desk("sessions", "resume", session, "--allow", "all", "--deny", "call_5").ok()
    assert last.stdout == "Denied: a person said no; paid 7; paid 9\n" and desk.paid == ["9", "7"]
    assert desk.outcomes(session) == [("call_9", "ok"), ("call_5", "denied"), ("call_7", "ok")]


def test_the_model_of_the_last_answer_goes_on_unless_another_one_is_named(desk, echoes):
    session = desk.suspended("pay 5")
    assert desk("sessions", "resume", session, "--deny", "all", "--json").ok().json["provider"] == "obeys"
    other = desk.suspended("pay 7")
    assert desk("sessions", "resume", other, "--deny", "all", "--provider", "offline", "--json").json["provider"] == (
        "offline"
    )


WRONG = (
    (["--allow", "cal_5"], "no call 'cal_5' waits for a decision; did you mean 'call_5'"),
    (["--allow", "zz"], "no call 'zz' waits for a decision; calls that wait: call_5, call_7"),
    (["--allow", "call"], "2 calls that wait start with 'call'"),
    (["--allow", "call_5", "--deny", "call_5"], "both allowed and denied"),
    (["--allow", "all", "--deny", "all"], "exclude each other"),
    (["--alow", "all"], "No such option '--alow'"),
    ([], "nobody can be asked"),
)


def test_a_decision_that_cannot_be_meant_is_wrong_usage_and_uses_nothing_up(desk):
    session = desk.suspended("pay 5 7")
    for words, said in WRONG:
        done = desk("sessions", "resume", session, *words)
        assert done.exit_code == 2 and said in done.stderr and done.stdout == "", str(done)
    assert desk("sessions", "show", session, "--json").ok().json["state"] == "suspended" and desk.paid == []


def test_what_waits_is_listed_where_nobody_can_be_asked(desk):
    session = desk.suspended("pay 5")
    done = desk("sessions", "resume", session)
    assert 'call_5  pay {"amount": 5}' in done.stderr and "Pay 5 euros?" in done.stderr and "--allow" in done.stderr
    listed = desk("sessions", "resume", session, "--json")
    assert listed.exit_code == 2 and [c["id"] for c in listed.json["waiting"]] == ["call_5"]


def test_calls_are_allowed_where_they_were_made_and_nowhere_else(desk, tmp_path):
    session = desk.suspended("pay 5")
    elsewhere = desk("sessions", "resume", session, "--allow", "all", cwd=tmp_path)
    assert elsewhere.exit_code == 2 and f"cd {desk.cli.home.cwd}" in elsewhere.stderr
    assert not (tmp_path / "paid").exists()
    assert desk("sessions", "resume", session, "--deny", "all", cwd=tmp_path).ok()


def test_a_decision_is_not_used_up_by_a_tool_that_is_not_there(desk):
    allowed = {"SKILLKIT_TOOLS__ALLOW": "pay_abroad"}
    suspended = desk.run("--approvals", "defer", "--json", "pay_abroad 5", env=allowed).json
    refused = desk("sessions", "resume", suspended["session"], "--allow", "all")
    assert refused.exit_code == 2 and "--permit pay_abroad, or tools.allow" in refused.stderr
    assert desk.typed(suspended["resume"], env=allowed).ok() and desk.paid == ["5"]


def test_nothing_waits(desk):
    session = desk.run("--json", "hello").ok().json["session"]
    decided = desk("sessions", "resume", session, "--allow", "all")
    assert decided.exit_code == 2 and "the last answer is complete" in decided.stderr
    assert "the last answer is complete" in desk("sessions", "resume", session).ok().stdout
    direct = desk("resume", session)
    assert direct.exit_code == 2 and "there is nothing to resume" in direct.stderr


def test_another_store(desk):
    desk.cli.home.write_config("session:\n  store: sqlite\n")
    session = desk.suspended("pay 5")
    desk.cli.home.write_config("")
    found = desk("sessions", "list", "--store", "sqlite", "--json").ok().json
    assert [row["suspended"] for row in found] == [True]
    waits = desk("sessions", "resume", session, "--store", "sqlite", "--json").json
    assert "--store sqlite" in waits["resume"]
    assert desk.typed(waits["resume"]).ok().stdout == "paid 5\n"


# --- seeing it ----------------------------------------------------------------------------------------------------


def test_listings_mark_what_waits_and_show_says_what_and_why(desk):
    assert "state" not in desk("sessions", "list").ok().stdout
    session = desk.suspended("pay 5")
    assert "  suspended  pay 5" in desk("sessions", "list").ok().stdout
    shown = desk("sessions", "show").ok().stdout
    assert '→ pay {"amount": 5}\ncall call_5: Pay 5 euros? (guarded)\n' in shown
    assert shown.endswith(f"go on with: skillkit -P guarded sessions resume {session}\n")
    desk("sessions", "resume", session, "--deny", "all").ok()
    after = desk("sessions", "show").ok().stdout
    assert "decision]\ndeny call_5: a person said no\n" in after and "go on with" not in after
    assert "state" not in desk("sessions", "list").ok().stdout


def test_another_request_denies_what_waits_and_says_so(desk):
    session = desk.suspended("pay 5")
    done = desk.run("--session", session[:-2], "never mind").ok()
    assert "this request denies what waited for a decision: pay (call_5)" in done.stderr
    assert done.stdout == "You said: never mind\n" and desk.outcomes(session) == [("call_5", "denied")]
    other = desk.suspended("pay 7")
    as_json = desk.run("--session", other, "--json", "never mind").ok().json
    assert [call["id"] for call in as_json["denied"]] == ["call_7"] and as_json["waiting"] == []
    assert desk.paid == []


def test_a_session_is_named_alike_everywhere(desk):
    ids = [desk.run("--json", "hello").ok().json["session"] for _ in range(2)]
    common = next(ids[0][:n] for n in range(len(ids[0]), 0, -1) if ids[1].startswith(ids[0][:n]))
    for name, said in (("zzz", "unknown session 'zzz'; known: "), (common, f"2 sessions start with '{common}'")):
        for command in (["run", "--session", name, "hello"], ["sessions", "show", name], ["sessions", "resume", name]):
            done = desk(*command)
            assert done.exit_code == 2 and said in done.stderr, str(done)
    assert desk.run("--session", ids[0][:-1], "--json", "hello").ok().json["session"] == ids[0]


def test_what_show_and_resume_propose_works_when_it_is_pasted(skillkit_cli, echoes, tmp_path):
    folder = tmp_path / "my skills"
    folder.mkdir()
    echoes.rename(folder / "echoes")

    def proposed(label, *command):
        (line,) = [text for text in skillkit_cli(*command).stdout.splitlines() if text.startswith(label)]
        return line.removeprefix(label)

    def pasted(command, at):
        shell = f'skillkit() {{ {shlex.join(skillkit_cli.program)} "$@"; }}; {command}'
        return subprocess.run(["sh", "-c", shell], cwd=at, capture_output=True, text=True, timeout=60)

    words = "repeat the words 'good morning'"
    asked = ("run", "--skills-dir", folder, "--approvals", "defer", "--json", "make sure that it was asked for")
    for store in ("jsonl", "sqlite"):
        skillkit_cli.home.write_config(f"session:\n  store: {store}\n")
        session = skillkit_cli(*asked).json["session"]
        skillkit_cli.home.write_config("")
        named = () if store == "jsonl" else ("--store", store)
        command = proposed("go on with: ", "sessions", "show", session, *named)
        assert f"--skills-dir '{folder}'" in command and not command.startswith("cd ")
        done = pasted(f"{command} --allow all", skillkit_cli.home.cwd)
        assert (done.returncode, done.stdout, done.stderr) == (0, "it was asked for\n", "")
        command = proposed("say something with: ", "sessions", "resume", session, *named).replace("...", words)
        done = pasted(command, skillkit_cli.home.cwd)
        assert (done.returncode, done.stdout, done.stderr) == (0, "good morning\n", "")
        messages = skillkit_cli("sessions", "show", session, *named, "--json").ok().json["entries"]
        assert words in str(messages), "it was said in that session"

    other = skillkit_cli(*asked).json["session"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = proposed("go on with: ", "-P", "bash", "sessions", "show", other)
    assert command.startswith("skillkit -P bash ")
    shown = pasted(f"skillkit sessions show {other}", elsewhere).stdout.splitlines()[-1]
    there = shown.removeprefix("go on with: ")
    assert there.startswith("cd ")
    assert pasted(f"{there} --allow all", elsewhere).stdout == "it was asked for\n"

    skillkit_cli.home.write_config(f"skills:\n  dirs: ['{folder}']\n")
    last = skillkit_cli(*asked).json["session"]
    assert "--skills-dir" not in proposed("go on with: ", "sessions", "show", last), "they are read anyway"


# --- what a crash left --------------------------------------------------------------------------------------------


def test_a_session_whose_process_died_goes_on_without_running_anything_twice(desk):
    dead = desk.run("crash 1")
    assert dead.exit_code < 0, "the process was killed"
    shown = desk("sessions", "show", "--json").ok().json
    assert shown["state"] == "interrupted"
    assert "go on with: skillkit -P guarded sessions resume" in desk("sessions", "show").ok().stdout
    done = desk("sessions", "resume", shown["session"]["id"]).ok()
    assert "not known whether it had an effect" in done.stdout and "ran again" not in done.stdout
    assert desk.outcomes(shown["session"]["id"]) == [("call_1", "interrupted")]


def test_what_is_safe_to_run_twice_is_run_again_after_a_crash(desk):
    assert desk.run("crash_safely 1").exit_code < 0
    session = desk("sessions", "list", "--json").ok().json[0]["id"]
    assert desk("sessions", "resume", session).ok().stdout == "ran again\n"


# --- at a terminal ------------------------------------------------------------------------------------------------

LATER = b"[l]ater, [w]hy not: "


def test_a_person_puts_one_call_off_and_decides_about_it_later(desk):
    seen, code = desk.at_a_terminal("run", "--provider", "obeys", "pay 5 7", steps=[(LATER, b"l\n"), (LATER, b"y\n")])
    assert code == 1 and "Suspended:" in seen and desk.paid == ["7"]
    session = desk("sessions", "list", "--json").ok().json[0]["id"]
    seen, code = desk.at_a_terminal("sessions", "resume", session, steps=[(LATER, b"y\n")])
    assert code == 0 and "Pay 5 euros?" in seen and '{"amount": 5}' in seen and "paid 5; paid 7" in seen
    assert desk.paid == ["7", "5"] and seen.count("Run it?") == 1


def test_a_question_of_a_tool_is_asked_at_the_terminal_by_the_numbers_of_its_options(desk):
    steps = [(b"A journey", b""), (b"  2  Oslo", b""), (b"Where to? (a number): ", b"7\n"), (b"The answer ", b"")]
    again = [(b"Where to? (a number): ", b"2\n")]
    seen, code = desk.at_a_terminal("run", "--provider", "obeys", "question 1", steps=[*steps, *again])
    assert code == 0 and "off to Oslo" in seen and "going to Oslo" in seen
    seen, code = desk.at_a_terminal("run", "--provider", "obeys", "question 1", steps=[(b"(a number): ", b"\n")])
    assert code == 0 and "nobody said where to" in seen


@pytest.mark.sample(1)
@pytest.mark.parametrize("before", [b"y\n", b"y\ny\n", b"y"])
def test_keys_that_are_typed_before_the_question_approve_nothing(desk, before):
    ask = ("run", "--provider", "obeys", "pay 5 7")
    seen, code = desk.at_a_terminal(*ask, before=before, steps=[(LATER, b"\n"), (LATER, b"y\n")])
    assert code == 0 and desk.paid == ["7"] and "Denied: a person said no; paid 7" in seen


@pytest.mark.sample(1)
@pytest.mark.parametrize("pasted", [b"y\nbut look first", b"y\nbut look first\n", b"y\n1. look\n2. ask"])
def test_lines_that_are_pasted_at_the_question_answer_nothing_also_where_the_last_one_has_no_end(desk, pasted):
    steps = [(LATER, pasted), (b"what is pasted answers nothing", b""), (LATER, b"n\n")]
    seen, code = desk.at_a_terminal("run", "--provider", "obeys", "pay 5", steps=steps)
    assert code == 0 and desk.paid == [] and "Denied: a person said no" in seen


def test_keys_that_are_typed_before_the_question_deny_nothing_that_waits(desk):
    session = desk.suspended("pay 5")
    ask = ("run", "--session", session, "--provider", "obeys", "never mind")
    _, code = desk.at_a_terminal(*ask, before=b"y\n", steps=[(b"[y/N] ", b"n\n")])
    assert code == 1 and desk("sessions", "show", session, "--json").ok().json["state"] == "suspended"


def noting(desk, args, **options):
    """Answer the question about a call of ``note`` with these arguments; give what was seen, and what was noted."""
    (desk.cli.home.cwd / "args.json").write_text(json.dumps(args))
    seen, _ = desk.at_a_terminal("run", "--provider", "obeys", "note args.json", **options)
    noted = desk.cli.home.cwd / "noted"
    return seen, json.loads(noted.read_text()) if noted.exists() else None


@pytest.mark.parametrize("columns", [80, 100])
def test_long_arguments_are_shown_head_and_tail_and_as_a_whole_on_request(desk, columns):
    args = {"path": "notes.txt", "text": "HEAD" + "x" * 5_000 + "MIDDLE" + "y" * 5_000 + "TAIL", "mode": "append"}
    steps = [(b"[y]es, [N]o, [a]lways, [s]how all, " + LATER, b"s\n"), (b"[y]es, [N]o, [a]lways, " + LATER, b"y\n")]
    seen, noted = noting(desk, args, steps=steps, columns=columns)
    assert noted == args
    first, _, rest = seen.partition("[s]how all")
    whole = rest.partition("Run it?")[0]
    for shown in ('"path": "notes.txt"', '"text": "HEADxxx', 'yyyTAIL"', '"mode": "append"', "characters are hidden"):
        assert shown in first
    hidden = int(first.partition(" characters are hidden")[0].rpartition(" ")[2].replace(",", ""))
    assert first.count("x") + first.count("y") + hidden - 10_000 < 400 and "MIDDLE" not in first
    assert "".join(line.strip() for line in whole.splitlines()).count("MIDDLE") == 1 and "hidden" not in whole
    inside = [line for line in first.splitlines() + whole.splitlines() if set("xy") & set(line) and len(line) > 60]
    assert all(line.startswith("  ") and len(line) <= columns for line in inside)


def test_many_arguments_are_shown_first_and_last(desk):
    args = {f"name{n}": "v" * 100 for n in range(200)}
    seen, noted = noting(desk, args, steps=[(b"[s]how all", b"n\n")])
    assert noted is None and "180 arguments are hidden" in seen
    assert '"name0":' in seen and '"name199":' in seen and '"name100"' not in seen


def test_an_answer_that_shows_all_is_a_no_where_all_was_shown(desk):
    seen, noted = noting(desk, {"text": "short"}, steps=[(b"Run it? [y]es, [N]o, [a]lways, [l]ater", b"s\n")])
    assert noted is None and ' {"text": "short"}\n' in seen and "Denied: a person said no" in seen


HIDDEN = {
    "\u202e": "\\u202e", "\u2066": "\\u2066", "\u200b": "\\u200b", "\ufeff": "\\ufeff", "\xad": "\\xad", "\xa0": "\\xa0",
    "\u3164": "\\u3164", "\u2800": "\\u2800", "\ufe0f": "\\ufe0f", "\x1b[8m": "\\u001b[8m", "\x9b1m": "\\x9b1m",
    "\U000e0041": "\\U000e0041",
}  # fmt: skip


def test_what_nobody_sees_or_what_turns_text_around_is_shown_escaped(desk):
    args = {f"é{char}é": f"<{char}>" for char in HIDDEN}
    seen, noted = noting(desk, args, steps=[(LATER[:-2], b"y\n")], columns=1000)
    assert noted == args
    question = seen.partition("I will.")[2].partition("Run it?")[0]
    assert all(f'"é{shown}é": "<{shown}>"' in question for shown in HIDDEN.values())
    assert "Note \\u202ethat\\u202c? (guarded)" in question and not any(char in question for char in HIDDEN)


def test_what_waits_says_that_something_is_hidden_and_how_to_see_it(desk):
    (desk.cli.home.cwd / "args.json").write_text(json.dumps({"text": "x" * 3_000 + "MIDDLE" + "x" * 3_000}))
    done = desk.run("--approvals", "defer", "note args.json")
    assert "characters are hidden" in done.stderr and "MIDDLE" not in done.stderr
    assert "--json instead of --allow all shows all of it" in done.stderr
    command = next(line for line in done.stderr.splitlines() if line.startswith("Go on with: ")).partition(": ")[2]
    (waiting,) = desk.typed(command.replace("--allow all", "--json")).json["waiting"]
    assert "MIDDLE" in waiting["args"]["text"]


@pytest.mark.parametrize(("word", "paid"), [("--allow", ["5", "7", "1"]), ("--deny", [])])
def test_calls_that_run_one_after_the_other_are_decided_together(desk, word, paid):
    session = desk.suspended("pay_in_turn 5 7 1")
    shown = desk("sessions", "resume", session, "--json").json["waiting"]
    assert [len(call["questions"]) for call in shown] == [1, 1, 0] and desk.paid == []
    done = desk("sessions", "resume", session, word, "all", "--json").json
    assert done["ok"] and done["waiting"] == [] and desk.paid == paid


@pytest.mark.parametrize(("answer", "expected"), [(b"\x03", 130), (b"l\n", 1)])
def test_leaving_a_question_open_changes_nothing(desk, answer, expected):
    session = desk.suspended("pay 5")
    before = desk("sessions", "show", session, "--all", "--json").ok().json["entries"]
    _, code = desk.at_a_terminal("sessions", "resume", session, steps=[(LATER, answer)])
    assert code == expected
    assert desk("sessions", "show", session, "--all", "--json").ok().json["entries"] == before


def test_somebody_else_decides_while_a_person_thinks(desk):
    session = desk.suspended("pay 5")

    def think():
        desk("sessions", "resume", session, "--deny", "all").ok()
        return b"y\n"

    seen, code = desk.at_a_terminal("sessions", "resume", session, steps=[(LATER, think)])
    assert code == 2 and "went on meanwhile" in seen and desk.paid == []


def test_decisions_that_are_typed_are_not_asked_about(desk):
    session = desk.suspended("pay 5 7")
    seen, code = desk.at_a_terminal("sessions", "resume", session, "--allow", "call_5", steps=[(LATER, b"n\n")])
    assert code == 0 and "Pay 7 euros?" in seen and "Pay 5 euros?" not in seen and desk.paid == ["5"]


@pytest.mark.parametrize(("answer", "expected", "state"), [(b"n\n", 1, "suspended"), (b"y\n", 0, "complete")])
def test_a_person_is_warned_before_another_request_denies_what_waits(desk, answer, expected, state):
    session = desk.suspended("pay 5")
    seen, code = desk.at_a_terminal(
        "run", "--session", session, "--provider", "obeys", "never mind", steps=[(b"[y/N] ", answer)]
    )
    assert code == expected and "Suspended:" in seen and "denies what waits" in seen
    assert desk("sessions", "show", session, "--json").ok().json["state"] == state


@pytest.mark.parametrize(("budget", "said"), [("0", "nothing is left of today"), ("1", "one turn is enough")])
def test_a_budget_of_a_plugin_ends_the_run_with_its_reason_and_exit_code_1(desk, budget, said):
    told = desk.run("pay 1", env={"BUDGET": budget})
    assert told.exit_code == 1 and told.stderr.splitlines()[-1].endswith(said), str(told)
    as_json = desk.run("--json", "pay 1", env={"BUDGET": budget})
    assert (as_json.exit_code, as_json.json["ok"], as_json.json["outcome"]) == (1, False, "limit")
    assert as_json.json["error"] == {"type": "limit", "message": said}
    assert len(desk.paid) == (0 if budget == "0" else 2)


def test_a_limit_of_the_configuration_says_where_it_is_raised(desk):
    told = desk.run("--max-turns", "1", "pay 1")
    assert told.exit_code == 1 and "limit of 1 turns" in told.stderr and "--max-turns" in told.stderr
