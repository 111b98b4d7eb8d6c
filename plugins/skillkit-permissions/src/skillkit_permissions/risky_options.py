"""What a rule with a star does not cover: variables and options that make a program run, load or write something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from .git_tables import GIT
from .options import Arguments, read
from .programs import Program, known, plain_name, program_of, words_of
from .shell import Word
from .tables import FIND, HARMLESS_VARIABLES, PYTHON_RUNS, TAKING_OVER

__all__ = ["changes_nothing", "harmless_variable", "runs_scripts", "sets", "takes_over", "unknown_option", "unruly"]

_HARMLESS = words_of(HARMLESS_VARIABLES)
_TAKES_OVER = re.compile("|".join(TAKING_OVER.replace("*", ".*").split()))


def harmless_variable(name: str) -> bool:
    """Return whether setting a variable changes nothing that a rule was given for."""
    return name in _HARMLESS or name.startswith("LC_")


def takes_over(name: str) -> bool:
    """Return whether a variable may make another program run than the one that is named."""
    return name not in _HARMLESS and _TAKES_OVER.fullmatch(name) is not None


_DECLARING = ("export", "declare", "typeset", "readonly", "local")


def sets(words: Sequence[Word]) -> Iterator[str]:
    """Yield the names of the variables that a command sets, for the shell or for what it runs."""
    name = plain_name(program_of(words[0]))
    given = read(known(name), words[1:])
    if name in _DECLARING or name in ("read", "mapfile", "readarray"):
        yield from (w.text.partition("=")[0].removesuffix("+") for w in given.operands)
    if name in ("env", "sudo", "doas"):
        yield from (w.text.partition("=")[0] for w in takewhile(lambda w: "=" in w.text, given.operands))
    if name == "read":
        yield from (w.text for w in given.values("-a"))
    if name == "printf" and words[1:] and words[1].text.startswith("-v"):
        yield words[1].text[2:] or (words[2].text if len(words) > 2 else "")
    if name == "wait":
        yield from (w.text for w in given.values("-p"))
    if name == "getopts" and len(words) > 2:
        yield words[2].text


def runs_scripts(name: str) -> bool:
    """Return whether a program is an interpreter, of whatever version."""
    return "interpreter" in known(plain_name(name)).tags


_SED_SAFE = re.compile(
    r"(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:~[0-9]+)?(?:\s*,\s*(?:[+~]?[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?))?)?\s*!?\s*"
    r"(?:[pdqPDgGhHnNxl=]|q[0-9]*|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiI0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI0-9]*"
    r"|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI0-9]*|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*(?:;|\n|\Z))+\Z"
)
_AWK_RUNS = re.compile(r"system|getline|print.*[|>]|@|\bclose\b|\bfflush\b|\bARG[VC]\b", re.S)
_MAKE_SHELL = re.compile(r"\.?SHELL(FLAGS)?[:?+]*=|MAKEFLAGS=")


def unruly(words: Sequence[Word]) -> tuple[str, bool] | None:
    """Return why a rule with a star does not cover a command, and whether the reason may hide a command that it runs.

    ``None``: it does cover it.
    """
    name = plain_name(program_of(words[0]))
    program = known(name)
    hides = bool(program.runs or program.lines) or name in _SPECIAL
    args = words[1:]
    unsure = [w for w in args if not w.known] if "inert" not in program.tags else []
    if unsure and {id(w) for w in unsure} - {id(w) for w in _texts(name, program, args)}:
        return "an argument that is not known before it runs", hides
    if hides and any(w.glob and w.text[:1] in "*?[-" for w in args):
        return "file names that may turn out to be options", True
    given = read(program, args)
    if "interpreter" in program.tags and _reads_its_script(name, given):
        return "a script from its input", True
    if found := _running(name, program, given):
        return found
    special = _SPECIAL.get(name)
    return special(given, [w.text for w in args]) if special else None


def _texts(name: str, program: Program, args: Sequence[Word]) -> list[Word]:
    """Return the values of options that are mere text: whatever it turns out to be, it is no file and runs nothing."""
    given = read(program, args)
    if name == "git" and given.operands and not given.options:
        program = known(f"git {given.operands[0].text}")
        given = read(program, given.operands[1:])
    elif name in _SPECIAL or program.wraps or program.files == "fetch" or "interpreter" in program.tags:
        return []
    means = program.output | program.input | program.lists | program.moves | program.lines | program.runs
    return [w for w in given.values(program.valued - means) if w.whole] if program.complete else []


def _running(name: str, program: Program, given: Arguments) -> tuple[str, bool] | None:
    """Return which option runs or loads something."""
    for option in given.options:
        if option.name in program.runs or option.name in program.lines:
            where = "in front of the subcommand of git" if name == "git" else f"of {name} runs or loads something"
            return f"{option.name} {where}", True
        if option.name in program.lists:
            return f"{option.name} of {name} names files that are not known", True
    for word in given.operands[:1] if "ordered" in program.tags else given.operands:
        if word.text in program.runs:
            return f"{word.text} of {name} runs or loads something", True
    return None


def changes_nothing(words: Sequence[Word]) -> bool:
    """Return whether a command is known to change nothing, but for files that its arguments name."""
    name = words[0].text
    program = known(name)
    if name == "git":
        given = read(program, words[1:])
        program = known(f"git {given.operands[0].text}") if given.operands else program
    if "read-only" not in program.tags or any(not w.known for w in words[1:] if "inert" not in program.tags):
        return False
    if name in ("env", "date", "hostname") and not all(w.text.startswith(("+", "-u", "-I", "-R")) for w in words[1:]):
        return False
    return unruly(words) is None


_CODE = re.compile(r"(-[ce]|--(?:command|eval|exec|execute))(?:=(.*))?\Z", re.S)
_NOT_PLAIN = re.compile(r"[^\w./:@%+=,-]")


def unknown_option(words: Sequence[Word]) -> str:
    """Return an option, or a subcommand of git, of which the tables say nothing where they name all others; empty: none."""
    name = plain_name(program_of(words[0]))
    if known(name) == known(""):
        # code, for whatever reads it
        pairs = ((_CODE.match(a.text), b.text) for a, b in pairwise([*words[1:], Word("")]))
        return next((found[1] for found, behind in pairs if found and _NOT_PLAIN.search(found[2] or behind)), "")
    given = read(known(name), words[1:])
    if name == "git" and given.operands and not given.unknown:
        subcommand = given.operands[0].text
        if subcommand not in GIT:
            # it may be an alias
            return subcommand
        given = read(known(f"git {subcommand}"), given.operands[1:])
    if name == "find":
        return next(
            (
                w.text
                for w in words[1:]
                if w.text.startswith("-") and w.text not in _FIND_WORDS and not _NEWER.match(w.text)
            ),
            "",
        )
    return given.unknown


def _reads_its_script(name: str, given: Arguments) -> bool:
    """Return whether an interpreter takes its script from its input: no argument names one."""
    if given.has("--version -V --help -h -m" if name == "python" else "--version -V -v --help -h --test"):
        return False
    return not given.operands or given.operands[0].text in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def _git(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if given.unknown:
        return f"{given.unknown} in front of the subcommand of git", True
    if not given.operands:
        return None
    sub, rest = given.operands[0].text, [w.text for w in given.operands[1:]]
    facts = GIT.get(sub, {})
    if "runs" in facts.get("is", "").split() and not (rest and rest[0] in facts.get("but", "").split()):
        return f"git {sub} may run other commands", True
    if any("::" in text.partition("/")[0] for text in rest):
        return "an address that names a program", True
    program = known(f"git {sub}")
    behind = read(program, given.operands[1:])
    if found := _running(f"git {sub}", program, behind):
        return found
    written = next(behind.given(program.output), None)
    return (f"{written.name} of git {sub} writes a file", True) if written else None


_NEWER = re.compile(r"-newer[aBcm][aBcmt]\Z|-[0-9]")
_FIND_WORDS = frozenset().union(*(words_of(text) for text in FIND.values())) | {
    "-",
    "--help",
    "--version",
    "-O1",
    "-O2",
    "-O3",
}


def _find(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    for text in texts:
        if text in words_of(FIND["changes"]) or text in words_of(FIND["output"]):
            return f"{text} of find changes files", False
        if text in words_of(FIND["lists"]):
            return f"{text} of find names files that are not known", True
    return None


def _sed(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    scripts = [w.text for w in given.values("-e --expression")] or [w.text for w in given.operands[:1]]
    if any(not _SED_SAFE.match(script) for script in scripts):
        return "a script of sed may run commands and write files", True
    return None


def _awk(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if given.operands and _AWK_RUNS.search(given.operands[0].text):
        return "a program of awk may run commands and use other files", True
    return (f"{given.unknown} of awk", True) if given.unknown else None


def _vim(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(text.startswith("+") for text in texts):
        return "a command for the program", True
    other = known("vim")
    return _running("vim", other, read(other, [Word(text) for text in texts]))


def _tar(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(re.match(r"[^/=]+:", w.text) for w in (*given.operands, *given.values("-f --file"))):
        return "an archive on another machine", True
    return None


def _python(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    for module in given.values("-m"):
        if module.text.partition(".")[0] in words_of(PYTHON_RUNS):
            return f"the module {module.text} runs code of its arguments", True
    return None


def _sqlite(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if len(given.operands) < 2 and not given.has("-version --version -help"):
        return "commands from its input", True
    if any(re.search(r"(?:\A|\n)\s*\.|load_extension|writefile|readfile|edit\s*\(", text) for text in texts):
        return "a command of sqlite3 that may run a program", True
    return None


def _make(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(_MAKE_SHELL.match(text) for text in texts):
        return "make is told what to run", True
    if any(w.text == "-" or w.text.startswith(("/dev/", "/proc/")) for w in given.values("-f --file --makefile")):
        return "a makefile from its input", True
    return None


def _always(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("it runs a shell or a program of its own", True) if texts else None


def _printf(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("-v evaluates a name", True) if texts and texts[0].startswith("-v") else None


def _tests(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    return _evaluates(given, texts) if "-v" in texts else None


def _evaluates(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("a subscript is evaluated", True) if any("[" in t for t in texts) else None


_HARMLESS_SET = ("pipefail", "errexit", "nounset", "xtrace", "noglob")


def _set(given: Arguments, texts: Sequence[str]) -> tuple[str, bool] | None:
    if (
        given.unknown
        or any(t.startswith("+") for t in texts)
        or any(w.text not in _HARMLESS_SET for w in given.values("-o"))
    ):
        return "it changes how the rest is read", True
    return None


_SPECIAL: Mapping[str, Callable[[Arguments, Sequence[str]], tuple[str, bool] | None]] = {
    "git": _git, "find": _find, "sed": _sed, "awk": _awk, "vim": _vim, "nano": _vim, "less": _vim, "tar": _tar,
    "sqlite3": _sqlite, "python": _python, "make": _make, "printf": _printf, "test": _tests, "[": _tests,
    "script": _always, "expect": _always, "su": _always,
    "source": _always, ".": _always, "socat": _always, "ed": _always, "unset": _evaluates, "read": _evaluates,
    "set": _set, "declare": _evaluates, "wait": _evaluates, "getopts": _evaluates,
}  # fmt: skip
