"""The plugin ``sandbox``: policies, backends, the runtime that keeps commands inside, and ``skillkit sandbox``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host, SkillRuntime, ToolCallEventResult
    from skillkit_core.events.types import SessionBeforeForkEvent, SessionStartEvent, ToolCallEvent

_stay_off: WeakSet[AgentRunner] = WeakSet()  # agents that go on in an empty session while the network is off


class Hooks:
    """The hook of the family of backends."""

    @hookspec
    def register_sandbox_backends(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer backends: ``register(Factory(name, create))``, where ``create(host)`` makes a ``skillkit_sandbox.box.Backend``.

        They are tried in the order of registration.
        """

    @hookspec
    def register_sandboxes(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer makers of sandboxes. The item ``sandbox`` is a ``skillkit_sandbox.Sandboxes``."""

    @hookspec
    def register_sandbox_rules(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer policies that depend on the moment: ``register(Factory(name, create))``.

        ``create(host)`` makes a function ``(agent) -> SandboxPolicy | data of one | names of policies | None``. What it returns
        holds besides every other policy for what the agent's tools do in a process of their own; ``None``: nothing now. It is
        called for every tool call. Data hold where a sandbox can hold them. A ``SandboxPolicy``, and policies that are named,
        must hold: without a sandbox that holds them, the calls are refused.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the families, whose registries are ``sandbox_backends``, ``sandboxes`` and ``sandbox_rules``."""
    add(Hooks, kinds={"sandbox_backends": Factory, "sandboxes": Factory, "sandbox_rules": Factory})


@hookimpl
def register_sandbox_backends(register: Callable[[Factory], None]) -> None:
    """Offer bubblewrap, then Landlock."""
    register(
        Factory("bubblewrap", "skillkit_sandbox.box:BubblewrapBackend", "namespaces, mounts, a filter of system calls")
    )
    register(Factory("landlock", "skillkit_sandbox.box:LandlockBackend", "path rules of the kernel; holds less"))


@hookimpl
def register_sandboxes(register: Callable[[Factory], None]) -> None:
    """Offer the sandboxes of the configured policies."""
    register(Factory("sandbox", "skillkit_sandbox.box:Sandboxes", "policies by name, and commands inside them"))


@hookimpl(optionalhook=True)
def register_indicators(register: Callable[[Factory], None]) -> None:
    """Show the network of tools in the status line of front ends."""
    register(Factory("network", "skillkit_sandbox.box:network_of"))


@hookimpl(optionalhook=True)
def register_chords(register: Callable[[Any], None]) -> None:
    """Switch the network by the leader key, where the plugin ``tui`` is there."""
    from skillkit_tui import Chord

    register(Chord("network", "n", "network on or off", "/network toggle"))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/network``, where the plugin ``commands`` is there."""
    from .slash import COMMANDS

    for command in COMMANDS:
        register(command)


@hookimpl
def register_sandbox_rules(register: Callable[[Factory], None]) -> None:
    """Take the network away from processes of tools while it is off."""
    register(Factory("network off", _offline))


def _offline(host: Host) -> Callable[[AgentRunner], Any]:
    from .network import is_off, offline

    return lambda agent: offline() if is_off(agent) else None


@hookimpl(phase="guard", while_=("sandbox.network",))
async def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Refuse calls that no sandbox holds and that may reach something, while the network is off."""
    from .network import is_off, refusal

    if ctx.agent is None or not is_off(ctx.agent):
        return None
    from skillkit_core import ToolCallEventResult

    reason = await refusal(ctx.agent, event.tool_name, event.annotations)
    return None if reason is None else ToolCallEventResult(block=True, reason=reason)


@hookimpl
def session_before_fork(event: SessionBeforeForkEvent, ctx: HandlerContext) -> None:
    """Remember that the network is off where the agent goes on in an empty session, which has no notes."""
    from .network import is_off

    if ctx.agent is not None:
        (_stay_off.add if event.target is None and is_off(ctx.agent) else _stay_off.discard)(ctx.agent)


@hookimpl
async def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Keep the network off in the empty session."""
    agent = ctx.agent
    if event.reason == "fork" and agent is not None and agent in _stay_off:
        from .network import NOTE

        _stay_off.discard(agent)
        await agent.session.note(NOTE, {"network": "off"}, sync=True)


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``sandbox``."""
    register(ConfigSection("sandbox", "skillkit_sandbox.section:SandboxConfig"))


@hookimpl
def register_runtimes(register: Callable[[Factory], None]) -> None:
    """Offer the runtime ``sandbox``, which runs commands of another runtime inside."""
    register(Factory("sandbox", "skillkit_sandbox.runtime:SandboxRuntime", "runs commands in a sandbox"))


@hookimpl
def resolve_runtime(name: str | None, host: Host) -> SkillRuntime | None:
    """Keep commands inside where ``sandbox.commands`` names a policy, whichever runtime was asked for.

    With a section that cannot be read no command runs, and the runtime says what is wrong: an error here would be the plugin's.
    """
    if not any(layer.data.get("sandbox") for layer in host.config.layers):
        return None
    from skillkit_core.errors import SkillKitError

    from .config import commands_of
    from .runtime import sandboxed

    try:
        if not commands_of(host):
            return None
    except SkillKitError:
        pass  # the runtime says so when it runs a command
    return sandboxed(host, name)


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit sandbox``."""
    register(Command("sandbox", "skillkit_sandbox.cli:sandbox", "Run commands in a sandbox; say what works here."))
