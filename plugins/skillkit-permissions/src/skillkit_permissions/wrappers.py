"""What a command runs besides itself: behind ``timeout``, ``sudo``, ``xargs``, ``find -exec``, ``sh -c``, ``eval``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .options import Arguments, read
from .programs import Program, known, plain_name, program_of
from .shell import Word

__all__ = ["Inner", "inner_of"]


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs besides itself.

    Attributes:
        how: ``same`` where the inner command is all that happens (``timeout``), ``other`` where the outer one counts too
            (``sudo``, ``xargs``), ``launched`` where of the inner one only what is forbidden counts (``uv run``), ``line``
            for a text that is read as a shell line, ``unknown`` where nobody can say.
        words: the inner command.
        line: the text; ``None`` where it is not known.
    """

    how: Literal["same", "other", "launched", "line", "unknown"]
    words: tuple[Word, ...] = ()
    line: str | None = None


_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=|-\Z")


def inner_of(words: Sequence[Word]) -> Iterator[Inner]:
    """Yield what a command runs besides itself."""
    name = plain_name(program_of(words[0]))
    program = known(program_of(words[0]))
    given = read(program, words[1:])
    yield from (_line_of([w]) for w in given.values(program.lines))
    if name == "git" and given.operands:
        behind = known(f"git {given.operands[0].text}")
        yield from (_line_of([w]) for w in read(behind, given.operands[1:]).values(behind.lines))
    if program.wraps:
        yield from _wrapped(name, program, given, words)
    elif "shell" in program.tags:
        yield from _shell(words)
    elif program.launches:
        yield from _launched(words, program.launches)
    elif name == "eval":
        yield _line_of(words[1:], joined=True) if len(words) > 1 else Inner("unknown")
    elif name == "trap":
        lines = [w for w in words[1:] if w.text not in ("--", "-")]
        if len(lines) > 1 and not lines[0].text.startswith("-"):
            yield _line_of(lines[:1])
        yield Inner("unknown")
    elif name == "alias":
        for word in words[1:]:
            _, equal, value = word.text.partition("=")
            if equal:
                yield Inner("line", line=value if word.known else None)
        yield Inner("unknown")
    elif name == "find":
        yield from _find(words)
    elif "interpreter" in program.tags and given.has("-m"):
        yield from (Inner("launched", (w, *given.operands)) for w in given.values("-m"))
    elif name == "fd":
        for at, word in enumerate(words):
            if re.match(r"-[A-Za-z]*[xX]\Z|--exec(?:-batch)?\Z", word.text):
                yield Inner("other", tuple(words[at + 1 :]))
            elif word.text.startswith(("-x", "-X", "--exec")):
                yield Inner("unknown")
    elif "loose" in program.tags or ("loads" in program.tags and len(words) > 1):
        yield Inner("unknown")


def _wrapped(name: str, program: Program, given: Arguments, words: Sequence[Word]) -> Iterator[Inner]:
    if name == "command" and given.has("-v -V"):
        return
    rest = list(given.operands)
    if name == "env" and (split := list(given.values("-S --split-string"))):
        yield _split(split, rest)
        return
    while rest and name in ("env", "sudo", "doas") and (_ASSIGNED.match(rest[0].text) or rest[0].text in ("", "--")):
        rest.pop(0)
    rest = rest[program.before :]
    if given.unknown and rest:
        # what stands behind an option that is not known may be its value
        yield from (Inner("launched", tuple(rest[at:])) for at in range(1, len(rest)))
        yield Inner("unknown")
    if not rest:
        # a line behind sudo -s, and what the wrapper does alone
        if name in ("sudo", "doas"):
            yield Inner("unknown")
        return
    if any(not w.known for w in words[1 : len(words) - len(rest)]):
        yield Inner("unknown")
    if name == "xargs":
        rest = _with_input(given, rest)
    if name == "watch":
        yield _line_of(rest, joined=True)
        return
    yield Inner("same" if program.wraps == "same" else "other", tuple(rest))


def _split(texts: Sequence[Word], rest: Sequence[Word]) -> Inner:
    """Return what env runs where it splits a text into words, which may begin with further options of env."""
    text = texts[0].text
    # its escapes, comments and variables are not those of a shell
    if len(texts) > 1 or not texts[0].known or texts[0].glob or set(text) & set("\\#$"):
        return Inner("unknown")
    try:
        return Inner("other", (Word("env"), *map(Word, shlex.split(text)), *rest))
    except ValueError:
        return Inner("unknown")


def _with_input(given: Arguments, rest: list[Word]) -> list[Word]:
    """Return the command that xargs runs, with what its input puts into it."""
    unknown = Word("", known=False)
    replaced = [w.text for w in given.values("-I --replace -i")]
    if given.has("-i --replace"):
        replaced.append("{}")
    first = unknown if any(text and text in rest[0].text for text in replaced) else rest[0]
    return [first, *rest[1:], unknown]


def _launched(words: Sequence[Word], subcommands: frozenset[str]) -> Iterator[Inner]:
    """Yield every command that may stand behind the subcommand and its options, each of which may take a word."""
    start = next((at for at, word in enumerate(words) if at and word.text in subcommands), len(words))
    for at in range(start + 1, len(words)):
        if words[at].text == "-":
            # a script from the input
            yield Inner("unknown")
        if not words[at].text.startswith("-"):
            yield Inner("launched", tuple(words[at:]))
            if not words[at - 1].text.startswith("-") or words[at - 1].text == "--":
                return


def _shell(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        text = words[at].text
        if not words[at].known:
            break
        if text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            at += 2
        elif text.startswith("--"):
            at += 1
        elif text[:1] in "-+" and len(text) > 1:
            # each "o" takes a word: bash -euo pipefail
            taken = 1 + text.lower().count("o")
            if "c" in text and text[0] == "-":
                at += taken
                while at < len(words) and words[at].known and words[at].text[:1] in "-+" and len(words[at].text) > 1:
                    at += 2 if words[at].text in ("-o", "+o", "-O", "+O") else 1
                yield _line_of(words[at : at + 1])
                return
            at += taken
        else:
            break
    if [w.text for w in words[1:]] not in (["--version"], ["--help"]):
        # a script from a file, from a pipe or from a here-document
        yield Inner("unknown")


def _line_of(words: Sequence[Word], joined: bool = False) -> Inner:
    """Return the line that words make. The line is not known where a word is not."""
    if not words or any(not w.known or w.glob for w in (words if joined else words[:1])):
        return Inner("line")
    return Inner("line", line=" ".join(w.text for w in words))


def _find(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        if words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while (
                end < len(words)
                and words[end].text != ";"
                and not (words[end].text == "+" and words[end - 1].text == "{}")
            ):
                end += 1
            found = tuple(Word("", known=False) if "{}" in w.text else w for w in words[at + 1 : end])
            yield Inner("other", found) if found else Inner("unknown")
            at = end
        elif not words[at].known:
            yield Inner("unknown")
        at += 1
