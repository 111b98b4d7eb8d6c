"""The calls of hooks by handler, as ``skillkit inspect`` prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core import AgentConfig, AgentError, AgentRunner
from skillkit_core.cli.output import echo, style, table

from .tracer import FAMILIES, Traced, Tracer, hook_families

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = [
    "empty_row",
    "in_order",
    "isolated_cost",
    "print_handlers",
    "print_hooks",
    "print_isolated",
    "summary",
    "trace_request",
]

SLOW_SECONDS = 0.05
COLOURS = {"failed": "red", "slow": "yellow", "bypassed": "yellow", "answered": "green"}


async def trace_request(host: Host, config: AgentConfig, request: str) -> dict[str, Any]:
    """Run a request in a session in memory, record the calls of hooks, and close the host.

    Returns:
        ``outcome``, ``content`` and ``error`` of the run, ``handlers`` (see :func:`summary`), ``isolated`` (see
        :func:`isolated_cost`) and ``calls``, one row per call.
    """
    tracer = Tracer(host)
    agent = AgentRunner(config, host=host)
    error: str | None = None
    content = outcome = ""
    try:
        response = await agent.chat(request)
        content, outcome = response.content, response.outcome
    except AgentError as failure:
        error, outcome = str(failure), failure.response.outcome if failure.response is not None else "failed"
    finally:
        await agent.aclose()
        await host.aclose()
    return {
        "outcome": outcome,
        "content": content,
        "error": error,
        "handlers": summary(tracer.calls),
        "isolated": isolated_cost(host, tracer.calls),
        "calls": [call.to_dict() for call in tracer.calls if call.plugin is not None],
    }


def summary(calls: Sequence[Traced]) -> list[dict[str, Any]]:
    """Return one row per handler of a plugin, with a ``state``, in the order of :func:`in_order`."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for call in calls:
        if call.plugin is None:
            continue
        row = rows.setdefault((call.hook, call.handler), empty_row(call.hook, call.family, call.plugin, call.handler))
        row["phase"] = call.phase
        if call.bypassed_by is not None:
            row["bypassed_by"][call.bypassed_by] = row["bypassed_by"].get(call.bypassed_by, 0) + 1
            continue
        row["calls"] += 1
        for name, seconds in (("seconds", call.seconds), ("inner_seconds", call.inner_seconds)):
            row[name] = round(row[name] + seconds, 6)
        row["slowest"] = round(max(row["slowest"], call.seconds), 6)
        if call.next_calls is not None:
            row["next_calls"] = (row["next_calls"] or 0) + call.next_calls
        if call.answer and call.answer not in row["answers"]:
            row["answers"].append(call.answer)
        if call.error is not None and call.error not in row["errors"]:
            row["errors"].append(call.error)
    return in_order(rows.values())


def isolated_cost(host: Host, calls: Iterable[Traced]) -> list[dict[str, Any]]:
    """Return what hooks cost of plugins in processes of their own: ``plugin``, ``calls``, median ``microseconds`` of a call."""
    times: dict[str, list[float]] = {}
    for call in calls:
        if call.family == "lifecycle" and call.error is None and call.plugin in host.config.isolated:
            times.setdefault(str(call.plugin), []).append(call.seconds)
    return [
        {"plugin": plugin, "calls": len(all_), "microseconds": round(sorted(all_)[len(all_) // 2] * 1e6)}
        for plugin, all_ in times.items()
    ]


def print_isolated(rows: Iterable[dict[str, Any]]) -> None:
    """Print what the hooks of isolated plugins cost."""
    for row in rows:
        echo(
            f"{row['plugin']} runs in a process of its own: {row['microseconds']} us a hook ({row['calls']} calls, median)"
        )


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of the reference, each with its ``state``.

    The rows of one hook stay in the order of their calls.
    """
    places = {hook: place for place, hook in enumerate(hook_families())}
    last = len(places)
    found = sorted(rows, key=lambda row: (FAMILIES.index(row["family"]), places.get(row["hook"], last), row["hook"]))
    return [row | {"state": state_of(row)} for row in found]


def empty_row(hook: str, family: str, plugin: str, handler: str) -> dict[str, Any]:
    """Return the row of a handler that was not called."""
    return {
        "hook": hook,
        "family": family,
        "plugin": plugin,
        "handler": handler,
        "phase": "",
        "calls": 0,
        "seconds": 0.0,
        "inner_seconds": 0.0,
        "slowest": 0.0,
        "next_calls": None,
        "answers": [],
        "errors": [],
        "bypassed_by": {},
        "reason": None,
    }


def state_of(row: dict[str, Any]) -> str:
    """Return ``failed``, ``bypassed`` (never called), ``slow``, ``answered`` or ``silent`` (called, no answer)."""
    if row["errors"]:
        return "failed"
    if not row["calls"]:
        return "bypassed"
    if row["slowest"] > SLOW_SECONDS:
        return "slow"
    return "answered" if row["answers"] or row["next_calls"] is not None else "silent"


def print_handlers(rows: list[dict[str, Any]]) -> None:
    """Print the calls, the own time, the state and the answers of each handler."""
    if not rows:
        echo("No plugin has a hook in it.")
        return
    table(
        ["hook", "plugin", "calls", "ms", "state", "answer"],
        [
            [row["hook"], row["plugin"], row["calls"], f"{row['seconds'] * 1000:.2f}", row["state"], _details(row)]
            for row in rows
        ],
        right=(2, 3),
        styles=lambda i, cell: {"fg": COLOURS[cell]} if i == 4 and cell in COLOURS else {},
    )


def _details(row: dict[str, Any]) -> str:
    """Return what a handler answered, or why it did not."""
    words = [*row["errors"], *([row["reason"]] if row["reason"] else [])]
    words += [", ".join(f"{name}: {value}" for name, value in answer.items()) for answer in row["answers"]]
    if row["next_calls"] is not None:
        times = {0: "did not call the next", 1: "called the next once"}
        count = times.get(row["next_calls"], f"called the next {row['next_calls']} times")
        words.append(count + (f", {row['inner_seconds'] * 1000:.2f} ms" if row["next_calls"] else ""))
    words += [
        f"{who} answered first" + (f" ({count} times)" if count > 1 else "")
        for who, count in row["bypassed_by"].items()
    ]
    return "; ".join(words)


def print_hooks(hooks: list[dict[str, Any]]) -> None:
    """Print how many hooks were fired, and why the others were not."""
    fired = [hook for hook in hooks if hook["fired"]]
    nobody = sum(not hook["plugins"] for hook in fired)
    echo(
        f"{style('✓', fg='green')} {len(fired)} of {len(hooks)} hooks fired; {nobody} of them are implemented by no plugin"
    )
    for hook in hooks:
        if not hook["fired"]:
            echo(f"{style('!', fg='yellow')} {hook['hook']} was not fired: {hook['reason']}")
