"""Begins to observe an agent: makes the recorder of its host once, and arms the handlers of the agent."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl
from skillkit_core.errors import SkillKitError

from .switch import HEADERS, settings_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import ToolCallEvent

    from .recorder import Recorder

__all__ = ["start"]

log = logging.getLogger("skillkit.otel")


async def start(agent: AgentRunner) -> None:
    """Arm the handlers of ``agent`` where it is on. What is wrong is said once, and no run fails of it."""
    kept = agent.host.state("otel")
    if "recorder" not in kept:
        # importing takes a while, in which other tasks go on
        await asyncio.to_thread(_make, agent.host, kept)
    if kept["recorder"] is not None:
        agent.events.arm("otel")


def _make(host: Host, kept: dict[str, Any]) -> None:
    """Make the recorder of a host; of agents that start at once the first one makes it."""
    with kept.setdefault("making", threading.Lock()):
        if "recorder" in kept:
            return
        found: Recorder | None = None
        try:
            settings = settings_of(host)
            if settings is not None:
                from .recorder import Recorder
                from .sending import sender_of

                for secret in (*settings.headers.values(), *_values(host)):
                    host.remember_secret(secret)
                recorder = Recorder(host, settings, sender_of(settings))
                host.add_plugin(_Current(), "otel-current")
                found = recorder
        except (SkillKitError, ImportError) as error:
            log.warning("no traces are made: %s", host.redact(str(error)))
        kept["recorder"] = found


def _values(host: Host) -> list[str]:
    """Return the values of the headers in the variables: keys, mostly."""
    pairs = ",".join(host.environ.get(name, "") for name in HEADERS).split(",")
    return [pair.partition("=")[2] for pair in pairs if "=" in pair]


class _Current:
    """What makes the span of a tool call the current one, so that requests of the tool and agents in it stand below it.

    It is a plugin of its own, because a wrapper of tool calls cannot be armed: where nothing is traced there is none.
    """

    @hookimpl
    async def wrap_tool_call(
        self, call: ToolCallEvent, call_next: Callable[[], Awaitable[Any]], ctx: HandlerContext
    ) -> Any:
        agent = ctx.agent
        recorder: Recorder | None = agent.host.state("otel").get("recorder") if agent is not None else None
        if agent is None or recorder is None:
            return await call_next()
        with recorder.in_tool(call, agent):
            return await call_next()
