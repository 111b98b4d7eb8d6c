"""What a reload changed, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit_core.skills import Skill, SkillProblem

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Reload", "Reloads", "reload_skills"]

_NAMED = 5  # skills that the line names


@dataclass(frozen=True, slots=True)
class Reload:
    """What a reload changed.

    Attributes:
        added, changed, removed: names of skills.
        problems: what keeps skills from being used as they are on the disk now, and did not do so before; the errors of
            skills that were added or changed.
    """

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Sequence[str] = ()
    problems: Sequence[SkillProblem] = ()

    @property
    def line(self) -> str:
        """One line for a person; empty: nothing changed."""
        names = [*self.changed, *(f"{n} (new)" for n in self.added), *(f"{n} (removed)" for n in self.removed)]
        shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        said = [f"{len(names)} skill{'' if len(names) == 1 else 's'} reloaded: {shown}"] if names else []
        said += [f"{p.message} ({p.path}{'' if p.line is None else f':{p.line}'})" for p in self.problems]
        return "; ".join(said)


class Reloads:
    """The reloads of a host, each compared with the one before, whoever else reads the skills in between."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._skills = _skills(host)
        self._problems = _problems(host)

    def reload(self) -> Reload:
        """Read the skills again and return what that changed. No agent of the host may be running."""
        from skillkit_skills import KEPT, located, remember_secrets

        self._host.reload_skills()
        remember_secrets(self._host)
        before, now = self._skills, _skills(self._host)
        known, found = self._problems, _problems(self._host)
        new = [problem for key, problem in found.items() if key not in known]
        kept = [p for p in new if p.code == KEPT]
        told = {p.path for p in kept}
        failed = [p for p in new if p.severity == "error" and p.path not in told]
        self._skills, self._problems = now, found
        added = [n for n in now if n not in before]
        changed = [n for n, skill in now.items() if n in before and before[n] != skill]
        wrong = [p for name in (*added, *changed) for p in now[name].problems if p.severity == "error"]
        return Reload(added, changed, [n for n in before if n not in now], located([*kept, *failed, *wrong]))


def reload_skills(host: Host) -> Reload:
    """Read the skills of ``host`` again and return what that changed. No agent of the host may be running."""
    return Reloads(host).reload()


def _skills(host: Host) -> dict[str, Skill]:
    return {e.name: e.item for e in host.skills.entries() if e.name not in e.item.aliases}


def _problems(host: Host) -> dict[tuple[str, str | None], SkillProblem]:
    return {(p.message, p.path): p for _, p in host.skill_problems}
