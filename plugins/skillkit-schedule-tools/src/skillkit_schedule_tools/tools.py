"""The tools: notify, remind, schedule, and what is scheduled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import Tool, ToolError, ToolOutput, UsageError

from .store import Schedule, store_of

if TYPE_CHECKING:
    from skillkit_core import Host, ToolContext

__all__ = [
    "cancel_schedule",
    "list_schedules",
    "notify_user",
    "schedule_reminder",
    "schedule_skill_run",
    "schedule_tools",
]

_MOST = 500  # schedules


def _object(required: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT = {"type": "string", "minLength": 1, "maxLength": 2000}
_WHEN = {
    "type": "string", "minLength": 1, "maxLength": 200,
    "description": "In words or as cron: every weekday at 8; tomorrow at 9; 2026-12-01 09:00; 0 8 * * 1-5.",
}  # fmt: skip
_ZONE = {"type": "string", "maxLength": 60, "description": "A time zone: Europe/Berlin. Default: the person's."}


def schedule_tools(host: Host) -> tuple[Tool, ...]:
    """Return the tools. What runs later without a person changes the world, so a person is asked before it is scheduled."""
    alone, here = "permissions" not in host.plugins, f"{__name__}:"
    return (
        Tool("notify_user_tool", "Show the person a short notice now; where nobody is there, when somebody comes.",
             f"{here}notify_user",
             _object(["text"], text=_TEXT, level={"enum": ["info", "warning", "error"], "default": "info"}),
             annotations={"mutates": "none"}),
        Tool("schedule_reminder_tool", "Remind the person of something at a time, once or again and again.",
             f"{here}schedule_reminder", _object(["text", "when"], text=_TEXT, when=_WHEN, zone=_ZONE), sequential=True,
             annotations={"mutates": "none"}),
        Tool("schedule_skill_run_tool", "Let a request run later without a person, once or again and again. Nobody can approve "
             "anything then: what needs it waits.", f"{here}schedule_skill_run",
             _object(["request", "when"], request={**_TEXT, "description": "What is to be done, with all that is needed."},
                     when=_WHEN, zone=_ZONE, skill={"type": "string", "maxLength": 100, "description": "The skill that does it."},
                     missed={"enum": ["once", "all", "skip"], "default": "once",
                             "description": "For moments when the machine was off."}),
             opt_in=alone, sequential=True, annotations={"mutates": "world"}),
        Tool("list_schedules_tool", "List reminders and scheduled runs.", f"{here}list_schedules", _object([]), replay="safe",
             annotations={"mutates": "none"}),
        Tool("cancel_schedule_tool", "Cancel a reminder or a scheduled run by its name.", f"{here}cancel_schedule",
             _object(["name"], name={"type": "string", "minLength": 1, "maxLength": 100}), opt_in=alone, sequential=True,
             annotations={"mutates": "world"}),
    )  # fmt: skip


async def notify_user(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Show a notice; keep it where nobody is there."""
    text = args["text"].strip()
    if not text:
        raise ToolError("there is nothing to say: the text is empty")
    if ctx.ui is not None:
        await ctx.ui.notify(text, args.get("level", "info"))
        return "The person was told."
    await asyncio.to_thread(store_of(ctx.agent.host).leave, text, ctx.agent.clock.time())
    return "Nobody is there; the person reads it when somebody comes."


async def schedule_reminder(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Keep a reminder."""
    return await _kept(args, ctx, "remind", args["text"])


async def schedule_skill_run(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Keep a run in the folder of this session."""
    skill = args.get("skill", "").strip()
    if skill and not ctx.agent.host.skills.has(skill):
        raise ToolError(f"there is no skill {skill!r}")
    return await _kept(args, ctx, "run", args["request"], skill=skill, missed=args.get("missed", "once"))


async def _kept(args: Mapping[str, Any], ctx: ToolContext, kind: str, text: str, **more: Any) -> ToolOutput:
    from .when import following, read_when, shown_time

    host, now = ctx.agent.host, ctx.agent.clock.time()
    if not text.strip():
        raise ToolError("it is not said what is to be done: the text is empty")
    try:
        when = read_when(args["when"], args.get("zone") or host.config.section("schedule").zone, now)
        due = following(when, now)
        if len(store_of(host).schedules()) >= _MOST:
            raise ToolError(f"there are {_MOST} schedules; cancel some first")
        made = store_of(host).add(
            Schedule(
                "",
                kind,
                host.redact(text.strip()),
                folder=str(ctx.cwd),
                created=now,
                next=due,
                **when._asdict(),
                **more,
            )
        )
    except UsageError as error:
        raise ToolError(str(error)) from None
    first = shown_time(due, when.zone) if due is not None else "never"
    runner = " It runs while 'skillkit schedule run' does." if kind == "run" else ""
    return ToolOutput(
        f"Kept as {made.id}: {when.told()}; next {first}.{runner}",
        details={"name": made.id, "next": due, "cron": when.cron},
    )


async def list_schedules(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """List what is scheduled."""
    from .when import shown_time

    found = await asyncio.to_thread(store_of(ctx.agent.host).schedules, "run", "remind")
    lines = [
        f"{one.id} ({one.kind}): {one.when.told()}; next {shown_time(one.next, one.zone) if one.next else 'never'}: {one.text}"
        for one in found
    ]
    return ToolOutput(
        "\n".join(lines) or "Nothing is scheduled.", details=[{"name": o.id, "next": o.next} for o in found]
    )


async def cancel_schedule(args: Mapping[str, Any], ctx: ToolContext) -> str:
    """Forget a schedule."""
    store = store_of(ctx.agent.host)
    found = await asyncio.to_thread(store.get, args["name"])
    if found is None or found.kind == "webhook":
        raise ToolError(f"there is no schedule {args['name']!r}; list_schedules_tool names them")
    await asyncio.to_thread(store.remove, found.id)
    return f"Cancelled {found.id}: {found.text}"
