"""The skills of a host. The first loader that accepts a source reads it, and winners of a name clash take the bare name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..contracts.skill_loader import LoadedSkills, SkillSource
from ..skills import Skill, SkillProblem
from .loading import Failure, isolated
from .registry import Entry, Registry

if TYPE_CHECKING:
    from ..contracts.session_store import SessionEntry
    from .manager import Host


RANK = {"project": 0, "user": 1, "plugin": 2, "bundled": 3, "extra": 4}


class SkillRegistry(Registry[Skill]):
    """The skills of a host. A bare name means the skill of the highest precedence, ``source:name`` any other."""

    kind = "skill"

    def get_skill(self, name: str) -> Skill:
        """Return the skill called ``name``, or raise as :meth:`get` does."""
        return self.get(name)

    def get_skills_for_engine(self, engine: str) -> Sequence[Skill]:
        """Return all skills that run in ``engine``."""
        return [s for s in self.items() if s.engine == str(engine)]


def _load(host: Host, entry: Entry[SkillSource]) -> LoadedSkills:
    """Return what the first loader that accepts a source finds in it. Report a loader that fails."""
    source, loaders = entry.item, host.skill_loaders
    failed = False
    for name in [source.loader] if source.loader else loaders.list():
        plugin = entry.source or "application"
        if name in loaders:
            plugin = loaders.entry(name).source or "application"
        try:
            with isolated(plugin, "load skills", seconds=0, **host.load().owner(plugin)):
                loader = loaders.get(name)
                if loader.accepts(source):
                    return loader.load(source)
        except Failure as failure:
            host.report(failure.diagnostic)
            failed = True
    nobody = SkillProblem("no-loader", "no installed loader reads this source", "warning")
    return LoadedSkills(problems=() if failed else (nobody,))


def load_skills(host: Host, registry: SkillRegistry) -> None:
    """Fill ``registry``: project beats user beats plugin beats bundled beats extra. Losers are called ``source:name``."""
    for name in {e.source for e in registry.entries() if e.source is not None}:
        registry.unregister_by_source(name)
    host.skill_problems.clear()
    loaded: list[tuple[SkillSource, list[Skill]]] = []
    for entry in host.skill_sources.entries():
        found = _load(host, entry)
        loaded.append((entry.item, list(found.skills)))
        host.skill_problems.extend((entry.item.name, problem) for problem in found.problems)
    # The sort is stable, and keeps the order of the sources within a kind.
    loaded.sort(key=lambda pair: RANK[pair[0].kind])
    for source, skills in loaded:
        taken: set[str] = set()
        for skill in skills:
            name = skill.name
            if name in taken and skill.path is not None:
                name = f"{source.name}:{skill.path.name}/{name}"
            elif name in registry or (":" in name and name.partition(":")[0] != source.name.rpartition(":")[2]):
                name = f"{source.name}:{skill.name}"
            taken.add(skill.name)
            registry.register(name, skill, source.name)
    for source, skills in loaded:
        for skill in skills:
            for alias in skill.aliases:
                if alias not in registry:
                    registry.register(alias, skill, source.name)


TYPE = "skills_dirs"  # the ``custom_type`` of session entries whose ``dirs`` are folders of skills


def kept_folders(entries: Iterable[SessionEntry]) -> list[str]:
    """Return the folders of skills that a session was given, on any branch, each once."""
    told = [e.data for e in entries if e.type == "custom" and e.data.get("custom_type") == TYPE]
    return list(dict.fromkeys(str(folder) for data in told for folder in data.get("dirs") or ()))


def unused_folders(host: Host, entries: Iterable[SessionEntry]) -> list[str]:
    """Return the folders among :func:`kept_folders` that the host reads no skills from."""
    kept = kept_folders(entries)
    if not kept:
        return []
    used = {entry.item.path.resolve() for entry in host.skill_sources.entries() if entry.item.path is not None}
    return [folder for folder in kept if Path(folder).resolve() not in used]
