"""Reading again: an edit that breaks a skill leaves the version before it in use."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path

from skillkit_core.contracts.skill_loader import LoadedSkills
from skillkit_core.skills import Skill, SkillProblem

__all__ = ["KEPT", "settle", "stay"]

KEPT = "last-version-kept"


def stay(before: LoadedSkills, source: str, path: str) -> LoadedSkills:
    """Return what was read before of a project that changed since its folder was trusted."""
    text = f"the skills of {source} stay as they were until 'skillkit config trust' has shown what changed"
    return LoadedSkills(before.skills, (SkillProblem(KEPT, text, "warning", path),))


def settle(before: LoadedSkills, now: LoadedSkills) -> LoadedSkills:
    """Return what was read ``now``, with the version ``before`` of every skill that is broken and was not.

    The errors of a version that is not used are among the problems, each with one that says which version is. A skill whose
    folder is gone is gone.
    """
    good = {str(skill.path): skill for skill in before.skills if not _errors(skill)}
    broken = _broken(now, good)
    if not broken:
        return now
    kept = {folder: good[folder] for folder in broken}
    from .lines import located

    problems = [*now.problems]
    for folder, found in broken.items():
        errors = located(found)
        problems += [new for old, new in zip(found, errors, strict=True) if old not in now.problems]
        text = f"skill {kept[folder].name!r} stays as it was: {errors[0].message}"
        problems.append(SkillProblem(KEPT, text, "warning", errors[0].path, errors[0].line))
    return LoadedSkills(tuple({**{str(s.path): s for s in now.skills}, **kept}.values()), tuple(problems))


def _errors(skill: Skill) -> list[SkillProblem]:
    return [problem for problem in skill.problems if problem.severity == "error"]


def _broken(now: LoadedSkills, good: Container[str]) -> Mapping[str, list[SkillProblem]]:
    """Return the errors in folders of ``good`` skills."""
    broken = {str(s.path): errors for s in now.skills if (errors := _errors(s)) and str(s.path) in good}
    for problem in now.problems:
        if problem.severity == "error" and problem.path:
            path = Path(problem.path)
            if folder := next((f for p in (path, *path.parents[:2]) if (f := str(p)) in good), None):
                broken.setdefault(folder, []).append(problem)
    return broken
