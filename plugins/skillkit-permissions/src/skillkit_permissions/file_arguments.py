"""Which arguments of a command are files that it reads or changes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

from .options import Arguments, part, read
from .programs import VERSIONED, Program, known, plain_name, program_of, words_of
from .shell import Word
from .tables import CURL_DATA

__all__ = ["GIT_PATCHES", "Operand", "files_of"]


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


_RECURSIVE = words_of("-r -R -a --recursive --archive")
_ANY = Word("", known=False)


def files_of(words: Sequence[Word], *, looks: bool = False) -> Iterator[Operand]:
    """Yield the files that a command reads or changes, as far as its program is known.

    Args:
        looks: those of which only names and sizes are read count, too.
    """
    name = program_of(words[0])
    program = known(name if not VERSIONED.match(name) else plain_name(name))
    given = read(program, words[1:])
    if plain_name(name) == "git":
        yield from _git_files(given)
        return
    yield from _of_options(program, given)
    if plain_name(name) == "dd":
        for word in given.operands:
            key, _, value = word.text.partition("=")
            if key in ("of", "if"):
                yield Operand(part(word, value), writes=key == "of")
    elif plain_name(name) == "find":
        # what an expression writes is judged as an option of find
        yield from (Operand(w) for w in _starting_points(words[1:]) if looks)
    else:
        yield from _operands(name, program, given, looks)
    if plain_name(name) == "curl":
        yield from _sent(program, given, words[1:])


def _starting_points(args: Sequence[Word]) -> Iterator[Word]:
    """Yield the folders in which find starts: what stands in front of the expression."""
    behind = dropwhile(lambda w: re.match(r"-(?:[HLP]|O[0-9]|D)\Z", w.text), args)
    return takewhile(lambda w: not w.text.startswith(("-", "(", "!")), behind)


def _of_options(program: Program, given: Arguments) -> Iterator[Operand]:
    """Yield the files that are values of options."""
    yield from (Operand(w, writes=True) for w in given.values(program.output))
    yield from (Operand(w) for w in given.values(program.input))
    for option in given.given(program.lists):
        # which files the list names is not known
        if option.value is not None:
            yield Operand(option.value)
        yield Operand(_ANY, writes=program.files in ("write", "copy") or "writes" in program.tags)


def _operands(name: str, program: Program, given: Arguments, looks: bool) -> Iterator[Operand]:
    """Yield the files that a program names in its arguments, by what it does with them."""
    recursive = given.has(_RECURSIVE)
    deep = "deep" in program.tags or recursive
    if plain_name(name) == "sed":
        places = given.has("-i --in-place")
        scripts = given.has("-e -f --expression --file")
        yield from (Operand(w, writes=places) for w in given.operands[0 if scripts else 1 :])
    elif plain_name(name) == "tar":
        yield from _archived(given)
    elif program.files == "copy":
        yield from _copied(name, program, given, deep)
    elif program.files == "search":
        yield from _searched(given, deep, here="searches-here" in program.tags or recursive)
    elif program.files in ("read", "write") or (looks and program.files == "look"):
        yield from _named(program, given, deep)


def _named(program: Program, given: Arguments, deep: bool) -> Iterator[Operand]:
    """Yield the files that a program names in its arguments."""
    # a word behind an option that is not known may be its value
    skipped = 1 if "skips-first" in program.tags and not given.unknown else 0
    written = {0 if "writes-first" in program.tags else None, 1 if "writes-second" in program.tags else None}
    for at, word in enumerate(given.operands[skipped:]):
        yield Operand(word, writes=program.files == "write" or at in written, deep=deep)


def _archived(given: Arguments) -> Iterator[Operand]:
    """Yield the archive of tar, and what is put into it."""
    writes = given.has("-c -r -u -A --create --append --update --catenate --concatenate --delete")
    yield from (Operand(w, writes=writes) for w in given.values("-f --file") if w.text != "-")
    unpacks = given.has("-x --extract --get")
    yield from (Operand(w, writes=True) for w in given.values("-C --directory") if unpacks)
    yield from (Operand(w, writes=unpacks or given.has("--remove-files"), deep=True) for w in given.operands)


def _searched(given: Arguments, deep: bool, here: bool) -> Iterator[Operand]:
    """Yield the files that a program like grep looks in; ``here``: without any in the working folder."""
    patterns = given.has("-e -f --regexp --file --files --type-list")
    found = given.operands if patterns or given.unknown else given.operands[1:]
    yield from (Operand(w, deep=deep) for w in (found or [Word(".")] * here))


GIT_PATCHES = "-L -p -u -U -G -S --patch --unified -c --cc -m --dd --remerge-diff --patch-with-stat --patch-with-raw"
# a pattern of git, or its magic: any file may be meant
_GIT_PATTERN = re.compile(r"[*?\[]|\A:[(!^/]")


def _git_files(given: Arguments) -> Iterator[Operand]:
    """Yield the files that git reads or changes, in the folder that ``-C`` names."""
    folder = ""
    for word in given.values("-C --work-tree"):
        folder = posixpath.join(folder, word.text)
    if not given.operands:
        return
    program = known(f"git {given.operands[0].text}")
    behind = read(program, given.operands[1:])
    for operand in (*_of_options(program, behind), *_git_operands(given.operands[0].text, program, behind, given)):
        word = operand.word
        yield replace(operand, word=part(word, posixpath.join(folder, word.text))) if folder and word.known else operand


def _git_operands(subcommand: str, program: Program, given: Arguments, all_words: Arguments) -> Iterator[Operand]:
    if subcommand == "grep":
        # in front of "--" a revision may stand, whose files are all looked in
        named = any(w.text == "--" for w in all_words.operands)
        yield from ([] if named else [Operand(Word("."), deep=True)])
        yield from (_git_pathspec(o) for o in _searched(given, True, here=named))
    elif "writes" in program.tags:
        if subcommand == "clean" and not given.operands and not given.has("-n --dry-run"):
            yield Operand(Word("."), writes=True, deep=True)
        if given.has("-S --staged --cached") and not given.has("-W --worktree"):
            return
        yield from (Operand(w, writes=True, deep=True) for w in given.operands if w.text != "HEAD")
    elif "shows" in program.tags or (subcommand in ("log", "whatchanged") and given.has(GIT_PATCHES)):
        # files outside of a repository are compared, too
        yield from (_git_pathspec(Operand(w, deep=True)) for w in given.operands)
        # -L1,5:FILE
        for word in given.values("-L"):
            if ":" in word.text:
                yield Operand(part(word, word.text.rpartition(":")[2]))
    elif program.files == "read" or given.has("--no-index"):
        yield from (Operand(w) for w in given.operands)


def _git_pathspec(operand: Operand) -> Operand:
    """Return the file of a word as git reads it: ``REVISION:FILE``, a pattern that no shell has filled in, or a path."""
    word = operand.word
    if word.known and not word.glob and _GIT_PATTERN.search(word.text):
        return replace(operand, word=Word("."), deep=True)
    return replace(operand, word=part(word, word.text.rpartition(":")[2] or ".")) if ":" in word.text else operand


def _copied(name: str, program: Program, given: Arguments, deep: bool) -> Iterator[Operand]:
    """Yield what a program copies, where to, and the files that are there then."""
    target = list(given.values("-t --target-directory")) if "remote" not in program.tags else []
    plain = given.operands
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


def _sent(program: Program, given: Arguments, args: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that curl sends, those of ``file:`` addresses, and the folder where it puts what it fetches."""
    for long, short in CURL_DATA.items():
        for word in given.values(f"{short} --{long}"):
            if found := re.search(r"[@<](.*)", word.text, re.S):
                yield Operand(part(word, re.split(r";(?:type|filename|headers|encoder)=", found[1])[0]))
    # several names in one word
    yield from (Operand(_ANY) for w in given.values("-T --upload-file") if set(w.text) & set("{["))
    # what has no "=" is a file of cookies
    yield from (Operand(w) for w in given.values("-b --cookie") if "=" not in w.text)
    for word in args:
        if (at := word.text.lower().find("file:")) >= 0 and word.text[:at] in ("", "--url="):
            yield Operand(part(word, re.sub(r"(?i)\Afile:(?://[^/]*)?", "", word.text[at:])))
    if given.has("-O -J --remote-name --remote-name-all --remote-header-name"):
        yield Operand(Word("."), writes=True)
