"""What a tool says about itself: the skill action behind it, its words and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillkit_core.tools import Tool

from .words import split_words, stem

__all__ = [
    "Argument",
    "action_of",
    "arguments_of",
    "examples_of",
    "is_action",
    "label",
    "most_prominent",
    "prominence",
    "skill_of",
    "texts",
    "vocabulary",
]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an action, from ``annotations["args"]`` and the tool's JSON Schema.

    Attributes:
        type: string, integer, number, boolean, file, json or array.
        whole: the argument takes the whole request (``x-fill: request``).
        words: the normalised words of the name.
    """

    name: str
    type: str
    required: bool = False
    default: Any = None
    enum: tuple[Any, ...] = ()
    description: str = ""
    position: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False
    words: tuple[str, ...] = ()


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
    """Requests that the action answers, in its author's order."""
    return texts(tool.annotations.get("examples"))


def prominence(tool: Tool) -> int:
    """Place of the action in its skill, lower is more the skill's main one.

    ``annotations["order"]`` where it is given; else an action that is named after its skill comes before the others.
    """
    order = tool.annotations.get("order")
    if isinstance(order, int) and not isinstance(order, bool):
        return order
    return 0 if set(split_words(action_of(tool))) <= set(split_words(skill_of(tool))) else 1


def most_prominent(tools: Sequence[Tool]) -> Tool | None:
    """The one main action among ``tools``; ``None`` where several are."""
    best = min((prominence(t) for t in tools), default=0)
    main = [t for t in tools if prominence(t) == best]
    return main[0] if len(main) == 1 else None


def vocabulary(tool: Tool) -> frozenset[str]:
    """Stems of the words by which skill and action describe themselves; the examples' words are data of somebody's."""
    spoken = [skill_of(tool), action_of(tool), tool.description, *texts(tool.annotations.get("skill_description"))]
    spoken += texts(tool.annotations.get("keywords"))
    return frozenset(stem(word) for text in spoken for word in split_words(text))


def texts(value: Any) -> list[str]:
    """``value`` as a list of texts; what is no text is left out."""
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, (list, tuple)) else []


def arguments_of(tool: Tool) -> tuple[Argument, ...]:
    """The arguments: positional ones first, then in the order they were declared."""
    declared = tool.annotations.get("args")
    declared = declared if isinstance(declared, Mapping) else {}
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = tool.parameters.get("required")
    required = required if isinstance(required, (list, tuple)) else ()
    found = [
        _argument(name, {**_mapping(properties.get(name)), **_mapping(declared.get(name))}, name in required)
        for name in {**properties, **declared}
        if not _mapping(declared.get(name)).get("secret")
    ]
    return tuple(sorted(found, key=lambda a: (a.position is None, a.position or 0)))


def _argument(name: str, facts: Mapping[str, Any], required: bool) -> Argument:
    kind = facts.get("type")
    enum = facts.get("enum")
    position = facts.get("position")
    return Argument(
        name,
        kind if isinstance(kind, str) else ("json" if kind is None and not enum else "string"),
        facts.get("required") is True or required,
        facts.get("default"),
        tuple(enum) if isinstance(enum, (list, tuple)) else (),
        _text(facts.get("description")),
        position if isinstance(position, int) and not isinstance(position, bool) else None,
        _bound(facts.get("minimum")),
        _bound(facts.get("maximum")),
        facts.get("x-fill") == "request",
        tuple(split_words(name)),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _bound(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
