"""Skills as rows of the index, so that a file that did not change is not parsed again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skillkit_markdown

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Requirements, Skill, SkillProblem

from . import __version__
from .format import DEFAULTS, skill_of
from .scanner import FILE, FoundSkill

if TYPE_CHECKING:
    from .index import SkillIndex

__all__ = ["Kept", "Row"]

# A row: folder, what made it, size, mtime_ns and ctime_ns of the file, digest of its content, the skill's fields, its body.
Row = tuple[str, str, int, int, int, bytes, str, str]

_SETTLED = 2_000_000_000  # nanoseconds; a younger file can change again within one tick of its time stamp
# What runs programs is read anew each time: whether it is right depends on other files of the skill, too.
_NEVER = ("actions", "hooks", "arguments")
_OWN = frozenset(("path", "source", "body", "requires", "problems"))


class Kept:
    """The skills below one directory as the index has them.

    Args:
        index: where they are kept.
        root: the directory.
        source: the source, which decides what a skill of it may do.

    Attributes:
        stamps: size, modification and change time of the file of each folder.
    """

    def __init__(self, index: SkillIndex, root: str, source: SkillSource) -> None:
        self._index = index
        self._source = source.name
        self._made = f"{source.kind} {source.trusted} {_code()}"
        self._all = index.rows(root)
        self._rows = {row[0]: row for row in self._all if row[1] == self._made}
        self.stamps = {folder: row[2:5] for folder, row in self._rows.items()}
        self._new: list[Row] = []

    def skill(self, found: FoundSkill) -> Skill | None:
        """The skill in a folder whose file is as it was."""
        return _restored(self._rows[found.folder], self._source) if found.unchanged else None

    def same(self, found: FoundSkill, data: bytes) -> Skill | None:
        """The skill in a folder whose file was written again with the same content."""
        row = self._rows.get(found.folder)
        if row is None or found.agents or found.notes or row[5] != _digest(data):
            return None
        return _restored(row, self._source)

    def add(self, found: FoundSkill, skill: Skill, data: bytes) -> None:
        """Keep a skill that was read from ``data``, unless it has to be read each time."""
        if found.agents or found.notes or any(getattr(skill, name) for name in _NEVER):
            return
        try:
            now = os.stat(found.file)  # noqa: PTH116
        except OSError:
            return
        young = time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) < _SETTLED
        if young or now.st_size != len(data):
            return
        values = {
            name: v for name, default in DEFAULTS.items() if name not in _OWN and (v := getattr(skill, name)) != default
        }
        needs = {f.name: v for f in fields(Requirements) if (v := getattr(skill.requires, f.name))}
        said = [(p.code, p.message, p.severity) for p in skill.problems]
        record = json.dumps((values, needs, said))
        stamp = now.st_size, now.st_mtime_ns, now.st_ctime_ns
        self._new.append((found.folder, self._made, *stamp, _digest(data), record, skill.body))

    def save(self, found: Iterable[FoundSkill]) -> None:
        """Write what is new, and forget the folders that are no longer ``found``."""
        here = {one.folder for one in found}
        gone = [row[0] for row in self._all if row[0] not in here]
        if self._new or gone:
            self._index.keep(self._new, gone)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


@cache
def _code() -> str:
    """What stands for this code: after a change of it, everything is read again."""
    here = os.path.dirname(__file__)  # noqa: PTH120
    folders = (here, os.path.dirname(skillkit_markdown.__file__))  # noqa: PTH120
    newest = max(e.stat().st_mtime_ns for folder in folders for e in os.scandir(folder) if e.is_file())
    return f"{__version__} {newest}"


_decode = json.JSONDecoder().raw_decode


def _restored(row: Row, source: str) -> Skill:
    """The skill that ``row`` was made of."""
    (values, needs, said), _ = _decode(row[6])
    values["path"], values["source"], values["body"] = Path(row[0]), source, row[7]
    if needs:
        given: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in needs.items()}
        values["requires"] = Requirements(**given)
    if said:
        file = f"{row[0]}/{FILE}"
        values["problems"] = tuple([SkillProblem(code, text, severity, file) for code, text, severity in said])
    return skill_of(values)
