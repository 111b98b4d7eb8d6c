"""What a package would install: its skills as the reader sees them, and what the scan finds in all of their files."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from skillkit_skills import SkillFolderLoader, located

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.errors import UnknownName
from skillkit_core.skills import Skill, SkillProblem

from .contents import Files, PackageError
from .digest import files_digest
from .place import safe_name, write_files
from .scan import scan_skill
from .source import Fetched

__all__ = ["Candidate", "digest_of", "review"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill of a package.

    Attributes:
        path: its folder in the source; empty: the source itself.
        problems: what the reader and the scan found, with paths below the skill's folder.
    """

    skill: Skill
    path: str
    files: Files
    digest: str
    problems: tuple[SkillProblem, ...]

    @property
    def name(self) -> str:
        """The name of the skill, and of the folder that it gets."""
        return self.skill.name

    @property
    def findings(self) -> list[SkillProblem]:
        """What the scan found."""
        return [p for p in self.problems if p.code.startswith("scan-")]


def digest_of(files: Files) -> str:
    """The digest of files."""
    return files_digest({path: file.data for path, file in files.items()})


def review(fetched: Fetched, wanted: Collection[str] = ()) -> list[Candidate]:
    """The skills in the files of a package, by name.

    Args:
        wanted: only those of these names are scanned and given; default: all.

    Raises:
        UnknownName: there is none of a name.
        PackageError: there is no skill, one cannot be read, or has a name that is no safe folder.
    """
    where = fetched.source.shown
    with tempfile.TemporaryDirectory(prefix="skillkit-skills-") as temporary:
        root = Path(temporary).resolve() / fetched.source.stem
        write_files(root, fetched.files)
        loaded = SkillFolderLoader().load(SkillSource("package", "user", root, trusted=True))
        for problem in loaded.problems:
            place = Path(problem.path or root).relative_to(root).as_posix()
            raise PackageError(problem.code, problem.message, where=f"{where}: {place}")
        if unknown := sorted(set(wanted) - {skill.name for skill in loaded.skills}):
            raise UnknownName("skill", unknown[0], {skill.name for skill in loaded.skills})
        found = [_candidate(skill, root, fetched) for skill in loaded.skills if not wanted or skill.name in wanted]
    if not found:
        raise PackageError("no-skill", "there is no folder with a SKILL.md", where=where)
    found.sort(key=lambda c: (c.name, c.path))
    for one, other in pairwise(found):
        if one.name == other.name:
            text = f"{one.path!r} and {other.path!r} are both called {one.name!r}"
            raise PackageError("duplicate-skill", text, where=where, hint="choose one with --subfolder")
    return found


def _candidate(skill: Skill, root: Path, fetched: Fetched) -> Candidate:
    assert skill.path is not None, "the loader of folders says where a skill is"
    path = skill.path.relative_to(root).as_posix().removeprefix(".")
    files = {p.removeprefix(f"{path}/"): f for p, f in fetched.files.items() if not path or p.startswith(f"{path}/")}
    unsafe = "name-reserved-character" in {p.code for p in skill.problems}
    if unsafe or not safe_name(skill.name):
        text = f"the name of the skill in {path or fetched.source.stem!r} is no name for a folder"
        raise PackageError(
            "skill-name-unsafe", text, where=fetched.source.shown, hint="give it letters, digits and hyphens"
        )
    # The folder gets the name of the skill, whatever it is called in the source.
    read = [p for p in skill.problems if p.code != "name-dir-mismatch"]
    problems = [*located([*read, *scan_skill(skill, files)])]
    problems += (
        SkillProblem("submodule-left-out", f"the submodule {name!r} is not fetched", "warning")
        for name in fetched.left_out
        if not path or name.startswith(f"{path}/")
    )
    prefix = f"{root / path}/" if path else f"{root}/"
    relative = tuple(replace(p, path=p.path.removeprefix(prefix)) if p.path else p for p in problems)
    return Candidate(skill, path, files, digest_of(files), relative)
