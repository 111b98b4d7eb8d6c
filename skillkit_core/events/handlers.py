"""Handlers made ready to be called: what they take, when their turn comes, how long they may wait."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..containment import in_words
from ..errors import SkillKitError, UsageError
from ..hookspecs.markers import EXTRAS
from ..messages import StopReason
from .types import EVENTS

__all__ = ["GUARD", "OBSERVER", "PHASES", "GuardFailed", "HandlerRecord", "from_function", "from_impl"]

PHASES: Mapping[str, int] = {"rewrite": 0, "first": 1, "normal": 2, "last": 3, "guard": 4}
GUARD = PHASES["guard"]
OBSERVER = 5
INTERCEPTOR_SECONDS = 30.0
GUARD_SECONDS = 60.0
SHUTDOWN_SECONDS = 5.0
HandlerFunction: TypeAlias = Callable[..., Any]


class GuardFailed(SkillKitError):
    """A handler in phase ``guard`` failed: what it guards must not happen."""

    def __init__(self, record: HandlerRecord, event: str, error: BaseException) -> None:
        super().__init__(f"guard {record.label} failed on {event}: {in_words(error)}")
        self.record = record


@dataclass(slots=True, eq=False)
class HandlerRecord:
    """One handler, ready to be called."""

    function: HandlerFunction
    takes_ctx: bool
    is_async: bool
    phase: int
    timeout: float | None
    plugin: str | None = None
    tools: frozenset[str] | None = None
    only: Callable[[Any], bool] | None = None
    alive: bool = field(default=True)
    filtered: bool = field(init=False)

    def __post_init__(self) -> None:
        self.filtered = self.tools is not None or self.only is not None

    @property
    def label(self) -> str:
        """The handler in the words of an error."""
        name = getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"{name!r} of plugin {self.plugin!r}" if self.plugin else f"{name!r}"

    def wants(self, event: Any) -> bool:
        """Whether the handler's filters let the event through."""
        if self.tools is not None and getattr(event, "tool_name", None) not in self.tools:
            return False
        return self.only is None or self.only(event)


def _is_async(function: HandlerFunction) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _takes_ctx(function: HandlerFunction) -> bool:
    if not callable(function):
        raise UsageError(f"handler {function!r} is not callable")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False  # a builtin that cannot say what it takes
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if rest and len(required) <= 2 and not named:
        return True
    if not positional or len(required) > 2 or named:
        raise UsageError(f"handler {function!r} must take (event) or (event, ctx)")
    return len(required) == 2 or (len(positional) >= 2 and positional[1].name == "ctx")


def from_impl(impl: Any, event: str) -> HandlerRecord:
    """The record of a plugin's implementation of a lifecycle hook."""
    extras = getattr(impl.function, EXTRAS, None) or {}
    phase = extras.get("phase") or ("first" if impl.tryfirst else "last" if impl.trylast else "normal")
    names = tuple(impl.argnames)
    function = impl.function
    if names not in (("event",), ("event", "ctx")):
        inner = function

        def function(event: Any, ctx: Any) -> Any:
            given = {"event": event, "ctx": ctx}
            return inner(**{n: given[n] for n in names})

        function.__qualname__ = getattr(inner, "__qualname__", "handler")
    timeout = extras.get("timeout")
    return HandlerRecord(
        function,
        names != ("event",),
        _is_async(impl.function),
        PHASES[phase],
        timeout if timeout is not None else _default_timeout(event, phase),
        impl.plugin_name,
        _tool_names(extras.get("tools")),
    )


def from_function(
    function: HandlerFunction,
    event: str,
    phase: str | None,
    tools: Iterable[str] | None = None,
    timeout: float | None = None,
    *,
    answers_only: bool = False,
) -> HandlerRecord:
    """The record of a session handler; ``phase=None``: an observer, which comes last and has no say."""
    return HandlerRecord(
        function,
        _takes_ctx(function),
        _is_async(function),
        OBSERVER if phase is None else PHASES[phase],
        timeout if timeout is not None else _default_timeout(event, phase or "last"),
        tools=_tool_names(tools),
        only=_is_response if answers_only else None,
    )


def _tool_names(tools: Iterable[str] | None) -> frozenset[str] | None:
    if tools is None:
        return None
    return frozenset((tools,) if isinstance(tools, str) else tools)


def _default_timeout(event: str, phase: str) -> float:
    if event == "session_shutdown":
        return SHUTDOWN_SECONDS
    guards = phase == "guard" or EVENTS[event].guard == "always"
    return GUARD_SECONDS if guards else INTERCEPTOR_SECONDS


def _is_response(event: Any) -> bool:
    message = event.message
    if getattr(message, "role", "") != "assistant" or message.tool_calls:
        return False
    return message.stop_reason not in (StopReason.aborted, StopReason.error)  # nor is an attempt that failed
