"""``skillkit hooks``: which hooks count here, and what they say of an event that is made up."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, style, table, warning
from skillkit_core.errors import UnknownName, UsageError

from .answers import UNSAID
from .definitions import Hook
from .events import ABOUT, EVENTS
from .naming import ours, own_name, theirs
from .place import judge_of, mode_of, surroundings
from .running import Outcome, problems, run_hooks
from .sources import all_hooks, setting, where

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["hooks"]

_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


@click.group()
def hooks() -> None:
    """List the hooks that count here, and try them."""


@hooks.command("list")
@click.option("--events", is_flag=True, help="List the events instead, and why some do not happen here.")
@json_option
@click.pass_obj
def list_(state: Any, events: bool, as_json: bool) -> None:
    """List the hooks, and what is wrong with them."""
    if events:
        _list_events(as_json)
        return
    host: Host = state.host
    found = all_hooks(host)
    wrong = {id(hook): why for hook, why in problems(found)}
    rows = [_row(hook, wrong.get(id(hook), "")) for hook in found]
    if as_json:
        print_json(rows)
        return
    if not rows:
        echo("No hooks. They stand in the section 'hooks' of the configuration, in hooks.json, or come with bundles.")
        return
    names = ["event", "matcher", "type", "runs", "from"]
    table(names, [[row[name] for name in names] for row in rows])
    for row in rows:
        if row["problem"]:
            place = f" ({short_path(row['where'])})" if row["where"] else ""
            warning(f"{row['event']} hook of {row['from']}: {row['problem']}{place}")
    if named := setting(host, "sandbox", None):
        echo(f"Commands run in the sandbox policy {named!r}.")


def _row(hook: Hook, problem: str) -> dict[str, Any]:
    return {
        "event": hook.event, "matcher": hook.matcher or "*", "type": hook.type, "runs": hook.shown, "from": hook.origin,
        "file": hook.file, "where": where(hook) if problem else hook.file, "if": hook.handler.get("if"),
        "seconds": hook.seconds, "guards": _guards(hook), "problem": problem,
    }  # fmt: skip


def _guards(hook: Hook) -> bool:
    about = ABOUT.get(hook.event)
    return about is not None and about.guard


def _list_events(as_json: bool) -> None:
    rows = [
        {"event": name, "matches": about.matches, "guards": about.guard, "blocks": about.blocks, "absent": about.absent}
        for name, about in ABOUT.items()
    ]
    if as_json:
        print_json(rows)
        return
    words = [
        [
            row["event"],
            row["matches"] or "-",
            "guards" if row["guards"] else "blocks" if row["blocks"] else "",
            row["absent"],
        ]
        for row in rows
    ]
    table(["event", "matcher is about", "", "why it does not happen here"], words)


@hooks.command("test")
@click.argument("event")
@click.option("--tool", metavar="NAME", help="The tool, by its name here or that of Claude Code: bash, Edit.")
@click.option(
    "--input", "given", default="{}", metavar="JSON", help="What the tool is given; of other events, their fields."
)
@json_option
@click.pass_context
def test(ctx: click.Context, event: str, tool: str | None, given: str, as_json: bool) -> None:
    """Run the hooks of an event that is made up.

    \b
    skillkit hooks test PreToolUse --tool bash --input '{"command": "rm -rf build"}'
    skillkit hooks test UserPromptSubmit --input '{"prompt": "hello"}'

    The commands really run. The exit status is 1 where a hook failed.
    """
    host: Host = ctx.obj.host
    if event not in EVENTS:
        raise UnknownName("event", event, list(EVENTS))
    data = _object(given)
    began = time.monotonic()
    outcome = asyncio.run(_tried(host, event, tool, data))
    seconds = time.monotonic() - began
    if as_json:
        print_json({**_outcome(outcome), "seconds": round(seconds, 3)})
    else:
        _print(outcome, seconds)
        if EVENTS[event]:
            warning(f"{event} does not happen here: {EVENTS[event]}")
    if outcome.failures:
        ctx.exit(1)


def _object(text: str) -> Mapping[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--input is no JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise UsageError("--input is no JSON object", hint='write {"command": "ls"}')
    return data


async def _tried(host: Host, event: str, tool: str | None, data: Mapping[str, Any]) -> Outcome:
    """Run the hooks of an event with what is given."""
    cwd, judge = Path(host.cwd), None
    payload: dict[str, Any] = {
        "session_id": "test", "transcript_path": "", "cwd": str(cwd), "permission_mode": mode_of(host),
        "hook_event_name": event,
    }  # fmt: skip
    if ABOUT[event].matches == "tool_name":
        if tool is None:
            raise UsageError(
                f"{event} is about a tool", hint=f"skillkit hooks test {event} --tool bash --input '{{...}}'"
            )
        mine = own_name(tool)
        args = ours(mine, data, cwd)
        name, shown = theirs(mine, args, cwd)
        payload |= {"tool_name": name, "tool_input": shown, "tool_use_id": "test"}
        found = host.tools.get(mine) if mine in host.tools else None
        judge = judge_of(host, mine, args, getattr(found, "annotations", {}), cwd)
    else:
        payload |= data
    return await run_hooks(all_hooks(host), event, payload, surroundings(host, cwd, judge=judge))


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "decision": outcome.decision,
        "reason": outcome.reason,
        "input": None if outcome.input is UNSAID else outcome.input,
        "output": None if outcome.output is UNSAID else outcome.output,
        "context": [{"from": hook.origin, "text": text} for hook, text in outcome.context],
        "messages": [{"from": hook.origin, "text": text} for hook, text in outcome.messages],
        "stop": outcome.stop,
        "hooks": [
            {"from": one.hook.origin, "runs": one.hook.shown, "decision": one.decision, "failure": one.failure}
            for one in outcome.answers
            if one.hook is not None
        ],
    }


def _print(outcome: Outcome, seconds: float) -> None:
    if not outcome.ran:
        echo("No hook is about this.")
        return
    rows = [
        [one.hook.origin, short_path(one.hook.shown), f"failed: {one.failure}" if one.failure else one.decision]
        for one in outcome.answers
        if one.hook is not None
    ]
    table(["from", "runs", "says"], rows)
    said = _outcome(outcome)
    pairs: list[tuple[str, Any]] = [("decision", style(outcome.decision, fg=_COLOURS.get(outcome.decision)))]
    pairs += [(name, said[name]) for name in ("reason", "stop") if said[name]]
    pairs += [
        (name, json.dumps(said[name], ensure_ascii=False)) for name in ("input", "output") if said[name] is not None
    ]
    pairs += [(name, f"{row['text']} ({row['from']})") for name in ("context", "messages") for row in said[name]]
    fields([*pairs, ("took", f"{seconds:.2f} s")])
