"""Installed skills beside what their sources hold now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from skillkit_core.errors import SkillKitError, UnknownName

from .git import latest
from .lock import LockedSkill
from .plan import look
from .review import Candidate
from .source import Fetched, named
from .target import State, Target

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Compared", "chosen", "compare"]


@dataclass(frozen=True, slots=True)
class Compared:
    """An installed skill beside its source.

    Attributes:
        status: ``current``, ``outdated``, ``gone`` (its source has no skill of the name), ``failed`` (see ``reason``).
        state: whether the skill here is as it was installed.
        newest: the skill as the source has it, where that was fetched.
    """

    target: Target
    name: str
    entry: LockedSkill
    status: Literal["current", "outdated", "gone", "failed"]
    state: State
    reason: str = ""
    newest: tuple[Candidate, Fetched] | None = None


def chosen(where: Sequence[Target], names: Sequence[str]) -> Iterator[tuple[Target, str, LockedSkill]]:
    """The installed skills of these names, all without names.

    Raises:
        UnknownName: nothing of a name was installed.
    """
    found = [(target, name, entry) for target in where for name, entry in target.lock().skills.items()]
    known = {name for _, name, _ in found}
    for name in names:
        if name not in known:
            hint = None if known else "nothing was installed by 'skillkit skills install'"
            raise UnknownName("installed skill", name, known, hint=hint)
    return (row for row in found if not names or row[1] in names)


def compare(host: Host, where: Sequence[Target], names: Sequence[str]) -> Iterator[Compared]:
    """Compare installed skills with their sources; each source is asked once."""
    groups: dict[tuple[str, str | None, str], list[tuple[Target, str, LockedSkill]]] = {}
    for row in chosen(where, names):
        source = row[2].source
        groups.setdefault((source.place, source.ref, source.subfolder), []).append(row)
    for rows in groups.values():
        try:
            now = _now(host, rows)
        except (SkillKitError, OSError) as error:
            yield from (Compared(t, n, e, "failed", t.state(n, e), str(error)) for t, n, e in rows)
            continue
        for target, name, entry in rows:
            state = target.state(name, entry)
            if now is None:
                yield Compared(target, name, entry, "current", state)
            elif newest := next((one for one in now[1] if one.name == name), None):
                status: Literal["current", "outdated"] = "current" if newest.digest == entry.digest else "outdated"
                yield Compared(target, name, entry, status, state, newest=(newest, now[0]))
            else:
                yield Compared(target, name, entry, "gone", state)


def _now(host: Host, rows: Sequence[tuple[Target, str, LockedSkill]]) -> tuple[Fetched, list[Candidate]] | None:
    """What a source holds, ``None`` for a repository that is at the commit that all its skills came from."""
    kept = rows[0][2].source
    source = named(kept.place, host.cwd, ref=kept.ref, subfolder=kept.subfolder)
    commits = {entry.resolved for _, _, entry in rows}
    whole = all(target.state(name, entry) != "missing" for target, name, entry in rows)
    if source.kind == "git" and whole and len(commits) == 1:
        now = commits if source.ref in commits else latest(source.place, source.ref, host.environ, source.shown)
        if commits <= now:
            return None
    return look(host, source)
