"""The plugin ``executor``: the executors ``local``, ``stdio`` and ``http``, the tool ``escalate``, and ``skillkit executor``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, Factory

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host, Tool, ToolCallEventResult, ToolExecutor, ToolSet
    from skillkit_core.events.types import AgentEndEvent, ApprovalResolvedEvent, ToolCallEvent

_ESCALATE = "executor.escalate"  # the topic of what the tool needs


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``executor``."""
    register(ConfigSection("executor", "skillkit_executor.section:ExecutorSection"))


@hookimpl
def register_executors(register: Callable[[Factory], None]) -> None:
    """Offer the three executors. None of them runs anything unless ``tools.executor`` names it."""
    register(Factory("local", "skillkit_executor.executor:local", "runs tools in this process, over the same wire"))
    register(Factory("stdio", "skillkit_executor.executor:stdio", "runs tools in a child process"))
    register(
        Factory("http", "skillkit_executor.executor:http", "runs tools in a child process that serves on loopback")
    )


@hookimpl
def resolve_executor(name: str | None, host: Host) -> ToolExecutor | None:
    """Let no tool run outside of the sandbox that ``executor.sandbox`` names, where nobody says which process runs tools.

    The executor ``local`` refuses each call that the sandbox should hold, and says what to set.
    """
    if name or host.config.get("tools.executor") or not host.config.raw("executor.sandbox"):
        return None
    return host.executors.get("local")


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit executor``."""
    register(Command("executor", "skillkit_executor.cli:executor", "Show which tool runs in which process, and why."))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``escalate`` where ``executor.escalate`` names a policy."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("executor", _tools, lasting=True))


def _tools(agent: AgentRunner) -> Sequence[Tool]:
    section = agent.host.config.section("executor", None)
    if section is None or not section.escalate:
        return ()
    from .escalation import tools_of

    agent.events.arm(_ESCALATE)
    return tools_of(agent)


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None]) -> None:
    """Leave the question about ``escalate`` to the guard below, where the plugin ``permissions`` is there."""
    register(Factory("executor", _Rules))


class _Rules:
    while_ = (_ESCALATE,)

    def __init__(self, host: Host) -> None:
        pass

    def __call__(self, agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
        return [("executor", {"allow": ["escalate"]})] if _tools(agent) else ()


@hookimpl(phase="guard", tools=("escalate",), while_=(_ESCALATE,))
async def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Ask a person whether a call that the sandbox refused may run again."""
    from .escalation import about_to

    return await about_to(event, ctx)


@hookimpl(tools=("escalate",), while_=(_ESCALATE,))
async def approval_resolved(event: ApprovalResolvedEvent, ctx: HandlerContext) -> None:
    """Write down what was decided about such a call."""
    from .escalation import resolved

    await resolved(event, ctx)


@hookimpl(while_=(_ESCALATE,))
async def agent_end(event: AgentEndEvent, ctx: HandlerContext) -> None:
    """Write down which such calls wait behind another one."""
    if event.outcome == "suspended" and ctx.agent is not None:
        from .escalation import put_off

        await put_off(ctx.agent)
