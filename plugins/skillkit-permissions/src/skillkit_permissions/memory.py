"""Answers that are remembered: for a session, for a project, or ever. A JSON file in the host's data folder keeps them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from os.path import join, realpath
from typing import Any, Literal, get_args

from skillkit_core.errors import ConfigError
from skillkit_core.settings.documents import write_whole

from .paths import inside
from .rules import Kind, Rules, parse_rule

__all__ = ["REMEMBER_DAYS", "Answer", "Memory", "Scope"]

Scope = Literal["session", "project", "ever"]
_DAY = 86_400.0
REMEMBER_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A remembered rule.

    Attributes:
        id: what ``skillkit permissions revoke`` takes.
        rule: the rule, as it is written in a configuration.
        kind: ``allow``, ``ask`` or ``deny``.
        scope: where it holds.
        where: the session's id or the project's folder; empty for ``ever``.
        created: when it was given, in seconds since 1970.
        expires: when it is forgotten; ``None``: never.
        origin: who gave it.
    """

    id: str
    rule: str
    kind: Kind
    scope: Scope
    where: str = ""
    created: float = 0.0
    expires: float | None = None
    origin: str = "a person"

    @property
    def shown_scope(self) -> str:
        """The scope in words."""
        return self.scope if self.scope == "ever" else f"{self.scope} {self.where}"

    @property
    def shown_expiry(self) -> str:
        """When it is forgotten, in words."""
        return "never" if self.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(self.expires))


class Memory:
    """The remembered answers of a host.

    Attributes:
        path: the file.
    """

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.path = join(data_dir, "permissions", "remembered.json")
        self._stamp: tuple[int, int] | None = None
        self._answers: tuple[Answer, ...] = ()
        self._generation = 0

    @property
    def generation(self) -> int:
        """Return how often answers were revoked: part of the keys under which a run remembers, so that none outlives it."""
        self._read()
        return self._generation

    def all(self) -> tuple[Answer, ...]:
        """Return the answers that have not expired, oldest first.

        Raises:
            ConfigError: the file cannot be read, or is damaged.
        """
        self._read()
        now = time.time()
        return tuple(a for a in self._answers if a.expires is None or a.expires > now)

    def rules(self, project: str, session: str | None) -> Rules:
        """Return the rules that hold in a project and a session."""
        found = Rules()
        for answer in self.all():
            if answer.scope == "ever" or answer.where == (session if answer.scope == "session" else None):
                holds = True
            else:
                holds = answer.scope == "project" and inside(project, (answer.where,))
            if holds:
                rule = parse_rule(answer.rule, answer.kind, f"remembered {answer.id}")
                found += Rules(**{answer.kind: (rule,)})
        return found

    def add(
        self,
        rules: Iterable[str],
        kind: Kind,
        scope: Scope,
        where: str = "",
        days: float | None = None,
        origin: str = "a person",
    ) -> list[Answer]:
        """Remember rules; return the answers. One that is there already is renewed."""
        now = time.time()
        kept = list(self.all())
        made: list[Answer] = []
        where = realpath(where) if scope == "project" else where
        for rule in rules:
            old = next((a for a in kept if (a.rule, a.kind, a.scope, a.where) == (rule, kind, scope, where)), None)
            expires = None if days is None else now + days * _DAY
            number = 1 + max((int(a.id) for a in (*kept, *made) if a.id.isdecimal()), default=0)
            answer = (
                replace(old, expires=expires)
                if old
                else Answer(str(number), rule, kind, scope, where, now, expires, origin)
            )
            kept = [a for a in kept if a is not old]
            made.append(answer)
        self._write([*kept, *made], self._generation)
        return made

    def revoke(self, ids: Iterable[str] | None = None) -> list[Answer]:
        """Forget answers by their ids, or all of them; return those that were forgotten."""
        kept = self.all()
        gone = [a for a in kept if ids is None or a.id in set(ids)]
        self._write([a for a in kept if a not in gone], self._generation + 1)
        return gone

    def _read(self) -> None:
        try:
            stat = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            self._stamp, self._answers, self._generation = None, (), 0
            return
        stamp = (stat.st_mtime_ns, stat.st_size)
        if stamp == self._stamp:
            return
        try:
            with open(self.path, encoding="utf-8") as file:
                data = json.load(file)
            answers = tuple(_answer(row) for row in data["answers"])
            generation = int(data["generation"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(f"cannot be read: {error}", where=self.path, hint="repair or remove it") from None
        self._stamp, self._answers, self._generation = stamp, answers, generation

    def _write(self, answers: Iterable[Answer], generation: int) -> None:
        data = {"generation": generation, "answers": [asdict(a) for a in answers]}
        try:
            write_whole(self.path, json.dumps(data, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=self.path) from None
        self._stamp = None


def _answer(row: Mapping[str, Any]) -> Answer:
    answer = Answer(**row)
    if answer.kind not in get_args(Kind) or answer.scope not in get_args(Scope) or not isinstance(answer.rule, str):
        raise ValueError(f"{row!r} is no answer")
    return answer
