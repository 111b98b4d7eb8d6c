"""The errors of SkillKit, and the problems of plugins. Each names what happened, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .program import as_typed

if TYPE_CHECKING:
    from .agent.response import AgentResponse
    from .agent.suspension import Suspension

__all__ = [
    "AgentBusy", "AgentError", "AmbiguousName", "AsyncHandlerError", "ConfigError", "Diagnostic", "ErrorKind",
    "EventRecursionError", "HandlerTimeout", "LimitReached", "NoActiveRun", "Owner", "PluginError", "ProviderError",
    "ReentrancyError", "RunAborted", "SessionCorrupt", "SessionError", "SessionLocked", "SessionTaken", "SkillKitError",
    "Suspended", "ToolError", "UnknownName", "UnknownSession", "UsageError",
]  # fmt: skip


# Text of a server or a file may steer a terminal by control characters or reversed writing, or break it by lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class SkillKitError(Exception):
    """Base of every error that SkillKit raises on purpose.

    Args:
        message: what happened, one sentence without a full stop.
        where: file and line, YAML path, plugin, or any other place that helps, shown before the message.
        hint: what to do, one sentence.

        ``str(error)`` is one line without control characters. ``exit_code`` is that of the command line (1: the run failed, 2:
        wrong usage).
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = as_typed(hint) if hint else hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        text = f"{text}; {self.hint}" if self.hint else text
        return _UNPRINTABLE.sub("\ufffd", " ".join(text.split()))

    def to_dict(self) -> dict[str, Any]:
        """Return the error as the ``error`` object of ``--json`` output."""
        return {"type": type(self).__name__, "message": self.message, "where": self.where, "hint": self.hint}


class UsageError(SkillKitError):
    """A wrong argument, flag or setting. The command line exits with 2."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration or distribution file that cannot be used. ``where`` is ``file:line: yaml.path``."""


def close_matches(name: str, candidates: Iterable[str], n: int = 3, cutoff: float = 0.5) -> list[str]:
    """Return up to ``n`` names of ``candidates`` that somebody who typed ``name`` may have meant."""
    import difflib

    names = sorted(set(candidates))
    found = difflib.get_close_matches(name, names, n=n, cutoff=cutoff)
    return found or [c for c in names if cutoff < 0.6 and name and (name in c or c in name)][:n]


class UnknownName(UsageError, LookupError):
    """A name that no registry knows. The hint lists close matches.

    Args:
        kind: kind of the item, in the singular (``"model"``).
        name: the unknown name.
        candidates: the known names.
        hint: text in place of the generated hint.
        elsewhere: origin of other names, added to the hint when there is no close match.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        candidates: Iterable[str] = (),
        *,
        hint: str | None = None,
        elsewhere: str | None = None,
    ) -> None:
        names = sorted(set(candidates))
        if hint is None:
            close = close_matches(name, names)
            if close:
                hint = "did you mean " + " or ".join(repr(c) for c in close) + "?"
            elif names:
                shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
                hint = f"known: {shown}"
            else:
                hint = f"there is no {kind}"
            if elsewhere and not close:
                hint += f"; {elsewhere}"
        super().__init__(f"unknown {kind} {name!r}", hint=hint)
        self.kind = kind
        self.name = name


class AmbiguousName(UsageError, LookupError):
    """A bare name that several plugins offer. The error names the plugins and the line that decides."""

    def __init__(self, kind: str, name: str, owners: Iterable[str], addresses: Iterable[str]) -> None:
        addresses = list(addresses)
        super().__init__(
            f"{kind} {name!r} is offered by {' and '.join(owners)}",
            hint=f"write {' or '.join(repr(a) for a in addresses)}, or disable one with 'skillkit -P no:PLUGIN'",
        )
        self.kind = kind
        self.name = name


class PluginError(SkillKitError):
    """A plugin broke a rule of the host. ``where`` names plugin and distribution."""


class ToolError(SkillKitError):
    """A failure that a tool reports in its own words. The message becomes the error result for the model."""


class AgentError(SkillKitError):
    """A run failed.

    Attributes:
        response: the partial :class:`~skillkit_core.AgentResponse`.
    """

    def __init__(
        self, message: str, *, response: AgentResponse | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.response = response


class AgentBusy(AgentError):
    """``chat`` was called while a run is active: use ``delivery="steer"`` or ``"follow_up"``."""


class NoActiveRun(AgentError):
    """There is no run that could be steered."""


class ReentrancyError(AgentError):
    """A handler called a method that would wait for the run, while the run waits for the handler."""


class RunAborted(AgentError):
    """``abort()`` ended the run. ``response`` holds the messages until then."""


class LimitReached(AgentError):
    """A limit of the run, or a handler that counts, forbids another request. The message names the limit."""


class Suspended(AgentError):
    """The run of an agent inside a tool call waits for a decision, so the call waits too. A tool lets this error pass.

    Attributes:
        suspension: the calls of the agent that wait, a :class:`~skillkit_core.Suspension`.
        session_id: the session of the agent.
    """

    def __init__(self, suspension: Suspension, session_id: str, *, response: AgentResponse | None = None) -> None:
        super().__init__("the agent waits for a decision", response=response)
        self.suspension = suspension
        self.session_id = session_id


class HandlerTimeout(SkillKitError):
    """An event handler did not finish within its timeout."""


class AsyncHandlerError(SkillKitError):
    """``emit_sync`` met an async handler while a loop is running."""


class EventRecursionError(SkillKitError):
    """Events were emitted from handlers of events more than eight levels deep."""


class SessionError(SkillKitError):
    """A session cannot be opened, read or written."""


class Owner(NamedTuple):
    """The process that writes a session.

    Attributes:
        pid: its process id.
        host: the name of its machine.
        endpoint: the address under which the process takes clients of the session; ``None``: it takes none.
    """

    pid: int
    host: str
    endpoint: str | None = None


class SessionLocked(SessionError):
    """Another writer has the session open: another process, or another part of this program.

    Attributes:
        owner: the writer; ``None``: the store does not know.
    """

    def __init__(
        self, message: str, *, owner: Owner | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.owner = owner


class SessionTaken(SessionError):
    """Another writer has taken the session over meanwhile. An entry that was refused with this error is not in the session."""


class UnknownSession(SessionError, UnknownName):
    """There is no session of this name. The hint lists close matches."""

    def __init__(self, name: str, candidates: Iterable[str] = ()) -> None:
        names = list(candidates)
        hint = None if names else "there are no sessions yet"
        UnknownName.__init__(self, "session", name, names, hint=hint)


class SessionCorrupt(SessionError):
    """A session file has a broken line in the middle. ``where`` is ``file:line``."""


class ErrorKind(StrEnum):
    """The class of a failed request, which an adapter decides by status and error type, never by text."""

    rate_limit = "rate_limit"
    overloaded = "overloaded"
    server = "server"
    connection = "connection"
    timeout = "timeout"
    auth = "auth"
    permission = "permission"
    quota = "quota"
    not_found = "not_found"
    invalid_request = "invalid_request"
    overflow = "overflow"
    content_filter = "content_filter"
    protocol = "protocol"
    aborted = "aborted"
    unknown = "unknown"


_RETRYABLE = frozenset(map(ErrorKind, ("rate_limit", "overloaded", "server", "connection", "timeout", "protocol")))


class ProviderError(SkillKitError):
    """A request to a provider failed.

    Args:
        message: the provider's own words, redacted.
        kind: class of the failure, by which the loop decides about a retry.
        status: HTTP status, if an answer came.
        type: the provider's own error type or code.
        retry_after: seconds that the server asked to wait.
        provider: name of the provider.
        retryable: whether the same request may succeed later; default: by ``kind``. A connection that fails because of a
            certificate fails again.
        sent: no answer came, and yet the provider may have read the request and worked for it: its usage is estimated.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = ErrorKind.unknown,
        status: int | None = None,
        type: str | None = None,
        retry_after: float | None = None,
        provider: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
        sent: bool = False,
    ) -> None:
        super().__init__(message, where=provider, hint=hint)
        self.kind = kind
        self.sent = sent
        self.status = status
        self.type = type
        self.retry_after = retry_after
        self.provider = provider
        self._retryable = retryable

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in _RETRYABLE if self._retryable is None else self._retryable

    @property
    def may_fall_back(self) -> bool:
        """Whether another model may answer instead: this one is overloaded, out of quota, or gone."""
        return self.kind in _RETRYABLE or self.kind in (ErrorKind.not_found, ErrorKind.quota)

    def to_dict(self) -> dict[str, Any]:
        """Return the error as the ``error`` object of ``--json`` output."""
        return {**super().to_dict(), "kind": self.kind.value, "status": self.status, "retry_after": self.retry_after}


class Diagnostic(NamedTuple):
    """One problem of a plugin.

    Attributes:
        plugin: name of the plugin.
        stage: stage of the failure: ``discovery``, ``import``, ``api``, ``hooks``, ``config``, or the name of a hook.
        message: what happened, one line.
        remedy: what to do.
        distribution: distribution of an installed plugin.
        version: version of the distribution.
        severity: ``error``: the plugin, or this hook of it, is left out; ``warning``: the plugin works, but not as expected.
        traceback: traceback for ``--debug``.
    """

    plugin: str
    stage: str
    message: str
    remedy: str = ""
    distribution: str | None = None
    version: str | None = None
    severity: Literal["error", "warning"] = "error"
    traceback: str | None = None

    def __str__(self) -> str:
        owner = f"plugin {self.plugin!r}"
        if self.distribution:
            owner += f" ({self.distribution} {self.version or '?'})"
        text = f"{owner}, {self.stage}: {self.message}"
        return f"{text}; {self.remedy}" if self.remedy else text

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostic as ``--json`` shows it."""
        shown = ("plugin", "distribution", "version", "stage", "severity", "message", "remedy")
        return {name: getattr(self, name) for name in shown} | {"remedy": as_typed(self.remedy)}


# ``KeyboardInterrupt``, ``SystemExit`` and any other ``BaseException`` of a plugin are meant for the program, and pass
# (spec, section 4).


class Escaped(SkillKitError):
    """A plugin raised ``GeneratorExit``, or in a thread an error meant for the program. ``__cause__`` is that error."""

    def __init__(self, error: BaseException) -> None:
        if isinstance(error, SystemExit):
            message = f"it tried to end the program (SystemExit {error.code!r})"
        else:
            message = f"it raised {plain(error)}, which is no Exception"
        super().__init__(message, where=raised_at(error) if isinstance(error, GeneratorExit) else None)
        self.__cause__ = error


def plain(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def raised_at(error: BaseException) -> str | None:
    """Return the last ``file:line`` in the folder of code that the core called: front ends above, libraries below."""
    from traceback import walk_tb  # importing it is slow

    met = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    met += [(error.filename, error.lineno or 0)] if isinstance(error, SyntaxError) and error.filename else []
    core = [n for n, place in enumerate(met) if {"skillkit_core", "importlib"} & {*place[0].split("/")}]
    met = [p for n, p in enumerate(met) if n > min(core, default=n) and n not in core and p[0][:1] != "<"] or met[-1:]
    return next((f"{p[0]}:{p[1]}" for p in met[::-1] if p[0].rpartition("/")[0] == met[0][0].rpartition("/")[0]), None)


def interrupts(error: BaseException) -> bool:
    """Return whether ``error`` is meant for the program, and so is no failure and must pass."""
    from asyncio import CancelledError  # importing it is slow, and listing plugins needs none

    return not isinstance(error, (Exception, GeneratorExit, CancelledError))


def in_words(error: BaseException) -> str:
    """Return an error on one line: its type and its text."""
    return str(error) if isinstance(error, Escaped) else f"{type(error).__name__}: {error}"
