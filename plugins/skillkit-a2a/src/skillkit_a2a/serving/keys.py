"""The keys of callers: each has a name and scopes. The file holds hashes alone, and only its owner can read it."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from skillkit_oauth import PrivateFolder

from skillkit_core import UnknownName, UsageError

__all__ = ["ANYONE", "Caller", "Keys"]

PREFIX = "ska2a_"
_FILE = "keys.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and what the caller may do.

    Attributes:
        name: the name of the key.
        skills: names of the skills that the caller may use; ``None``: all that are served.
        approve: whether the caller answers what guards ask about calls of its own tasks.
    """

    name: str
    skills: tuple[str, ...] | None = None
    approve: bool = False

    @property
    def principal(self) -> str:
        """The name in sessions; no caller has that of the owner."""
        return f"a2a:{self.name}"

    def may_use(self, skill: str) -> bool:
        """Return whether the caller may use a skill."""
        return self.skills is None or skill in self.skills

    @property
    def scopes(self) -> list[str]:
        """What the caller may do, in words."""
        skills = ["*"] if self.skills is None else [f"skill:{name}" for name in self.skills]
        return [*skills, *(["approve"] if self.approve else [])]


ANYONE = Caller("anyone")
"""Who calls a server that asks for no key."""


class Keys:
    """The keys that count now: a key that is made or revoked while a server runs counts with its next request.

    Args:
        data: the data folder of the host.
    """

    def __init__(self, data: Path) -> None:
        self._folder = PrivateFolder(data, "a2a-keys")
        self._read: tuple[object, dict[str, Any]] = (None, {})

    def _all(self) -> dict[str, Any]:
        signature = self._folder.signature(_FILE)
        if signature is None or signature != self._read[0]:
            self._read = signature, self._folder.read(_FILE)
        return self._read[1]

    def __iter__(self) -> Iterator[tuple[Caller, float]]:
        """Yield each caller, and when its key was made."""
        for name, row in sorted(self._all().items()):
            yield _caller(name, row), float(row.get("made", 0))

    def __bool__(self) -> bool:
        return bool(self._all())

    def add(self, name: str, skills: Sequence[str] = (), *, approve: bool = False) -> str:
        """Make a key, and return it: nobody can read it again.

        Args:
            name: a new name.
            skills: the skills that it is for; none: all that are served.
            approve: it answers what guards ask about calls of its own tasks.

        Raises:
            UsageError: the name is taken, or is none.
        """
        if not _NAME.match(name):
            raise UsageError(f"{name!r} is no name of a key", hint="letters, digits, '.', '_' and '-', at most 64")
        key = PREFIX + secrets.token_urlsafe(32)
        with self._folder.lock(_FILE):
            known = self._folder.read(_FILE)
            if name in known:
                raise UsageError(f"there is a key {name!r} already", hint=f"skillkit a2a keys revoke {name}")
            known[name] = {"hash": _hash(key), "skills": list(skills), "approve": approve, "made": time.time()}
            self._folder.write(_FILE, known)
        return key

    def revoke(self, name: str) -> None:
        """Let a key count no more.

        Raises:
            UnknownName: there is no such key.
        """
        with self._folder.lock(_FILE):
            known = self._folder.read(_FILE)
            if name not in known:
                raise UnknownName("key", name, sorted(known))
            del known[name]
            self._folder.write(_FILE, known)

    def find(self, key: str) -> Caller | None:
        """Return who has a key; it takes the same time whoever it is."""
        given, found = _hash(key), None
        for name, row in self._all().items():
            if hmac.compare_digest(given, str(row.get("hash", ""))):
                found = _caller(name, row)
        return found


def _hash(key: str) -> str:
    # 256 random bits need no slow hash
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _caller(name: str, row: dict[str, Any]) -> Caller:
    return Caller(name, tuple(row.get("skills", ())) or None, bool(row.get("approve")))
