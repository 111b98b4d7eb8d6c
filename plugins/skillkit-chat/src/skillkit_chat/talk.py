"""Driving a run from the command line: showing it as it goes, signals, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from skillkit_core.cli.output import echo, error_line, print_json, stdout, style, warning
from skillkit_core.errors import SkillKitError, UsageError, raised_at

from .waiting import show_waiting

if TYPE_CHECKING:
    from skillkit_core import AgentResponse, AgentRunner

    from .options import Options

__all__ = ["INTERRUPTED", "in_words", "talk"]

INTERRUPTED = 130
LAST_SECONDS = {"SIGTERM": 1.7, "SIGHUP": 0.7}  # for the end of a run and of what it started


class Interrupted(KeyboardInterrupt):
    """The user interrupts a second time."""


async def in_words(work: Awaitable[int]) -> int:
    """Do the work of a command; return its exit code.

    Raises:
        SkillKitError: a plugin raised ``SystemExit``, or ``KeyboardInterrupt`` and nobody pressed a key.
    """
    try:
        return await work
    except Interrupted:
        raise
    except (KeyboardInterrupt, SystemExit) as error:
        message = f"a plugin ended the command: it raised {type(error).__name__}"
        raise SkillKitError(message, where=raised_at(error)) from error


async def talk(agent: AgentRunner, options: Options, work: Callable[[], Awaitable[AgentResponse]]) -> Callable[[], int]:
    """Do the work of an agent whose session is open and show it as it goes; gives what prints the rest and says the exit code."""
    from skillkit_frontend import EventLines

    from skillkit_core import AgentError

    from .display import Display
    from .report import Report

    report = Report(agent, options.again.command(agent.host, agent.session.id))
    display = Display(agent, verbose=options.verbose and not options.as_json, quiet=options.as_json)
    if options.events:
        lines = EventLines(agent.host.secrets)
        agent.events.observe(lambda event: _lines(lines.of(event)))
    caught = _abort_on_signals(agent)
    display.start()
    response: AgentResponse | None = None
    failure: AgentError | None = None
    try:
        response = await work()
    except AgentError as error:
        failure, response = error, error.response
    finally:
        await display.stop()
    code = INTERRUPTED if caught else _exit_code(response, failure)
    result = agent.host.redact(report.to_dict(response, failure, code == 0))

    def finish() -> int:
        if options.events:
            _line({"type": "result", **result})
        elif options.as_json:
            print_json(result)
        else:
            display.end_of_text()
            _print_answer(display, response, agent.host.redact(str(failure)) if failure is not None else None, code)
            if report.waiting:
                show_waiting(report.waiting, agent.session.id, report.going_on)
            if code == 0 and report.in_vain:
                warning(agent.host.redact(report.in_vain))
            _say_offline(report)
        return code

    return finish


def _lines(values: Iterable[Any]) -> None:
    for value in values:
        _line(value)


def _line(value: Any) -> None:
    """One JSON line; once nobody reads any more, nothing more is written."""
    try:
        stdout().write(json.dumps(value, ensure_ascii=True, default=str) + "\n")
        stdout().flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout().fileno())


def _exit_code(response: AgentResponse | None, failure: Any) -> int:
    from skillkit_core import StopReason

    if failure is not None:
        cause = failure.__cause__
        return 2 if isinstance(cause, UsageError) else 1
    if response is None or response.outcome != "completed" or response.stop_reason is StopReason.refusal:
        return 1
    return 0


def _print_answer(display: Any, response: AgentResponse | None, failure: str | None, code: int) -> None:
    answer = response.content if response is not None else ""
    already = bool(display.printed)
    if answer and not already:
        echo(answer, err=code == 1 and failure is None)
    if failure is not None:
        error_line(failure)
    elif response is not None and response.outcome == "limit":
        own = response.reason.startswith("the limit of ")  # else a plugin says what its budget is
        error_line(response.reason + ("; raise it in the configuration (limits) or with --max-turns" if own else ""))


def _say_offline(report: Any) -> None:
    if report.provider == "offline" and sys.stderr.isatty():
        echo(
            style("offline: no model was asked; set a key or --provider to use one", dim=True, stream=sys.stderr),
            err=True,
        )


def _leave() -> None:
    """End the process on the spot. The session is whole: each entry was written when it came."""
    with contextlib.suppress(OSError):  # the terminal is gone
        os.write(2, b"Error: left without waiting for a plugin that does not end\n")
    os._exit(INTERRUPTED)


def _abort_on_signals(agent: AgentRunner) -> list[int]:
    """The first SIGINT, SIGTERM or SIGHUP ends the run and keeps what was said; the list says which came.

    A second one does not wait for the loop, which a handler or an expression may hold up: it interrupts what runs, and a
    third ends the process on the spot. So these are plain signal handlers, not the loop's. Who sends SIGTERM or SIGHUP sends it
    once: what has not ended ``LAST_SECONDS`` after that, as a handler that loops, is left by a thread that needs nobody.
    """
    caught: list[int] = []
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: Any) -> None:
        caught.append(number)
        if len(caught) == 1:
            if number != signal.SIGINT:
                leaving = threading.Timer(LAST_SECONDS[signal.Signals(number).name], _leave)
                leaving.daemon = True
                leaving.start()
            loop.call_soon_threadsafe(agent.abort, f"interrupted by {signal.Signals(number).name}")
        elif len(caught) == 2:
            raise Interrupted
        else:
            os._exit(INTERRUPTED)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, stop)
    return caught
