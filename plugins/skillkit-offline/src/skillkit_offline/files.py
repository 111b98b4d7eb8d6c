"""Files: which file or directory of a request goes to which argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .descriptors import Argument, label
from .request import Kind, Piece, visible
from .roles import is_file, is_output
from .words import ASKING, FUNCTION, UNITS, normal, split_words, stem, word_set

if TYPE_CHECKING:
    from .filling import Filling

__all__ = ["fill_files"]

_BEFORE_OUTPUT = frozenset({"to", "into", "as"})
_BEFORE_FILE = word_set(
    "in of from under inside within at for on folder directory dir file path repository repo named called"
)
_FOLDER = word_set("folder directory dir repository repo project")
_BEFORE_PLACE = frozenset({"in", "under", "inside", "within", "of"})
_AFTER_PLACE = word_set(
    """? . ! , ; and are by contain has have is larger need needs occupies occupy over since take takes that then until use
    uses where which with"""
)
_NOT_A_NAME = word_set("a an any each every my our same that the this which your current whole entire here one")
_MOST_JOINED = 6
_MOST_CHECKED = 20  # names of one list that are looked for under other spellings


def fill_files(work: Filling) -> None:
    """Give the request's files to the arguments that take files: outputs after "to" or "into", the others in order."""
    wanting = [a for a in work.open() if is_file(a) and not a.whole]
    if not wanting:
        return
    found = _named(work)
    globs = [(work.request.pieces[i].text, {i}) for i in work.request.of(Kind.glob) if i not in work.used]
    outputs = [a for a in wanting if is_output(a)]
    inputs = [a for a in wanting if not is_output(a)]
    if outputs:
        found = _fill_outputs(work, outputs, found)
    if not found:
        found = _here(work, inputs) or _directories(work) or _by_name(work, inputs) or _in_place(work, inputs)
    many = next((a for a in inputs if a.type == "array"), None)
    if many is not None and (found or globs):
        chosen = found + globs if len(inputs) == 1 else found[len(inputs) - 1 :] + globs
        if chosen:
            work.put(many, _all_checked(work, many, [name for name, _ in chosen]), _places(chosen))
            found = [f for f in found if f not in chosen]
        inputs = [a for a in inputs if a is not many]
    if len(found) > len(inputs):
        found = [f for f in found if _ending_known(work, f[0])] or found
    for argument, (name, places) in zip(inputs, found, strict=False):
        work.put(argument, _checked(work, argument, name), places)
    if len(found) > len(inputs):
        _left_over(work, inputs, found)


def _places(chosen: list[tuple[str, set[int]]]) -> set[int]:
    return {place for _, places in chosen for place in places}


def _left_over(work: Filling, inputs: list[Argument], found: list[tuple[str, set[int]]]) -> None:
    """Several files where the action takes fewer: running on the first alone would not be what was asked."""
    named = list(dict.fromkeys(name for name, _ in found))
    if inputs and len(named) > len(inputs):
        shown = ", ".join(visible(n, 60) for n in named[:5])
        takes = "one file" if len(inputs) == 1 else f"{len(inputs)} files"
        work.problems.append(
            f"the request names {len(named)} files ({shown}), the action takes {takes}; ask for one at a time"
        )


def _named(work: Filling) -> list[tuple[str, set[int]]]:
    """What looks like a file, and quotations that are files or look like one, in order."""
    pieces = work.request.pieces
    out: list[tuple[str, set[int]]] = []
    for place, piece in enumerate(pieces):
        if place in work.used:
            continue
        if piece.kind is Kind.file:
            out.append(_joined(work, place))
        elif piece.kind is Kind.quoted and (work.workspace.has(piece.text) or _like_file(piece.text)):
            out.append((piece.text, {place}))
    return out


def _like_file(text: str) -> bool:
    """Whether a quotation looks like the name of a file: an ending of letters, or a path."""
    name, dot, ending = text.rpartition(".")
    if dot and name and 1 <= len(ending) <= 8 and ending.isalnum() and not ending.isdigit():
        return not name.endswith((" ", "."))
    return "/" in text and " " not in text and not text.startswith("/") and len(text) > 2


def _joined(work: Filling, place: int) -> tuple[str, set[int]]:
    """The file at ``place``; with words before it where only the longer name is there ("my report.csv")."""
    pieces, text = work.request.pieces, work.request.text
    name = pieces[place].text
    if not work.workspace.has(name):
        for first in range(place - 1, max(-1, place - 1 - _MOST_JOINED), -1):
            if pieces[first].kind not in (Kind.word, Kind.number, Kind.symbol):
                break
            longer = text[pieces[first].start : pieces[place].end]
            if work.workspace.has(longer):
                return longer, set(range(first, place + 1))
    return name, {place}


def _fill_outputs(
    work: Filling, outputs: list[Argument], found: list[tuple[str, set[int]]]
) -> list[tuple[str, set[int]]]:
    rest = []
    for name, places in found:
        before = work.request.pieces[min(places) - 1] if min(places) else None
        if outputs and before is not None and normal(before.text) in _BEFORE_OUTPUT:
            work.put(outputs.pop(0), name, places)
        else:
            rest.append((name, places))
    return rest


def _directories(work: Filling) -> list[tuple[str, set[int]]]:
    """Words that are there as files or directories, where the request speaks of a place ("in photos")."""
    pieces = work.request.pieces
    for place, piece in enumerate(pieces):
        if place in work.used or piece.kind not in (Kind.word, Kind.number) or normal(piece.text) in FUNCTION:
            continue
        before = normal(pieces[place - 1].text) if place else ""
        if before == "the" and place > 1:
            before = normal(pieces[place - 2].text)
        after = normal(pieces[place + 1].text) if place + 1 < len(pieces) else ""
        capital = not piece.text.islower() and place > 0
        if (before in _BEFORE_FILE or after in _FOLDER or capital or _measured(pieces, place)) and work.workspace.has(
            piece.text
        ):
            return [(piece.text, {place})]
    return []


def _by_name(work: Filling, inputs: list[Argument]) -> list[tuple[str, set[int]]]:
    """A directory that is named but not there: "the photos folder", "folder photos", "in src/main"."""
    if not any((a.words and a.words[-1] in _FOLDER | {"path", "root"}) or "folder" in a.description for a in inputs):
        return []
    pieces = work.request.pieces
    for place, piece in enumerate(pieces):
        if piece.kind is not Kind.word or normal(piece.text) not in _FOLDER:
            continue
        for near in (place - 1, place + 1):
            if not 0 <= near < len(pieces) or near in work.used:
                continue
            other = pieces[near]
            word = normal(other.text)
            if near == place + 1 and (
                piece.start == 0 or (other.kind is not Kind.quoted and not _after_the(pieces[place - 1].text))
            ):
                continue
            if (
                other.kind in (Kind.word, Kind.quoted)
                and word not in FUNCTION | _NOT_A_NAME | _FOLDER
                and not work.speaks_of(word)
            ):
                return [(other.text, {near, place})]
    return []


def _after_the(text: str) -> bool:
    return normal(text) in ("the", "in", "of", "from", "under")


def _ending_known(work: Filling, name: str) -> bool:
    """Whether the file is there or has an ending of which the action speaks: "database.port" beside "config.json" has not."""
    return work.workspace.has(name) or work.speaks_of(normal(name.rpartition(".")[2]))


def _in_place(work: Filling, inputs: list[Argument]) -> list[tuple[str, set[int]]]:
    """A place that is not there, for an action that would otherwise look at the whole workspace ("duplicates in photos").

    The word is passed on, so that the action can say that there is no such place, instead of answering about another.
    """
    if not any(a.type == "file" and not a.required for a in inputs):
        return []
    pieces = work.request.pieces
    for place in range(1, len(pieces)):
        cue, piece = normal(pieces[place - 1].text), pieces[place]
        if cue == "the" and place > 1:
            cue = normal(pieces[place - 2].text)
        if not (cue in _BEFORE_PLACE or _measured(pieces, place)) or piece.kind is not Kind.word or place in work.used:
            continue
        word = normal(piece.text)
        ends = place + 1 == len(pieces) or normal(pieces[place + 1].text) in _AFTER_PLACE
        known = work.speaks_of(word) if cue == "of" else stem(word) in _own_name(work)
        if ends and not known and word not in FUNCTION | ASKING | _NOT_A_NAME | _FOLDER | UNITS:
            return [(piece.text, {place})]
    return []


def _measured(pieces: Sequence[Piece], place: int) -> bool:
    """Whether "how big is" or "how much space does" stands before the piece at ``place``, which is then what is measured."""
    words = [normal(p.text) for p in pieces[max(0, place - 5) : place]]
    if words and words[-1] == "the":
        words.pop()
    return "how" in words[:-1] and words[-1] in ("is", "are", "does", "do")


def _own_name(work: Filling) -> frozenset[str]:
    return frozenset(stem(w) for w in split_words(label(work.tool)))


def _here(work: Filling, inputs: list[Argument]) -> list[tuple[str, set[int]]]:
    """ "here", "this folder", "the current directory": the workspace itself."""
    if not inputs:
        return []
    pieces = work.request.pieces
    for place, piece in enumerate(pieces):
        word = normal(piece.text)
        if word == "here":
            return [(".", {place})]
        after = normal(pieces[place + 1].text) if place + 1 < len(pieces) else ""
        if word in ("this", "current") and stem(after) in {stem(f) for f in _FOLDER}:
            return [(".", {place, place + 1})]
    return []


def _all_checked(work: Filling, argument: Argument, names: list[str]) -> list[str]:
    for name in names[:_MOST_CHECKED]:
        _checked(work, argument, name)
    return names


def _checked(work: Filling, argument: Argument, name: str) -> str:
    """``name``; where it is not there but nearly is, that is a problem which says so."""
    if not is_output(argument) and not work.workspace.has(name) and name not in (".", ".."):
        near = work.workspace.near(name)
        if near is not None:
            work.problems.append(f"there is no file {visible(name, 80)!r}; did you mean {visible(near, 80)!r}?")
    return name
