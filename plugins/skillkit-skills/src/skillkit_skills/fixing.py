"""Safe repairs of a SKILL.md: the file is written as the reader reads it, so that every host reads the same."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from skillkit_core.settings.documents import open_regular, write_whole
from skillkit_core.skills import Skill

from .reader import ReadSkill, read
from .reader.repair import same_lines, segments
from .reader.text import MAX_BYTES, decode, split
from .reader.yamltext import TextYAMLError, parse_text
from .scanner import FILE, skill_file

__all__ = ["Repair", "repair_of"]

_SAFE = frozenset(
    (
        *("encoding-bom", "encoding-utf16", "newline-crlf", "frontmatter-leading-blank", "frontmatter-unclosed"),
        *("yaml-control-chars", "yaml-tabs", "yaml-unquoted-scalar", "metadata-json-repaired", "file-name-case"),
    )
)
_LOSES = frozenset(
    (
        *("encoding-invalid-utf8", "merge-conflict-markers", "metadata-unparseable", "yaml-stray-lines"),
        "yaml-value-dropped",
    )
)


@dataclass(frozen=True, slots=True)
class Repair:
    """What would be changed in one file.

    Attributes:
        path: the file as it is. target: the file as it will be called.
        codes: the remarks that go away.
        diff: the change as a unified diff, without a last line break.
    """

    path: Path
    target: Path
    codes: tuple[str, ...]
    text: str
    diff: str

    def write(self) -> Path:
        """Write the file, and return the copy of what it was, ``SKILL.md.orig`` beside it.

        Raises:
            OSError: it cannot be written; what was there is still there.
        """
        copy, n = self.path.with_name(f"{self.path.name}.orig"), 2
        while os.path.lexists(copy):
            copy, n = self.path.with_name(f"{self.path.name}.orig-{n}"), n + 1
        self.path.rename(copy)
        try:
            write_whole(str(self.target), self.text)
            self.target.chmod(copy.stat().st_mode & 0o777)
        except OSError:
            copy.rename(self.path)
            raise
        return copy


def repair_of(skill: Skill) -> Repair | None:
    """Return the repair of a skill's file; ``None``: nothing to repair, or a person must decide.

    Nothing is repaired when the file would read otherwise afterwards, when it is a link, or when text would be lost.
    """
    if skill.path is None:
        return None
    name = skill_file([entry.name for entry in skill.path.iterdir()])
    if name is None or (path := skill.path / name).is_symlink():
        return None
    with open_regular(path) as file:
        data = file.read(MAX_BYTES + 1)
    folder = skill.path.name
    before = read(data, folder)
    codes = {*before.diagnostics, *(["file-name-case"] if name != FILE else [])}
    text = decode(data, [])
    if text is None or codes.isdisjoint(_SAFE) or not codes.isdisjoint(_LOSES):
        return None
    new = _mended(text, data, before)
    after = read(new.encode(), folder)
    same = (after.values, after.fields, after.body) == (before.values, before.fields, before.body)
    if not same or not set(after.diagnostics) < {*codes, ""}:
        return None
    gone = tuple(sorted(codes - set(after.diagnostics)))
    target = skill.path / FILE
    return Repair(path, target, gone, new, _diff(text.splitlines(), new.splitlines(), name))


def _mended(text: str, data: bytes, before: ReadSkill) -> str:
    """The text with its frontmatter as YAML that needs no repair."""
    found = split(data)
    if found.block is None:
        return text
    text = text.lstrip() if text.lstrip().startswith("---") else text
    begin = text.index("\n") + 1
    rest = text[begin + len(found.block) :]
    block = found.block
    try:
        parse_text(block)
    except TextYAMLError:
        block = _quoted(same_lines(block), before)
    if "frontmatter-unclosed" in found.diagnostics:
        rest = f"---\n\n{found.body}\n"
    return f"{text[:begin]}{block.rstrip()}\n{rest}"


def _quoted(block: str, before: ReadSkill) -> str:
    """The block with quotes around each value that does not parse, as the reader understood it."""
    lines = block.split("\n")
    for number, own in segments(block)[0]:
        try:
            parse_text("\n".join(own))
        except TextYAMLError:
            key = own[0].partition(":")[0].strip()
            value = (before.values or {}).get(key.strip("\"'"))
            lines[number] = f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for i in range(number + 1, number + len(own)):
                lines[i] = ""
    return "\n".join(line for i, line in enumerate(lines) if line or i == 0)


def _diff(old: Sequence[str], new: Sequence[str], name: str) -> str:
    return "\n".join(unified_diff(old, new, name, FILE, lineterm=""))
