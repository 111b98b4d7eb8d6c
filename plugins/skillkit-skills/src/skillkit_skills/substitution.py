"""Arguments and variables in the text of a skill (SUB-1): one pass, and what was inserted is never read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

__all__ = ["split_args", "substitute"]

_BRACED = ("SKILL_DIR", "CLAUDE_SKILL_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_SESSION_ID")


def split_args(text: str) -> list[str]:
    """Words like a shell's: quotes group, a backslash is an ordinary character, a quote that never closes is text."""
    words: list[str] = []
    word: str | None = None
    i = 0
    while i < len(text):
        c = text[i]
        end = text.find(c, i + 1) if c in "\"'" else -1
        if end > 0:
            word = (word or "") + text[i + 1 : end]
            i = end
        elif c.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + c
        i += 1
    return words if word is None else [*words, word]


def _pattern(declared: Sequence[str]) -> re.Pattern[str]:
    names = "|".join(re.escape(n) for n in sorted(declared, key=len, reverse=True))
    named = rf"|(?P<escaped_name>\\\$(?:{names})(?!\w))|\$(?P<name>{names})(?!\w)" if names else ""
    return re.compile(
        r"(?P<escaped>\\\$(?:ARGUMENTS(?!\w)|\d+))"
        r"|\$ARGUMENTS\[(?P<index>\d+)\]"
        r"|(?P<all>\$ARGUMENTS(?!\w))"
        r"|\$(?P<number>\d+)(?![.,]\d|\w|%)"
        r"|(?P<base>\{baseDir\})"
        rf"|\$\{{(?P<variable>{'|'.join(_BRACED)})\}}" + named
    )


def substitute(
    body: str,
    args: str | None = None,
    *,
    declared: Sequence[str] = (),
    base: int = 0,
    variables: Mapping[str, str] | None = None,
    mode: Literal["skillkit", "claude"] = "skillkit",
) -> str:
    """The text of a skill for one invocation.

    ``$ARGUMENTS`` is all text, ``$ARGUMENTS[N]`` a word of it counted from 0, ``$name`` a declared argument (empty when
    absent), ``$N`` a word only when arguments are declared and N lies inside them. A backslash before them keeps them.
    ``{baseDir}`` and ``${SKILL_DIR}`` come from ``variables``; the environment is never read. What cannot be filled
    stays. Arguments are appended when they were used nowhere, or when a ``$N`` that has no declaration may have meant one.

    Args:
        body: the text.
        args: what was written behind the skill's name.
        declared: names of the skill's arguments, in order.
        base: what the first ``$N`` is called (1 for files of an older SkillKit).
        variables: values of the names in braces.
        mode: ``claude``: ``$N`` needs no declaration.
    """
    given = args or ""
    words = split_args(given)
    known = dict(variables or {})
    known.setdefault("CLAUDE_SKILL_DIR", known.get("SKILL_DIR", ""))
    used = missed = False

    def word(n: int, text: str) -> str:
        nonlocal used
        if not 0 <= n < len(words):
            return text
        used = True
        return words[n]

    def fill(match: re.Match[str]) -> str:
        nonlocal used, missed
        text = match[0]
        kind = match.lastgroup
        if kind in ("escaped", "escaped_name"):
            return text[1:]
        if kind == "all":
            used = True
            return given
        if kind == "index":
            return word(int(match["index"]), text)
        if kind == "number":
            n = int(match["number"]) - base
            if mode == "claude" or 0 <= n < len(declared):
                return word(n, text)
            missed = missed or 0 <= n < len(words)
            return text
        if kind == "name":
            used = True
            n = declared.index(match["name"])
            return words[n] if n < len(words) else ""
        return known.get("SKILL_DIR" if kind == "base" else match["variable"]) or text

    text = _pattern(declared).sub(fill, body)
    return f"{text.rstrip()}\n\nARGUMENTS: {given}\n" if given.strip() and (missed or not used) else text
