"""The plugin ``schedule-tools``: schedules, reminders and webhooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from skillkit_engines import ToolPack

    from skillkit_core import HandlerContext, Host, Tool
    from skillkit_core.events.types import SessionStartEvent


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define ``take_scheduled_run``."""
    from . import hooks

    add(hooks)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the sections ``schedule`` and ``webhook``."""
    register(ConfigSection("schedule", "skillkit_schedule_tools.config:ScheduleConfig"))
    register(ConfigSection("webhook", "skillkit_schedule_tools.config:WebhookConfig"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit schedule`` and ``skillkit webhook``."""
    where = "skillkit_schedule_tools"
    register(Command("schedule", f"{where}.cli:schedule", "Let requests run later, once or again and again."))
    register(Command("webhook", f"{where}.webhook_cli:webhook", "Let programs start runs by HTTP, with a secret."))


@hookimpl
def register_tools(register: Callable[[Tool], None], host: Host) -> None:
    """Offer the tools."""
    from .tools import schedule_tools

    for tool in schedule_tools(host):
        register(tool)


@hookimpl(optionalhook=True)
def register_packs(register: Callable[[ToolPack], None]) -> None:
    """Offer the pack ``schedule``, where the plugin ``engines`` is there: its tools wait until somebody asks for them."""
    from skillkit_engines import ToolPack

    names = ("schedule_reminder", "schedule_skill_run", "notify_user", "list_schedules", "cancel_schedule")
    tools = tuple(f"{name}_tool" for name in names)
    register(ToolPack("schedule", "Remind, notify, and let requests run later.", tools, tools[1:], waits=True))


@hookimpl
async def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Show the person who comes what was due meanwhile."""
    agent = ctx.agent
    if agent is None or agent.ui is None or agent.parent is not None:
        return
    if (agent.host.data_dir / "schedule" / "schedules.sqlite").exists():
        from .noticing import tell_due

        await tell_due(agent)
