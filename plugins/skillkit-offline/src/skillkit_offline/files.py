"""Files: which file or folder of a request goes to which argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .descriptors import Argument
from .request import Kind, visible
from .words import FUNCTION, normal, word_set

if TYPE_CHECKING:
    from .work import Filling

__all__ = ["fill_files"]

_FOLDER = word_set("folder directory dir repository repo project")
_FILE = _FOLDER | {"file", "files", "document"}
_BEFORE_PLACE = word_set("in of from under inside within at on for the is are do does has have")
_BESIDE = word_set("using in of from under inside within at on below")
_MOST_LOOKED_AT = 500
_MOST_CHECKED = 20  # names of one list that are looked for under other spellings

Found = list[tuple[str, set[int]]]  # names, and the places of the pieces that state each


def fill_files(work: Filling) -> None:
    """Give the request's files to the arguments that take files: outputs after "to" or "into", the others in order.

    A file of another kind than the argument declares is left unused, and so is one more than the action takes.
    """
    outputs = [a for a in work.open() if a.file and not a.fill and a.output]
    inputs = [a for a in work.open() if a.file and not a.fill and not a.output]
    found = _outputs(work, outputs, _named(work))
    if inputs and not found:
        found = _here(work) or _there(work)
    many = next((a for a in inputs if a.type == "array"), None)
    if many is not None:
        found += [(work.request.pieces[i].text, {i}) for i in work.request.of(Kind.glob) if i not in work.used]
        rest = found[len(inputs) - 1 :]
        if rest:
            _put(work, many, [name for name, _ in rest], {p for _, its in rest for p in its})
            found = found[: len(inputs) - 1]
        inputs.remove(many)
    for argument in inputs:
        fitting = next((f for f in found if _of_kind(work, argument, f[0])), None)
        if fitting is not None:
            found.remove(fitting)
            _put(work, argument, fitting[0], fitting[1])


def _put(work: Filling, argument: Argument, value: str | list[str], places: set[int]) -> None:
    """Give the value; "the file" or "folder" beside it says no more than that, and a file of the declared kind is telling."""
    pieces, first, last = work.request.pieces, min(places), max(places)
    beside = {p for p in (first - 1, last + 1) if 0 <= p < len(pieces) and normal(pieces[p].text) in _FILE}
    beside |= {first - 1} if first and normal(pieces[first - 1].text) in _BESIDE else set()
    for name in [value] if isinstance(value, str) else value[:_MOST_CHECKED]:
        _check(work, name)
    work.put(argument, value, places | beside)
    work.kind = work.kind or (bool(argument.endings) and "." in str(value))


def _of_kind(work: Filling, argument: Argument, name: str) -> bool:
    ending = name.rpartition(".")[2].lower() if "." in name.strip("./") else ""
    return not argument.endings or ending in argument.endings or (not ending and not work.workspace.folder(name))


def _named(work: Filling) -> Found:
    """What looks like a file, and quotations that are files or look like one, in order."""
    return [
        (piece.text, {place})
        for place, piece in enumerate(work.request.pieces)
        if place not in work.used
        and (piece.kind is Kind.file or (piece.kind is Kind.quoted and _is_file(work, piece.text)))
    ]


def _is_file(work: Filling, text: str) -> bool:
    """Whether a quotation is there, or looks like the name of a file: an ending of letters, or a path."""
    name, _, ending = text.rpartition(".")
    like = bool(name) and len(ending) <= 8 and ending.isalnum() and not ending.isdigit() and name[-1] not in " ."
    return like or work.workspace.has(text) or ("/" in text[1:] and " " not in text and not text.startswith("/"))


def _outputs(work: Filling, outputs: list[Argument], found: Found) -> Found:
    rest: Found = []
    for name, places in found:
        said = next((s for s in work.spans if s.end == min(places) and s.argument in outputs), None)
        if said is not None and said.argument is not None:
            outputs.remove(said.argument)
            work.put(said.argument, name, places, said.places)
        else:
            rest.append((name, places))
    return rest


def _here(work: Filling) -> Found:
    """ "here", "this folder", "the current directory": the workspace itself."""
    words = [normal(p.text) for p in work.request.pieces]
    here = next((i for i, word in enumerate(words) if word == "here"), None)
    this = next((i for i in range(len(words) - 1) if words[i] in ("this", "current") and words[i + 1] in _FOLDER), None)
    return [(".", {here})] if here is not None else [] if this is None else [(".", {this, this + 1})]


def _there(work: Filling) -> Found:
    """Words that are there as files or folders; those that the action uses only where a place is spoken of ("in photos")."""
    pieces = work.request.pieces
    words = ["", *(normal(p.text) for p in pieces), ""]
    known = {place for span in work.spans for place in span.places}
    return [
        (piece.text, {place})
        for place, piece in enumerate(pieces[:_MOST_LOOKED_AT])
        if place not in work.used
        and piece.kind in (Kind.word, Kind.number)
        and words[place + 1] not in FUNCTION
        and (place not in known or words[place] in _BEFORE_PLACE or _FILE & {words[place], words[place + 2]})
        and work.workspace.has(piece.text)
    ]


def _check(work: Filling, name: str) -> None:
    """Where ``name`` is not there but nearly is, that is a problem which says so."""
    near = None if name in (".", "..") or work.workspace.has(name) else work.workspace.near(name)
    if near is not None:
        work.problems.append(f"there is no file {visible(name, 80)!r}; did you mean {visible(near, 80)!r}?")
