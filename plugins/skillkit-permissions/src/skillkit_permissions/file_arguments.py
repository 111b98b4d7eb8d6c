"""Which arguments of a command are files, and which commands are known to change nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .programs import VERSIONED, Program, known, program_of, words_of
from .risky_options import is_option, unruly
from .shell import Word
from .tables import CURL_DATA, GIT, GIT_VALUES, VALUES

__all__ = ["Operand", "files_of", "only_reads"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A file of a command.

    Attributes:
        word: its path.
        writes: the file is changed, replaced, made or removed; else it is read.
        deep: everything below a folder counts too.
    """

    word: Word
    writes: bool = False
    deep: bool = False


def files_of(words: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that a command reads or changes, as far as its program is known."""
    name = program_of(words[0])
    args = words[1:]
    recursive = any(
        w.text in ("--recursive", "--archive") or re.match(r"-[A-Za-z]*[rRa][A-Za-z]*\Z", w.text) for w in args
    )
    program = known(name)
    deep = "deep" in program.tags or recursive
    if name == "dd":
        for word in args:
            key, _, value = word.text.partition("=")
            if key in ("of", "if"):
                yield Operand(_part(word, value), writes=key == "of")
    elif name == "git":
        yield from _git_files(args)
    elif name in ("sed", "gsed"):
        yield from _sed_files(args)
    elif program.files == "copy":
        yield from _copied(name, program, args, deep)
    elif program.files == "search":
        yield from _searched(args, deep, here="searches-here" in program.tags or recursive)
    elif program.files in ("read", "write") or VERSIONED.match(name):
        yield from _named(program, args, deep)
    if name == "curl":
        yield from _sent(args)
    for options in program.output:
        yield from (Operand(w, writes=True) for w in _values(args, options))
    for options in program.input:
        yield from (Operand(w) for w in _values(args, options))


def _named(program: Program, args: Sequence[Word], deep: bool) -> Iterator[Operand]:
    """Yield the files that a program names in its arguments."""
    plain = list(_plain(args, program.values))
    writes = program.files == "write"
    for at, word in enumerate(plain[1:] if "skips-first" in program.tags else plain):
        yield Operand(word, writes=writes or (at == 1 and "writes-second" in program.tags), deep=deep)


def _searched(args: Sequence[Word], deep: bool, here: bool) -> Iterator[Operand]:
    """Yield the files that a program like grep looks in; ``here``: without any in the working folder."""
    plain = list(_plain(args, words_of(VALUES["search"])))
    given = any(
        is_option(w.text, "-e") or is_option(w.text, "-f") or w.text.startswith(("--regexp", "--file")) for w in args
    )
    for at, word in enumerate(args):
        if word.text in ("-f", "--file") and at + 1 < len(args):
            yield Operand(args[at + 1])
    plain = plain if given else plain[1:]
    yield from (Operand(w, deep=deep) for w in (plain or [Word(".")] * here))


_GIT_VALUES = words_of(GIT_VALUES)
_GIT_PATCHES = ("-L", "-p", "-u", "-U", "--patch", "--unified")
# a pattern of git, or its magic: any file may be meant
_GIT_PATTERN = re.compile(r"[*?\[]|\A:[(!^/]")


def _git_files(args: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that git reads or changes, in the folder that ``-C`` names."""
    at, folder = 0, ""
    while at < len(args) and args[at].text.startswith("-"):
        option, joined, value = args[at].text.partition("=")
        if option in _GIT_VALUES and not joined:
            at += 1
            value = args[at].text if at < len(args) else ""
        if option in ("-C", "--work-tree"):
            folder = posixpath.join(folder, value)
        at += 1
    for operand in _git_operands(args[at].text, args[at + 1 :]) if at < len(args) else ():
        word = operand.word
        yield replace(operand, word=_part(word, posixpath.join(folder, word.text))) if folder else operand


def _git_operands(subcommand: str, args: Sequence[Word]) -> Iterator[Operand]:
    facts = GIT.get(subcommand, {}).get("is", "").split()
    if subcommand == "grep":
        # in front of "--" a revision may stand, whose files are all looked in
        named = any(w.text == "--" for w in args)
        yield from ([] if named else [Operand(Word("."), deep=True)])
        yield from (_git_pathspec(o) for o in _searched(args, True, here=named))
    elif "writes" in facts:
        yield from (
            Operand(w, writes=True, deep=True) for w in _plain(args, frozenset()) if w.text not in ("HEAD", ".")
        )
    elif "shows" in facts or (
        subcommand in ("log", "whatchanged") and any(w.text.startswith(_GIT_PATCHES) for w in args)
    ):
        # files outside of a repository are compared, too
        yield from (_git_pathspec(Operand(w, deep=True)) for w in _plain(args, frozenset()))
        # -L1,5:FILE
        yield from (Operand(_part(w, w.text.rpartition(":")[2])) for w in args if re.match(r"-L.*:", w.text))
    elif any(w.text == "--no-index" for w in args):
        yield from (Operand(w) for w in _plain(args, frozenset()))


def _git_pathspec(operand: Operand) -> Operand:
    """Return the file of a word as git reads it: ``REVISION:FILE``, a pattern that no shell has filled in, or a path."""
    word = operand.word
    if word.known and not word.glob and _GIT_PATTERN.search(word.text):
        return replace(operand, word=Word("."), deep=True)
    return replace(operand, word=_part(word, word.text.rpartition(":")[2] or ".")) if ":" in word.text else operand


def _part(word: Word, text: str) -> Word:
    return Word(text, word.known, word.glob, text.startswith("~"))


def _plain(args: Sequence[Word], valued: frozenset[str]) -> Iterator[Word]:
    """Yield the words that are no options."""
    at, options = 0, True
    while at < len(args):
        text = args[at].text
        if options and text == "--":
            options = False
        elif options and text in valued:
            at += 1
        elif text != "-" and (not options or not text.startswith("-")):
            yield args[at]
        at += 1


def _values(args: Sequence[Word], options: str) -> Iterator[Word]:
    """Yield the values of an option, given as ``-o --output``.

    The short form may stand behind other letters, but not behind those of ``-XPUT``.
    """
    for at, word in enumerate(args):
        for option in options.split():
            if option.startswith("--"):
                if word.text == option:
                    yield from args[at + 1 : at + 2]
                elif word.text.startswith(f"{option}="):
                    yield _part(word, word.text.partition("=")[2])
            elif not word.text.startswith("--") and (match := re.match(rf"-[A-WYZa-z0-9#]*?{option[1]}", word.text)):
                joined = word.text[match.end() :]
                yield from [_part(word, joined)] if joined else args[at + 1 : at + 2]


def _sed_files(args: Sequence[Word]) -> Iterator[Operand]:
    places = any(re.match(r"-[nErsuz]*i|--in-place", w.text) for w in args)
    scripts = any(re.match(r"-[nErsuz]*[ef]|--expression|--file", w.text) for w in args)
    plain = list(_plain(args, frozenset({"-e", "-f", "--expression", "--file", "-l"})))
    yield from (Operand(w, writes=places) for w in (plain if scripts else plain[1:]))


def _copied(name: str, program: Program, args: Sequence[Word], deep: bool) -> Iterator[Operand]:
    """Yield what a program copies, where to, and the files that are there then."""
    target = list(_values(args, "-t --target-directory"))
    plain = list(_plain(args, program.values))
    sources = plain if target else plain[:-1]
    if name == "ln" and len(plain) == 1 and not target:
        sources = plain
    if "remote" in program.tags:
        plain = [w for w in plain if not re.match(r"[^/]*:", w.text)]
        sources = [w for w in sources if not re.match(r"[^/]*:", w.text)]
    yield from (Operand(w, writes=name == "mv", deep=deep) for w in sources)
    ends = target or [w for w in plain[-1:] if w not in sources or len(plain) > 1]
    for end in ends:
        yield Operand(end, writes=True)
        if end.known and not end.glob:
            for source in sources:
                if source.known and not source.glob:
                    yield Operand(
                        Word(f"{end.text.rstrip('/')}/{posixpath.basename(source.text.rstrip('/'))}", tilde=end.tilde),
                        writes=True,
                    )


def _sent(args: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that curl sends, those of ``file:`` addresses, and the folder where it puts what it fetches."""
    for long, short in CURL_DATA.items():
        for word in _values(args, f"{short} --{long}"):
            if found := re.search(r"[@<](.*)", word.text, re.S):
                yield Operand(_part(word, found[1]))
    # what has no "=" is a file of cookies
    yield from (Operand(w) for w in _values(args, "-b --cookie") if "=" not in w.text)
    for word in args:
        if word.text[:5].lower() == "file:":
            yield Operand(_part(word, re.sub(r"(?i)\Afile:(?://[^/]*)?", "", word.text)))
    names = ("--remote-name", "-J", "--remote-header-name")
    if any(w.text in names or re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*", w.text) for w in args):
        yield Operand(Word("."), writes=True)


def only_reads(words: Sequence[Word]) -> bool:
    """Return whether a command is known to change nothing."""
    name = words[0].text
    if name == "git":
        plain = [w.text for w in words[1:] if not w.text.startswith("-")]
        facts = GIT.get(plain[0], {}).get("is", "") if plain else ""
        return "read-only" in facts.split() and unruly(words) is None
    tags = known(name).tags
    if "read-only" not in tags or any(not w.known for w in words[1:] if "inert" not in tags):
        return False
    if (
        name in ("env", "date", "hostname")
        and len(words) > 1
        and not all(w.text.startswith(("+", "-u", "-I", "-R")) for w in words[1:])
    ):
        return False
    return unruly(words) is None and not any(o.writes for o in files_of(words))
