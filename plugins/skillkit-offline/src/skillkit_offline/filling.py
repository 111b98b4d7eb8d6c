"""Filling: which arguments of an action a request states, and which of its words the action has no use for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skillkit_core.frozen import freeze
from skillkit_core.tools import Tool

from .descriptors import Argument, Phrase, Words, arguments_of, examples_of, words_of
from .files import fill_files
from .request import Kind, parse, tokens, visible
from .words import BARRED, normal, split_words, stem
from .work import Filling, Span
from .workspace import Workspace

__all__ = ["Filled", "Filling", "content", "fill"]

_FILLER = frozenset({"of", "to", "is", "at", "as", "the", "a", "an", "named", "called", "=", ":", "be"})
_NEGATION = frozenset({"not", "no", "without", "don't", "dont", "never"})
_ENDS = frozenset(".;?!")
_RESTRICTING = frozenset({*_NEGATION, "that", "which", "who", "whose", "except", "but", "only", "excluding"})
_COMPARING = frozenset({"<", ">", "=", "!", "is"})
_MOST_EXAMPLES = 40
AFTER, _TOLD = object(), object()  # values of occurrences: of words that follow a number, of telling words


class Filled(NamedTuple):
    """What a request states for an action.

    Attributes:
        args: argument name to value, each of the type that its schema wants. Defaults are left to the action.
        missing: required arguments that the request does not state, in order.
        problems: why the stated arguments cannot be used, a line each: a wrong type, an unknown option, a misspelt file.
        unused: the words, numbers, files and other data of the request for which the action has no use.
        strong: how many pieces the action's own words, its arguments' words and files of its kind account for.
        anchored: a word that speaks for the skill is said, or a file of its kind.
        weak: how many pieces only an argument accounts for that takes what is left, or the whole request.
    """

    args: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    strong: int = 0
    weak: int = 0
    anchored: bool = False

    @property
    def complete(self) -> bool:
        """Whether the action can run with this."""
        return not self.missing and not self.problems


def fill(request_text: str, tool: Tool, cwd: Path | None = None) -> Filled:
    """Read from a request what it states for the arguments of ``tool``.

    Nothing is guessed: an argument gets a value only where the request says it in a form that is known: options
    (``--name value``), ``name=value``, quotations, files, dates, and values beside the words that the argument declares.
    ``cwd`` is the workspace, for looking whether files are there; without one nothing is looked up.
    """
    request = parse(request_text)
    work = Filling(request, arguments_of(tool), Workspace(cwd), words_of(tool))
    work.spans = _spans(work)
    work.stops = {s.start for s in work.spans if s.argument is not None and s.value is None}
    _options(work)
    for argument in work.arguments:
        if argument.fill == "request" and request.text and argument.name not in work.args:
            work.put(argument, request.text, set())
    fill_files(work)
    _dates(work)
    _phrases(work)
    _numbers(work)
    _choices(work)
    _switches(work)
    _loose(work)
    _as_in_an_example(work, tool)
    wanting = [a for a in work.open() if a.required]  # their words are understood, and the value is missed
    work.used |= {p for s in work.spans if s.argument in wanting and s.value is None for p in s.places}
    own = {p for s in work.spans if s.argument is None and not s.places <= work.used - work.strong for p in s.places}
    work.used |= own
    work.strong |= own
    weak = _rest(work)
    unused, known = _unused(work, tool)
    missing = tuple(a.name for a in work.arguments if a.required and a.default is None and a.name not in work.args)
    args = {name: value for name, value in work.args.items() if value is not None}
    problems, strong = tuple(dict.fromkeys(work.problems)), len(work.strong) + work.kind
    anchored = work.told or (work.kind and strong + weak > 1)
    return Filled(freeze(args), missing, problems, unused, strong, weak + known, anchored)


def content(request_text: str) -> tuple[str, ...]:
    """What of a request restricts something: its words that are not empty, and its data."""
    work = Filling(parse(request_text), (), Workspace(None), Words())
    return tuple(work.request.pieces[i].text for i in work.left())


def _spans(work: Filling) -> list[Span]:
    """Where the declared words occur, in order; what lies inside a longer occurrence is left out ("missing" in "ignoring
    missing values")."""
    spelled = tokens(work.request)
    stems = [stem(t) for t in spelled]
    by_first: dict[str, list[tuple[Phrase, Argument | None, Any]]] = defaultdict(list)
    own = work.words
    for sign, phrases, value in (("", own.telling, _TOLD), ("", own.stems, None), ("=", own.spelled, None)):
        for phrase in phrases:
            by_first[sign + phrase[0]].append((phrase, None, value))
    for argument in work.arguments:
        said = [(p, None) for p in argument.phrases] + [(p, AFTER) for p in argument.after] + list(argument.values)
        for phrase, value in said:
            by_first["=" + phrase[0]].append((phrase, argument, value))
        for value in (None, AFTER) if argument.own else ():
            by_first[argument.own[0]].append((argument.own, argument, value))
    found = [
        Span(place, place + len(phrase), argument, value)
        for words, sign in ((stems, ""), (spelled, "="))
        for place, token in enumerate(words)
        for phrase, argument, value in by_first.get(sign + token, ())
        if tuple(words[place : place + len(phrase)]) == phrase
    ]
    work.told = any(span.value is _TOLD for span in found)
    out: list[Span] = []
    longest = Span(0, 0)
    for span in sorted((s for s in found if s.value is not _TOLD), key=lambda s: (s.start, -s.end)):
        if span.end > longest.end or (span.start, span.end) == (longest.start, longest.end):
            longest = span
            out.append(span)
    return out


def _options(work: Filling) -> None:
    """``--name value``, ``--name=value``, ``--flag``, ``--no-flag`` and ``name=value``."""
    for place in work.request.of(Kind.option, Kind.assignment):
        piece = work.request.pieces[place]
        argument, negated = _called(work, piece.name)
        if argument is None:
            if piece.kind is Kind.option:
                names = ", ".join(f"--{a.name}" for a in work.arguments) or "none"
                work.problems.append(f"there is no argument --{visible(piece.name, 40)}; there are: {names}")
        elif argument.name in work.args:
            work.problems.append(f"{argument.name} is given twice")
        elif piece.value is not None:
            work.put(argument, piece.value, set(), {place})
        elif argument.type == "boolean":
            work.put(argument, not negated, set(), {place})
        else:
            _next_as_value(work, argument, place)


def _next_as_value(work: Filling, argument: Argument, place: int) -> None:
    """Give the option at ``place`` what stands behind it: a quotation, or everything up to the next space."""
    pieces, follows = work.request.pieces, place + 1
    if follows >= len(pieces) or pieces[follows].kind is Kind.option:
        work.problems.append(f"--{argument.name} needs a value")
        return
    piece = pieces[follows]
    run = work.request.text[piece.start : piece.start + 1_000].split(None, 1)[0].rstrip(",;")
    text = piece.text if piece.kind is Kind.quoted else run
    end = max(piece.end, piece.start + len(text))
    work.put(argument, text, {i for i in range(follows, len(pieces)) if pieces[i].start < end}, {place})


def _called(work: Filling, name: str) -> tuple[Argument | None, bool]:
    """The argument of that name, and whether the name begins with a "no"."""
    wanted = tuple(map(stem, split_words(name)))
    negated = next((a for a in work.arguments if a.type == "boolean" and ("no", *a.own) == wanted), None)
    return next((a for a in work.arguments if a.own == wanted), negated), negated is not None


def _introduced(work: Filling, *fills: str) -> Iterator[tuple[Span, Argument]]:
    """The occurrences of words that introduce a value, for arguments that have none yet."""
    for span in work.spans:
        argument = span.argument
        if argument is None or span.value is not None or argument.fill not in fills or argument.name in work.args:
            continue
        if argument.type != "boolean" and not span.places & work.used:
            yield span, argument


def _dates(work: Filling) -> None:
    """Dates as the request writes them: behind the argument's words, or anywhere for the first that has none."""
    pieces = work.request.pieces
    for span, argument in _introduced(work, "date"):
        place = span.end + (span.end < len(pieces) and normal(pieces[span.end].text) == "the")
        if place < len(pieces) and pieces[place].kind is Kind.date and place not in work.used:
            work.put(argument, pieces[place].text, {place}, span.places)
        elif tuple(stem(_word(work, i)) for i in range(span.start, span.end)) == argument.own:
            _take(work, argument, span)
    loose = [i for i in work.request.of(Kind.date) if i not in work.used]
    wanting = [a for a in work.open() if a.fill == "date"]
    if loose and wanting:
        work.put(wanting[0], pieces[loose[0]].text, {loose[0]})


def _phrases(work: Filling) -> None:
    """Texts and lists: what stands behind the argument's words, up to the next word that means something else."""
    for span, argument in _introduced(work, "", "quoted"):
        if argument.type in ("string", "array", "json") and not argument.file and not argument.enum:
            _take(work, argument, span)
    for argument in work.open():
        if argument.fill == "quoted":
            for place in [i for i in work.request.of(Kind.quoted, Kind.glob) if i not in work.used][:1]:
                work.put(argument, work.request.pieces[place].text, {place})


def _take(work: Filling, argument: Argument, span: Span) -> None:
    """Give the argument the text behind its words: a quotation, or all up to where something else begins."""
    pieces, first, own = work.request.pieces, span.end, _FILLER.union(argument.own)  # "is the word bridge used"
    if _stops(work, argument, first, first):
        return
    while first < len(pieces) and _word(work, first) in own and not _stops(work, argument, first + 1, 0):
        first += 1
    last = first
    while not _stops(work, argument, last, first):
        last += 1
    until = {last + n for p in argument.until if _said_at(work, last, p) for n in range(len(p))}
    while last - bool(until) > first and work.empty(last - 1):  # "the word the occur"
        last -= 1
    if pieces[first].kind is Kind.quoted and (last == first + 1 or pieces[first + 1].text not in _COMPARING):
        work.put(argument, pieces[first].text, set(range(span.end, first + 1)), span.places)
    elif last > first:
        text = work.request.text[pieces[first].start : pieces[last - 1].end]
        value = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text) if argument.type == "array" else text
        work.put(argument, value, set(range(span.end, last)) | until, span.places)


def _stops(work: Filling, argument: Argument, place: int, first: int) -> bool:
    """Whether a value that began at ``first`` ends before ``place``."""
    pieces = work.request.pieces
    if place >= len(pieces) or place in work.used or pieces[place].kind in (Kind.option, Kind.assignment):
        return True
    if (place > first and place in work.stops) or any(_said_at(work, place, phrase) for phrase in argument.until):
        return True
    piece, word = pieces[place], _word(work, place)
    if piece.kind is not Kind.symbol:
        joins = word in ("and", "or", "nor") and argument.type == "string" and not argument.name.endswith("s")
        if joins and argument.name not in ("where", "filter", "condition"):
            return True  # "whale or ship" is no value, unless it is quoted
        return word == "then" or (word in _RESTRICTING | BARRED and ("where",) not in argument.phrases)
    if word == ",":
        return argument.type != "array" and not argument.name.endswith("s")
    return word in _ENDS and not work.request.text[piece.end : piece.end + 1].strip()


def _said_at(work: Filling, place: int, phrase: Phrase) -> bool:
    return tuple(normal(p.text) for p in work.request.pieces[place : place + len(phrase)]) == phrase


def _numbers(work: Filling) -> None:
    """Integers and numbers: behind the argument's words, or directly before them ("top 5", "3 levels")."""
    pieces = work.request.pieces
    for place in work.request.of(Kind.number):
        for argument in work.open():
            if argument.type not in ("integer", "number") or place in work.used:
                continue
            said = _beside(work, argument, place)
            if said is None:
                continue
            unit, places = pieces[place].unit, {place}
            if not unit and place + 1 < len(pieces) and stem(_word(work, place + 1)) in argument.units:
                unit, places = pieces[place + 1].text, {place, place + 1}
            factor = argument.units.get(stem(normal(unit))) if unit else 1
            value = pieces[place].value
            if factor and isinstance(value, (int, float)):
                scaled = value * factor
                whole = isinstance(scaled, float) and scaled.is_integer() and argument.type == "integer"
                work.put(argument, int(scaled) if whole else scaled, places, said)


def _beside(work: Filling, argument: Argument, place: int) -> set[int] | None:
    """The places of the argument's words beside the number at ``place``."""
    back = place
    while back > 0 and normal(work.request.pieces[back - 1].text) in _FILLER:
        back -= 1
    own = [s for s in work.spans if s.argument is argument]
    before = next((s for s in own if s.value is None and s.end in (back, place)), None)
    after = next((s for s in own if s.value is AFTER and s.start == place + 1), None)
    return before.places if before else after.places if after else None


def _choices(work: Filling) -> None:
    """Values that have words of their own: the one that the request says, or all where the argument allows it."""
    for argument in work.open():
        found: dict[str, set[int]] = defaultdict(set)
        for span in (s for s in work.spans if s.argument is argument and s.value not in (None, AFTER)):
            if not span.places <= work.used - work.strong:
                found[str(span.value)] |= span.places
        if len(found) == 1 or (found and argument.type in ("string", "array") and not argument.enum):
            work.put(argument, ",".join(found), set(), set().union(*found.values()))


def _switches(work: Filling) -> None:
    """Booleans: true where the request says their words, false where it says them with a "not" or "without"."""
    for argument in work.open():
        own = [s for s in work.spans if s.argument is argument and s.value is None]
        if argument.type != "boolean" or not own or all(s.places <= work.used - work.strong for s in own):
            continue
        span = own[0]
        before = {p for p in range(max(0, span.start - 2), span.start) if _word(work, p) in _NEGATION}
        if not before:
            work.put(argument, True, set(), {p for s in own for p in s.places})
        elif argument.default is True:
            work.put(argument, False, set(), span.places | before)


def _word(work: Filling, place: int) -> str:
    return normal(work.request.pieces[place].text)


def _loose(work: Filling) -> None:
    """Required arguments that are still open: as many loose numbers or quotations as are wanted, or the text after a colon."""
    pieces = work.request.pieces
    wanting = [a for a in work.open() if a.required and not a.enum and not a.file]
    textual = [a for a in wanting if a.type in ("string", "json", "array")]
    for some, kind in (([a for a in wanting if a.type in ("integer", "number")], Kind.number), (textual, Kind.quoted)):
        loose = [i for i in work.request.of(kind) if i not in work.used]
        for argument, place in zip(some, loose, strict=True) if len(some) == len(loose) else ():
            work.put(argument, pieces[place].value if kind is Kind.number else pieces[place].text, {place})
    if len(textual) == 1 and textual[0].name not in work.args:
        pattern = r"[\[{].*[\]}]" if textual[0].type == "json" else r"(?<=:)\s+\S.*"
        found = re.search(pattern, work.request.head, re.S)
        if found:
            places = {i for i, p in enumerate(pieces) if found.start() <= p.start < found.end()}
            work.put(textual[0], found[0].strip(), places)


def _as_in_an_example(work: Filling, tool: Tool) -> None:
    """A required text that is open: the word in the place of the one name of an example, all other words being the same."""
    pieces = work.request.pieces
    wanting = [a for a in work.open() if a.required and a.type == "string" and not a.enum and not a.file]
    for example in examples_of(tool)[:_MOST_EXAMPLES] if len(wanting) == 1 else ():
        said = parse(example).pieces
        names = [i for i, p in enumerate(said) if i and p.kind is Kind.word and p.text[:1].isupper()]
        if len(said) != len(pieces) or len(names) != 1 or pieces[names[0]].kind is not Kind.word:
            continue
        if all(i in names or normal(p.text) == normal(said[i].text) for i, p in enumerate(pieces)):
            return work.put(wanting[0], pieces[names[0]].text, set(names))


def _rest(work: Filling) -> int:
    """Give what is left to the argument that takes it, and return how many pieces that were."""
    pieces, kinds = work.request.pieces, (Kind.file, Kind.glob, Kind.option)
    left = [i for i in work.left() if not work.barred(i)]
    argument = next((a for a in work.open() if a.fill == "rest"), None)
    if any(a.fill == "request" for a in work.arguments):
        named = {i for i in left if pieces[i].kind in kinds}
        if work.kind:  # "database.port" looks like a file
            named = {i for i in named if work.workspace.has(pieces[i].text)}
        left = [i for i in left if i not in named]
        work.used |= set(left)
        work.strong |= set(work.request.of(Kind.number))
        left = [i for i in left if i not in work.strong]
    elif argument is not None and left:
        work.put(argument, "; ".join(_stretches(work, left)), set(left))
    else:
        return 0
    return len(left)


def _stretches(work: Filling, places: list[int]) -> Iterator[str]:
    """The texts at ``places``; places with nothing but empty words between them are one text."""
    pieces, wanted = work.request.pieces, set(places)
    first = last = places[0]
    for place in range(first + 1, places[-1] + 1):
        if place in wanted:
            first, last = (place if last < 0 else first), place
        elif last >= 0 and (place in work.used or (pieces[place].kind is Kind.symbol and pieces[place].text in ",;")):
            yield work.request.text[pieces[first].start : pieces[last].end]
            last = -1
    yield work.request.text[pieces[first].start : pieces[last].end]


def _unused(work: Filling, tool: Tool) -> tuple[tuple[str, ...], int]:
    """What the action has no use for, and how many further words it merely knows.

    An action without words of its own knows those of its description, and all words of one of its examples.
    """
    pieces, left = work.request.pieces, work.left()
    work.strong |= {i for i in left if pieces[i].kind is Kind.word and pieces[i].stem in work.words.known}
    left = [i for i in left if i not in work.strong]
    rest = left
    for example in examples_of(tool)[:_MOST_EXAMPLES] if not work.words.spelled else ():
        known = {p.stem for p in parse(example).pieces if p.kind is Kind.word}
        rest = min(rest, [i for i in left if pieces[i].stem not in known], key=len)
    return tuple(pieces[i].text for i in rest), len(left) - len(rest)
