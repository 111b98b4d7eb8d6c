"""What a command runs besides itself: behind ``timeout``, ``sudo``, ``xargs``, ``find -exec``, ``sh -c``, ``eval``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .programs import Program, known, program_of
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


_SPLIT = re.compile(r"-[iv0]*S|--s[a-z-]*(?:=|\Z)")
_XARGS_JOINED = re.compile(r"-(?:[adEILnPseil].+|[0rtpxo]+)\Z")


def inner_of(words: Sequence[Word]) -> Iterator[Inner]:
    """Yield what a command runs besides itself."""
    name = program_of(words[0])
    program = known(name)
    if program.wraps:
        yield from _wrapped(name, program, words)
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
    elif name in ("find", "gfind"):
        yield from _find(words)
    elif name in ("fd", "fdfind"):
        for at, word in enumerate(words):
            if re.match(r"-[A-Za-z]*[xX]\Z|--exec(?:-batch)?\Z", word.text):
                yield Inner("other", tuple(words[at + 1 :]))
            elif word.text.startswith(("-x", "-X", "--exec")):
                yield Inner("unknown")
    elif "loose" in program.tags or ("loads" in program.tags and len(words) > 1):
        yield Inner("unknown")


def _wrapped(name: str, program: Program, words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        text = words[at].text
        if name == "command" and text in ("-v", "-V"):
            return
        if name == "env" and (split := _SPLIT.match(text)):
            given = [Word(text[split.end() :], words[at].known), *words[at + 1 :]]
            yield _line_of([w for w in given if w.text], joined=True)
            return
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            if not words[at].known:
                break
            takes = _takes_next(text, program.values)
            if name == "xargs" and not takes and not text.startswith("--") and not _XARGS_JOINED.match(text):
                yield Inner("unknown")
            at += 2 if takes else 1
        elif name in ("env", "sudo", "doas") and re.match(r"[A-Za-z_][A-Za-z0-9_]*=|-\Z", text):
            at += 1
        else:
            break
    at += program.before
    rest = tuple(words[at:])
    if not rest:
        # a line behind sudo -s, and what the wrapper does alone
        if name in ("sudo", "doas"):
            yield Inner("unknown")
        return
    if any(not w.known for w in words[1:at]):
        yield Inner("unknown")
    if name == "xargs":
        rest = (*rest, Word("", known=False))
        if any(w.text and w.text in rest[0].text for w in _replaced(words[1:at])):
            rest = (Word("", known=False), *rest[1:])
    if name == "watch":
        yield _line_of(rest, joined=True)
        return
    yield Inner("same" if program.wraps == "same" else "other", rest)


def _launched(words: Sequence[Word], subcommands: frozenset[str]) -> Iterator[Inner]:
    """Yield every command that may stand behind the subcommand and its options, each of which may take a word."""
    start = next((at for at, word in enumerate(words) if at and word.text in subcommands), len(words))
    for at in range(start + 1, len(words)):
        if not words[at].text.startswith("-"):
            yield Inner("launched", tuple(words[at:]))
            if not words[at - 1].text.startswith("-") or words[at - 1].text == "--":
                return


def _takes_next(text: str, valued: frozenset[str]) -> bool:
    """Return whether the next word is the value of an option: of one cut short, or of the last of several letters, too."""
    if text.startswith("--"):
        return "=" not in text and any(option.startswith(text) for option in valued)
    first = next((at for at, letter in enumerate(text) if at and f"-{letter}" in valued), None)
    return first == len(text) - 1


def _replaced(options: Sequence[Word]) -> Iterator[Word]:
    """Yield the texts that xargs replaces by its input."""
    for at, word in enumerate(options):
        if word.text in ("-I", "--replace") and at + 1 < len(options):
            yield options[at + 1]
        elif word.text.startswith("-I"):
            yield Word(word.text[2:])
        elif word.text.startswith(("-i", "--replace")):
            yield Word(word.text.partition("=")[2] or word.text[2:] if not word.text.startswith("--") else "{}")
            yield Word("{}")


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
