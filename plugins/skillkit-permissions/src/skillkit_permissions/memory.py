"""Answers that are remembered: for a session, for a project, or ever. A JSON file in the host's data folder keeps them."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from os.path import dirname, join, realpath
from typing import Any, Literal, get_args

from skillkit_core.errors import ConfigError
from skillkit_core.settings.documents import write_whole

from .paths import inside
from .rules import Kind, Rules, parse_rule

__all__ = ["REMEMBER_DAYS", "Answer", "Memory", "Scope"]

Scope = Literal["session", "project", "ever"]
_DAY = 86_400.0
# Seconds. A younger file can change again within one tick of its time stamp.
_SETTLED = 2.0
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
        definition: digest of what the tool's server said of it then; the answer allows this tool alone. Empty: of no server.
    """

    id: str
    rule: str
    kind: Kind
    scope: Scope
    where: str = ""
    created: float = 0.0
    expires: float | None = None
    origin: str = "a person"
    definition: str = ""

    @property
    def shown_scope(self) -> str:
        """The scope in words."""
        return self.scope if self.scope == "ever" else f"{self.scope} {self.where}"

    @property
    def shown_expiry(self) -> str:
        """When it is forgotten, in words."""
        return "never" if self.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(self.expires))


# the answers, and how often some were revoked
_Kept = tuple[tuple[Answer, ...], int]
_NOTHING: _Kept = ((), 0)


class Memory:
    """The remembered answers of a host.

    Whoever changes the file holds its lock from reading to writing, so that no answer of another process or thread is lost.

    Attributes:
        path: the file.
    """

    def __init__(self, data_dir: str | os.PathLike[str]) -> None:
        self.path = join(data_dir, "permissions", "remembered.json")
        self._known: tuple[tuple[int, int, int] | None, _Kept] = (None, _NOTHING)

    @property
    def generation(self) -> int:
        """Return how often answers were revoked: part of the keys under which a run remembers, so that none outlives it."""
        return self._read()[1]

    def all(self) -> tuple[Answer, ...]:
        """Return the answers that have not expired, oldest first.

        Raises:
            ConfigError: the file cannot be read, or is damaged.
        """
        kept = self._read()[0]
        return _current(kept) if kept else ()

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
                found += Rules(**{answer.kind: (replace(rule, definition=answer.definition),)})
        return found

    def add(
        self,
        rules: Iterable[str],
        kind: Kind,
        scope: Scope,
        where: str = "",
        days: float | None = None,
        origin: str = "a person",
        definition: str = "",
    ) -> list[Answer]:
        """Remember rules; return the answers. One that is there already is renewed."""
        now = time.time()
        where = realpath(where) if scope == "project" else where
        expires = None if days is None else now + days * _DAY
        with self._alone() as (answers, generation):
            kept = list(answers)
            made: list[Answer] = []
            for rule in rules:
                old = next((a for a in kept if (a.rule, a.kind, a.scope, a.where) == (rule, kind, scope, where)), None)
                number = 1 + max((int(a.id) for a in (*kept, *made) if a.id.isdecimal()), default=0)
                answer = (
                    replace(old, expires=expires, definition=definition)
                    if old
                    else Answer(str(number), rule, kind, scope, where, now, expires, origin, definition)
                )
                kept = [a for a in kept if a is not old]
                made.append(answer)
            self._write([*kept, *made], generation)
        return made

    def revoke(self, ids: Iterable[str] | None = None) -> list[Answer]:
        """Forget answers by their ids, or all of them; return those that were forgotten."""
        with self._alone() as (kept, generation):
            gone = [a for a in kept if ids is None or a.id in set(ids)]
            self._write([a for a in kept if a not in gone], generation + 1)
        return gone

    @contextmanager
    def _alone(self) -> Iterator[_Kept]:
        """Hold the lock, which one thread of one process can hold, and give what the file holds now.

        Raises:
            ConfigError: the lock cannot be opened.
        """
        try:
            os.makedirs(dirname(self.path), mode=0o700, exist_ok=True)
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=self.path) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answers, generation = self._load()
            yield _current(answers), generation
        finally:
            os.close(lock)

    def _read(self) -> _Kept:
        """Return what the file holds, read once for each change of it."""
        try:
            stat = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return _NOTHING
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if stamp == self._known[0]:
            return self._known[1]
        kept = self._load()
        self._known = (stamp if time.time() - stat.st_mtime > _SETTLED else None), kept
        return kept

    def _load(self) -> _Kept:
        try:
            with open(self.path, encoding="utf-8") as file:
                data = json.load(file)
            return tuple(_answer(row) for row in data["answers"]), int(data["generation"])
        except (FileNotFoundError, NotADirectoryError):
            return _NOTHING
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigError(f"cannot be read: {error}", where=self.path, hint="repair or remove it") from None

    def _write(self, answers: Iterable[Answer], generation: int) -> None:
        data = {"generation": generation, "answers": [asdict(a) for a in answers]}
        try:
            write_whole(self.path, json.dumps(data, indent=1) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", where=self.path) from None


def _current(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    now = time.time()
    return tuple(a for a in answers if a.expires is None or a.expires > now)


def _answer(row: Mapping[str, Any]) -> Answer:
    answer = Answer(**row)
    if answer.kind not in get_args(Kind) or answer.scope not in get_args(Scope) or not isinstance(answer.rule, str):
        raise ValueError(f"{row!r} is no answer")
    return answer
