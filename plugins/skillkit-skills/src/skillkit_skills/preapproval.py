"""What ``allowed-tools`` and ``disallowed-tools`` say of a call (TOOLS-1): the first only spares a question."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .gates import matches

__all__ = ["disallowed", "in_our_words", "pre_approved", "simple_commands", "single_rules"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_PATH_KEYS = ("path", "file_path", "file")


def in_our_words(patterns: Sequence[str]) -> list[str]:
    """``patterns`` and the same with Claude Code's names as SkillKit writes them: ``WebFetch(x)`` also ``web_fetch(x)``."""
    out = list(patterns)
    for pattern in patterns:
        name, sep, rest = pattern.partition("(")
        ours = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        if ours != name and not name.startswith("mcp__"):
            out.append(ours + sep + rest)
    return out


def single_rules(patterns: Sequence[str], *, skill_dir: str | None = None) -> list[str]:
    """``patterns`` as rules of the plugin ``permissions``: one in each pair of parentheses, the skill's folder in its place."""
    out = []
    for pattern in patterns:
        name, sep, rest = pattern.partition("(")
        if not sep or not rest.endswith(")"):
            out.append(pattern)
            continue
        if skill_dir is not None:
            # a path of the file system has two slashes in front there, and a command is quoted as in a shell
            folder = shlex.quote(skill_dir) if name.lower() == "bash" else f"/{skill_dir}"
            rest = rest.replace("${CLAUDE_SKILL_DIR}", folder).replace("${SKILL_DIR}", folder)
        out += [f"{name}({rule.strip()})" for rule in rest[:-1].split(",")]
    return out


def pre_approved(patterns: Sequence[str], tool: str, args: Mapping[str, Any], *, skill_dir: str | None = None) -> bool:
    """Whether one of ``patterns`` covers the call.

    ``Name`` covers every call of the tool, ``mcp__server`` all tools of the server, ``Name(rule)`` what the rule says:
    commands (``git diff:*`` a prefix of words, ``npm test`` exactly, ``*`` anything), paths (``docs/**``) or a name.
    A shell command is covered only when every simple command in it is; a redirection, substitution, variable or
    assignment in front is never covered. A bare ``*`` covers nothing.

    Args:
        patterns: the tokens of ``allowed-tools``.
        tool, args: the call.
        skill_dir: what ``${CLAUDE_SKILL_DIR}`` and ``${SKILL_DIR}`` mean in the patterns.
    """
    whole, rules = _rules(patterns, tool, skill_dir)
    if whole or not rules:
        return whole
    command = args.get("command")
    if isinstance(command, str):
        commands = simple_commands(command)
        return commands is not None and all(any(_covers(r, words) for r in rules) for words in commands)
    return _covers_other(rules, args)


def disallowed(patterns: Sequence[str], tool: str, args: Mapping[str, Any], *, skill_dir: str | None = None) -> bool:
    """Whether one of ``disallowed-tools`` forbids the call: any simple command that a rule covers is enough.

    A command that cannot be taken apart is forbidden as soon as there is a rule for its tool.
    """
    whole, rules = _rules(patterns, tool, skill_dir)
    if whole or not rules:
        return whole
    command = args.get("command")
    if isinstance(command, str):
        commands = simple_commands(command)
        return commands is None or any(_covers(r, words) for r in rules for words in commands)
    return _covers_other(rules, args)


def _rules(patterns: Sequence[str], tool: str, skill_dir: str | None) -> tuple[bool, list[str]]:
    """Whether a pattern names the tool as a whole, and the rules of those that name a part of it."""
    rules: list[str] = []
    for pattern in patterns:
        name, sep, rest = pattern.partition("(")
        if not sep:
            if _names(name, tool):
                return True, []
        elif name == tool and rest.endswith(")"):
            rules += (r.strip() for r in rest[:-1].split(","))
    if skill_dir is not None:
        rules = [r.replace("${CLAUDE_SKILL_DIR}", skill_dir).replace("${SKILL_DIR}", skill_dir) for r in rules]
    return False, rules


def _covers_other(rules: Sequence[str], args: Mapping[str, Any]) -> bool:
    if path := next((v for key in _PATH_KEYS if isinstance(v := args.get(key), str)), None):
        return any(_covers_path(r, path) for r in rules)
    if isinstance(called := args.get("name"), str):
        return any(_covers(r, called.split()) for r in rules)
    return "*" in rules


def _names(pattern: str, tool: str) -> bool:
    if pattern == tool:
        return True
    if not pattern.startswith("mcp__"):
        return False
    return tool.startswith(f"{pattern}__") or ("*" in pattern and fnmatchcase(tool, pattern))


def _covers(rule: str, words: Sequence[str]) -> bool:
    if rule == "*":
        return True
    first = words[0] if words else ""
    if "/" in first and posixpath.normpath(first) != first:
        return False
    if rule.endswith(":*"):
        prefix = rule[:-2].split()
        return list(words[: len(prefix)]) == prefix
    wanted = rule.split()
    if "*" not in rule:
        return list(words) == wanted
    if wanted[-1] == "*":  # "git *": the words before it, then anything
        return list(words[: len(wanted) - 1]) == wanted[:-1]
    return len(wanted) == 1 and "/" in rule and matches(rule, first)


def _covers_path(rule: str, path: str) -> bool:
    clean = posixpath.normpath(path)
    return not clean.startswith("../") and clean != ".." and matches(rule, clean)


def simple_commands(command: str) -> list[list[str]] | None:
    """The words of each simple command, or ``None`` for anything beyond words, quotes and ``&& || ; | &`` between them."""
    commands: list[list[str]] = [[]]
    word: str | None = None
    quote = ""
    escaped = False
    for c in command:
        if escaped:
            if c == "\n":
                return None
            word, escaped = (word or "") + c, False
        elif quote == "'":
            quote, word = ("", word) if c == "'" else (quote, (word or "") + c)
        elif c == "\\":
            escaped, word = True, word or ""
        elif c in "$`":
            return None
        elif quote:
            quote, word = ("", word) if c == '"' else (quote, (word or "") + c)
        elif c in "'\"":
            quote, word = c, word or ""
        elif c in "<>(){}#" and (c in "<>()" or word is None):
            return None
        elif c in ";|&\n" or c.isspace():
            if word is not None:
                commands[-1].append(word)
                word = None
            if c in ";|&\n" and commands[-1]:
                commands.append([])
        else:
            word = (word or "") + c
    if quote or escaped:
        return None
    if word is not None:
        commands[-1].append(word)
    commands = [c for c in commands if c]
    if not commands or any(_ASSIGNMENT.match(c[0]) for c in commands):
        return None
    return commands
