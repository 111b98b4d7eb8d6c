"""The names of programs, and the tables in which facts about them stand."""

from __future__ import annotations

import posixpath
import re

from .shell import Word

__all__ = ["ALIKE", "SPEAKERS", "VERSIONED", "program_of", "table_of", "words_of", "wrappers_of"]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def table_of(text: str) -> dict[str, frozenset[str]]:
    """Return the rows of a text: the first word of a row, and the others; a row goes on in lines that are indented further."""
    rows = re.sub(r"\n {5,}", " ", text).split("\n")
    return {words[0]: frozenset(words[1:]) for row in rows if (words := row.split())}


def wrappers_of(text: str) -> dict[str, tuple[frozenset[str], int]]:
    """Return, for each program, its options that take the next word, and how many words stand before the inner command."""
    rows = re.sub(r"\n {5,}", " ", text).split("\n")
    return {words[0]: (frozenset(words[2:]), int(words[1])) for row in rows if (words := row.split())}


def program_of(word: Word) -> str:
    """Return the name of a program without its folder."""
    return posixpath.basename(word.text)


ALIKE = {
    other: name
    for name, others in table_of("""
    7z 7za
    apt apt-get
    awk gawk mawk nawk original-awk
    bat batcat
    emacs emacsclient
    find gfind
    gcc c++ cc clang clang++ g++
    grep egrep fgrep gegrep ggrep zgrep
    less more
    lua luajit
    make gmake
    mysql mariadb
    nc ncat netcat
    node nodejs
    npm pnpm yarn
    pip pip3
    python ipython pypy pypy3 python2 python3
    rg ripgrep
    sed gsed
    sort gsort
    tar bsdtar gtar
    vim ex gvim nvim rvim vi view vimdiff
""").items()
    for other in others
}
VERSIONED = re.compile(r"(python|pypy|perl|ruby|lua|php|node|gcc|clang)-?[0-9][0-9.]*\Z")
# programs whose arguments cannot turn into something else: an unknown one does no harm
SPEAKERS = words_of("""
    : [ basename break continue dirname echo exit false local printf return shift sleep test true
""")
