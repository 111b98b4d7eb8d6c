"""Filling: which arguments of an action a request states, in the types that the action wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillkit_core.frozen import freeze
from skillkit_core.tools import Tool

from . import files, phrases, stated
from .descriptors import Argument, arguments_of, vocabulary
from .request import Kind, Request, parse, visible
from .roles import COLUMN, CONDITION, SORT, role_of
from .values import IllTyped, typed
from .words import split_words, stem
from .workspace import Workspace

__all__ = ["Filled", "fill"]


@dataclass(frozen=True, slots=True)
class Filled:
    """What a request states for an action.

    Attributes:
        args: argument name to value, each of the type that its schema wants. Defaults are left to the action.
        missing: required arguments that the request does not state, in order.
        problems: why the stated arguments cannot be used, a line each: a wrong type, an unknown option, a misspelt file.
        explained: places of the request's pieces that became arguments.
    """

    args: Mapping[str, Any]
    missing: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    explained: frozenset[int] = frozenset()

    @property
    def complete(self) -> bool:
        """Whether the action can run with this."""
        return not self.missing and not self.problems


@dataclass(slots=True)
class Filling:
    """Work on one request and one action: what is filled, what of the request is used up."""

    request: Request
    arguments: tuple[Argument, ...]
    workspace: Workspace
    tool: Tool
    args: dict[str, Any] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    _vocabulary: frozenset[str] | None = None

    def speaks_of(self, word: str) -> bool:
        """Whether ``word`` (normalised) belongs to what skill and action say of themselves: then it is hardly data."""
        if self._vocabulary is None:
            self._vocabulary = vocabulary(self.tool)
        return stem(word) in self._vocabulary

    def open(self) -> list[Argument]:
        """Arguments that have no value yet."""
        return [a for a in self.arguments if a.name not in self.args]

    def put(self, argument: Argument, value: Any, places: set[int] | frozenset[int]) -> None:
        """Give an argument its value; a value of the wrong type is a problem."""
        try:
            self.args[argument.name] = typed(argument, value)
        except IllTyped as error:
            self.problems.append(str(error))
            self.args[argument.name] = None
        self.used |= places


def fill(request_text: str, tool: Tool, cwd: Path | None = None) -> Filled:
    """Read from a request what it states for the arguments of ``tool``.

    Nothing is guessed: an argument gets a value only where the request says it in a form that is known: options
    (``--name value``), ``name=value``, quotations, files, dates, numbers and words beside the argument's name. An argument
    marked ``x-fill: request`` gets the whole request; an action that has one reads conditions and columns out of it itself.

    Args:
        request_text: what the user said.
        tool: the action's tool.
        cwd: the workspace, for looking whether files are there; ``None``: nothing is looked up.
    """
    request = parse(request_text)
    work = Filling(request, arguments_of(tool), Workspace(cwd), tool)
    _options(work)
    for argument in work.open():
        if argument.whole and request.text:
            work.put(argument, request.text, frozenset())
    reads_itself = any(a.whole for a in work.arguments)
    stated.conditions(work, reads_itself)
    stated.dates(work)
    files.fill_files(work)
    stated.numbers(work)
    stated.choices(work)
    stated.switches(work)
    for argument in work.open():
        if role_of(argument) in (SORT, COLUMN, CONDITION) and reads_itself:
            phrases.beside_its_name(work, argument)
        else:
            phrases.text(work, argument)
    phrases.last_resort(work)
    if not reads_itself:
        stated.exclusions(work)
    missing = tuple(a.name for a in work.arguments if a.required and a.default is None and a.name not in work.args)
    args = {name: value for name, value in work.args.items() if value is not None}
    return Filled(freeze(args), missing, tuple(dict.fromkeys(work.problems)), frozenset(work.used))


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
            work.put(argument, piece.value, {place})
        elif argument.type == "boolean":
            work.put(argument, not negated, {place})
        else:
            _next_as_value(work, argument, place)


def _next_as_value(work: Filling, argument: Argument, place: int) -> None:
    """Give the option at ``place`` what stands behind it: a quotation, or everything up to the next space."""
    pieces, follows = work.request.pieces, place + 1
    if follows >= len(pieces) or pieces[follows].kind is Kind.option:
        work.problems.append(f"--{argument.name} needs a value")
        return
    value, end = pieces[follows].text, pieces[follows].end
    if pieces[follows].kind is not Kind.quoted:
        begin = pieces[follows].start
        value = work.request.text[begin : begin + 1_000].split(None, 1)[0].rstrip(",;")
        end = begin + len(value)
    places = {place, follows}
    while follows < len(pieces) and pieces[follows].start < end:
        places.add(follows)
        follows += 1
    work.put(argument, value, places)


def _called(work: Filling, name: str) -> tuple[Argument | None, bool]:
    wanted = split_words(name)
    for argument in work.arguments:
        if list(argument.words) == wanted:
            return argument, False
        if argument.type == "boolean" and ["no", *argument.words] == wanted:
            return argument, True
    return None, False
