"""The skill loader of folders: a source in, its skills and everything that is wrong with it out."""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_markdown import MAX_BYTES, FileError, FrontMatterCache, read_bytes, read_inside

from skillkit_core.contracts.skill_loader import LoadedSkills, SkillLoader, SkillSource
from skillkit_core.skills import Skill, SkillProblem

from .scanner import FoundSkill, scan
from .settings import HOSTS
from .skill_md.build import build_skill
from .skill_md.problems import problems_of, severity_of
from .skill_md.reader import read
from .sources import FOLDER, package_folders

if TYPE_CHECKING:
    from skillkit_markdown import Parsed

    from skillkit_core import Host

__all__ = ["KEPT", "SkillFolderLoader", "load_folder", "project_folders"]

KEPT = "last-version-kept"
MANY = 50
_CARRIERS = ("agents/skillkit.yaml", "agents/openai.yaml")


class SkillFolderLoader(SkillLoader):
    """Reads ``SKILL.md`` folders from a directory or from an importable package, which is found but not imported."""

    def __init__(self, host: Host | None = None) -> None:
        self._host = host
        self._seen: dict[str, dict[tuple[str, str], list[FoundSkill]]] = {}
        self._before: dict[str, LoadedSkills] = {}

    def accepts(self, source: SkillSource) -> bool:
        """Whether the source names a directory or a package."""
        return source.path is not None or source.package is not None

    def load(self, source: SkillSource) -> LoadedSkills:
        """Every skill below the source's directories, in the order of their paths.

        A byte-identical copy of a skill that another source of the same kind gave is left out silently. A skill that an edit
        broke since the last call stays as it was, with a problem that says why. So does a skill of a project that is not as it
        was when the person saw it; it is left out where it was not read before.
        """
        skills: list[Skill] = []
        problems: list[SkillProblem] = []
        mine: dict[tuple[str, str], list[FoundSkill]] = {}
        named: dict[str, Skill] = {}
        self._seen[source.name] = {}
        others = [seen for seen in self._seen.values() if seen]
        for root, namespace in _roots(source, problems):
            for one, skill in self._read(str(root), source, problems):
                key = (source.kind, skill.name)
                if others and any(_alike(other, one) for seen in others for other in seen.get(key, ())):
                    continue
                if namespace:
                    skill = replace(skill, aliases=(f"{namespace}:{skill.name}", *skill.aliases))
                if first := named.get(skill.name):
                    skill = replace(skill, problems=(*skill.problems, _second(skill, first, source, one.file)))
                mine.setdefault(key, []).append(one)
                named.setdefault(skill.name, skill)
                skills.append(skill)
        self._seen[source.name] = mine
        loaded = LoadedSkills(tuple(skills), tuple(problems))
        if unseen := self._unseen(source):
            loaded = _stay(self._before.get(source.name, LoadedSkills()), loaded, unseen)
        if source.name in self._before:
            loaded = _settle(self._before[source.name], loaded)
        self._before[source.name] = loaded
        return loaded

    def _unseen(self, source: SkillSource) -> list[str]:
        """Return the files of the project that are not as they were when its folder was trusted, by their whole paths."""
        host = self._host
        if host is None or source.path is None:
            return []
        changed = host.withheld
        if changed is not None and source.name in self._before:  # what was read is looked at again
            from skillkit_core.settings.trust import Trust

            changed = Trust(host.data_dir).changed(host.cwd)
        return [os.path.abspath(host.cwd / file) for file in changed or ()]  # noqa: PTH100 - a link keeps its name

    def _read(self, root: str, source: SkillSource, problems: list[SkillProblem]) -> Iterator[tuple[FoundSkill, Skill]]:
        """The skills below ``root``. Of many, those whose files did not change come from the index, and the others go there."""
        blocks = None
        own = source.kind == "user" and self._host is not None
        if self._host is None or not _many(root):
            found, kept = scan(root, own=own), None
            if self._host is not None:
                name = f"{crc32(os.fsencode(root)):08x}.json"
                blocks = FrontMatterCache(os.path.join(self._host.cache_dir, "skills", name))  # noqa: PTH118
        else:
            from .index import Kept, index_of

            kept = Kept(index_of(self._host), root, source)
            found = scan(root, kept.stamps, own=own)
        problems += (SkillProblem(c, _REFUSED[c], severity_of(c), path) for c, path in found.refused)
        for one in found.skills:
            skill = kept.skill(one) if kept is not None else None
            if skill is None:
                if (data := _data_of(one, problems)) is None:
                    continue
                skill = kept.same(one, data) if kept is not None else None
                skill = skill or load_folder(one, source, problems, data, blocks.parse if blocks is not None else None)
                if kept is not None and skill is not None:
                    kept.add(one, skill, data)
            if skill is not None:
                yield one, skill
        if kept is not None:
            kept.save(found.skills)
        if blocks is not None:
            blocks.save()


def _stay(before: LoadedSkills, now: LoadedSkills, unseen: Sequence[str]) -> LoadedSkills:
    """Return what was read ``now``, but of skills that the person has not seen so the version ``before``, or nothing."""

    def hidden(folder: object) -> bool:
        return any(Path(file).is_relative_to(os.path.abspath(str(folder))) for file in unseen)  # noqa: PTH100

    old = {str(skill.path): skill for skill in before.skills}
    skills = {str(skill.path): skill for skill in now.skills if not hidden(skill.path)}
    problems = [problem for problem in now.problems if not problem.path or not hidden(Path(problem.path).parent)]
    for folder in dict.fromkeys([*(str(skill.path) for skill in now.skills), *old]):
        if hidden(folder):
            how = "stays as it was" if folder in old else "does not count"
            text = f"skill {Path(folder).name!r} {how} until /trust, or 'skillkit config trust', has shown what changed"
            problems.append(SkillProblem(KEPT, text, "warning", folder))
            if folder in old:
                skills[folder] = old[folder]
    return LoadedSkills(tuple(skills.values()), tuple(problems))


def _settle(before: LoadedSkills, now: LoadedSkills) -> LoadedSkills:
    """Return what was read ``now``, with the version ``before`` of every skill that is broken and was not.

    The errors of a version that is not used are among the problems, each with one that says which version is. A skill whose
    folder is gone is gone.
    """
    good = {str(skill.path): skill for skill in before.skills if not _errors(skill)}
    broken = _broken_of(now, good)
    if not broken:
        return now
    kept = {folder: good[folder] for folder in broken}
    from .skill_md.line_numbers import located

    problems = [*now.problems]
    for folder, found in broken.items():
        errors = located(found)
        problems += [new for old, new in zip(found, errors, strict=True) if old not in now.problems]
        text = f"skill {kept[folder].name!r} stays as it was: {errors[0].message}"
        problems.append(SkillProblem(KEPT, text, "warning", errors[0].path, errors[0].line))
    return LoadedSkills(tuple({**{str(s.path): s for s in now.skills}, **kept}.values()), tuple(problems))


def _errors(skill: Skill) -> list[SkillProblem]:
    return [problem for problem in skill.problems if problem.severity == "error"]


def _broken_of(now: LoadedSkills, good: Container[str]) -> Mapping[str, list[SkillProblem]]:
    """Return the errors in folders of ``good`` skills."""
    broken = {str(s.path): errors for s in now.skills if (errors := _errors(s)) and str(s.path) in good}
    for problem in now.problems:
        if problem.severity == "error" and problem.path:
            path = Path(problem.path)
            if folder := next((f for p in (path, *path.parents[:2]) if (f := str(p)) in good), None):
                broken.setdefault(folder, []).append(problem)
    return broken


def _many(root: str) -> bool:
    """Whether a directory has so many entries that to read them all takes longer than to import SQLite."""
    try:
        with os.scandir(root) as entries:
            return next(islice(entries, MANY - 1, None), None) is not None
    except OSError:
        return False


def _second(skill: Skill, first: Skill, source: SkillSource, file: str) -> SkillProblem:
    """What is said of a skill whose name another one of its source has."""
    folder = skill.path.name if skill.path is not None else ""
    text = f"{first.path} is the skill {skill.name!r}, too: this one is called {source.name}:{folder}/{skill.name}"
    return SkillProblem("duplicate-skill", text, "warning", file)


_REFUSED = {
    "duplicate-realpath": "a link to a folder that was read already",
    "no-file": "SKILL.md is no file, so the folder is no skill",
    "scan-limit": "more than 2000 folders: this one, and those in it, were not looked at",
    "too-deep": "more than 6 levels below its directory: move it up",
    "symlink-escape": "a link that leaves the directory is not followed",
    "unreadable": "cannot be read",
}


def load_folder(
    found: FoundSkill,
    source: SkillSource,
    problems: list[SkillProblem],
    data: bytes,
    parse_block: Callable[[str], Parsed] | None = None,
) -> Skill | None:
    """The skill in one folder, whose file holds ``data``; a folder that gives none is a problem."""
    dir_name = os.path.basename(found.folder) or Path(found.folder).resolve().name  # noqa: PTH119
    skill = read(data, dir_name, parse_block)
    skill.diagnostics[:0] = found.notes
    if skill.status == "rejected" or skill.fields is None:
        codes = [c for c in skill.diagnostics if severity_of(c) == "error" and c != "description-missing"]
        problems += problems_of(codes or skill.diagnostics, found.file)
        return None
    carriers = [_beside(found.folder, name, problems) if found.agents else None for name in _CARRIERS]
    try:
        return build_skill(
            skill,
            Path(found.folder),
            dir_name=dir_name,
            source=source.name,
            kind=source.kind,
            trusted=source.trusted,
            sidecar=carriers[0],
            codex=carriers[1],
        )
    except RecursionError:
        problems.append(SkillProblem("yaml-unparseable", "the front matter nests too deeply", "error", found.file))
        return None


def _data_of(found: FoundSkill, problems: list[SkillProblem]) -> bytes | None:
    try:
        return read_bytes(found.file, MAX_BYTES + 1)
    except OSError as e:
        problems.append(SkillProblem("unreadable", f"cannot be read: {e.strerror}", "error", found.file))
        return None


def _alike(one: FoundSkill, other: FoundSkill) -> bool:
    """Whether two skills are byte for byte the same."""
    both = ([_data_of(f, []), *(_beside(f.folder, name, []) for name in _CARRIERS)] for f in (one, other))
    return next(both) == next(both)


def _beside(folder: str, name: str, problems: list[SkillProblem]) -> bytes | None:
    """A file beside the SKILL.md, unless it is a link that leaves the folder."""
    path = os.path.join(folder, name)  # noqa: PTH118
    if not os.path.isfile(path):  # noqa: PTH113
        return None
    try:
        data = read_inside(path, (folder,), MAX_BYTES + 1)
    except FileError as error:
        code = "symlink-escape" if error.reason == "outside" else "unreadable"
        text = _REFUSED[code] if error.reason == "outside" else str(error).removeprefix("it ")
        problems.append(SkillProblem(code, text, "error", path))
        return None
    if len(data) > MAX_BYTES:
        problems.append(SkillProblem("file-too-large", "the file is larger than 1 MiB", "error", path))
        return None
    return data


def _roots(source: SkillSource, problems: list[SkillProblem]) -> list[tuple[Path, str]]:
    """The directories of a source, each with the namespace of its skills."""
    if source.package is not None:
        if folders := package_folders(source.package):
            return [(folder, "") for folder in folders]
        text = f"package {source.package!r} of source {source.name!r} is not a folder on this machine"
        problems.append(SkillProblem("source-missing", text, "warning", source.package))
        return []
    if source.path is None or not source.path.is_dir():
        text = f"source {source.name!r} is not a directory: {source.path}"
        asked = source.kind == "extra"  # somebody named it, so its skills are missed
        problems.append(SkillProblem("source-missing", text, "error" if asked else "warning", str(source.path)))
        return []
    if (source.path / ".claude-plugin").is_dir():
        from .claude_plugins import plugin_roots  # few folders are plugins

        if (roots := plugin_roots(source.path, problems)) is not None:
            return roots
    return [(source.path, getattr(source, "namespace", ""))]


# --- what a project brings, for whom is to trust it --------------------------------------------------------------------


def project_folders(folder: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """The folders of skills that count in a project once it is trusted, each with what describes its skills."""
    own = settings.get("skills")
    dirs = [*(own.get("dirs") or ()), *(own.get("claude_dirs") or ())] if isinstance(own, Mapping) else []
    named = [str(Path(".skillkit", text).expanduser()) for text in dirs if isinstance(text, str)]
    others = [place for project, _ in HOSTS.values() for place in project]
    if Path(folder, ".clawhub").is_dir():
        others.append("skills")
    for path in (FOLDER, *others, *named):
        yield path, partial(_described, Path(folder, path))


def _described(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    found = SkillFolderLoader().load(SkillSource("project", "project", folder, trusted=True)).skills
    return [", ".join(_about(skill)) for skill in found]


def _about(skill: Skill) -> Iterator[str]:
    yield f"skill {skill.name}"
    if skill.actions:
        yield "actions " + " ".join(action.name for action in skill.actions)
    if skill.allowed_tools:
        yield "allowed tools " + " ".join(skill.allowed_tools)
    if skill.hooks:
        yield "hooks " + " ".join(skill.hooks)
