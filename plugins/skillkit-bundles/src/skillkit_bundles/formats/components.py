"""Skills, commands and agents in a bundle: where they are looked for, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from skillkit_markdown import read_front_matter
from skillkit_skills import read

from ..model import Component
from .tree import SKILL, Tree

__all__ = ["agents_in", "commands_in", "front_name", "skill_in", "skills_below", "unique"]


def skill_in(tree: Tree, folder: Path, prefix: str) -> Component | None:
    """Return the skill whose folder this is; ``None``: there is none."""
    path = folder / SKILL
    if not path.is_file():
        lower = next((one for one in tree.children(folder) if one.name.lower() == SKILL.lower()), None)
        if lower is not None:
            tree.complain("skill-file-name", tree.relative(lower), f"the file of a skill is called {SKILL}")
        return None
    if (data := tree.read(path)) is None:
        return None
    found = read(data, folder.name)
    name = found.fields.name if found.fields is not None else ""
    if found.status == "rejected":
        tree.complain("skill-unusable", tree.relative(path), "it is no text, too large or empty")
        return None
    return Component(f"{prefix}{name or folder.name}", path, tree.relative(path))


def skills_below(tree: Tree, folder: Path, prefix: str) -> Iterator[Component]:
    """Yield the skills one level below a folder; deeper ones are said."""
    for child in tree.children(folder):
        if not child.is_dir():
            continue
        if (found := skill_in(tree, child, prefix)) is not None:
            yield found
            continue
        for deeper in tree.children(child):
            if deeper.is_dir() and (deeper / SKILL).is_file() and not _within(folder, deeper):
                text = "a skill must lie directly below the folder of skills: it is not read"
                tree.complain("skill-too-deep", tree.relative(deeper / SKILL), text)


def _within(folder: Path, path: Path) -> bool:
    """Return whether a link leads to a folder that is looked at anyway."""
    return path.resolve().parent == folder.resolve()


def commands_in(tree: Tree, folder: Path, prefix: str) -> Iterator[Component]:
    """Yield the commands below a folder: ``git/commit.md`` is ``bundle:git:commit``."""
    for name, path in tree.markdown(folder):
        if _readme(tree, path):
            continue
        yield Component(f"{prefix}{name}", path, tree.relative(path))


def agents_in(tree: Tree, folder: Path, prefix: str, *, ending: str = ".md") -> Iterator[Component]:
    """Yield the agents below a folder; the name in the front matter replaces that of the file."""
    for name, path in tree.markdown(folder):
        if not path.name.endswith(ending) or _readme(tree, path):
            continue
        yield agent_of(tree, path, prefix, name.rpartition(":")[0], ending)


def agent_of(tree: Tree, path: Path, prefix: str, below: str = "", ending: str = ".md") -> Component:
    """Return the agent that a file is."""
    own = front_name(tree, path) or path.name.removesuffix(ending).removesuffix(".md")
    return Component(":".join(filter(None, (f"{prefix}{below}".rstrip(":"), own))), path, tree.relative(path))


def front_name(tree: Tree, path: Path) -> str:
    """Return the name that the front matter of a file says, which may hold no colon; empty: none."""
    data = tree.read(path)
    front = read_front_matter(data) if data is not None else None
    name = (front.values or {}).get("name") if front is not None else None
    if not isinstance(name, str) or not name.strip():
        return ""
    if ":" in name:
        tree.complain("name-reserved", tree.relative(path), f"the name {name!r} holds a colon: the file's name counts")
        return ""
    return name.strip()


def _readme(tree: Tree, path: Path) -> bool:
    """Return whether a file is a note for people; a command of that name has front matter."""
    if path.stem.lower() != "readme":
        return False
    data = tree.read(path)
    if data is not None and read_front_matter(data).values:
        return False
    tree.complain("readme", tree.relative(path), "is taken for a note, not for a command or an agent")
    return True


def unique(tree: Tree, found: Iterable[Component], taken: Iterable[Component] = ()) -> tuple[Component, ...]:
    """Return the components without those whose name an earlier one has, which are said."""
    kept: dict[str, Component] = {}
    known = {one.name: one for one in taken}
    for one in found:
        first = known.get(one.name) or kept.get(one.name)
        if first is None:
            kept[one.name] = one
        elif first.path.resolve() != one.path.resolve():
            text = f"{one.name!r} is {first.file} already: this file does not count"
            tree.complain("duplicate-name", one.file, text)
    return tuple(kept.values())
