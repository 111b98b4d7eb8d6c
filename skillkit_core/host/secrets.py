"""Secrets: how the host finds them, and how it keeps them out of every text."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..frozen import FrozenDict
from ..messages import BLOCK_TYPES, AgentMessage, ThinkingBlock
from ..models import TokenUsage
from .loading import Failure, isolated
from .probe import called

if TYPE_CHECKING:
    from .manager import Host


T = TypeVar("T")

MASK = "***"
# Redacting shorter values would blank out ordinary text.
MIN_SECRET = 8
# What names, signs or encrypts something for a provider goes back to the provider byte for byte.
_EXACT = frozenset(
    ("api", "data", "encrypted_content", "mime_type", "model", "provider", "reasoning_opaque", "signature",
     "thought_signature", "type")
)  # fmt: skip
# The names of headers with credentials end so.
_CREDENTIALS = ("authorization", "api-key", "cookie", "-token", "-secret")
_RECORDS: tuple[Any, ...] = (AgentMessage, TokenUsage, *BLOCK_TYPES.values())
_PLAIN = frozenset((int, float, bool, type(None)))
# The characters that some writer of JSON escapes.
_ESCAPED = re.compile(r"""([^\x20-\x7e]|["'/<>&]|\\+)""")


class Secrets:
    """The secrets that a host has given out, and replaces in every text that leaves the host.

    Attributes:
        known: from each secret, the longest first, to a part that no JSON escapes, and to a pattern of all spellings.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._learned = -1
        self.known: Mapping[str, tuple[str, re.Pattern[str]]] = {}
        # Answers of async plugins, for callers that cannot await.
        self._awaited: dict[tuple[Any, str], Any] = {}
        # Name of a secret: the value that was refused, and the one that counts in its place.
        self._fresh: dict[str, tuple[str, str]] = {}
        self._names: dict[str, str] = {}
        self._missed: set[tuple[Any, str]] = set()

    def remember(self, value: str) -> None:
        """Let :meth:`redact` replace ``value``, as adapters strip it, from now on."""
        value = value.strip()
        if len(value) >= MIN_SECRET and value not in self.known:
            pieces = _ESCAPED.split(value)
            pattern = "".join([_spelled(p) if n % 2 else re.escape(p) for n, p in enumerate(pieces)])
            with self._host.lock:  # of two threads none may lose what the other remembers
                known = {**self.known, value: (max(pieces[::2], key=len), re.compile(pattern))}
                # The longest come first, because one secret may be a part of another.
                self.known = {secret: known[secret] for secret in sorted(known, key=len, reverse=True)}

    def learn(self) -> None:
        """Remember the keys that the environment holds for all providers, also for those that no run uses.

        An agent calls this when it opens its session.
        """
        if self._learned == self._host.generation:
            return
        generation = self._host.generation
        for entry in self._host.adapters.entries():
            for name in getattr(entry.item, "api_key_env", ()):
                self.remember(self._host.environ.get(name) or "")
        self._learned = generation  # only now: another thread must not go on before

    def redact(self, value: T) -> T:
        """Return a text, JSON or a message with ``***`` in place of every remembered secret, ``value`` itself without one.

        A secret is found as it is and as JSON escapes it. Signatures and encrypted data stay byte for byte; thinking that
        held a secret loses its signature, which does not fit any more.
        """
        if self.known and isinstance(value, dict):
            # Most dicts hold no secret, and nothing tells it faster than their text.
            text = repr(value)
            if not any(part in text for part, _ in self.known.values()):
                return value
        redacted: T = self._redacted(value) if self.known else value
        return redacted

    def _redacted(self, value: Any, exact: frozenset[str] = frozenset()) -> Any:
        made: Any
        if isinstance(value, str):
            for part, pattern in self.known.values():
                if part in value:
                    value = pattern.sub(MASK, value)
            return value
        if type(value) in _PLAIN:
            return value
        if isinstance(value, (list, tuple)):
            made = [self._redacted(item, exact) for item in value]
            same = all(new is old for new, old in zip(made, value, strict=True))
            return value if same else tuple(made) if isinstance(value, tuple) else type(value)(made)
        if isinstance(value, _RECORDS):
            made = {}
            for name in value.__dataclass_fields__:
                old = getattr(value, name)
                if old and type(old) not in _PLAIN and not (name in _EXACT and type(old) is str):
                    new = self._redacted(old, _EXACT if name in ("data", "provider_data") else exact)
                    made |= {} if new is old else {name: new}
            if made and type(value) is ThinkingBlock:
                return ThinkingBlock(self._redacted(value.thinking))
            return replace(value, **made) if made else value
        if isinstance(value, Mapping):
            made = {
                self._redacted(k): v if k in exact and isinstance(v, str) else self._redacted(v, exact)
                for k, v in value.items()
            }
            return value if made == value else made if type(value) is dict else FrozenDict(made)
        return value if (made := self._redacted(text := str(value))) == text else made

    def begun(self, text: str) -> int:
        """Return how many characters at the end of ``text`` may be the beginning of a secret; 0 for less than four."""
        return max((n for value in self.known for n in range(4, len(value)) if text.endswith(value[:n])), default=0)

    def forget_awaited(self) -> None:
        """Forget the answers of async plugins, after plugins came or went."""
        self._awaited.clear()

    def find(self, name: str) -> str | None:
        """Return a secret from the environment, else from ``resolve_secret``, else from a registered credential source."""
        self._host.load().refuse_secret(name, sys._getframe(1))
        value = self._host.environ.get(name)
        for asker in () if value else self._askers(name):
            key = (asker.key, name)
            found = self._awaited[key] if key in self._awaited else self._ask(asker)
            value = self._waited(asker, name, found) if inspect.isawaitable(found) else _text(found)
            if value:
                break
        return self._given(name, value)

    def wait_for(self, name: str) -> Coroutine[Any, Any, str | None]:
        """Return a secret as :meth:`find` does, and await async plugins. From then on :meth:`find` uses their answers."""
        self._host.load().refuse_secret(name, sys._getframe(1))
        return self._wait_for(name)

    async def _wait_for(self, name: str) -> str | None:
        value = self._host.environ.get(name)
        for asker in () if value else self._askers(name):
            found = self._ask(asker)
            if inspect.isawaitable(found):
                found = self._awaited[asker.key, name] = await self._await(asker, found)
            value = _text(found)
            if value:
                break
        return self._given(name, value)

    async def refresh(self, name: str, stale: str) -> str | None:
        """Return another value than ``stale``: the present one, else the answer of ``refresh_secret``, or ``None``."""
        known = await self.wait_for(name)
        if known and known != stale:
            return known
        found = _text(await self._host.resolve("refresh_secret", name=name, stale=stale))
        if not found or found == stale:
            return None
        first, newest = self._fresh.get(name, (stale, stale))
        self._fresh[name] = (first if newest == stale else stale, found)
        self.remember(found)
        return found

    def _given(self, name: str, value: str | None) -> str | None:
        stale, fresh = self._fresh.get(name, (None, None))
        value = fresh if value and value == stale else value
        if value:
            self.remember(value)
            self._names[value] = name
        return value or None

    def name_of(self, value: str) -> str | None:
        """Return the name under which the host gave ``value`` out."""
        return self._names.get(value)

    def _askers(self, name: str) -> Iterator[_Asker]:
        """Yield the plugins that may know a secret, in the order in which they are asked."""
        arguments: dict[str, Any] = {"host": self._host, "name": name}
        for impl in self._host.impls("resolve_secret"):
            call = partial(impl.function, **{n: arguments[n] for n in impl.argnames})
            yield _Asker(impl, impl.plugin_name, partial(called, self._host, "resolve_secret", impl, call))
        sources = self._host.registry("credentials")
        for entry in sources.entries():
            address = entry.address
            yield _Asker(address, entry.source, partial(lambda a: sources.get(a).get(name), address))

    def _ask(self, asker: _Asker) -> Any:
        """Return one plugin's answer. Report a plugin that fails, so that the others are still asked."""
        try:
            with isolated(
                asker.plugin,
                "resolve_secret",
                seconds=self._host.load().seconds,
                **self._host.load().owner(asker.plugin),
            ):
                return asker.call()
        except Failure as failure:
            self._host.report(failure.diagnostic)
            return None

    async def _await(self, asker: _Asker, answer: Any) -> Any:
        try:
            return await self._host.load().awaited(
                asker.plugin, "resolve_secret", lambda: answer, self._host.load().seconds
            )
        except Failure as failure:
            self._host.report(failure.diagnostic)
            return None

    def _waited(self, asker: _Asker, name: str, answer: Any) -> str | None:
        """Return the awaited answer where no event loop runs. Inside a loop, leave the answer out and note that."""
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _text(asyncio.run(self._await(asker, answer)))
        if inspect.iscoroutine(answer):
            answer.close()
        if (asker.key, name) not in self._missed:
            self._missed.add((asker.key, name))
            self._host.note(
                asker.plugin,
                f"resolve_secret is async, and {name} was asked for where nothing can be awaited: its answer was left out",
                stage="resolve_secret",
                remedy=f"'await host.find_secret({name!r})' before, or answer without waiting",
            )
        return None


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return ``headers`` with ``***`` for the values of headers that hold credentials, such as ``X-API-Key``."""
    return {name: "***" if name.lower().endswith(_CREDENTIALS) else value for name, value in headers.items()}


def _spelled(piece: str) -> str:
    """Return a pattern for a character of a secret that JSON may escape, or for backslashes."""
    if piece[0] == "\\":
        return r"\\+"
    escape = json.dumps(piece)[1:-1]
    if escape[-1] == piece:
        escape = f"\\u{ord(piece):04x}"
    return r"(?:\\*{}|(?i:{}))".format(re.escape(piece), escape.replace("\\", r"\\+"))


class _Asker(NamedTuple):
    """One plugin that may know a secret, with a ``key`` that tells the plugin from the others."""

    key: Any
    source: str | None
    call: Callable[[], Any]

    @property
    def plugin(self) -> str:
        """The plugin's name, for diagnostics."""
        return self.source or "application"


def _text(found: Any) -> str | None:
    return str(found) if found else None
