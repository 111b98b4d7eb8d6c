"""The check of skills that stand in a package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from .checks import Check, skipped, verdict
from .importing import environment
from .subject import Subject

__all__ = ["skill_check"]

PROMISE = "each skill is in the wheel, is found, and is read without an error"


def skill_check(subject: Subject) -> Check:
    """Return the check of the package's skills, made by ``skillkit skills check``."""
    files = [
        Path(name) for name in subject.files if Path(name).name == "SKILL.md" and "templates" not in Path(name).parts
    ]
    if not files and not subject.skill_packages:
        return skipped("skills", PROMISE, "there are none")
    found = [file for file in files if any(_holds(place, file) for place in subject.skill_packages.values())]
    wrong = [f"{file} is in no package of [skillkit.skills]: nobody finds it" for file in files if file not in found]
    for name, place in subject.skill_packages.items():
        if not any(_holds(place, file) for file in files):
            wrong.append(f"the package {place} of {name!r} has no SKILL.md in the wheel")
    wrong += _errors(subject, sorted({str(file.parent) for file in found}))
    return verdict("skills", PROMISE, wrong, f"{len(found)} skill{'' if len(found) == 1 else 's'}")


def _holds(package: str, file: Path) -> bool:
    return file.is_relative_to(package.replace(".", "/"))


def _errors(subject: Subject, folders: list[str]) -> Iterator[str]:
    if not folders:
        return
    with TemporaryDirectory(prefix="skillkit-check-") as folder:
        argv = [sys.executable, "-P", "-m", "skillkit_core", "skills", "check", "--json", *folders]
        env = environment(subject, Path(folder))
        done = subprocess.run(argv, cwd=subject.site, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        yield f"'skillkit skills check' failed: {(done.stderr.strip().splitlines() or ['it said nothing'])[-1]}"
        return
    problems = [*told["problems"], *(one for skill in told["skills"] for one in skill["problems"])]
    for one in problems:
        if one["severity"] == "error":
            where = str(one["path"] or "skills").replace(f"{subject.site}/", "")
            yield f"{where}{':' + str(one['line']) if one['line'] else ''}: {one['message']}"
