"""The skill loader of folders: a source in, its skills and everything that is wrong with it out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.contracts.skill_loader import LoadedSkills, SkillLoader, SkillSource
from skillkit_core.settings.documents import open_regular
from skillkit_core.skills import Skill, SkillProblem

from .format import build_skill
from .problems import problems_of, severity_of
from .reader import read
from .reader.text import MAX_BYTES
from .scanner import FoundSkill, scan

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SkillFolderLoader", "load_folder", "package_folders"]

_CARRIERS = ("agents/skillkit.yaml", "agents/openai.yaml")


class SkillFolderLoader(SkillLoader):
    """Reads ``SKILL.md`` folders from a directory or from an importable package, which is found but not imported."""

    def __init__(self, host: Host | None = None) -> None:
        self._seen: dict[str, dict[tuple[str, str, int], str]] = {}

    def accepts(self, source: SkillSource) -> bool:
        """Whether the source names a directory or a package."""
        return source.path is not None or source.package is not None

    def load(self, source: SkillSource) -> LoadedSkills:
        """Every skill below the source's directories, in the order of their paths.

        A byte-identical copy of a skill that another source of the same kind gave is left out silently.
        """
        skills: list[Skill] = []
        problems: list[SkillProblem] = []
        mine: dict[tuple[str, str, int], str] = {}
        self._seen[source.name] = {}
        for root in _roots(source, problems):
            found = scan(str(root))
            problems += (SkillProblem(c, _REFUSED[c], severity_of(c), path) for c, path in found.refused)
            for one in found.skills:
                skill, digest = load_folder(one, source, problems)
                if skill is None:
                    continue
                key = (source.kind, skill.name, digest)
                if any(key in seen for seen in self._seen.values()):
                    continue
                if first := next((s for s in skills if s.name == skill.name), None):
                    text = f"skill {skill.name!r} is already at {first.path}: rename one of them"
                    problems.append(SkillProblem("duplicate-skill", text, "error", one.file))
                    continue
                mine[key] = one.folder
                skills.append(skill)
        self._seen[source.name] = mine
        return LoadedSkills(tuple(skills), tuple(problems))


_REFUSED = {
    "duplicate-realpath": "a link to a folder that was read already",
    "scan-limit": "more than 2000 folders: the rest was not looked at",
    "symlink-escape": "a link that leaves the directory is not followed",
    "unreadable": "cannot be read",
}


def load_folder(found: FoundSkill, source: SkillSource, problems: list[SkillProblem]) -> tuple[Skill | None, int]:
    """The skill in one folder with a hash of what it was read from; a folder that gives none is a problem."""
    try:
        data = _read_bytes(found.file, MAX_BYTES + 1)
    except OSError as e:
        problems.append(SkillProblem("unreadable", f"cannot be read: {e.strerror}", "error", found.file))
        return None, 0
    folder = Path(found.folder)
    skill = read(data, folder.name or folder.resolve().name)
    skill.diagnostics[:0] = found.notes
    if skill.status == "rejected" or skill.fields is None:
        codes = [c for c in skill.diagnostics if severity_of(c) == "error" and c != "description-missing"]
        problems += problems_of(codes or skill.diagnostics, found.file)
        return None, 0
    carriers: list[bytes | None] = []
    agents = os.path.isdir(os.path.join(found.folder, "agents"))  # noqa: PTH112, PTH118
    for name in _CARRIERS:
        carrier = _beside(found.folder, name, problems) if agents else None
        carriers.append(carrier)
    built = build_skill(
        skill,
        folder,
        dir_name=folder.name or folder.resolve().name,
        source=source.name,
        kind=source.kind,
        trusted=source.trusted,
        sidecar=carriers[0],
        codex=carriers[1],
    )
    return built, hash((data, *carriers))  # 64 bits, keyed anew in every process


def _read_bytes(path: str, limit: int) -> bytes:
    with open_regular(path) as file:
        return file.read(limit)


def _beside(folder: str, name: str, problems: list[SkillProblem]) -> bytes | None:
    """A file beside the SKILL.md, unless it is a link that leaves the folder."""
    path = os.path.join(folder, name)  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113
        return None
    real, root = os.path.realpath(path), os.path.realpath(folder)
    if not real.startswith(root.rstrip(os.sep) + os.sep):
        problems.append(SkillProblem("symlink-escape", _REFUSED["symlink-escape"], "error", path))
        return None
    try:
        data = _read_bytes(path, MAX_BYTES + 1)
    except OSError as e:
        problems.append(SkillProblem("unreadable", f"cannot be read: {e.strerror}", "error", path))
        return None
    if len(data) > MAX_BYTES:
        problems.append(SkillProblem("file-too-large", "the file is larger than 1 MiB", "error", path))
        return None
    return data


def _package_path(name: str) -> Iterable[str]:
    """``__path__`` of a top-level package; what ``importlib.util.find_spec`` does, without its imports."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__path__", ())
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec.submodule_search_locations or ()
    return ()


def package_folders(package: str) -> list[Path]:
    """The directories of an importable package, found without importing it or its parents' code."""
    top, _, rest = package.partition(".")
    places = list(_package_path(top))
    below = rest.split(".") if rest else []
    return [folder for place in places if (folder := Path(place, *below)).is_dir()]


def _roots(source: SkillSource, problems: list[SkillProblem]) -> list[Path]:
    if source.package is not None:
        if folders := package_folders(source.package):
            return folders
        text = f"package {source.package!r} of source {source.name!r} is not a folder on this machine"
        problems.append(SkillProblem("source-missing", text, "warning", source.package))
        return []
    if source.path is None or not source.path.is_dir():
        text = f"source {source.name!r} is not a directory: {source.path}"
        asked = source.kind == "extra"  # somebody named it, so its skills are missed
        problems.append(SkillProblem("source-missing", text, "error" if asked else "warning", str(source.path)))
        return []
    return [source.path]
