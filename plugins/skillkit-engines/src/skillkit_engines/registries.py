"""What the plugins of a host have brought to the family, looked up by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import in_words
from skillkit_core.skills import Skill, SkillProblem

from .types import CHAT

if TYPE_CHECKING:
    from skillkit_core import Host

    from .types import Engine, Fragment, ToolPack

__all__ = ["PACKAGES", "Catalog", "catalog_of", "engine_of"]

PACKAGES = {
    "automation": "skillkit-engine-automation",
    "editor": "skillkit-engine-editor",
    "research": "skillkit-engine-research",
}
"""Packages that bring engines which skills are written for."""


class Catalog:
    """The engines, packs, fragments and context loaders of a host, as of one moment."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.engines: frozenset[str] = frozenset(host.registry("engines").list())
        self.packs: Mapping[str, ToolPack] = {pack.name: pack for pack in host.registry("packs").items()}
        self.waiting = frozenset(tool for pack in self.packs.values() if pack.waits for tool in pack.tools)
        self.fragments: Mapping[str, Fragment] = {one.name: one for one in host.registry("fragments").items()}
        self.loaders: frozenset[str] = frozenset(host.registry("context_loaders").list())
        self._required: dict[int, tuple[Skill, Sequence[str]]] = {}
        self._errors: dict[int, tuple[Skill, Sequence[str]]] = {}

    def required(self, skill: Skill) -> Sequence[str]:
        """Return the tools without which a skill is not used: its own and those of its packs, without the optional ones."""
        found = self._required.get(id(skill))
        if found is None or found[0] is not skill:
            packs = [self.packs[name] for name in skill.tool_packs if name in self.packs]
            names = [*skill.tools, *(tool for pack in packs for tool in pack.tools if tool not in pack.optional)]
            needed = tuple(name for name in dict.fromkeys(names) if name not in skill.optional_tools)
            found = self._required[id(skill)] = skill, needed
        return found[1]

    def errors(self, skill: Skill) -> Sequence[str]:
        """Return why a skill cannot run on its engine, whatever is asked."""
        found = self._errors.get(id(skill))
        if found is None or found[0] is not skill:
            told = tuple(f"{p.code} {p.message}".strip() for p in self.problems(skill) if p.severity == "error")
            found = self._errors[id(skill)] = skill, told
        return found[1]

    def problems(self, skill: Skill) -> Sequence[SkillProblem]:
        """Return what is wrong with a skill that names an engine which is there; an engine that fails is a problem, too.

        A skill called ``chat``, whatever its engine, is none that does any work: a request that goes there goes to the agent.
        """
        where = str(skill.path / "SKILL.md") if skill.path is not None else None
        if skill.name.casefold() == CHAT:
            text = "'chat' means that the agent itself answers, so a skill of that name never does: rename it"
            return (SkillProblem("reserved-name", text, "warning", where),)
        if skill.engine not in self.engines:
            return ()
        found = []
        if any(problem.code == "invalid-value:editor_preference" for problem in skill.problems):
            text = "editor_preference is none, prefer or require: with another value the skill takes no request"
            found.append(SkillProblem("editor-preference", text, "error", where))
        if skill.context_loader and skill.context_loader not in self.loaders:
            text = f"no plugin here brings the context loader {skill.context_loader!r}"
            found.append(SkillProblem("unknown-context-loader", text, "error", where))
        found += (
            SkillProblem("unknown-subgraph", f"no plugin here brings the fragment {name!r}", "error", where)
            for name in skill.subgraphs
            if name not in self.fragments
        )
        try:
            engine: Engine = self._host.registry("engines").get(skill.engine)
            found += engine.problems(skill, self._host)
        except Exception as error:  # noqa: BLE001 - code of a plugin
            found.append(SkillProblem("engine-failed", f"engine {skill.engine}: {in_words(error)}", "error", where))
        return found


def catalog_of(host: Host) -> Catalog:
    """Return what the plugins of a host have brought, made anew when the plugins change."""
    kept: dict[str, Any] = host.state("engines")
    key = tuple(host.registry(kind).version for kind in ("engines", "packs", "fragments", "context_loaders"))
    if kept.get("catalog_key") != key:
        kept["catalog_key"], kept["catalog"] = key, Catalog(host)
    found: Catalog = kept["catalog"]
    return found


def engine_of(host: Host, skill: Skill) -> Engine | None:
    """Return the engine that a skill runs on; ``None``: the agent itself answers, as without this plugin."""
    if skill.engine not in catalog_of(host).engines:
        return None
    engine: Engine = host.registry("engines").get(skill.engine)
    return engine


def is_routed(host: Host, skill: Skill) -> bool:
    """Return whether a skill runs on an engine of a plugin."""
    return skill.engine in catalog_of(host).engines
