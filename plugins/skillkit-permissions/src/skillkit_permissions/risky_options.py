"""What a rule with a star does not cover: variables and options that make a program run, load or write something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .programs import known, plain_name, program_of, words_of
from .shell import Word
from .tables import GIT, GIT_BEFORE, GIT_RUNS, HARMLESS_VARIABLES, TAKING_OVER

__all__ = ["harmless_variable", "is_option", "runs_scripts", "takes_over", "unruly"]

_HARMLESS = words_of(HARMLESS_VARIABLES)
_TAKES_OVER = re.compile("|".join(TAKING_OVER.replace("*", ".*").split()))
_GIT_BEFORE = words_of(GIT_BEFORE)


def harmless_variable(name: str) -> bool:
    """Return whether setting a variable changes nothing that a rule was given for."""
    return name in _HARMLESS or name.startswith("LC_")


def takes_over(name: str) -> bool:
    """Return whether a variable may make another program run than the one that is named."""
    return name not in _HARMLESS and _TAKES_OVER.fullmatch(name) is not None


def runs_scripts(name: str) -> bool:
    """Return whether a program is an interpreter, of whatever version."""
    return "interpreter" in known(plain_name(name)).tags


_SED_SAFE = re.compile(
    r"(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:~[0-9]+)?(?:\s*,\s*(?:[+~]?[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?))?)?\s*!?\s*"
    r"(?:[pdqPDgGhHnNxl=]|q[0-9]*|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiI0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI0-9]*"
    r"|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI0-9]*|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*(?:;|\n|\Z))+\Z"
)
_AWK_RUNS = re.compile(r"system|getline|\||>|@|\bclose\b|\bfflush\b")
_MAKE_SHELL = re.compile(r"\.?SHELL(FLAGS)?[:?+]*=|MAKEFLAGS=")


def unruly(words: Sequence[Word]) -> tuple[str, bool] | None:
    """Return why a rule with a star does not cover a command, and whether the reason may hide a command that it runs.

    ``None``: it does cover it.
    """
    name = plain_name(program_of(words[0]))
    program = known(name)
    hides = bool(program.runs) or name in _SPECIAL
    args = words[1:]
    if "inert" not in program.tags and any(not w.known for w in args):
        return "an argument that is not known before it runs", hides
    texts = [w.text for w in args]
    if hides and any(w.glob and w.text[:1] in "*?[-" for w in args):
        return "file names that may turn out to be options", True
    if "interpreter" in program.tags and _reads_its_script(texts):
        return "a script from its input", True
    if special := _SPECIAL.get(name):
        return special(texts)
    for option in program.runs:
        if any(is_option(text, option) for text in texts):
            return f"{option} of {name} runs or loads something", True
    return None


def _reads_its_script(texts: Sequence[str]) -> bool:
    """Return whether an interpreter takes its script from its input: no argument names one."""
    if len(texts) == 1 and texts[0] in ("--version", "-V", "-v", "--help", "-h"):
        return False
    return all(text.startswith("-") for text in texts) or any(t in ("-", "/dev/stdin") for t in texts)


def is_option(text: str, option: str) -> bool:
    """Return whether a word gives an option: alone, with its value, cut short, or among other letters."""
    if text == option or (option.startswith("--") and text.startswith(f"{option}=")):
        return True
    if option.startswith("--"):
        # long options may be cut short
        return len(text) > 4 and text.startswith("--") and option.startswith(text.partition("=")[0])
    if len(option) == 2 and option[0] == "-":
        return text[:1] == "-" and text[:2] != "--" and option[1] in re.split(r"[^A-Za-z0-9]", text[1:])[0]
    return option.startswith("-") and text.startswith(option)


def _git(texts: Sequence[str]) -> tuple[str, bool] | None:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in _GIT_BEFORE:
            return f"{texts[at]} in front of the subcommand of git", True
        at += 1
    rest = texts[at:]
    if not rest:
        return None
    sub = rest[0]
    facts = GIT.get(sub, {})
    if "runs" in facts.get("is", "").split() and not (rest[1:] and rest[1] in facts.get("but", "").split()):
        return f"git {sub} may run other commands", True
    for text in rest[1:]:
        if re.match(r"(?:ext|fd)::", text) or "::" in text.partition("/")[0]:
            return "an address that names a program", True
        for option, only in GIT_RUNS.items():
            if only and sub not in only.split():
                continue
            if is_option(text, option) if option.startswith("--") else text.startswith(option):
                return f"{option} of git {sub} runs or writes something", True
    return None


def _find_options(texts: Sequence[str]) -> tuple[str, bool] | None:
    for text in texts:
        if text in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"):
            return f"{text} of find changes files", False
    return None


def _sed(texts: Sequence[str]) -> tuple[str, bool] | None:
    scripts, files, plain = [], False, []
    at = 0
    while at < len(texts):
        text = texts[at]
        if text in ("-e", "--expression"):
            scripts.append(texts[at + 1] if at + 1 < len(texts) else "")
            at += 1
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif text.startswith(("-f", "--file")):
            files = True
        elif text.startswith("-") and not text.startswith("--") and len(text) > 1:
            flags = text[1:].partition("i")[0]
            if "e" in flags:
                scripts.append(flags.partition("e")[2] or (texts[at + 1] if at + 1 < len(texts) else ""))
                at += 0 if flags.partition("e")[2] else 1
            files = files or "f" in flags
        elif not text.startswith("--"):
            plain.append(text)
        at += 1
    if not scripts and not files:
        scripts = plain[:1]
    if files or any(not _SED_SAFE.match(script) for script in scripts):
        return "a script of sed may run commands and write files", True
    return None


def _awk(texts: Sequence[str]) -> tuple[str, bool] | None:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in ("-F", "-v", "--field-separator", "--assign", "--"):
            if not re.match(r"-F.|-v.|--field-separator=|--assign=|--version|--posix|--re-interval", texts[at]):
                return f"{texts[at]} of awk", True
            at += 1
        else:
            at += 1 if texts[at] == "--" else 2
    if at < len(texts) and _AWK_RUNS.search(texts[at]):
        return "a program of awk may run commands and write files", True
    return None


def _vim(texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(text.startswith("+") for text in texts):
        return "a command for the program", True
    for option in (*known("vim").runs, *known("less").runs):
        if any(is_option(text, option) for text in texts):
            return f"{option} runs or writes something", True
    return None


def _tar(texts: Sequence[str]) -> tuple[str, bool] | None:
    if texts and not texts[0].startswith("-") and ("I" in texts[0] or "F" in texts[0]):
        return "an option of tar that runs something", True
    for option in known("tar").runs:
        if any(is_option(text, option) for text in texts):
            return f"{option} of tar runs something", True
    if any(re.match(r"[^/=]+:", text) for text in texts if not text.startswith("-")):
        return "an archive on another machine", True
    return None


def _sqlite(texts: Sequence[str]) -> tuple[str, bool] | None:
    if (
        any(re.search(r"(?:\A|\n)\s*\.|load_extension|writefile|edit\s*\(", text) for text in texts)
        or "-cmd" in texts
        or "-init" in texts
    ):
        return "a command of sqlite3 that may run a program", True
    return None


def _make(texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(_MAKE_SHELL.match(text) for text in texts) or any(
        is_option(t, "--eval") or t.startswith("-E") for t in texts
    ):
        return "make is told what to run", True
    return None


def _always(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("it runs a shell or a program of its own", True) if texts else None


def _printf(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("-v evaluates a name", True) if any(t.startswith("-v") for t in texts) else None


def _tests(texts: Sequence[str]) -> tuple[str, bool] | None:
    return _evaluates(texts) if "-v" in texts else None


def _evaluates(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("a subscript is evaluated", True) if any("[" in t for t in texts) else None


def _shellish(texts: Sequence[str]) -> tuple[str, bool] | None:
    # what a shell runs is read as a line or asks (inner_of)
    return None


_SPECIAL: Mapping[str, Callable[[Sequence[str]], tuple[str, bool] | None]] = {
    "git": _git, "find": _find_options, "sed": _sed, "awk": _awk, "vim": _vim, "nano": _vim, "less": _vim, "tar": _tar,
    "sqlite3": _sqlite, "make": _make, "printf": _printf, "test": _tests, "[": _tests,
    "script": _always, "expect": _always, "su": _always,
    "source": _always, ".": _always, "socat": _always, "ed": _always, "unset": _evaluates, "read": _evaluates,
    "declare": _evaluates, "wait": _evaluates, "getopts": _evaluates,
}  # fmt: skip
