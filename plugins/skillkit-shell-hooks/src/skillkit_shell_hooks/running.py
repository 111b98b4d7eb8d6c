"""Runs the hooks of one event: those that fit, beside each other, each once; and makes one outcome of their answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .answers import UNSAID, Answer, Decision, failed, read_answer
from .definitions import Hook
from .events import ABOUT, About
from .matching import fits, matcher_problem
from .naming import camel
from .surroundings import Runner, Surroundings

__all__ = ["Outcome", "chosen", "fold", "problems", "run_hooks"]

_ORDER: Mapping[Decision, int] = {"none": 0, "allow": 1, "ask": 2, "deny": 3}
_TOOLS = frozenset({"PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"})
_log = logging.getLogger("skillkit.shell_hooks")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What all hooks of one event say together: deny over ask over allow, and every context.

    Attributes:
        decision: ``none``, ``allow``, ``ask`` or ``deny``; ``deny`` also stands for ``block``.
        reason: the reasons of those who decided so.
        input: the input that a hook wants instead, of the last one in the order of the settings; ``UNSAID``: none.
        output: the same of the output.
        rewriter: who wants the input.
        context: texts for the model, each with the hook that says it.
        messages: texts for the person.
        stop: why the run ends; ``None``: it goes on.
        ran: how many hooks ran.
        failures: hooks that failed, each with why.
    """

    decision: Decision = "none"
    reason: str = ""
    input: Any = UNSAID
    output: Any = UNSAID
    rewriter: Hook | None = None
    context: tuple[tuple[Hook, str], ...] = ()
    messages: tuple[tuple[Hook, str], ...] = ()
    stop: str | None = None
    ran: int = 0
    failures: tuple[tuple[Hook, str], ...] = ()
    answers: tuple[Answer, ...] = field(default=(), repr=False)


def chosen(hooks: Iterable[Hook], event: str, payload: Mapping[str, Any], around: Surroundings) -> list[Hook]:
    """Return the hooks that an event calls, each once."""
    about = ABOUT.get(event, About())
    value = str(payload.get(about.matches) or "") if about.matches else ""
    values = tuple(around.names_of(value)) if about.matches == "tool_name" else (value,)
    if about.matches == "file_path":
        values = (value, value.rpartition("/")[2])
    found: dict[str, Hook] = {}
    for hook in hooks:
        if hook.event == event and (not about.matches or fits(hook.matcher, values)) and _meant(hook, payload, around):
            found.setdefault(hook.identity, hook)
    return list(found.values())


def _meant(hook: Hook, payload: Mapping[str, Any], around: Surroundings) -> bool:
    """Return whether ``if`` is about the event. A rule that cannot be judged is about everything."""
    rule = hook.handler.get("if")
    if rule is None:
        return True
    if hook.event not in _TOOLS:
        return False
    if not isinstance(rule, str) or around.judge is None:
        return True
    return around.judge(rule, payload)


async def run_hooks(hooks: Iterable[Hook], event: str, payload: Mapping[str, Any], around: Surroundings) -> Outcome:
    """Run the hooks that an event calls, beside each other, and return what they say together.

    Args:
        hooks: all hooks there are, also of other events.
        event: name of the event.
        payload: what each gets on stdin.
        around: where they run.
    """
    mine = chosen(hooks, event, payload, around)
    if not mine:
        return Outcome()
    if len(mine) == 1:
        return fold([await _answer(mine[0], payload, around)])
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_answer(hook, payload, around)) for hook in mine]
    return fold([task.result() for task in tasks])


async def _answer(hook: Hook, payload: Mapping[str, Any], around: Surroundings) -> Answer:
    if hook.problem:
        return failed(hook, hook.problem, closed=around.closed)
    if (hook.handler.get("async") is True or hook.handler.get("asyncRewake") is True) and around.later is not None:
        around.later(_run(hook, payload, around))
        return Answer(hook=hook)
    return await _run(hook, payload, around)


async def _run(hook: Hook, payload: Mapping[str, Any], around: Surroundings) -> Answer:
    began = time.monotonic()
    run = _runner(hook, around)
    if run is None:
        return failed(hook, f"handlers of type {hook.type!r} need an agent", closed=around.closed)
    ended = await run(hook, camel(payload) if hook.wire == "camel" else payload, around)
    answer = read_answer(hook, ended, closed=around.closed, tool=str(payload.get("tool_name") or ""))
    answer = replace(answer, seconds=time.monotonic() - began)
    _log.debug("%s: %.3f s, %s", hook.label, answer.seconds, answer.failure or answer.decision)
    return answer


def _runner(hook: Hook, around: Surroundings) -> Runner | None:
    """Return what runs a handler; ``None``: nothing can here."""
    if hook.type == "command":
        from .processes import run_command

        return run_command
    if hook.type == "http":
        from .web import run_http

        return run_http
    return around.ask


def fold(answers: Sequence[Answer]) -> Outcome:
    """Return many answers as one."""
    decision: Decision = max((one.decision for one in answers), key=_ORDER.__getitem__)
    reasons = dict.fromkeys(one.reason for one in answers if one.decision == decision and one.reason)
    rewrites = [one for one in answers if one.input is not UNSAID] if decision != "deny" else []
    outputs = [one.output for one in answers if one.output is not UNSAID]
    stops = [one.stop for one in answers if one.stop is not None]
    return Outcome(
        decision,
        "; ".join(reasons),
        rewrites[-1].input if rewrites else UNSAID,
        outputs[-1] if outputs else UNSAID,
        rewrites[-1].hook if rewrites else None,
        tuple((one.hook, text) for one in answers for text in one.context if one.hook is not None),
        tuple((one.hook, text) for one in answers for text in one.messages if one.hook is not None),
        stops[0] if stops else None,
        len(answers),
        tuple((one.hook, one.failure) for one in answers if one.failure and one.hook is not None),
        tuple(answers),
    )


def problems(hooks: Iterable[Hook]) -> list[tuple[Hook, str]]:
    """Return what is wrong with hooks before anything runs: what cannot run, events that do not happen, odd matchers."""
    found = []
    for hook in hooks:
        about = ABOUT.get(hook.event)
        why = hook.problem
        why = why or ("there is no such event" if about is None else about.absent)
        why = why or (matcher_problem(hook.matcher) if about is not None and about.matches else "")
        if why:
            found.append((hook, why))
    return found
