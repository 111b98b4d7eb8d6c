"""Which skills others may use: those that were named, else all that a person may call; of a key those that it is for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillkit_skills import listing

from skillkit_core import UnknownName, UsageError, hookimpl
from skillkit_core.skills import EngineType

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.skills import Skill

    from .keys import Caller

__all__ = ["Served"]

_AGAIN = 2.0  # seconds between two looks at the folders of skills


class Served:
    """The skills that others may use. As a plugin of the host it keeps all others from their agents.

    Args:
        host: the host.
        names: the names of the skills; none: all that a person may call.

    Raises:
        UnknownName: there is no such skill. UsageError: it is not for others, or cannot run here, or there is none at all.
    """

    def __init__(self, host: Host, names: Sequence[str] = ()) -> None:
        self._host, self._names = host, tuple(dict.fromkeys(names))
        self._looked, self._version = time.monotonic(), -1
        self._found: dict[str, Skill] = {}
        self._callers: dict[str, Caller] = {}  # by session
        for name in self._names:
            _check(host, name)
        if not self.skills():
            raise UsageError("there is no skill to serve", hint="install one, or name its folder with --skills-dir")
        host.add_plugin(self, "a2a-served")

    def skills(self) -> dict[str, Skill]:
        """Return the skills by name."""
        if self._version != self._host.skills.version:
            self._version = self._host.skills.version
            rows = [row for row in listing(self._host) if row.eligible and row.wins and _is_open(row.skill)]
            found = {row.name: row.skill for row in rows}
            self._found = {n: found[n] for n in self._names if n in found} if self._names else found
        return self._found

    def refresh(self) -> None:
        """Look at the folders of skills again, at most every two seconds."""
        if time.monotonic() - self._looked >= _AGAIN:
            self._looked, self._version = time.monotonic(), -1
            self._host.reload_skills()

    def allowed(self, caller: Caller) -> dict[str, Skill]:
        """Return the skills that a caller may use."""
        return {name: skill for name, skill in self.skills().items() if caller.may_use(name)}

    def alone(self, caller: Caller, wanted: str) -> str:
        """Return the skill that is active from the start of a conversation: the one that is wanted, or the only one there is.

        A skill with an engine of its own is called with each request instead.
        """
        skills = self.allowed(caller)
        name = wanted or (next(iter(skills)) if len(skills) == 1 else "")
        return name if name in skills and skills[name].engine == EngineType.CONVERSATIONAL else ""

    def limit(self, session: str, caller: Caller) -> None:
        """Keep the agent of a session to the skills of its caller."""
        self._callers[session] = caller

    @hookimpl(optionalhook=True)
    def filter_skill(self, skill: Skill, context: Any) -> str | None:
        """Return why a skill may not be used in a session; internal skills are used by others alone, as everywhere."""
        if skill.internal_only:
            return None
        caller = self._callers.get(getattr(context.session, "id", ""))
        served = skill.name in self.skills() and (caller is None or caller.may_use(skill.name))
        return None if served else "not-served"


def _is_open(skill: Skill) -> bool:
    return not skill.internal_only and skill.user_invocable and bool(skill.description)


def _check(host: Host, name: str) -> None:
    row = next((row for row in listing(host) if row.name == name), None)
    if row is None:
        raise UnknownName("skill", name, [row.name for row in listing(host)])
    if not _is_open(row.skill):
        raise UsageError(f"skill {name!r} is not for others: it is internal, or people may not call it")
    if row.reasons:
        raise UsageError(f"skill {name!r} cannot run here: {', '.join(row.reasons)}")
