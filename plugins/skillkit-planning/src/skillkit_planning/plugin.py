"""The plugin ``planning``: the activity, its guard and its prompt, ``ask_user``, ``tasks``, ``skillkit plan``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from skillkit_core import hookimpl
from skillkit_core.descriptors import Command, ConfigSection, ContextProvider, Factory

from .state import ACTIVITY, TASKS, activity_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, HandlerContext, Host, ToolCallEventResult, TurnStartResult
    from skillkit_core.events.types import SessionStartEvent, ToolCallEvent, ToolResultEvent, TurnStartEvent
    from skillkit_core.tools import Tool, ToolSet

plan_hosts: WeakSet[Host] = WeakSet()
"""Hosts whose next session begins with a plan, because ``skillkit plan`` was called."""
_LAST = 1_000  # behind every other part of the system prompt


@hookimpl
def register_config(register: Callable[[ConfigSection], None]) -> None:
    """Offer the section ``planning``."""
    register(ConfigSection("planning", "skillkit_planning.state:Settings"))


@hookimpl
def register_commands(register: Callable[[Command], None]) -> None:
    """Offer ``skillkit plan``."""
    register(Command("plan", "skillkit_planning.cli:plan", "Make a plan first, show it, or carry it out."))


@hookimpl
def register_tools(register: Callable[[ToolSet], None]) -> None:
    """Offer ``ask_user`` where somebody can be asked, and in a plan; and ``tasks`` where somebody sees the list."""
    from skillkit_core.tools import ToolSet

    register(ToolSet("planning", _tools, lasting=True))


@hookimpl
def register_context_providers(register: Callable[[ContextProvider], None]) -> None:
    """Offer the last parts of the system prompt: what planning means, or the plan that is carried out; the list of tasks."""
    register(ContextProvider("plan", _prompt, order=_LAST))
    register(ContextProvider("tasks", _remembered, order=_LAST))


def _tools(agent: AgentRunner) -> tuple[Tool, ...]:
    if agent.ui is None and activity_of(agent) != "plan" and not _asked(agent):
        return ()
    from .asking import TOOLS

    if agent.ui is None or agent.parent is not None:
        return TOOLS
    from .tasks import KEEP_TASKS

    return (*TOOLS, KEEP_TASKS)


def _asked(agent: AgentRunner) -> bool:
    """Return whether the last answer calls the tool, which may wait for a person and is answered in this process."""
    session = agent.open_session
    return session is not None and "ask_user" in session.called


def _prompt(agent: AgentRunner) -> str | None:
    if ACTIVITY not in agent.events.armed and activity_of(agent) != "plan":
        return None
    from .activity import prompt_of

    return prompt_of(agent)


def _remembered(agent: AgentRunner) -> str | None:
    if TASKS not in agent.events.armed:
        return None
    from .tasks import remembered

    return remembered(agent)


@hookimpl(optionalhook=True)
def register_slash_commands(register: Callable[[Any], None]) -> None:
    """Offer ``/plan``, ``/exec`` and ``/tasks``, where the plugin ``commands`` is there."""
    from .slash import COMMANDS

    for command in COMMANDS:
        register(command)


@hookimpl(optionalhook=True)
def register_permission_rules(register: Callable[[Factory], None]) -> None:
    """Allow writing the plan without a question, where the plugin ``permissions`` is there."""
    register(Factory("planning", _Rules))


class _Rules:
    while_ = (ACTIVITY,)

    def __init__(self, host: Host) -> None:
        pass

    def __call__(self, agent: AgentRunner) -> Sequence[Any]:
        if agent.parent is not None or activity_of(agent) != "plan":
            return ()
        from .activity import rules_of

        return rules_of(agent)


@hookimpl(optionalhook=True)
def register_sandbox_rules(register: Callable[[Factory], None]) -> None:
    """Let the kernel keep processes of tools from writing anything but the plan, where the plugin ``sandbox`` is there."""
    register(Factory("planning", _policies))


def _policies(host: Host) -> Callable[[AgentRunner], Any]:
    def policy(agent: AgentRunner) -> Any:
        if activity_of(agent) != "plan":
            return None
        from .plan_file import policy_of

        return policy_of(host, agent.cwd, writes=agent.parent is None)

    return policy


@hookimpl(optionalhook=True)
def register_indicators(register: Callable[[Factory], None]) -> None:
    """Show the activity and the task that is done now in the status line of front ends."""
    register(Factory("activity", _activity))
    register(Factory("tasks", _doing))


@hookimpl(optionalhook=True)
def register_chords(register: Callable[[Any], None]) -> None:
    """Edit the plan by the leader key, also while the agent works, where the plugin ``tui`` is there."""
    from skillkit_tui import Chord

    register(Chord("edit-plan", "e", "edit the plan", "skillkit_planning.slash:edit_plan"))


def _activity(host: Host) -> Callable[[AgentRunner], str]:
    return lambda agent: activity_of(agent).upper()


def _doing(host: Host) -> Callable[[AgentRunner], str]:
    from .tasks import now_doing

    return now_doing


@hookimpl
async def session_start(event: SessionStartEvent, ctx: HandlerContext) -> None:
    """Begin in the activity that ``skillkit plan`` asked for; an agent that another one asks in a plan keeps planning."""
    agent = ctx.agent
    if agent is None:
        return
    if agent.parent is not None:
        if activity_of(agent) == "plan":
            await agent.session.note(ACTIVITY, {"activity": "plan"})
    elif agent.host in plan_hosts:
        from .activity import begin_planning

        plan_hosts.discard(agent.host)
        await begin_planning(agent)


@hookimpl(phase="last", while_=(ACTIVITY,))
async def turn_start(event: TurnStartEvent, ctx: HandlerContext) -> TurnStartResult | None:
    """Offer only tools that change nothing, and those that may write the plan."""
    if ctx.agent is None or activity_of(ctx.agent) != "plan":
        return None
    from skillkit_core import TurnStartResult

    from .activity import kernel, offered

    return TurnStartResult(tools=offered(ctx.agent, event.tools, held=bool(await kernel(ctx.agent))))


@hookimpl(phase="guard", while_=(ACTIVITY,))
async def before_tool_call(event: ToolCallEvent, ctx: HandlerContext) -> ToolCallEventResult | None:
    """Refuse what changes anything but the plan while the activity is ``plan``."""
    if ctx.agent is None or activity_of(ctx.agent) != "plan":
        return None
    from skillkit_core import ToolCallEventResult

    from .activity import kernel, refusal

    held = bool(await kernel(ctx.agent))
    reason = refusal(ctx.agent, event.tool_name, event.args, event.annotations, held=held)
    return None if reason is None else ToolCallEventResult(block=True, reason=reason)


@hookimpl(phase="last", while_=(ACTIVITY,))
async def after_tool_result(event: ToolResultEvent, ctx: HandlerContext) -> None:
    """Keep the plan in the session whenever a tool has written it; the file may hold an older one until then."""
    agent = ctx.agent
    if agent is None or event.is_error or agent.parent is not None or activity_of(agent) != "plan":
        return
    tool = agent.offered(event.tool_name)
    if tool is None or tool.annotations.get("mutates") != "none":
        from .plan_file import keep_plan

        await keep_plan(agent.session, agent.host, agent.cwd)
