"""What bash runs, writes and sets in a line must be among what the parser says of it: both read random lines."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from skillkit_permissions.risky_options import sets
from skillkit_permissions.shell import Line, parse

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")

# there is no program: bash calls this function instead, which writes down the words of each command
_WRITE_DOWN = r"""() { local said; printf -v said '%s\037' "$@"; printf '%s\036' "$said" >>"$RAN"; return 1; }"""
_PIECES = [
    *(" ", " ", " ", " ", "\n", "\n", "\t", "\\\n", "#", " #", "rm", "rm x", "ls", "a", "b", "E", "E\n", "\nE\n", "\r", "\u00a0"),
    *("'", "'", '"', '"', "$'", '$"', "`", "`", "\\", "\\'", "\\x72", "\\162", "\\u0072", "\\cr", "\\0", "\\x{72}", "\\`", '\\"'),
    *("$(", "$(rm x)", ")", "(", ")", "{ ", "}", "; }", ";", ";", "&&", "||", "|", "&", "|&", "!", "! ", ";;", ";&"),
    *("<<E\n", "<<'E'\n", "<<-E\n", '<<"E"\n', "<<\\E\n", "<<<", "<", ">", "2>", ">&2", "&>f", "<(", ">(", "<>", "{v}>"),
    *("{a,b}", "{a,", ",b}", "{1..2}", "..", "{", "}", "*", "?", "[", "]", "[^", "[!", "~", "~/", "@(", "!(", "+("),
    *("$x", "${x", "${x:-", "${x:=", "${#", "${!x", "${x#", "${x/", "${x@P", "x=", "x=(", "x[", "]=", "+=", "$@", "$#", "$$"),
    *("$((", "((", "))", "$[", "[[ ", " ]]", "-n ", "=~ ", "==", "1", "-eq"),
    *("if ", "\nthen ", "\nfi\n", "for x in ", "\ndo ", "\ndone\n", "case x in ", "x) ", "\nesac\n", "esac", "while ", "do"),
    *(">a", ">>b ", ">|a ", "&>>a", ">&b ", "3>a", ">$x", ">'a b'", ">a{1,2}", "{v}>a ", "> ", ">\\a", ">~", '>"$x"', ">\t"),
    *("x=1 ", "x+=a", "x=$y", "y=(1 2)", "read x", "read -r x y", "printf -v x 1", "declare x=1", "local ", "export x=1 "),
    *("for ((x=1;x<2;x++)); do ", "mapfile x", "getopts a x", "unset x", "readonly y=1", ": ${y:=1}", "((x=1))", "let x=1"),
    *("time ", "coproc ", "function f ", "f() ", "select ", "declare ", "export ", "let ", "echo ", "in "),
]  # fmt: skip
_LINES = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=14).map("".join)
_COMMANDS = st.sampled_from(
    ["rm x", "ls", "a 'b c'", 'rm -r "x"', "x=1 rm", "$(rm x)", "`rm x`", ": <<E\nrm x\nE\n", "#rm\\\n"]
)
_LISTS = st.lists(st.one_of(_COMMANDS, st.sampled_from(_PIECES)), min_size=2, max_size=8).map("".join)


@dataclass
class Ran:
    """What bash did with a line.

    Attributes:
        commands: the words of each command that it would have run.
        written: the files that it made.
        variables: the names that were set at the end.
    """

    commands: list
    written: set
    variables: set


# bash reads this before the line
_AT_THE_END = """trap 'compgen -v >"$SET"' EXIT"""
# those that bash sets itself
_OWN = {
    "_",
    "BASH_REMATCH",
    "BASHPID",
    "BASH_ARGC",
    "BASH_ARGV",
    "COPROC",
    "PIPESTATUS",
    "FUNCNAME",
    "OPTARG",
    "OPTERR",
    "OPTIND",
}


def ran(line, folder):
    """Return what bash did with a line; stand-ins ran, in an empty folder."""
    log, start, names = folder / "ran", folder / "start", folder / "names"
    log.write_bytes(b"")
    names.write_bytes(b"")
    start.write_text(_AT_THE_END)
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    environment = {"PATH": "/nonexistent", "RAN": str(log), "BASH_FUNC_command_not_found_handle%%": _WRITE_DOWN}
    environment |= {"LC_ALL": "C.UTF-8", "BASH_ENV": str(start), "SET": str(names)}
    with subprocess.Popen(
        [BASH, "--norc", "-c", line], cwd=place, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as bash:  # fmt: skip
        try:
            bash.wait(2)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(bash.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    records = log.read_bytes().decode("utf-8", "replace").split("\x1e")
    commands = [tuple(record.split("\x1f")[:-1]) for record in records[:-1]]
    return Ran(commands, {path.name for path in place.iterdir()}, set(names.read_text().split()) - _OWN)


def says(line: Line, words):
    """Return whether a command of what the parser read may be these words."""
    read = [[(w.text, w.known and not w.glob and not w.tilde) for w in command.words] for command in line.commands]
    return any(_may_be(one, words) for one in read)


def _may_be(read, words):
    if not read:
        return not words
    (text, known), *rest = read
    if known:
        return bool(words) and words[0] == text and _may_be(rest, words[1:])
    # what is not known before it runs may turn out to be any number of words
    return any(_may_be(rest, words[at:]) for at in range(len(words) + 1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(line=st.one_of(_LINES, _LISTS))
@example(line="ls #\\\nrm x")
@example(line="cat {'a',b}")
@example(line="ls {72},b}")
@example(line="ls\\")
@example(line="ls 'x' #x\\\nrm x")
@example(line="cat <<E\na\\\nE\nE\nrm x")
@example(line="r\\\nm x")
@example(line="ls $'\\x72\\cm'")
@example(line="ls a=~/x")
@example(line="ls |& time rm")
@example(line="ls | time ")
@example(line="coproc  x=1 rm")
@example(line="~]=+=[")
@example(line='\\"==[^')
def test_what_bash_does_is_among_what_the_parser_says(line, tmp_path):
    if "\x00" in line:
        return
    read = parse(line)
    if read.problems:
        return  # such a line asks
    did = ran(line, tmp_path)
    for words in did.commands:
        assert says(read, words), f"bash runs {words}, the parser reads {read.commands}"
    targets = [r.target for r in read.redirects if r.writes]
    sure = {os.path.basename(t.text) for t in targets if t.known and not t.glob and not t.tilde}
    assert did.written <= sure or len(sure) < len({t.text for t in targets}), (
        f"bash writes {did.written}, the parser reads {targets}"
    )
    named = {name for command in read.commands for name in command.assigned}
    named |= {name for command in read.commands if command.words for name in sets(command.words)}
    assert did.variables - ran(":", tmp_path).variables <= named, f"bash sets {did.variables}, the parser reads {named}"


@pytest.mark.parametrize(
    "line",
    [
        "git status #\\\nrm -rf ~",
        "git status # x \\\nrm x",
        "# x\\\nrm x",
        "ls;#\\\nrm x",
        "echo $(ls #\\\nrm x\n)",
        "git log \\\n# x \\\n--oneline",
        "cat <<E\nx\\\nE\nrm x\nE",
        "gi\\\nt status",
        "ls \\\\\nrm x",
        "ls \\",
        "ls\u00a0-l",
        "ls\u3000-l",
    ],
)
def test_a_line_that_bash_may_read_otherwise_is_not_understood(line):
    assert parse(line).problems


@pytest.mark.parametrize(
    "line",
    [
        "curl -s \\\n  -H 'a: b' \\\n  https://h.test/x#part",
        "git commit -m 'one\ntwo # three'",
        "# says what it does\ngit status",
        "git log \\\n\t--oneline | head -5",
        "echo 'two\u00a0words'",
        "awk '{print $1}' x",
    ],
)
def test_lines_as_people_write_them_are_understood(line):
    assert parse(line).problems == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("for PATH in .; do ls; done", "PATH"),
        ("select PATH in .; do ls; done", "PATH"),
        (": ${LD_PRELOAD:=x}", "LD_PRELOAD"),
        ("echo ${HOME=x}", "HOME"),
        ("ls {PATH}>&2", "PATH"),
        ("export PATH=.", "PATH"),
    ],
)
def test_a_variable_counts_as_set_in_whatever_way_a_line_sets_it(line, name):
    assert name in {n for command in parse(line, "/home/ana").commands for n in command.assigned}
