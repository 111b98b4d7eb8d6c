"""The command line as a person and as a program meets it: help, exit codes, errors, pipes and terminals."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from typing import Any

import click
import pytest

from skillkit_core.cli.main import CORE_COMMANDS, root
from skillkit_core.descriptors import load_object
from skillkit_core.host import registries as kinds

ESCAPE = "\x1b"
COMMANDS = """
import sys
import click

@click.group()
def acme(): "Do acme things."

@acme.command()
def wait():
    "Wait to be interrupted."
    import threading
    print("waiting", flush=True)
    threading.Event().wait()

@acme.command()
def crash():
    "Raise what nobody expects."
    raise KeyError("the key\\nto it all")

@acme.command()
def many():
    "Print more than a pipe holds."
    for i in range(100_000):
        click.echo(f"line {i}")

@acme.command()
@click.pass_context
def five(ctx):
    "End with five."
    ctx.exit(5)

@acme.command()
@click.option("--count", type=int, required=True)
def count(count):
    "Count."
    print(count)

@acme.command()
def thread():
    "Leave a thread behind."
    import threading
    threading.Thread(target=threading.Event().wait, name="stuck").start()
    print("done")

@acme.command()
def ask():
    "Ask a question."
    click.confirm("Really?", abort=True)
"""


def every_command() -> list[tuple[str, click.Command]]:
    """The core's commands with their paths."""
    found: list[tuple[str, click.Command]] = [("", root)]

    def walk(path: str, command: click.Command) -> None:
        found.append((path, command))
        if isinstance(command, click.Group):
            for name, inner in command.commands.items():
                walk(f"{path} {name}", inner)

    for name, (target, _) in CORE_COMMANDS.items():
        walk(name, load_object(target))
    return found


@pytest.fixture
def acme(site: Any) -> Any:
    (site.path / "acme_commands.py").write_text(COMMANDS)
    site.plugin(
        "acme",
        """
        @hookimpl
        def register_commands(register):
            register(Command("acme", "acme_commands:acme", "Do acme things."))
            register(Command("secret", "acme_commands:acme", "Nobody needs to know.", hidden=True))
        """,
    )
    return site


def terminal(site: Any, *arguments: str, columns: int = 80, **env: str) -> str:
    """Return what a command prints on a terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        site.argv(*arguments), cwd=site.cwd, env=site.env(TERM="xterm", **env), stdin=follower, stdout=follower,
        stderr=follower,
    )  # fmt: skip
    out = b""
    ended = False
    # The other end stays open here: Linux may drop what the process wrote last once nobody holds that end.
    while select.select([leader], [], [], 0 if ended else 0.05)[0] or not ended:
        ended = process.poll() is not None
        while select.select([leader], [], [], 0)[0]:
            out += os.read(leader, 65536)
    os.close(leader)
    os.close(follower)
    return out.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(("path", "command"), every_command(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_command_and_option_is_explained(path: str, command: click.Command) -> None:
    help_text = command.help or ""
    first = help_text.split("\n\n")[0].strip()
    assert first.endswith("."), "one sentence says what it is for"
    assert len(command.get_short_help_str(100)) <= 70, "it fits a list of commands"
    assert not command.get_short_help_str(70).endswith("...")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts}"
            assert parameter.help.endswith(".")
        elif isinstance(parameter, click.Argument):
            assert parameter.make_metavar(click.Context(command)).strip("[]") in help_text.upper(), parameter


def test_listings_take_json() -> None:
    for path, command in every_command():
        if path.rpartition(" ")[2] in ("list", "show", "info", "doctor", "path"):
            assert "--json" in [o for p in command.params for o in p.opts], path


def test_core_commands_are_the_reserved_ones_and_say_what_their_modules_say() -> None:
    assert tuple(CORE_COMMANDS) == kinds.CORE_COMMANDS
    for target, text in CORE_COMMANDS.values():
        assert load_object(target).get_short_help_str(100) == text


def test_help_lists_commands_of_plugins_without_importing_them(acme: Any) -> None:
    (acme.path / "acme_commands.py").write_text("raise RuntimeError('imported')")
    done = acme.run("--help")
    assert (done.code, done.err) == (0, "")
    assert "acme     Do acme things." in done.out
    assert "secret" not in done.out
    assert "Try: skillkit plugins list" in done.out, "there is no command 'run' here"
    assert acme.run().out == done.out, "without a command the help is shown"
    assert acme.run("-h").out == done.out


def test_a_group_without_a_command_shows_its_help(acme: Any) -> None:
    done = acme.run("plugins")
    assert (done.code, done.err) == (0, "")
    assert done.out == acme.run("plugins", "--help").out
    assert acme.run("acme").out.startswith("Usage: skillkit acme ")


ADDED = """
import click

@click.command()
@click.option("--loud", is_flag=True)
@click.pass_context
def more(ctx, loud):
    "Add more."
    print(ctx.command_path, loud, ctx.obj.host.commands.list())
"""


def test_a_plugin_adds_commands_to_the_group_of_another_one_which_are_imported_when_called(acme: Any) -> None:
    for module, source in (("added", ADDED), ("lost", "import nowhere")):
        (acme.path / f"{module}.py").write_text(source)
    acme.plugin(
        "more",
        """
        @hookimpl
        def register_commands(register):
            register(Command("acme more", "added:more", "Add more."))
            register(Command("acme five", "added:more", "Add five."))
            register(Command("acme lost", "lost:lost", "Get lost."))
            register(Command("acme quiet", "added:more", "Be quiet.", hidden=True))
            register(Command("nobody more", "added:more", "Add to nobody."))
        """,
    )
    shown = acme.run("acme", "--help").out
    assert "  more       Add more.\n" in shown and "  five@more  Add five.\n" in shown and "quiet" not in shown
    assert "more" not in acme.run("--help").out
    done = acme.run("acme", "more", "--loud")
    assert done.out.startswith("skillkit acme more True ['acme', "), done.err
    assert acme.run("acme", "five").code == 5, "what the group has of its own stays"
    assert acme.run("acme", "five@more").out.startswith("skillkit acme five@more False")
    assert acme.run("acme", "quiet").code == 0
    assert acme.run("acme", "more", "--lod").err.endswith("(see 'skillkit acme more --help')\n")
    lost = acme.run("acme", "lost")
    assert lost.err.startswith(
        "Error: plugin 'more': command 'acme lost@more' cannot be loaded: No module named 'nowhere'"
    )
    assert acme.run("nobody", "more").code == 2
    words = {"_SKILLKIT_COMPLETE": "bash_complete", "COMP_WORDS": "skillkit acme more --l", "COMP_CWORD": "3"}
    assert acme.run(**words).out == "plain,--loud\n"


def test_a_plugin_adds_commands_to_the_groups_of_the_core_and_their_own_ask_no_plugin(acme: Any) -> None:
    (acme.path / "added.py").write_text(ADDED)
    acme.plugin(
        "more",
        """
        @hookimpl
        def register_commands(register):
            print("asked")
            register(Command("plugins more", "added:more", "Add more."))
            register(Command("plugins list", "added:more", "List more."))
        """,
    )
    assert "asked" not in acme.run("plugins", "list").out
    shown = acme.run("plugins", "--help").out
    assert (
        "more       Add more.\n" in shown
        and "list       List installed" in shown
        and "list@more  List more.\n" in shown
    )
    assert "skillkit plugins more True" in acme.run("plugins", "more", "--loud").out
    (acme.path / "config").mkdir(exist_ok=True)
    assert acme.run("--distribution", "none", "plugins", "--help").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["plugin", "list"], 2, "unknown command 'plugin'; did you mean 'plugins'?"),
        (["zzz"], 2, "unknown command 'zzz'; known: acme, config, doctor, plugins; others come with plugins"),
        (["plugins", "lst"], 2, "No such command 'lst'"),
        (["plugins", "list", "--jsn"], 2, "No such option '--jsn'"),
        (["--plugin", "a", "plugins"], 2, "No such option '--plugin'"),
        (["plugins", "info"], 2, "Missing argument 'NAME' (see 'skillkit plugins info --help')"),
        (["plugins", "info", "acmee"], 2, "unknown plugin 'acmee'; did you mean 'acme'?"),
        (["config", "show", "limit"], 2, "unknown setting 'limit'; did you mean 'limits'"),
        (["-P", "no:", "plugins", "list"], 2, "-P no: names no plugin; write -P NAME or -P no:NAME"),
        (["--plugins"], 2, "Option '--plugins' requires an argument"),
        (["acme", "count"], 2, "Missing option '--count'"),
        (["acme", "count", "--count", "x"], 2, "Invalid value for '--count': 'x' is not a valid integer"),
        (["acme", "crash"], 1, "internal error: KeyError: 'the key\\nto it all'; run with --debug"),
        (["acme", "five"], 5, None),
        (["--version"], 0, None),
        (["secre"], 2, "unknown command 'secre'; known: acme, config, doctor, plugins; others come with plugins"),
        (["config", "trust", "nowhere"], 2, "nowhere: is no folder"),
        (["--plugins", "acmee", "config", "path"], 2, "--plugins: unknown plugin 'acmee'; did you mean 'acme'?"),
        (["-P", "no:acmee", "config", "path"], 2, "-P no:acmee: unknown plugin 'acmee'; did you mean 'acme'?"),
        (["--distribution", "none", "config", "path"], 2, "unknown distribution 'none'; no distribution is installed"),
    ],
)  # fmt: skip
def test_exit_codes_and_errors_of_one_line(acme: Any, arguments: list[str], code: int, error: str | None) -> None:
    done = acme.run(*arguments)
    assert done.code == code, done
    assert "Traceback" not in done.err
    if error is None:
        assert done.err == ""
    else:
        assert done.out == ""
        assert done.err.startswith("Error: ")
        assert error in done.err
        assert done.err.count("\n") == 1


def test_debug_shows_tracebacks(acme: Any) -> None:
    assert "Traceback" in acme.run("--debug", "acme", "crash").err
    assert "Traceback" in acme.run("acme", "crash", SKILLKIT_DEBUG="1").err
    acme.config("model: [")
    assert "Traceback" not in acme.run("config", "show").err
    assert "Traceback" in acme.run("--debug", "config", "show").err


def test_help_is_shown_where_the_configuration_is_broken(acme: Any) -> None:
    file = acme.config("model: [")
    done = acme.run("--help")
    assert done.code == 0
    assert "config   Show, create and trust configuration." in done.out
    assert done.err.startswith(f"Error: {file}:2: is not valid YAML")
    for command in (["config", "path"], ["config", "--help"], ["--version"]):
        assert acme.run(*command).code == 0
    done = acme.run("acme", "five")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_an_interrupt_ends_with_130(acme: Any) -> None:
    process = subprocess.Popen(
        acme.argv("acme", "wait"),
        cwd=acme.cwd,
        env=acme.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_command_that_a_signal_ends_is_told_by_the_shell(acme: Any, number: signal.Signals, code: int) -> None:
    script = '"$@" & echo $!; wait $!; echo "exit code $?"'
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", *acme.argv("acme", "wait")],
        cwd=acme.cwd, env=acme.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert process.stdout.readline() == "waiting\n"
    os.kill(pid, number)
    out, err = process.communicate(timeout=60)
    assert out == f"exit code {code}\n" and "Error" not in err and "Traceback" not in err


def test_a_declined_question_ends_with_130(acme: Any) -> None:
    done = acme.run("acme", "ask")
    assert done.code == 130
    assert "Traceback" not in done.err


def test_a_reader_that_goes_away_is_no_error(acme: Any) -> None:
    process = subprocess.Popen(
        acme.argv("acme", "many"), cwd=acme.cwd, env=acme.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_told_in_one_line(acme: Any) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            acme.argv("config", "show"), cwd=acme.cwd, env=acme.env(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


def test_closed_streams_are_no_error(acme: Any) -> None:
    script = "exec 0<&- 1>&- 2>&-; exec " + " ".join(acme.argv("plugins", "list"))
    assert subprocess.run(["sh", "-c", script], cwd=acme.cwd, env=acme.env()).returncode == 0


def test_piped_output_has_no_escape_codes_and_is_not_cut(acme: Any) -> None:
    long = "l" * 300
    acme.config(f"model: {long}\n")
    for command in (["config", "show"], ["plugins", "list"], ["plugins", "info", "acme"], ["doctor"], ["--help"]):
        done = acme.run(*command, COLUMNS="40")
        assert ESCAPE not in done.out + done.err
        assert "…" not in done.out
    assert long in acme.run("config", "show").out
    assert ESCAPE in acme.run("plugins", "list", FORCE_COLOR="1").out


def test_a_terminal_gets_colours_and_lines_that_fit(acme: Any) -> None:
    acme.config(f"model: {'l' * 300}\n")
    for command in (["config", "show"], ["plugins", "list"], ["plugins", "info", "acme"], ["--help"]):
        shown = terminal(acme, *command, columns=60)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert ESCAPE in shown, command
        lines = [line for line in plain.splitlines() if str(acme.path) not in line]  # a path is never cut or broken
        assert max(map(len, lines)) <= 60, plain
        quiet = terminal(acme, *command, columns=60, NO_COLOR="1")
        assert ESCAPE not in quiet
        assert quiet == plain
    assert ESCAPE not in terminal(acme, "plugins", "list", "--json")


@pytest.mark.parametrize(
    "arguments",
    [
        ["plugins", "list"], ["plugins", "info", "acme"], ["plugins", "doctor"], ["doctor"], ["config", "show"],
        ["config", "path"], ["config", "trust", "--list"],
    ],
)  # fmt: skip
def test_json_is_one_document_on_one_line(acme: Any, arguments: list[str]) -> None:
    done = acme.run(*arguments, "--json")
    assert done.code in (0, 1)
    assert done.err == ""
    assert done.out.count("\n") == 1
    json.loads(done.out)


def test_a_thread_that_does_not_end_cannot_keep_the_process(acme: Any) -> None:
    """I20. The limit is five seconds; the run's own is a minute."""
    done = acme.run("acme", "thread")
    assert (done.code, done.out) == (0, "done\n")
    assert "left without waiting for what does not end: stuck" in done.err


def test_an_interrupt_while_the_program_is_still_being_imported_is_no_traceback(acme: Any) -> None:
    (acme.path / "click.py").write_text("raise KeyboardInterrupt\n")
    first = os.pathsep.join([str(acme.path), str(acme.libraries)])
    done = acme.run("--help", PYTHONPATH=first)
    assert (done.code, done.out, done.err) == (130, "", "")


def test_doctor_finds_a_misspelt_variable(acme: Any) -> None:
    checks = {
        c["check"]: c for c in acme.run("doctor", "--json", SKILLKIT_MODLE="x", SKILLKIT_OTHER_TOOL="1").json["checks"]
    }
    assert checks["environment"]["message"] == "SKILLKIT_MODLE sets nothing; did you mean SKILLKIT_MODEL?"


QUIET = """\
from skillkit_core.testing import ScriptedModel

class Quiet(ScriptedModel):
    def __init__(self, host, **given): super().__init__([])

@hookimpl
def register_adapters(register): register(Provider("o", {"x": Quiet}, rank=1))
"""


def test_doctor_says_what_is_wrong_and_what_to_do(acme: Any) -> None:
    report = acme.run("doctor", "--json")
    assert report.code == 1
    checks = {c["check"]: c for c in report.json["checks"]}
    assert [c for c in checks.values() if not c["ok"]] == [checks["provider"]]
    assert "install the plugin of a provider" in checks["provider"]["message"]
    acme.plugin("offline", QUIET)
    done = acme.run("doctor")
    assert done.code == 0, done.out
    acme.plugin("broken", "raise ValueError('no')")
    (acme.home / "data").rmdir()
    (acme.home / "data").write_text("in the way")
    done = acme.run("doctor")
    assert done.code == 1
    assert "✗ plugins        1 problem; see 'skillkit plugins doctor'" in done.out
    assert f"✗ folders        {acme.home}/data" in done.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("runtime: nope", "1: runtime: unknown runtime 'nope'; no runtime is installed"),
        ("compactor: nope", "1: compactor: unknown compactor 'nope'; no compactor is installed"),
        ("plugins: {required: [acmee]}", "1: plugins.required: unknown plugin 'acmee'; did you mean 'acme'?"),
        ("plugins: {disabled: [acmee]}", "1: plugins.disabled: unknown plugin 'acmee'; did you mean 'acme'?"),
    ],
)
def test_doctor_finds_settings_that_name_nothing(acme: Any, text: str, said: str) -> None:
    file = acme.config(text + "\n")
    done = acme.run("doctor", "--json")
    row = next(row for row in done.json["checks"] if row["check"] == "configuration")
    assert (done.code, row["message"]) == (1, f"{file}:{said}")


def test_an_option_without_its_value_names_the_command_whose_help_says_more(acme: Any) -> None:
    done = acme.run("acme", "count", "--count")
    assert (done.code, done.err) == (
        2,
        "Error: Option '--count' requires an argument (see 'skillkit acme count --help')\n",
    )


def test_a_command_that_is_not_where_its_plugin_says_names_the_plugin(acme: Any) -> None:
    acme.plugin(
        "lost", "@hookimpl\ndef register_commands(register):\n    register(Command('lost', 'json:nothing', 'x'))\n"
    )
    done = acme.run("lost")
    assert done.code == 1
    assert done.err.startswith("Error: plugin 'lost': command 'lost' cannot be loaded: module 'json' has no attribute")


def test_a_hint_about_an_unknown_hook_is_given_once(acme: Any) -> None:
    acme.plugin("typo", "@hookimpl\ndef registr_tools(register):\n    pass\n")
    said = acme.run("plugins", "doctor").out
    assert "unknown hook 'registr_tools'" in said and said.count("did you mean") == 1


def test_shell_completion_knows_commands(acme: Any) -> None:
    done = acme.run(_SKILLKIT_COMPLETE="bash_complete", COMP_WORDS="skillkit ac", COMP_CWORD="1")
    assert done.out == "plain,acme\n"


def test_the_module_is_the_console_script() -> None:
    done = subprocess.run([sys.executable, "-m", "skillkit_core", "--version"], capture_output=True, text=True)
    assert re.fullmatch(r"skillkit \d+\.\d+\.\d+\n", done.stdout)


def test_nothing_but_colours_reaches_a_terminal_as_a_command(monkeypatch, capsys):
    """Answers, file names and titles are other people's text."""
    import sys

    from skillkit_core.cli import output

    hostile = "a\x1b]0;title\x07b\x1b[2Jc\rd\x9b1md"
    assert output.printable(hostile) == r"a\x1b]0;title\x07b\x1b[2Jc\rd\x9b1md"
    assert output.printable("\u202eevil\u2066\ta\r\n\u200b") == "\\u202eevil\\u2066\ta\r\n\\u200b"
    assert output.printable(said := "Zürich 👩\u200d🚀 ❤\ufe0f نمی\u200cخواهم א\u200f") == said
    assert output.escaped(hostile) == r"a\x1b]0;title\x07b\x1b[2Jc\rd\x9b1md"
    assert output.escaped("Zürich 🌨 \u202eabc\n\u3164\u200d\ud800") == r"Zürich 🌨 \u202eabc\n\u3164\u200d\ud800"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    output.echo("\x1b[31mred\x1b[0m " + hostile)
    shown = capsys.readouterr().out
    assert "\x1b]" not in shown and "\x1b[2J" not in shown and "\x07" not in shown
    output.table(["name"], [[hostile]])
    assert "\x1b]" not in capsys.readouterr().out
