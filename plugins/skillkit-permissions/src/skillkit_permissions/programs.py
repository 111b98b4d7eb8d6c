"""What is known of a program: its row in :mod:`.tables`, which is loaded when the first command is judged."""

from __future__ import annotations

import posixpath
import re
from collections import ChainMap
from dataclasses import dataclass
from functools import lru_cache

from .git_tables import GIT
from .shell import Word
from .tables import PROGRAMS

__all__ = ["VERSIONED", "Program", "known", "plain_name", "program_of", "words_of"]

VERSIONED = re.compile(r"(python|pypy|perl|ruby|lua|php|node|gcc|clang)-?[0-9][0-9.]*\Z")


@dataclass(frozen=True, slots=True)
class Program:
    """What is known of a program. Options stand in the table with their dashes, and words with blanks between them.

    The tags (key ``is``) are:

    - ``read-only``: it changes nothing, but for files that it is told to write and options that run something.
    - ``plain``: with plain arguments it runs without a question wherever its files may be read.
    - ``inert``: an argument that is not known before it runs does no harm.
    - ``speaks``: its arguments are text, and never files.
    - ``deep``: it takes everything below a folder.
    - ``skips-first``: its first argument is a mode or a script, and no file.
    - ``writes-first``: its first file is written.
    - ``writes-second``: its second file is written.
    - ``searches-here``: it searches the working folder when no file is named.
    - ``remote``: ``HOST:PATH`` is no file of this machine.
    - ``interpreter``: it runs a script, from its input when no argument names one.
    - ``shell``: it reads lines as a shell does.
    - ``loads``: with an argument it runs or changes what is not known.
    - ``loose``: it runs its arguments in ways that are not taken apart. What a rule denies in its words asks.
    - ``assigns``: what stands behind ``=`` in its arguments may be a command.
    - ``carries``: words behind its first argument may be a command that it runs elsewhere.
    - ``ordered``: its options end at the first word that is none.
    - ``bundled``: its first argument may be options without a dash.
    - ``subcommands``: a rule for one subcommand may hold for everything behind it.
    - ``shows``, ``writes``, ``runs`` (of git): it reads the files that it names, changes them, may run anything.

    Attributes:
        tags: see above.
        files: what it does with the files in its arguments: ``read``, ``write``, ``search``, ``copy``, ``fetch``, ``look`` (at
            names and sizes alone); empty: nothing is known of any.
        complete: the row names every option of the program (key ``flags``).
        options: all options that the row names.
        valued: options that take the next word, or the rest of theirs.
        joined: options whose value is the rest of their word.
        output: options whose value is a file that is written.
        input: options whose value is a file that is read.
        lists: options with a file of names of files, or that take such names from the input.
        moves: options whose value is the folder in which the program works.
        lines: options whose value is a shell line that runs. A rule with a star does not cover them.
        runs: options (or words) that run or load something, or write elsewhere: a rule with a star does not cover them.
        leaves: options with which it reads beyond what it is told: links that lead away, submodules, signatures.
        ends: options behind whose value stand no more options.
        names: options of one dash and more than one letter.
        wraps: it runs the command in its arguments: ``same`` where that is all that happens, ``other`` where the wrapper counts,
            too; empty: it does not.
        before: how many words stand before that command.
        launches: subcommands behind which a command stands, which runs what a project installed.
    """

    tags: frozenset[str]
    files: str
    complete: bool
    options: frozenset[str]
    valued: frozenset[str]
    joined: frozenset[str]
    output: frozenset[str]
    input: frozenset[str]
    lists: frozenset[str]
    moves: frozenset[str]
    lines: frozenset[str]
    runs: frozenset[str]
    leaves: frozenset[str]
    ends: frozenset[str]
    names: tuple[str, ...]
    wraps: str
    before: int
    launches: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_OPTIONS = ("flags", "values", "joined", "output", "input", "lists", "moves", "lines", "runs")
_CLUSTERS = ("flags", "values", "joined")


@lru_cache(1024)
def known(name: str) -> Program:
    """Return what is known of a program, ``git SUBCOMMAND`` for one of git. Nothing is known of one that is not in the tables."""
    table, key = (GIT, name[4:]) if name.startswith("git ") else (PROGRAMS, name)
    rows = [table.get(key, {})]
    while "like" in rows[-1]:
        rows.append(table[rows[-1]["like"]])
    # the options of both, else its own facts
    row = ChainMap(*map(dict, rows))
    options = {
        kind: frozenset[str]().union(*((_letters if kind in _CLUSTERS else words_of)(r.get(kind, "")) for r in rows))
        for kind in _OPTIONS
    }
    given = {kind: options[kind] for kind in ("output", "input", "lists", "moves", "lines")}
    # an option that lists, and is said to take no value, takes names from the input
    valued = options["values"].union(*given.values()) - options["flags"]
    every = frozenset().union(*options.values())
    return Program(
        tags=words_of(row.get("is", "")),
        files=row.get("files", ""),
        complete="flags" in row,
        options=every,
        valued=valued,
        joined=options["joined"],
        **given,
        runs=options["runs"],
        leaves=frozenset[str]().union(*(words_of(r.get("leaves", "")) for r in rows)),
        ends=words_of(row.get("ends", "")),
        names=tuple(sorted((o for o in every if o[:1] == "-" and o[:2] != "--" and len(o) > 2), key=len, reverse=True)),
        wraps=row.get("wraps", ""),
        before=int(row.get("before", "0")),
        launches=words_of(row.get("launches", "")),
    )


def _letters(text: str) -> frozenset[str]:
    """Return the options of a text; the first word may be letters that stand together: ``-abc --all``."""
    first, _, rest = text.partition(" ")
    return words_of(rest) | (words_of(first) if first[:2] in ("", "--") else {f"-{letter}" for letter in first[1:]})


def plain_name(name: str) -> str:
    """Return the name under which the options of a program stand: without a version, and that of the program that it is like."""
    versioned = VERSIONED.match(name)
    name = versioned[1] if versioned and "like" not in PROGRAMS.get(name, {}) else name
    return PROGRAMS.get(name, {}).get("like", name)


def program_of(word: Word) -> str:
    """Return the name of a program without its folder."""
    return posixpath.basename(word.text)
