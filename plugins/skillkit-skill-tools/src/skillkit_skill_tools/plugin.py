"""The plugin ``skill-tools``: ``skillkit skills new``, ``check``, ``test`` and ``dev``, and reloads while a session is open.

watchdog is imported when a watch starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from skillkit_core import AgentRunner, HandlerContext, Host
    from skillkit_core.events.types import SessionShutdownEvent, SessionStartEvent


QUIET = 1.0  # seconds
_open: WeakKeyDictionary[Host, WeakSet[AgentRunner]] = WeakKeyDictionary()  # agents whose session is open
_waiting: WeakKeyDictionary[Host, TimerHandle] = WeakKeyDictionary()  # until a watch begins


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """The section ``watch``."""
    register(ConfigSection("watch", "skillkit_skill_tools.config:WatchConfig"))


@hookimpl(optionalhook=True)
def register_skill_commands(register: Callable[[Command], None]) -> None:
    """``skillkit skills new``, ``check``, ``test`` and ``dev``."""
    register(Command("new", "skillkit_skill_tools.new:new", "Make a skill with an action and tests."))
    register(Command("check", "skillkit_skill_tools.checking:check", "Say what is wrong with skills."))
    register(Command("test", "skillkit_skill_tools.testing:test", "Run the tests of skills."))
    register(Command("dev", "skillkit_skill_tools.dev:dev", "Show each change of a skill, its problems and its tests."))


@hookimpl
def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Watch once the session stays open for a moment without a run, which that of ``skillkit run`` does not."""
    if ctx.agent is not None and len(ctx.agent_path) == 1:
        host = ctx.agent.host
        if host not in _open:
            _open[host] = WeakSet()
            _later(host)
        _open[host].add(ctx.agent)


def _later(host: Host) -> None:
    from asyncio import get_running_loop
    from contextvars import Context

    # a context of its own: what begins then is no part of the handler that is called now
    _waiting[host] = get_running_loop().call_later(QUIET, _begin, host, context=Context())


def _begin(host: Host) -> None:
    agents = _open.get(host, ())
    if any(agent.running for agent in agents):
        _later(host)
    elif agents:
        from .sessions import begin

        begin(host, agents)


@hookimpl
async def session_shutdown(event: SessionShutdownEvent, ctx: HandlerContext) -> Any:
    """End with the last session."""
    if ctx.agent is not None and (agents := _open.get(ctx.agent.host)) is not None:
        agents.discard(ctx.agent)
        if not agents:
            host_shutdown(ctx.agent.host)
            if f"{__package__}.sessions" in sys.modules:
                from .sessions import ended

                await ended()


@hookimpl
def host_shutdown(host: Host) -> None:
    """End with the host."""
    _open.pop(host, None)
    if (timer := _waiting.pop(host, None)) is not None:
        timer.cancel()
    if f"{__package__}.sessions" in sys.modules:
        from .sessions import stop

        stop(host)
