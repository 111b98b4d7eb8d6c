"""What is known of a program: its row in :mod:`.tables`, which is loaded when the first command is judged."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache

from .shell import Word
from .tables import PROGRAMS, VALUES

__all__ = ["VERSIONED", "Program", "known", "plain_name", "program_of", "words_of"]

VERSIONED = re.compile(r"(python|pypy|perl|ruby|lua|php|node|gcc|clang)-?[0-9][0-9.]*\Z")


@dataclass(frozen=True, slots=True)
class Program:
    """What is known of a program. Options stand in the table with their dashes, and words with blanks between them.

    The tags (key ``is``) are:

    - ``read-only``: it changes nothing, but for files that it is told to write and options that run something.
    - ``inert``: an argument that is not known before it runs does no harm.
    - ``speaks``: its arguments are text, and never files.
    - ``deep``: it takes everything below a folder.
    - ``skips-first``: its first argument is a mode or a script, and no file.
    - ``writes-second``: its second file is written.
    - ``searches-here``: it searches the working folder when no file is named.
    - ``remote``: ``HOST:PATH`` is no file of this machine.
    - ``interpreter``: it runs a script, from its input when no argument names one.
    - ``shell``: it reads lines as a shell does.
    - ``loads``: with an argument it runs or changes what is not known.
    - ``loose``: it runs its arguments in ways that are not taken apart. What a rule denies in its words asks.
    - ``subcommands``: a rule for one subcommand may hold for everything behind it.

    Attributes:
        tags: see above.
        files: what it does with the files in its arguments: ``read``, ``write``, ``search``, ``copy``, ``fetch``; empty: nothing
            is known of any.
        values: options that take the next word.
        output: options whose value is a file that is written, each as ``-o --output``.
        input: options whose value is a file that is read.
        runs: options (or words) that run or load something, or write elsewhere: a rule with a star does not cover them.
        wraps: it runs the command in its arguments: ``same`` where that is all that happens, ``other`` where the wrapper counts,
            too; empty: it does not.
        before: how many words stand before that command.
        launches: subcommands behind which a command stands, which runs what a project installed.
    """

    tags: frozenset[str]
    files: str
    values: frozenset[str]
    output: tuple[str, ...]
    input: tuple[str, ...]
    runs: tuple[str, ...]
    wraps: str
    before: int
    launches: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


@lru_cache(1024)
def known(name: str) -> Program:
    """Return what is known of the program of a name. Nothing is known of a program that is not in the table."""
    row = PROGRAMS.get(name, {})
    files = row.get("files", "")
    return Program(
        words_of(row.get("is", "")),
        files,
        words_of(VALUES.get(files) or row.get("values", "")),
        tuple(filter(None, row.get("output", "").split(", "))),
        tuple(filter(None, row.get("input", "").split(", "))),
        tuple(sorted(row.get("runs", "").split())),
        row.get("wraps", ""),
        int(row.get("before", "0")),
        words_of(row.get("launches", "")),
    )


def plain_name(name: str) -> str:
    """Return the name under which the options of a program stand: without a version, and that of the program that it is like."""
    versioned = VERSIONED.match(name)
    name = versioned[1] if versioned and "like" not in PROGRAMS.get(name, {}) else name
    return PROGRAMS.get(name, {}).get("like", name)


def program_of(word: Word) -> str:
    """Return the name of a program without its folder."""
    return posixpath.basename(word.text)
