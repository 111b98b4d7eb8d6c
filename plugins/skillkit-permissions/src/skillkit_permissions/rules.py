"""The notation of rules: ``Bash(git status:*)``, ``Edit(src/**)``, ``WebFetch(domain:example.com)``, ``mcp__server__tool``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal

__all__ = ["EDITS", "NAMES", "READS", "CommandPattern", "Rule", "Rules", "canonical", "parse_rule"]

Kind = Literal["deny", "ask", "allow"]

# what the tools of SkillKit are called in rules
_NAMES = {
    "bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "apply_patch": "Edit", "multi_edit": "MultiEdit",
    "notebook_edit": "NotebookEdit", "grep": "Grep", "glob": "Glob", "ls": "LS", "web_fetch": "WebFetch",
    "web_search": "WebSearch", "search_web_tool": "WebSearch", "activate_skill": "Skill", "spawn_agent": "Agent", "Task": "Agent",
    "ask_user": "AskUserQuestion",
}  # fmt: skip
EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
READS = frozenset({"Read", "Grep", "Glob", "LS"})
_RULE = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*\Z", re.S)
_TOOL = re.compile(r"[A-Za-z0-9_.*?@-]+\Z")


NAMES = frozenset({*_NAMES, *_NAMES.values(), *EDITS, *READS})
"""The names of tools that a rule may say whether or not the tool is there."""


def canonical(tool: str) -> str:
    """Return the name that rules have for a tool: that of Claude Code where it has the same tool."""
    return _NAMES.get(tool, tool)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        text: as it was written.
        kind: ``deny``, ``ask`` or ``allow``.
        tool: the canonical name of the tool; may hold stars.
        spec: what stands in the parentheses; ``None``: every call of the tool.
        problem: why the rule cannot be read; empty for a rule that can.
        origin: where the rule stands.
        definition: digest of the tool's definition for which alone the rule holds; empty: for every one.
    """

    text: str
    kind: Kind
    tool: str
    spec: str | None = None
    problem: str = ""
    origin: str = ""
    definition: str = ""

    def names(self, tool: str) -> bool:
        """Return whether the rule is about a tool (its canonical name), whatever its arguments."""
        if self.tool == tool:
            return True
        if self.kind == "allow":
            if self.tool == "Edit":
                return tool in EDITS
            if self.tool == "Read":
                return tool in READS
            return self._approves_name(tool)
        if self.tool in EDITS and tool in EDITS:
            return True
        if self.tool == "Read" and (tool in READS or tool in EDITS):
            return True
        if "*" in self.tool or "?" in self.tool:
            return fnmatchcase(tool, self.tool)
        return self.tool.startswith("mcp__") and tool.startswith(f"{self.tool}__")

    def _approves_name(self, tool: str) -> bool:
        """Return whether an allow rule covers the name: a star counts only behind ``mcp__server__`` or ``skill__``."""
        if self.tool.startswith("mcp__") and tool.startswith(f"{self.tool}__") and self.tool.count("__") == 1:
            return True
        fixed, star, _ = self.tool.partition("*")
        needs = 2 if fixed.startswith("mcp__") else 1
        if not star or "?" in self.tool or fixed.count("__") < needs:
            return False
        return fnmatchcase(tool, self.tool)

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules that count."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()

    @classmethod
    def of(
        cls, deny: Iterable[str] = (), ask: Iterable[str] = (), allow: Iterable[str] = (), origin: str = ""
    ) -> Rules:
        """Return the rules of texts."""
        return cls(
            tuple(parse_rule(t, "deny", origin) for t in deny),
            tuple(parse_rule(t, "ask", origin) for t in ask),
            tuple(parse_rule(t, "allow", origin) for t in allow),
        )

    def __add__(self, other: Rules) -> Rules:
        return Rules(self.deny + other.deny, self.ask + other.ask, self.allow + other.allow)

    def __iter__(self) -> Iterable[Rule]:
        yield from (*self.deny, *self.ask, *self.allow)


@lru_cache(4096)
def parse_rule(text: str, kind: Kind, origin: str = "") -> Rule:
    """Return a rule; one that cannot be read has a ``problem``, and approves nothing."""
    match = _RULE.match(text)
    if match is None or not _TOOL.match(match[1]):
        tool = text.partition("(")[0].strip()
        name = canonical(tool) if _TOOL.match(tool) else "*"
        return Rule(text, kind, name, problem="it is not written as Tool or Tool(what)", origin=origin)
    tool, spec = canonical(match[1]), match[2]
    if spec is None or spec.strip() == "*":
        return Rule(text, kind, tool, None, origin=origin)
    return Rule(text, kind, tool, spec, _problem(tool, spec), origin)


def _problem(tool: str, spec: str) -> str:
    if not spec.strip():
        return "nothing stands in the parentheses; leave them out to mean every call"
    if tool == "Bash":
        return command_pattern(spec).problem
    if tool == "WebFetch":
        return "" if spec.startswith("domain:") and spec[7:].strip() else "write WebFetch(domain:HOST)"
    if tool in EDITS or tool in READS:
        if "\x00" in spec:
            return "a path holds no NUL"
        return "patterns with ! are not supported" if spec.startswith("!") else ""
    return f"{tool} takes nothing in parentheses"


_SEPARATOR = "\x1f"  # between words; no shell word of a line that is understood holds it


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """What stands in ``Bash(...)``.

    Attributes:
        head: the words before the first star.
        exact: there is no star: the words are the whole command.
        regex: matches the words, joined by the separator; ``tail`` matches those behind the head.
        problem: why it cannot be read.
    """

    head: tuple[str, ...] = ()
    exact: bool = False
    regex: re.Pattern[str] | None = None
    tail: re.Pattern[str] | None = None
    problem: str = ""

    def covers(self, words: Sequence[str]) -> bool:
        """Return whether the pattern covers exactly these words."""
        return self.regex is not None and self.regex.match(_SEPARATOR.join(words)) is not None

    def finds(self, words: Sequence[str]) -> bool:
        """Return whether the pattern is in these words when options before and between the words of the head are passed over."""
        if self.tail is None:
            return False
        places = {0}
        for at, literal in enumerate(self.head):
            reached: set[int] = set()
            for place in _past_options(words, places) if at else places:
                if place < len(words) and words[place] == literal:
                    reached.add(place + 1)
            places = reached
        rest = _past_options(words, places) if self.head and not self.exact else places
        return any(self.tail.match("".join(_SEPARATOR + w for w in words[place:])) is not None for place in rest)


def _past_options(words: Sequence[str], places: set[int]) -> set[int]:
    """Return the places and those behind the options that stand there; an option may take the next word."""
    found = set(places)
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place < len(words) and words[place].startswith("-") and len(words[place]) > 1:
            for following in (place + 1, place + 2):
                if following <= len(words) and following not in found:
                    found.add(following)
                    waiting.append(following)
    return found


@lru_cache(4096)
def command_pattern(spec: str) -> CommandPattern:
    """Return the pattern of what stands in ``Bash(...)``."""
    text = spec.strip()
    if ":*" in text[:-2]:
        return CommandPattern(problem=":* stands only at the end")
    boundary = text.endswith((":*", " *"))
    if boundary:
        text = text[:-2].rstrip()
    try:
        words = shlex.split(text, posix=True)
    except ValueError:
        return CommandPattern(problem="a quote is not closed")
    if not words:
        return CommandPattern(problem="no command is named")
    if any(_SEPARATOR in word for word in words):
        return CommandPattern(problem="a control character")
    starred = next((i for i, w in enumerate(words) if "*" in w), len(words))
    end = rf"(?:{_SEPARATOR}.*)?\Z" if boundary else r"\Z"
    pieces = [".*".join(re.escape(p) for p in w.split("*")) for w in words]
    regex = re.compile(_SEPARATOR.join(pieces) + end, re.S)
    tail = re.compile("".join(_SEPARATOR + p for p in pieces[starred:]) + end, re.S)
    return CommandPattern(tuple(words[:starred]), not boundary and starred == len(words), regex, tail)
