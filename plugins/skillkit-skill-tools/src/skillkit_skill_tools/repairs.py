"""Safe repairs of a SKILL.md: the file is written as the reader reads it, so that every host reads the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from skillkit_markdown import MAX_BYTES, decode, mended
from skillkit_skills import FILE, read, skill_file

from skillkit_core.settings.documents import open_regular, write_whole
from skillkit_core.skills import Skill

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
    if (new := mended(data, before.values)) is None:
        return None
    after = read(new.encode(), folder)
    same = (after.values, after.fields, after.body) == (before.values, before.fields, before.body)
    if not same or not set(after.diagnostics) < {*codes, ""}:
        return None
    gone = tuple(sorted(codes - set(after.diagnostics)))
    target = skill.path / FILE
    return Repair(path, target, gone, new, _diff(text.splitlines(), new.splitlines(), name))


def _diff(old: Sequence[str], new: Sequence[str], name: str) -> str:
    return "\n".join(unified_diff(old, new, name, FILE, lineterm=""))
