"""Front matter that YAML refuses: the repairs of SLP-1, rule C, in their order, each with its code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .yaml_text import parse_text
from .yaml_values import Parsed, TextYAMLError

__all__ = ["CONFLICT", "FORBIDDEN", "INDENT_TABS", "KEY", "repair_block", "same_lines", "segments", "stray_lines"]

MAX_CLOSERS = 4
FORBIDDEN = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SURROGATES = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\n?", re.M)
INDENT_TABS = re.compile(r"^[ ]*\t[ \t]*", re.M)
KEY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|[^\s#"'\[\]{}&*!|>%@`,:-][^\s:"']*)[ \t]*:(?=[ \t]|$)""")
_BLOCK_HEADER = re.compile(r"^[|>][-+0-9]*(?:[ \t]+#.*)?$")
_UNESCAPE = re.compile(r"\\([\[\]_])")
_CLOSER = {"{": "}", "[": "]"}


def repair_block(block: str, diagnostics: list[str]) -> Parsed | None:
    """Parse a block that YAML refuses, repairing what can be repaired; ``None``: hopeless (``yaml-unparseable``)."""
    joined = _SURROGATES.sub(_join, block)
    if joined != block and (parsed := _try(joined)):
        return parsed
    block = joined
    for pattern, code, replacement in (
        (FORBIDDEN, "yaml-control-chars", ""),
        (CONFLICT, "merge-conflict-markers", ""),
        (INDENT_TABS, "yaml-tabs", None),
    ):
        mended = pattern.sub(_spaces if replacement is None else replacement, block)
        if mended != block:
            diagnostics.append(code)
            block = mended
            if parsed := _try(block):
                return parsed
    return _by_key(block, diagnostics)


def _try(text: str) -> Parsed | None:
    try:
        return parse_text(text)
    except TextYAMLError:
        return None


def _join(match: re.Match[str]) -> str:
    pair = bytes.fromhex(match[1] + match[2])
    return pair.decode("utf-16-be")


def _spaces(match: re.Match[str]) -> str:
    return match[0].replace("\t", "  ")


def same_lines(block: str) -> str:
    """The block after the repairs that need no look at its keys, every line still where it was."""
    block = FORBIDDEN.sub("", _SURROGATES.sub(_join, block))
    block = CONFLICT.sub(lambda m: "\n" if m[0].endswith("\n") else "", block)
    return INDENT_TABS.sub(_spaces, block)


def stray_lines(block: str) -> Iterator[tuple[str, str]]:
    """Yield each line that belongs to no key, with the key above it (``""``: there is none)."""
    found, _ = segments(block)
    owned = {number + n: lines[0] for number, lines in found for n in range(len(lines))}
    above = ""
    for number, line in enumerate(block.split("\n")):
        if number in owned:
            above = owned[number].partition(":")[0].strip(" \t\"'")
        elif line.strip() and line[0] != "#":
            yield above, line


def segments(block: str) -> tuple[list[tuple[int, list[str]]], int | None]:
    """The lines of each column-0 key with the number of the first, and the first line that belongs to none, from 0."""
    found: list[tuple[int, list[str]]] = []
    stray: int | None = None
    inside = False
    for number, line in enumerate(block.split("\n")):
        if not line.strip():
            if inside:
                found[-1][1].append(line)
        elif KEY.match(line):
            found.append((number, [line]))
            inside = True
        elif inside and (line[0] in " \t" or line.startswith("- ") or line == "-"):
            found[-1][1].append(line)
        else:
            inside = False
            if stray is None and line[0] != "#":
                stray = number
    return found, stray


def _by_key(block: str, diagnostics: list[str]) -> Parsed | None:
    """Parse every column-0 key alone; whatever does not parse is mended, quoted or dropped."""
    found, stray = segments(block)
    codes: list[str] = []
    merged = Parsed()
    values: dict[str, Any] = {}
    for _, lines in found:
        parsed = _try("\n".join(lines)) or _mend(lines, codes)
        if parsed is None or not isinstance(parsed.value, dict):
            key, _, text = "\n".join(lines).partition(":")
            merged.dropped[key.strip(" \t\"'")] = text.strip()
            continue
        merged.aliases = merged.aliases or parsed.aliases
        merged.duplicates += parsed.duplicates
        for key, value in parsed.value.items():
            if key in values:
                merged.duplicates.append(key)
                del values[key]
            values[key] = value
    if stray is not None:
        codes.append("yaml-stray-lines")
    diagnostics += dict.fromkeys(codes)
    if not values:
        if "yaml-value-dropped" not in codes:
            diagnostics.append("yaml-unparseable")
            return None
    elif not codes:  # every key is fine alone, the block as a whole was not
        diagnostics.append("yaml-stray-lines")
    merged.value = values
    return merged


def _mend(lines: list[str], codes: list[str]) -> Parsed | None:
    match = KEY.match(lines[0])
    if match is None:
        return None
    key = match[1].strip("\"'")
    first = lines[0][match.end() :].strip()
    rest = [line.strip() for line in lines[1:] if line.strip()]
    if _BLOCK_HEADER.match(first):
        first = ""
    text = " ".join(part for part in (first, *rest) if part)
    parsed = Parsed()
    if not text.startswith("{"):
        codes.append("yaml-unquoted-scalar")
        parsed.value = {key: text}
        return parsed
    text = _UNESCAPE.sub(r"\1", text)
    missing = _closers(text)
    for n in range(min(len(missing), MAX_CLOSERS) + 1):
        found = _try(f"{json.dumps(key)}: {text}{missing[:n]}")
        if found is not None:
            codes.append("metadata-json-repaired")
            return found
    codes.append("yaml-value-dropped")
    return None


def _closers(text: str) -> str:
    """The brackets that ``text`` opens and never closes, as the characters that would close them."""
    stack: list[str] = []
    quote = ""
    escaped = False
    for char in text:
        if quote:
            if escaped:
                escaped = False
            elif char == "\\" and quote == '"':
                escaped = True
            elif char == quote:
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "{[":
            stack.append(_CLOSER[char])
        elif char in "}]" and stack and stack[-1] == char:
            stack.pop()
    return "".join(reversed(stack))
