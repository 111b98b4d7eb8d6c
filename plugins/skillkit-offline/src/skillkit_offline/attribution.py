"""Attribution: which action of a skill answers each of the skill's examples.

Authors write examples for a skill, and every action of it carries them all. An example speaks for the action whose own words
it uses and whose arguments it states.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from skillkit_core.tools import Tool

from .descriptors import action_of, examples_of, most_prominent, skill_of
from .filling import fill
from .request import parse
from .terms import pairs_of, terms_of

__all__ = ["attributed_examples"]

_MOST_EXAMPLES = 40
_PAIR = 0.5
_STATED = 0.5  # for each piece of the example that becomes an argument


def attributed_examples(tools: Sequence[Tool]) -> list[list[str]]:
    """For each tool, those of its examples that speak for it."""
    holders: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, tool in enumerate(tools):
        for example in dict.fromkeys(examples_of(tool)[:_MOST_EXAMPLES]):
            holders[skill_of(tool), example].append(number)
    own: dict[int, frozenset[str]] = {}
    out: list[list[str]] = [[] for _ in tools]
    for (_, example), numbers in holders.items():
        if len(numbers) > 1:
            for number in numbers:
                if number not in own:
                    own[number] = _own_words(tools[number])
            numbers = _answering(example, numbers, tools, own)
        for number in numbers:
            out[number].append(example)
    return out


def _answering(example: str, numbers: list[int], tools: Sequence[Tool], own: dict[int, frozenset[str]]) -> list[int]:
    request = parse(example)
    weights = {term.term: term.weight for term in terms_of(request)} | dict.fromkeys(pairs_of(request), _PAIR)
    shared = {term: sum(term in own[n] for n in numbers) for term in weights}
    worth: dict[int, tuple[bool, float]] = {}
    for number in numbers:
        filled = fill(example, tools[number])
        words = sum(weight / shared[term] for term, weight in weights.items() if term in own[number])
        worth[number] = (filled.complete, round(words + _STATED * len(filled.explained), 6))
    best = max(worth.values())
    winners = [n for n in numbers if worth[n] == best]
    main = most_prominent([tools[n] for n in winners])
    return winners if main is None else [n for n in winners if tools[n] is main]


def _own_words(tool: Tool) -> frozenset[str]:
    """Terms and neighbouring words of the action's name and description."""
    request = parse(f"{action_of(tool)}\n{tool.description}")
    return frozenset(t.term for t in terms_of(request)) | pairs_of(request)
