"""Loading skills: every source is read by the first loader that accepts it, winners take the bare names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contracts.skill_loader import SkillSource
from ..skills import Skill, SkillRegistry
from .loading import Failure, isolated

if TYPE_CHECKING:
    from .manager import Host

__all__ = ["load_skills"]

RANK = {"project": 0, "user": 1, "plugin": 2, "bundled": 3, "extra": 4}


def _read(host: Host) -> list[tuple[SkillSource, list[Skill]]]:
    out: list[tuple[SkillSource, list[Skill]]] = []
    loaders = host.skill_loaders
    for entry in host.skill_sources.entries():
        source: SkillSource = entry.item
        names = [source.loader] if source.loader else loaders.list()
        for name in names:
            plugin = loaders.entry(name).source or "application"
            try:
                with isolated(plugin, "load skills", seconds=0):
                    loader = loaders.get(name)
                    if not loader.accepts(source):
                        continue
                    found = loader.load(source)
            except Failure as failure:
                host.problems.append(failure.diagnostic)
                continue
            out.append((source, list(found.skills)))
            host.skill_problems.extend((source.name, problem) for problem in found.problems)
            break
    return out


def load_skills(host: Host, registry: SkillRegistry) -> None:
    """Fill ``registry``: project beats user beats plugin beats bundled beats extra; losers are ``source:name``."""
    for skill in registry.items():
        registry.unregister_by_source(skill.source)
    host.skill_problems.clear()
    loaded = _read(host)
    loaded.sort(key=lambda pair: RANK[pair[0].kind])  # stable: the order of the sources within a kind
    for source, skills in loaded:
        for skill in skills:
            name = skill.name
            if name in registry or (":" in name):
                name = f"{source.name}:{skill.name}"
            registry.register(name, skill, source.name)
    for source, skills in loaded:
        for skill in skills:
            for alias in skill.aliases:
                if alias not in registry:
                    registry.register(alias, skill, source.name)
