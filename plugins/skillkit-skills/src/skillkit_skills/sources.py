"""Where skills are looked for on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.contracts.skill_loader import SkillSource

from .settings import settings_of

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.host.discovery import EntryPoint
    from skillkit_core.skills import Skill

__all__ = ["GROUP", "project_folders", "sources", "untrusted_folders"]

GROUP = "skillkit.skills"
_PROJECT = (".skillkit/skills", ".agents/skills")


def sources(host: Host) -> Iterator[SkillSource]:
    """The sources that exist: the trusted project's, the user's, those of installed packages, configured directories.

    Nothing of a project that is not trusted counts; a directory that somebody configured or named on the command line
    always does, and says so when it is missing.
    """
    if host.trusted:
        for place in _PROJECT:
            if (folder := host.cwd / place).is_dir():
                name = "project" if place == _PROJECT[0] else "project:agents"
                yield SkillSource(name, "project", folder, trusted=True)
    if (folder := host.config_dir / "skills").is_dir():
        yield SkillSource("user", "user", folder, trusted=True)
    if (folder := Path(host.environ.get("HOME") or "~").expanduser() / ".agents/skills").is_dir():
        yield SkillSource("user:agents", "user", folder, trusted=True)
    taken: set[str] = set()
    for entry in host.entries:
        if entry.group == GROUP:
            kind = "bundled" if entry.distribution == "skillkit-bundled" else "plugin"
            name = entry.name if entry.name not in taken else f"{entry.name}:{entry.distribution}"
            taken.add(name)
            _check_package(host, entry)
            yield SkillSource(name, kind, package=entry.value, trusted=True)  # type: ignore[arg-type]
    for text in settings_of(host).dirs:
        folder = host.cwd / Path(text).expanduser()
        name, n = f"extra:{folder.name or folder.resolve().name}", 2
        while name in taken:
            name, n = f"extra:{folder.name}-{n}", n + 1
        taken.add(name)
        yield SkillSource(name, "extra", folder, trusted=True)


def _check_package(host: Host, entry: EntryPoint) -> None:
    """Report a package that names itself as one of skills and was packed without them."""
    from .loader import package_folders

    if not any(next(folder.glob("**/SKILL.md"), None) for folder in package_folders(entry.value)):
        host.note(
            "skills",
            f"the package {entry.value!r} of {entry.distribution} has no SKILL.md in it",
            stage="register_skill_sources",
            remedy="its build left the files out: see package-data of setuptools",
        )


def project_folders(folder: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """The folders of skills that count in a project once it is trusted, each with what describes its skills."""
    own = settings.get("skills")
    dirs = own.get("dirs") if isinstance(own, Mapping) else None
    named = [str(Path(".skillkit", text).expanduser()) for text in dirs or () if isinstance(text, str)]
    for path in (*_PROJECT, *named):
        yield path, partial(_described, Path(folder, path))


def _described(folder: Path) -> list[str]:
    from .loader import SkillFolderLoader

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


def untrusted_folders(host: Host) -> list[Path]:
    """Folders with skills of a project that is not trusted: they are not even looked into."""
    return [] if host.trusted else [folder for place in _PROJECT if (folder := host.cwd / place).is_dir()]
