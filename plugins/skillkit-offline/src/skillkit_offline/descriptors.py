"""What a tool says about itself: the skill action behind it, its words and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skillkit_core.tools import Tool

from .request import parse, tokens
from .words import FUNCTION, normal, split_words, stem, word_set

__all__ = ["Argument", "Phrase", "action_of", "arguments_of", "examples_of", "is_action", "label", "prominence"]
__all__ += ["Words", "skill_of", "texts", "words_of"]

Phrase = tuple[str, ...]  # the tokens of one or more neighbouring words

# Words that introduce the value of an argument whose author declared none, by the argument's name.
_COUNT = "top|first|last|limit|limited to|largest|biggest|smallest|most|newest|oldest"
_SEARCH = "for|containing|contain|contains|matching|named|called|word|phrase|term"
_SORT = "by|sort by|sorted by|order by|ordered by"
_USUAL = {
    **dict.fromkeys(("limit", "top", "count", "n", "number", "first", "head", "max-results"), _COUNT),
    **dict.fromkeys(("since", "after", "from", "start"), "since|after|from|starting|between"),
    **dict.fromkeys(("until", "before", "to", "end"), "until|before|till|to|up to|and"),
    **dict.fromkeys(("sort", "order", "sort-by", "order-by"), _SORT),
    **dict.fromkeys(("where", "filter", "condition"), "where|whose|having|with|if|for which"),
    **dict.fromkeys(("depth", "level", "levels", "max-depth"), "depth|level|levels|levels deep|deep"),
    **dict.fromkeys(
        ("output", "out", "dest", "destination", "target"), "to|into|as|save to|save as|save it as|saved as|save it to"
    ),
    **dict.fromkeys(("author", "committer"), "by|author"),
    **dict.fromkeys(("pattern", "query", "text", "term", "search", "phrase", "word", "name", "regex"), _SEARCH),
    **dict.fromkeys(("min", "minimum", "min-size"), "over|above|more than|larger than|at least|minimum"),
    **dict.fromkeys(("max", "maximum", "max-size"), "under|below|less than|smaller than|at most|maximum"),
}
_DATES = frozenset({"since", "after", "from", "start", "until", "before", "to", "end"})
_FILES = frozenset(map(stem, word_set("file path filename folder dir root repo repository document input source")))
_OUTPUTS = frozenset({"output", "out", "dest", "destination", "target"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an action, from ``annotations["args"]`` and the tool's JSON Schema.

    Attributes:
        type: string, integer, number, boolean, file, json or array.
        fill: ``request``: it takes the whole request; ``rest``: what nothing else accounts for; ``date``: a date; ``quoted``: a
            quotation or a pattern such as ``*.jpg``, too; else empty.
        phrases: what introduces its value, or switches it on (``x-words``), as it is spelled.
        own: the words of its name, as stems.
        after: what follows its number (``x-after``).
        values: what states a value by itself, with the value (``x-values``).
        until: what ends its value (``x-until``).
        units: what a unit behind a number multiplies it by (``x-units``).
        endings: of the files that it takes, any if empty (``x-endings``).
        file: it is a file or folder, by its type or its name.
        output: it names a file that is written.
    """

    name: str
    type: str
    required: bool = False
    default: Any = None
    enum: tuple[Any, ...] = ()
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    fill: str = ""
    own: Phrase = ()
    phrases: tuple[Phrase, ...] = ()
    after: tuple[Phrase, ...] = ()
    values: tuple[tuple[Phrase, Any], ...] = ()
    until: tuple[Phrase, ...] = ()
    units: Mapping[str, float] = field(default_factory=dict)
    endings: tuple[str, ...] = ()
    file: bool = False
    output: bool = False


def is_action(tool: Tool) -> bool:
    """Whether the tool is a skill's deterministic action; nothing else is ever called offline."""
    return bool(skill_of(tool))


def skill_of(tool: Tool) -> str:
    """Name of the skill, empty for a tool that belongs to none."""
    return _text(tool.annotations.get("skill"))


def action_of(tool: Tool) -> str:
    """Name of the action."""
    return _text(tool.annotations.get("action"))


def label(tool: Tool) -> str:
    """Skill and action as a person reads them."""
    return f"{skill_of(tool)} {action_of(tool)}".strip()


def examples_of(tool: Tool) -> list[str]:
    """Requests that the skill answers, in its author's order."""
    return texts(tool.annotations.get("examples"))


def prominence(tool: Tool) -> int:
    """Place of the action in its skill (``annotations["order"]``), lower is more the skill's main one."""
    order = tool.annotations.get("order")
    return order if isinstance(order, int) else 0


class Words(NamedTuple):
    """The words of an action, as stems where nothing else is said.

    Attributes:
        telling: a request that means the action says one of these: its ``telling`` words, else the names of skill and action
            and the skill's keywords.
        spelled: its ``words``, for which the action has a use as they are spelled ("commits", and not "commit").
        stems: names, and without words of its own all telling ones, for which it has a use in any form.
        known: of an action without words of its own: the words of its description.
    """

    telling: frozenset[Phrase] = frozenset()
    spelled: frozenset[Phrase] = frozenset()
    stems: frozenset[Phrase] = frozenset()
    known: frozenset[str] = frozenset()


def words_of(tool: Tool) -> Words:
    """The words of the action."""
    own = texts(tool.annotations.get("words"))
    name = (stem(normal(skill_of(tool))),)
    telling = {name, *_phrases(texts(tool.annotations.get("telling")), stem)}
    if len(telling) == 1:
        telling |= {(stem(word),) for word in split_words(label(tool))}
        telling |= {*_phrases(texts(tool.annotations.get("keywords")), stem)}
    known = () if own else map(stem, split_words(tool.description))
    used = {name, *((stem(word),) for word in split_words(action_of(tool)))} if own else telling
    return Words(frozenset(telling), frozenset(_phrases(own)), frozenset(used), frozenset(known))


def texts(value: Any) -> list[str]:
    """``value`` as a list of texts; what is no text is left out."""
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, (list, tuple)) else []


def arguments_of(tool: Tool) -> tuple[Argument, ...]:
    """The arguments: positional ones first, then in the order they were declared. Secret ones are left out."""
    declared, properties = _mapping(tool.annotations.get("args")), _mapping(tool.parameters.get("properties"))
    required = texts(tool.parameters.get("required"))
    found = [
        _argument(name, {**_mapping(properties.get(name)), **_mapping(declared.get(name))}, name in required)
        for name in {**properties, **declared}
        if not _mapping(declared.get(name)).get("secret")
    ]
    places = {name: facts.get("position") for name, facts in declared.items() if isinstance(facts, Mapping)}
    return tuple(sorted(found, key=lambda a: (places.get(a.name) is None, places.get(a.name) or 0)))


def _argument(name: str, facts: Mapping[str, Any], required: bool) -> Argument:
    enum = facts.get("enum")
    kind = facts.get("type")
    if not isinstance(kind, str):
        kind = "json" if kind is None and not enum else "string"
    words = tuple(split_words(name))
    plain = "-".join(words)
    usual = _USUAL.get(plain, "").split("|")
    by_nature = {"date": plain in _DATES, "quoted": _USUAL.get(plain) == _SEARCH}
    fill = _text(facts.get("x-fill")) or next((f for f, fits in by_nature.items() if fits and kind == "string"), "")
    by_name = bool(words) and stem(words[-1]) in _FILES | _OUTPUTS and kind in ("string", "array") and not enum
    return Argument(
        name,
        kind,
        facts.get("required") is True or required,
        facts.get("default"),
        tuple(enum) if isinstance(enum, (list, tuple)) else (),
        _text(facts.get("description")),
        _bound(facts.get("minimum")),
        _bound(facts.get("maximum")),
        fill,
        tuple(map(stem, words)),
        _phrases(texts(facts["x-words"]) if "x-words" in facts else usual),
        _phrases(texts(facts.get("x-after")) if "x-words" in facts else usual),
        _values(facts),
        _phrases(texts(facts.get("x-until"))),
        {stem(u): float(factor) for u, factor in _mapping(facts.get("x-units")).items()},
        tuple(e.lower() for e in texts(facts.get("x-endings"))),
        kind == "file" or by_name,
        plain in _OUTPUTS,
    )


def _values(facts: Mapping[str, Any]) -> tuple[tuple[Phrase, Any], ...]:
    """The words that the author gives for values, else the allowed values in their own letters."""
    members = [m for m in facts.get("enum") or () if isinstance(m, str) and len(m) > 1 and m not in FUNCTION]
    said = _mapping(facts.get("x-values")) or {member: member for member in members}
    return tuple((p, value) for value, words in said.items() for p in _phrases(texts(words)))


def _phrases(said: Iterable[str], form: Callable[[str], str] = str) -> tuple[Phrase, ...]:
    return tuple(p for p in (tuple(form(t) for t in _spelled(text) if t) for text in said) if p)


def _spelled(text: str) -> list[str]:
    """The words of a text. Most texts are one word, which needs no taking apart, unless it is a date."""
    one = text.isascii() and text.isalpha() and text.lower() not in ("today", "yesterday")
    return [text.lower()] if one else tokens(parse(text))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _bound(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
