"""Reads the words of a command as its program does: options with their values, and the rest.

One reader for all programs, with the rules of ``getopt_long``: short options stand together, a value is joined or the next
word, long options may be cut short, and ``--`` ends them. What a program's row in :mod:`.tables` does not name is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .programs import Program, words_of
from .shell import Word

__all__ = ["Arguments", "Option", "part", "read"]

_ALWAYS = frozenset({"--help", "--version", "-"})


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Attributes:
        name: as the row has it (``-o``, ``--output``); as it was written where no row has it.
        value: its value, joined or from the next word; ``None``: it has none.
        known: the row has it.
    """

    name: str
    value: Word | None = None
    known: bool = True


@dataclass(slots=True)
class Arguments:
    """What a program reads in its arguments.

    Attributes:
        options: in their order.
        operands: the words that are no options. For a program that stops at its first operand, all from there on.
        behind: those of them that stand behind ``--``.
    """

    options: list[Option] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)
    behind: list[Word] = field(default_factory=list)

    def given(self, names: frozenset[str] | str) -> Iterator[Option]:
        """Yield the options of these names, which may stand in a text with blanks between them."""
        wanted = words_of(names) if isinstance(names, str) else names
        return (option for option in self.options if option.name in wanted)

    def has(self, names: frozenset[str] | str) -> bool:
        """Return whether an option of these names is given."""
        return next(self.given(names), None) is not None

    def values(self, names: frozenset[str] | str) -> Iterator[Word]:
        """Yield the values of the options of these names."""
        return (option.value for option in self.given(names) if option.value is not None)

    @property
    def unknown(self) -> str:
        """The first option that the row does not name; empty where it names all."""
        return next((option.name for option in self.options if not option.known), "")


def part(word: Word, text: str) -> Word:
    """Return a part of a word, as sure as the whole one is."""
    return Word(text, word.known, word.glob, text.startswith("~"))


def read(program: Program, args: Sequence[Word]) -> Arguments:
    """Return what a program reads in its arguments."""
    found = Arguments()
    waiting = list(reversed(args))
    if "bundled" in program.tags and args and not args[0].text.startswith("-"):
        waiting = list(reversed([*_unbundled(program, args)]))
    while waiting:
        word = waiting.pop()
        text = word.text
        if text == "--" and word.known:
            found.behind = waiting[::-1]
            break
        if text in ("", "-") or not text.startswith("-"):
            found.operands.append(word)
            if "ordered" in program.tags:
                break
            continue
        options = list(_long(program, word) if text.startswith("--") else _short(program, word))
        last = options[-1]
        if last.value is None and last.name in program.valued and word.known and waiting:
            options[-1] = last = Option(last.name, waiting.pop(), last.known)
        found.options += options
        if last.name in program.ends:
            break
    found.operands += reversed(waiting)
    return found


def _unbundled(program: Program, args: Sequence[Word]) -> Iterator[Word]:
    """Yield the arguments with letters in front (``tar cfT a list``) as options, each with the word that it takes."""
    following = iter(args[1:])
    for letter in args[0].text:
        yield part(args[0], f"-{letter}")
        if f"-{letter}" in program.valued:
            yield from (word for word in [next(following, None)] if word is not None)
    yield from following


def _long(program: Program, word: Word) -> Iterator[Option]:
    """Yield the long option of a word; each one that a name that is cut short may mean."""
    name, equal, value = word.text.partition("=")
    given = part(word, value) if equal or not word.known else None
    if name in program.options or name in _ALWAYS:
        yield Option(name, given)
        return
    plain = name.replace("--no-", "--", 1)
    meant = (
        sorted(o for o in program.options if o.startswith(name)) if len(name) > (3 if program.complete else 4) else []
    )
    if meant:
        yield from (Option(one, given) for one in meant)
    else:
        known = plain in program.options or any(o.startswith(plain) for o in program.options if plain != name)
        yield Option(name, given, known or not program.complete)


def _short(program: Program, word: Word) -> Iterator[Option]:
    """Yield the options of a word with one dash: letters that stand together, or a name such as ``-exec``."""
    text = word.text
    whole = next((o for o in program.names if text == o or text.startswith(o)), "")
    if whole:
        rest = text[len(whole) :].removeprefix("=")
        yield Option(whole, part(word, rest) if rest or not word.known else None)
        return
    letters = text[1:] if program.complete else re.split(r"[^A-Za-z0-9#?@]", text[1:])[0]
    if not letters:
        yield Option(text, None, not program.complete)
    for at, letter in enumerate(letters):
        name, rest = f"-{letter}", text[at + 2 :]
        if name in program.valued or name in program.joined:
            yield Option(name, part(word, rest) if rest or not word.known else None)
            return
        # one that is not known may take the rest of the word, or the rest are further letters
        known = name in program.options or not program.complete
        yield Option(name if known else text, None if known or not rest else part(word, rest), known)
