"""The plugin ``permissions``: the guard of tool calls, its section, and ``skillkit permissions``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import hookimpl, hookspec
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host, ToolSet
    from skillkit_core.events.results import ToolCallEventResult
    from skillkit_core.events.types import ApprovalResolvedEvent, ToolCallEvent


class Hooks:
    """The hook of the family of rules that other plugins know."""

    @hookspec
    def register_permission_rules(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Offer rules that depend on the moment: ``register(Factory(name, create))``.

        ``create`` makes a function ``(agent) -> [(origin, {"allow": [...], "ask": [...], "deny": [...]}), ...]``, which is
        called for every tool call. A mapping may also have a ``mode``, which makes the agent's mode stricter, never looser.
        Where the function has topics as the attribute ``while_``, it is called for agents in which, or above which, one of them
        is armed (``agent.events.arm``, or a note of that type).
        """

    @hookspec
    def register_rule_checks(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Say whether one rule is about a call, for plugins that have rules of their own: ``host.registry("rule_checks")``.

        ``create(host)`` returns ``(rule, tool, args, annotations, cwd) -> bool``, which is true also where nobody can know.
        """

    @hookspec
    def register_permission_modes(self, register: Callable[[Factory], None], host: Host, config: Any) -> None:
        """Say which mode is in force for an agent, for plugins that tell others: ``host.registry("permission_modes")``.

        ``create(host)`` returns ``(agent: AgentRunner | None) -> mode``: ``ask``, ``accept-edits``, ``read-only`` or ``bypass``;
        for ``None`` the configured one.
        """


@hookimpl
def register_hookspecs(add: Callable[..., Any]) -> None:
    """Define the families, whose registries are ``permission_rules``, ``rule_checks`` and ``permission_modes``."""
    add(Hooks, kinds={"permission_rules": Factory, "rule_checks": Factory, "permission_modes": Factory})


@hookimpl
def register_rule_checks(register: Callable[[Factory], None]) -> None:
    """Say whether a rule is about a call, as the rules of this plugin are read."""
    register(Factory("permissions", "skillkit_permissions.single:rule_check"))


@hookimpl
def register_permission_modes(register: Callable[[Factory], None]) -> None:
    """Say which mode is in force for an agent."""
    register(Factory("permissions", _mode))


def _mode(host: Host) -> Callable[[AgentRunner | None], str]:
    from .policy import mode_of, policy_of

    return lambda agent: policy_of(host).mode if agent is None else mode_of(agent, policy_of(host))


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``permissions``."""
    register(ConfigSection("permissions", "skillkit_permissions.config:PermissionsConfig"))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer the opt-in tools that a rule allows or asks about."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("allowed by rules", "skillkit_permissions.policy:offered_tools", lasting=True))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """``skillkit permissions``."""
    register(Command("permissions", "skillkit_permissions.cli:permissions", "Show, check and revoke permissions."))


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """``/permissions`` and ``/mode``, where the plugin ``commands`` is there."""
    from .slash import COMMAND, MODE

    register(COMMAND)
    register(MODE)


@hookimpl(optionalhook=True)
def register_indicators(register: Callable[[Factory], None]) -> None:
    """Show the mode in the status line of front ends."""
    register(Factory("mode", _shown_mode))


def _shown_mode(host: Host) -> Callable[[AgentRunner], str]:
    from .slash import shown_mode

    return shown_mode


@hookimpl(optionalhook=True)
def register_file_filters(register: Callable[[Factory], None]) -> None:
    """Leave out of searches what may not be read, where the plugin ``files`` is there."""
    register(Factory("permissions", "skillkit_permissions.filters:readable"))


@hookimpl(optionalhook=True)
def register_sandbox_rules(register: Callable[[Factory], None]) -> None:
    """Let the kernel hold what rules deny to processes of tools, where the plugin ``sandbox`` is there."""
    register(Factory("permissions", "skillkit_permissions.kernel:sandbox_rules"))


@hookimpl(optionalhook=True)
def explain_tools(agent: AgentRunner) -> Mapping[str, str]:
    """Say which rules keep tools from a model, where the plugin ``why`` is there."""
    from .policy import denied_tools

    return denied_tools(agent)


@hookimpl(phase="guard")
def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | Any:
    """Block a call, ask about it, or let it run."""
    from .guard import before_tool_call as decided

    return decided(event, ctx)


@hookimpl
async def approval_resolved(event: ApprovalResolvedEvent, ctx: HandlerContext) -> None:
    """Remember what a person wants to be remembered."""
    from . import guard

    await guard.learn(event, ctx)
