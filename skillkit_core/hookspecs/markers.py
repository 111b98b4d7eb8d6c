"""The two decorators of the plugin API: ``hookimpl`` implements a hook, ``hookspec`` defines one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias, TypeVar, overload

from pluggy import HookimplMarker, HookspecMarker

PROJECT: Final = "skillkit"
EXTRAS: Final = "skillkit_extras"
DEPRECATED: Final = "skillkit_deprecated"  # marks of ``deprecated``
Phase: TypeAlias = Literal["rewrite", "first", "normal", "last", "guard"]
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Answer: TypeAlias = T | Awaitable[T | None] | None  # the answer of an implementation that may be async
Observed: TypeAlias = Awaitable[None] | None  # the return value of an implementation without an answer

hookspec = HookspecMarker(PROJECT)
_pluggy_impl = HookimplMarker(PROJECT)


@overload
def hookimpl(function: F) -> F: ...
@overload
def hookimpl(
    *, phase: Phase | None = None, timeout: float | None = None, tryfirst: bool = False, trylast: bool = False,
    wrapper: bool = False, optionalhook: bool = False, specname: str | None = None, tools: tuple[str, ...] | None = None,
    while_: tuple[str, ...] = (),
) -> Callable[[F], F]: ...  # fmt: skip
def hookimpl(
    function: F | None = None,
    *,
    phase: Phase | None = None,
    timeout: float | None = None,
    tryfirst: bool = False,
    trylast: bool = False,
    wrapper: bool = False,
    optionalhook: bool = False,
    specname: str | None = None,
    tools: tuple[str, ...] | None = None,
    while_: tuple[str, ...] = (),
) -> F | Callable[[F], F]:
    """Mark a function of a plugin as the implementation of the hook with the same name.

    The decorator is pluggy's marker with arguments for lifecycle hooks.

    Args:
        phase: lifecycle hooks only: ``rewrite < first < normal < last < guard``; default ``normal``.
            ``tryfirst`` and ``trylast`` are other words for ``first`` and ``last``.
        timeout: lifecycle hooks only: seconds, counted once the handler suspends; default: 30, guards 60.
        tools: lifecycle hooks of tools only: names of the tools whose events the function gets; default: all.
        while_: lifecycle hooks only: topics; the function is called where :meth:`EventBus.arm` has armed one of them. A note
            of that type in the session arms by itself, and so does the setting for a topic ``setting:acme.limits``.
            Default: always.
        wrapper: refused on lifecycle hooks: use ``wrap_model_call`` and ``wrap_tool_call``.
        optionalhook: accept the function when no installed plugin defines the hook.
        specname: the hook's name, when the function has another name.
    """

    def mark(f: F) -> F:
        marked = _pluggy_impl(
            tryfirst=tryfirst, trylast=trylast, wrapper=wrapper, optionalhook=optionalhook, specname=specname
        )(f)
        setattr(marked, EXTRAS, {"phase": phase, "timeout": timeout, "tools": tools, "while_": while_})
        return marked

    return mark if function is None else mark(function)


def deprecated(since: str, use: str, argument: str | None = None) -> Callable[[T], T]:
    """Mark a hookspec (below ``@hookspec``), one ``argument`` of it, or a public function or class as deprecated: it still works.

    A plugin that implements the hook, takes the argument or imports the name is warned of once, by name, in ``skillkit plugins
    doctor``: ``since`` is the version that deprecated it, ``use`` says what to use instead.
    """

    def mark(thing: Any) -> Any:
        named = f"argument {argument!r} of " if argument else ""
        words = f"{named}{thing.__name__}, deprecated since {since}: use {use}"
        setattr(thing, DEPRECATED, [*vars(thing).get(DEPRECATED, ()), (argument, words)])
        return thing

    return mark
