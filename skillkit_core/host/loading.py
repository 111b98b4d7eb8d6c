"""The loading of one plugin: import and checks. Every failure becomes a diagnostic of that plugin."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # whose functions signal wraps in enumerations: 30 µs a limit
import contextlib
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType
from typing import Any

from pluggy import HookCaller, PluginManager, PluginValidationError

from .. import API_VERSION
from ..errors import Diagnostic, PluginError, SkillKitError, plain, raised_at
from ..fields import is_number
from ..hookspecs.markers import EXTRAS
from ..program import program
from .discovery import EntryPoint
from .manifest import Manifest, check_made_for, check_number


class PluginTimeout(BaseException):
    """A plugin took too long. The class is no ``Exception``, so that the plugin's own handlers do not catch it."""


# Seconds after which a plugin that goes on has caught the alarm.
SWALLOWED = 0.05
# Shares of the limit: one that works less in it waits; one that has worked that much had its time.
BUSY, SHARE = 0.1, 0.9
# Seconds, times 1 to 20, until each alarm from then on: one comes while a loop is outside of its ``try``.
AGAIN = 0.000005


class time_limit:
    """Raise :class:`PluginTimeout` in the body after ``seconds``, again and again until it leaves the body.

    A body that was given too little of a busy machine goes on: only seconds of its own CPU time count, and those in which it
    rests, so that a body that waits for ever ends at the first alarm.

    The limit holds on the main thread of a POSIX process while nobody else uses the interval timer. Elsewhere the body
    runs without a limit. The timer interrupts a blocking system call, but not C code that never returns to Python.

    Args:
        seconds: the time of the body; 0: no limit.

    Attributes:
        over: the number of alarms so far; 0 until the time is over.
        interrupted: a ``KeyboardInterrupt`` is the user's, and not the body's own.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._previous: dict[int, Any] = {}
        self._armed, self.over, self._spent, self._worked = False, 0, 0.0, 0.0
        self.interrupted = True

    def __enter__(self) -> time_limit:
        if self._seconds <= 0 or threading.current_thread() is not threading.main_thread():
            return self
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous[signal.SIGINT] = signal.signal(signal.SIGINT, self._on_interrupt)
            self.interrupted = False
        if hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL)[0] == 0:
            self._previous[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._on_alarm)
            self._armed, self._spent = True, time.thread_time()
            signal.setitimer(signal.ITIMER_REAL, self._seconds)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._armed:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_interrupt(self, signum: int, frame: FrameType | None) -> None:
        self.interrupted = True
        raise KeyboardInterrupt

    def _on_alarm(self, signum: int, frame: FrameType | None) -> None:
        if not self._armed:
            return
        worked, self._spent = time.thread_time() - self._spent, time.thread_time()
        self._worked += worked
        if not self.over and worked > BUSY * self._seconds and self._worked < SHARE * self._seconds:
            signal.setitimer(signal.ITIMER_REAL, self._seconds)
            return
        self.over += 1
        signal.setitimer(signal.ITIMER_REAL, SWALLOWED if self.over == 1 else AGAIN * (1 + self.over % 20))
        running = frame.f_code.co_filename if frame is not None else __file__
        if running not in _CLEANING_UP and not running.startswith("<frozen importlib"):
            raise PluginTimeout


_CLEANING_UP = {f.__code__.co_filename for f in (time_limit.__exit__, contextlib.contextmanager)}


class Failure(Exception):
    """A plugin failed. :attr:`diagnostic` names the stage and the remedy."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


def _remedy(error: BaseException, plugin: str, distribution: str | None) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = distribution or plugin
        return f"install what it needs: pip install --force-reinstall {package}"
    if isinstance(error, SkillKitError) and error.hint:
        return error.hint
    return f"report it to the plugin's author, or run without it: skillkit -P no:{plugin} ..."


class _Aside:
    """Stderr in the place of ``sys.stdout``.

    Attributes:
        own: the stdout of the command, which ``skillkit_core.cli.output`` prints to.
    """

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


@contextlib.contextmanager
def prints_aside(*, descriptor: bool = False) -> Iterator[None]:
    """Send to stderr what code in the body of a command prints, so that the answer on stdout holds nothing else.

    ``descriptor``: also what is written past ``sys.stdout``, to the descriptor 1 of the process. ``echo`` prints the answer. In
    an application stdout is the application's, and nothing is done.
    """
    own = sys.stdout
    if not program().command_line or isinstance(own, _Aside):
        yield
        return
    with _one_is_stderr() if descriptor and own is sys.__stdout__ else contextlib.nullcontext() as kept:
        answer = own
        if kept is not None:
            own.flush()
            buffering = 1 if os.isatty(kept) else -1
            answer = open(kept, "w", buffering, encoding=own.encoding, errors=own.errors, closefd=False)  # noqa: SIM115 - closed below
        sys.stdout = _Aside(answer)
        try:
            yield
        finally:
            sys.stdout = own
            answer.flush()


@contextlib.contextmanager
def _one_is_stderr() -> Iterator[int | None]:
    """Let the descriptor 1 be stderr meanwhile; give another one for what it was, ``None`` where stdout is closed."""
    try:
        kept = os.dup(1)
    except OSError:
        yield None
        return
    try:
        with contextlib.suppress(OSError):
            os.dup2(2, 1)
        yield kept
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def isolated(
    plugin: str, stage: str, *, distribution: str | None = None, version: str | None = None, seconds: float = 10.0
) -> Iterator[None]:
    """Turn every error of the body, also ``SystemExit`` and a hang, into a :class:`Failure`.

    ``KeyboardInterrupt`` passes if the user sent it. What the body prints does not mix with the answer of a command.
    """
    limit = time_limit(seconds)
    try:
        with prints_aside(descriptor=True), limit:
            yield
    except Failure:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and limit.interrupted:
            raise
        if limit.over or isinstance(error, PluginTimeout):
            message = f"it hangs: {stage} took longer than {seconds:g} s"
        elif isinstance(error, SystemExit):
            message = f"it tried to end the program (SystemExit {error.code!r})"
        elif isinstance(error, SkillKitError):
            # The hint of the error becomes the remedy.
            message = f"{error.where}: {error.message}" if error.where else error.message
        elif isinstance(error, PluginValidationError):
            message = str(error)
        else:
            where = f" ({place})" if (place := raised_at(error)) else ""
            message = f"{plain(error)}{where}"
        import traceback

        words, remedy, trace = " ".join(message.split()), _remedy(error, plugin, distribution), traceback.format_exc()
        raise Failure(Diagnostic(plugin, stage, words, remedy, distribution, version, traceback=trace)) from error


def import_plugin(
    entry: EntryPoint, seconds: float, manifest: Manifest | None = None, here: Mapping[str, tuple[str, str]] = {},
    elsewhere: Callable[[], Any] | None = None,
) -> Any:  # fmt: skip
    """Import the plugin object of an entry point: a module, an object in the module, or an instance of a class in it.

    A plugin that declares, in its package or its ``manifest``, that it is made for another core, or for other packages than are
    installed ``here``, is not imported. Where ``elsewhere`` is given, it is called in place of the import.

    Raises:
        Failure: the stage ``import`` or ``api`` failed.
    """
    from importlib import import_module

    owner: dict[str, Any] = {"distribution": entry.distribution, "version": entry.version}
    with isolated(entry.name, "api", **owner):
        check_made_for(entry, manifest, here)
    if elsewhere is not None:
        with isolated(entry.name, "import", **owner, seconds=0):
            return elsewhere()
    # what it writes to stdout, also past sys.stdout, goes to stderr: a command may print JSON there
    with (
        contextlib.redirect_stdout(sys.stderr),
        _one_is_stderr(),
        isolated(entry.name, "import", **owner, seconds=seconds),
    ):
        module, _, attribute = entry.value.partition(":")
        plugin: Any = import_module(module)
        for part in filter(None, attribute.split(".")):
            plugin = getattr(plugin, part)
        if isinstance(plugin, type):
            plugin = plugin()
    with isolated(entry.name, "api", **owner):
        check_api(entry.name, plugin, entry.distribution)
    return plugin


def check_api(name: str, plugin: Any, distribution: str | None = None, version: str | None = None) -> None:
    """Check the plugin API that a plugin was written for (``skillkit_api = N`` in the plugin).

    Raises:
        PluginError: the plugin was written for another API.
    """
    check_number(getattr(plugin, "skillkit_api", API_VERSION), distribution or name)


def must_be_plain(hook: str) -> bool:
    """Return whether a core hook cannot be async: registration hooks, and host hooks but ``host_closing``."""
    from ..hookspecs import host, registration

    return hook != "host_closing" and (hasattr(host, hook) or hasattr(registration, hook))


def refuse_async(hook: str) -> PluginError:
    """Return the error for an async implementation of a hook whose answer nobody awaits."""
    return PluginError(
        f"hook {hook!r} must be a plain function, this one is async: it would never run",
        hint="write 'def'; what must be awaited belongs in host_closing or in a lifecycle hook such as session_start",
    )


def refuse_awaitable(hook: str, answer: Any) -> None:
    """Raise :class:`PluginError` if a plain hook gave an awaitable."""
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise refuse_async(hook)


def check_hooks(
    manager: PluginManager, implemented: Iterable[tuple[HookCaller, Any]], events: Callable[[], Mapping[str, Any]]
) -> None:
    """Refuse implementations of unknown hooks, wrappers of lifecycle hooks, and unknown phases.

    Args:
        implemented: the implementations of a plugin, each with its hook.
        events: returns the known events by name. It is called only when events were imported.

    Raises:
        PluginError: an implementation is wrong. The error names the hook, and close matches.
    """
    from ..errors import close_matches
    from ..hookspecs import lifecycle

    for caller, impl in implemented:
        if not caller.has_spec() and not impl.optionalhook:
            hooks = {name: hook for name, hook in vars(manager.hook).items() if isinstance(hook, HookCaller)}
            close = close_matches(caller.name, [name for name, hook in hooks.items() if hook.has_spec()], 2)
            hint = f"did you mean {' or '.join(close)}?" if close else "mark it optionalhook=True if it may be absent"
            raise PluginError(f"unknown hook {caller.name!r}", hint=hint)
        imported = "skillkit_core.events.types" in sys.modules  # else no plugin can have defined an event
        dispatched = hasattr(lifecycle, caller.name) or (imported and caller.name in events())
        if (impl.wrapper or impl.hookwrapper) and dispatched:
            hint = "implement wrap_model_call or wrap_tool_call"
            raise PluginError(f"hook {caller.name!r} cannot be wrapped", hint=hint)
        extras = getattr(impl.function, EXTRAS, None) or {}
        phase, timeout = extras.get("phase"), extras.get("timeout")
        if phase not in (None, "rewrite", "first", "normal", "last", "guard"):
            raise PluginError(f"hook {caller.name!r}: unknown phase {phase!r}")
        if caller.name == "event" and (phase is not None or extras.get("tools") is not None):
            raise PluginError("hook 'event' observes every event, after all others: it has neither phase nor tools")
        if timeout is not None and not is_number(timeout):
            raise PluginError(f"hook {caller.name!r}: timeout is {timeout!r}; it must be a number of seconds")
