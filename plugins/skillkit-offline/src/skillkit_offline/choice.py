"""The choice: the one action to run for a request, or the reason why none runs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skillkit_core.tools import Tool

from .descriptors import arguments_of, prominence, skill_of, texts
from .filling import Filled, content, fill
from .ranking import Candidate, rank
from .request import Kind, joined, parse

if TYPE_CHECKING:
    from skillkit_core.skills import Skill

__all__ = ["Choice", "Chooser", "Verdict", "choose", "is_meant", "standing"]

SKILL_MARGIN = 0.08  # another skill's score within this share of the best is a tie
_LOOKED_AT = 16
MANY = 200  # tools; more are not all compared with a request
FOUND = 40  # skills whose actions are compared then


# Why a choice is what it is.
Verdict = StrEnum("Verdict", ["run", "no_fit", "tie", "incomplete"])


class Choice(NamedTuple):
    """What to do with a request.

    Attributes:
        verdict: ``run``: call ``candidate.tool`` with ``filled.args``. ``incomplete``: the action is clear, its arguments
            are not. ``tie``: several fit alike. ``no_fit``: nothing fits, or the nearest action does not use every word.
        candidate, filled: the chosen or the nearest action and its arguments.
        candidates: what came near, best first.
        unused: the words of the request that were not understood.
        further: the actions of the requests that the first is joined with.
    """

    verdict: Verdict
    candidate: Candidate | None = None
    filled: Filled | None = None
    candidates: tuple[Candidate, ...] = ()
    unused: tuple[str, ...] = ()
    further: tuple[Choice, ...] = ()

    @property
    def all(self) -> tuple[Choice, ...]:
        """The choices of all joined requests."""
        return (self, *self.further)


class Chooser:
    """Chooses for a host, in whose workspace file names are looked up; ``None``: in none."""

    def __init__(self, host: Any = None) -> None:
        self._host = host
        self._skills: tuple[tuple[Tool, ...], tuple[Skill, ...]] = ((), ())

    def choice(self, text: str, tools: tuple[Tool, ...], *, required: bool = False) -> Choice:
        """Return the choice among ``tools`` for a request; ``required``: some tool has to be called."""
        cwd: Path | str | None = getattr(self._host, "cwd", None)
        folder = None if cwd is None else Path(cwd)
        near = self._near(text, tools)
        kept: Path | None = getattr(self._host, "cache_dir", None)
        cache = "" if kept is None or len(tools) > MANY else str(kept / "offline" / "terms.json")
        choice = choose(text, near, folder, required=required, cache=cache)
        if choice.verdict is Verdict.no_fit and near is not tools:
            choice = choose(text, tools, folder, required=required)  # numbers and files are in no index
        return choice

    def _near(self, text: str, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Of very many tools the actions of the skills that the host's index finds for ``text``."""
        if len(tools) <= MANY or self._host is None:
            return tools
        from skillkit_skills import index_of

        if self._skills[0] is not tools:  # the index compares texts with its own only when it gets another tuple
            registry = self._host.skills
            named = dict.fromkeys(skill_of(t) for t in tools)
            self._skills = tools, tuple(registry.get(name) for name in named if name and registry.has(name))
        found = {one.skill.name for one in index_of(self._host).search(text, self._skills[1], FOUND)}
        return tuple(t for t in tools if skill_of(t) in found) or tools


def choose(
    request_text: str, tools: Sequence[Tool], cwd: Path | None = None, *, required: bool = False, cache: str = ""
) -> Choice:
    """Choose the action that ``request_text`` asks for and read its arguments.

    An action runs only if a word of its own is said, every word of the request that restricts anything is used (as a value
    or by a word that the action declares), every required argument is stated, and no action of another skill fits as well.
    ``cwd`` is the workspace. ``required``: some action has to be called, words that it has no use for do not matter. ``cache``
    names the file of :func:`rank`.
    """
    parts, asks = joined(request_text)
    whole = None if asks else _one(request_text, tools, cwd, required, cache)
    if whole is not None and (len(parts) == 1 or whole.verdict is Verdict.run):
        return whole
    choices = [_one(part, tools, cwd, required, cache) for part in parts]  # two requests are two actions or none
    failed = next((c for c in choices if c.verdict is not Verdict.run), None)
    return choices[0]._replace(further=tuple(choices[1:])) if failed is None else whole or failed


def _one(request_text: str, tools: Sequence[Tool], cwd: Path | None, required: bool, cache: str) -> Choice:
    """Return the choice for a single request."""
    ranked = rank(request_text, tools, cache)
    near = tuple(c for c in ranked[:8] if c.score >= ranked[0].score / 3)
    read = [(c, fill(request_text, c.tool, cwd)) for c in ranked[:_LOOKED_AT]]
    meant = [(c, f) for c, f in read if required or is_meant(request_text, c, f)]
    meant.sort(key=lambda it: (*standing(*it), -it[0].score, it[0].tool.name))
    if not meant or (meant[0][1].unused and not required):
        nearest, nearly = min(meant or read, key=lambda it: len(it[1].unused), default=(None, None))
        unused = (nearly.unused if nearly else ()) or content(request_text) or tuple(request_text.split())
        return Choice(Verdict.no_fit, nearest if meant else None, nearly, near, unused)
    best, filled = meant[0]
    equal = [c for c, f in meant if standing(c, f) == standing(best, filled)]
    rivals = [c for c in equal if skill_of(c.tool) != skill_of(best.tool) and c.score > best.score * (1 - SKILL_MARGIN)]
    if rivals and not (best.named and not any(c.named for c in rivals)):
        return Choice(Verdict.tie, candidates=(best, *rivals))
    best, filled = _action([(c, f) for c, f in meant if c in equal and skill_of(c.tool) == skill_of(best.tool)])
    return Choice(Verdict.run if filled.complete else Verdict.incomplete, best, filled, near)


def standing(candidate: Candidate, filled: Filled) -> tuple[int, bool, bool, int, int]:
    """What the action leaves unused, whether it can run, what it takes unread, and what its own words account for; less first."""
    unread = filled.weak if filled.complete else 0
    unused = len(filled.unused) + filled.weak - unread
    return unused, not filled.complete, not candidate.exact, unread, -filled.strong


def is_meant(text: str, candidate: Candidate, filled: Filled) -> bool:
    """Whether a word that speaks for it is said; one that takes any request whole has to know half of it."""
    arguments = arguments_of(candidate.tool)
    if any(a.fill == "request" and a.required for a in arguments) and not any(a.file for a in arguments):
        told = filled.anchored or bool(parse(text).of(Kind.number))
        return told and filled.strong > 1 and filled.strong >= filled.weak
    return filled.anchored or (candidate.alike and not texts(candidate.tool.annotations.get("words")))


def _action(alike: list[tuple[Candidate, Filled]]) -> tuple[Candidate, Filled]:
    """The one action of a skill that is meant: the skill's main one, or the better score where they declare no words."""
    own = any(texts(c.tool.annotations.get("words")) for c, _ in alike)
    return min(alike, key=lambda it: (0 if own else -it[0].score, prominence(it[0].tool), it[0].tool.name))
