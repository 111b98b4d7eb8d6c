"""The skill loader of folders: a source in, its skills and everything that is wrong with it out."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_core.contracts.skill_loader import LoadedSkills, SkillLoader, SkillSource
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
        self._seen: dict[str, dict[tuple[str, str, bytes], str]] = {}

    def accepts(self, source: SkillSource) -> bool:
        """Whether the source names a directory or a package."""
        return source.path is not None or source.package is not None

    def load(self, source: SkillSource) -> LoadedSkills:
        """Every skill below the source's directories, in the order of their paths.

        A byte-identical copy of a skill that another source of the same kind gave is left out silently.
        """
        skills: list[Skill] = []
        problems: list[SkillProblem] = []
        mine: dict[tuple[str, str, bytes], str] = {}
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


def load_folder(found: FoundSkill, source: SkillSource, problems: list[SkillProblem]) -> tuple[Skill | None, bytes]:
    """The skill in one folder with a digest of what it was read from; a folder that gives none is a problem."""
    try:
        data = _read_bytes(found.file, MAX_BYTES + 1)
    except OSError as e:
        problems.append(SkillProblem("unreadable", f"cannot be read: {e.strerror}", "error", found.file))
        return None, b""
    folder = Path(found.folder)
    skill = read(data, folder.name or folder.resolve().name)
    skill.diagnostics[:0] = found.notes
    if skill.status == "rejected" or skill.fields is None:
        codes = [c for c in skill.diagnostics if severity_of(c) == "error" and c != "description-missing"]
        problems += problems_of(codes or skill.diagnostics, found.file)
        return None, b""
    carriers: list[bytes | None] = []
    digest = sha256(data)
    agents = os.path.isdir(os.path.join(found.folder, "agents"))  # noqa: PTH112, PTH118
    for name in _CARRIERS:
        carrier = _beside(found.folder, name, problems) if agents else None
        carriers.append(carrier)
        digest.update(carrier or b"\0")
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
    return built, digest.digest()


def _read_bytes(path: str, limit: int) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
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


def package_folders(package: str) -> list[Path]:
    """The directories of an importable package, found without importing it or its parents' code."""
    from importlib.util import find_spec

    top, _, rest = package.partition(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
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
        problems.append(SkillProblem("source-missing", text, "warning", str(source.path)))
        return []
    return [source.path]
