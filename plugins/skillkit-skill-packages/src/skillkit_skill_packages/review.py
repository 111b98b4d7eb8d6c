"""What a package would install: its skills as the reader sees them, and what the scan finds in all of their files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from skillkit_skills import SkillFolderLoader, located, skill_file

from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.skills import Skill, SkillProblem

from .contents import File, Files, PackageError
from .digest import files_digest
from .place import safe_name, write_files
from .source import Fetched
from .text_scan import findings, scan_text

__all__ = ["Candidate", "digest_of", "review"]

MAX_SCANNED = 512 * 1024
_TEXT = frozenset((".md", ".txt", ".json", ".yaml", ".yml", ".py", ".sh", ".js", ".mjs", ".rb"))
# The rules search one paragraph at a time. A line of a minified file is cut, because their time grows faster than a text.
_PIECE, _OVERLAP = 1500, 200


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


def review(fetched: Fetched) -> list[Candidate]:
    """The skills in the files of a package, by name.

    Raises:
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
        found = [_candidate(skill, root, fetched) for skill in loaded.skills]
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
    problems = [*located([*read, *scan_text(skill)]), *_scan(files)]
    problems += (
        SkillProblem("submodule-left-out", f"the submodule {name!r} is not fetched", "warning")
        for name in fetched.left_out
        if not path or name.startswith(f"{path}/")
    )
    prefix = f"{root / path}/" if path else f"{root}/"
    relative = tuple(replace(p, path=p.path.removeprefix(prefix)) if p.path else p for p in problems)
    return Candidate(skill, path, files, digest_of(files), relative)


def _scan(files: Files) -> Iterator[SkillProblem]:
    """What the scan's rules find in the files beside the SKILL.md, each rule once a file."""
    for path, file in sorted(files.items()):
        if skill_file([path]) or _binary(path, file):
            continue
        seen: set[str] = set()
        for line, text in _paragraphs(file):
            for rule in findings(text):
                if rule not in seen:
                    seen.add(rule)
                    words = " ".join(text.split())
                    shown = words if len(words) <= 80 else words[:79] + "…"
                    message = f"looks like {rule.replace('-', ' ')}: {shown!r}"
                    yield SkillProblem(f"scan-{rule}", message, "warning", path, line)
        if len(file.data) > MAX_SCANNED:
            yield SkillProblem(
                "scan-incomplete", f"only the first {MAX_SCANNED // 1024} KiB were looked at", "warning", path
            )


def _binary(path: str, file: File) -> bool:
    """Whether a file is no text. A NUL hides no script: a shell passes over it."""
    started = file.executable or file.data[:2] == b"#!" or PurePosixPath(path).suffix.lower() in _TEXT
    return b"\0" in file.data[:8192] and not started


def _paragraphs(file: File) -> Iterable[tuple[int, str]]:
    """The paragraphs of a file with the line that each begins on."""
    text = file.data[:MAX_SCANNED].decode("utf-8", "replace")
    line = 1
    for part in re.split(r"(\n\s*\n)", text):
        for start in range(0, len(part), _PIECE):
            yield line + part.count("\n", 0, start), part[max(0, start - _OVERLAP) : start + _PIECE]
        line += part.count("\n")
