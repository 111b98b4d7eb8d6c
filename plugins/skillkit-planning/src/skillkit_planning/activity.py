"""The activity of a session: what it allows, what a model is told of it, and how one follows the other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError, UsageError

from .plan_file import keep_plan, kept_text, plan_note, plan_path, settings_of
from .state import ACTIVITY, activity_of

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Session
    from skillkit_core.tools import Tool

__all__ = [
    "CARRY_OUT", "begin_execution", "begin_planning", "execute_in", "kernel", "leave_planning",
    "offered", "prompt_of", "refusal", "rules_of",
]  # fmt: skip

CARRY_OUT = "Carry out the plan."

_PLANNING = """\
You are planning. Nothing is changed yet: tools that change anything are not offered{network}. Read what you need to know. \
Where an answer of the person decides what the plan is, ask with the tool ask_user.
Write the plan into {file}, the only file that may be written now, with the tool write, and change it with edit. The plan is \
all that whoever carries it out will know, so it must say everything: the goal, what was decided and why, the steps in order \
with the files they touch, and how to check the result. When the plan is complete, say so in one sentence."""
_BELOW = (
    "The agent that asked you is planning: nothing may be changed. Tools that change anything are not offered{network}."
)


# --- one follows the other ------------------------------------------------------------------------------------------------


async def begin_planning(agent: AgentRunner) -> None:
    """Begin to plan in the session of an agent."""
    session = await agent.open()
    if activity_of(agent) != "plan":
        await session.note(ACTIVITY, {"activity": "plan"})
        agent.toolbox.changed()


async def leave_planning(agent: AgentRunner) -> None:
    """Go on in the same session without a plan."""
    session = await agent.open()
    if activity_of(agent) == "plan":
        await session.note(ACTIVITY, {"activity": "execute"})
        agent.toolbox.changed()


async def begin_execution(agent: AgentRunner) -> str:
    """Begin a session with an empty context, linked to the old one, whose system prompt ends in the plan.

    Returns: the plan.

    Raises:
        UsageError: there is no plan.
    """
    old = await agent.open()
    text = await keep_plan(old, agent.host, agent.cwd)
    if text is None:
        raise _no_plan(agent.host)
    session = await agent.fork(None)
    await execute_in(session, agent.host, text, old.id)
    return text


async def execute_in(session: Session, host: Host, plan: str, planned_in: str) -> None:
    """Note in a new session that it carries out a plan."""
    await session.note(
        ACTIVITY, {"activity": "execute", "planned_in": planned_in, **plan_note(session, host, plan, planned_in)}
    )


def _no_plan(host: Host) -> UsageError:
    return UsageError(
        f"there is no plan in {settings_of(host).file}", hint="make one: /plan TEXT, or skillkit plan TEXT"
    )


# --- what it allows -----------------------------------------------------------------------------------------------------


async def kernel(agent: AgentRunner) -> str | None:
    """Return what the sandbox is called in which tools of an agent run that can run elsewhere; ``None``: they run in none.

    The executor says so, by its method ``holds(agent)``, where it has one.
    """
    executor = await agent.toolbox.executor()
    holds = getattr(executor, "holds", None)
    if holds is None:
        return None
    try:
        name: str | None = holds(agent)
    except SkillKitError:
        return None  # the executor refuses its calls, and says why
    return name


def offered(agent: AgentRunner, tools: Sequence[Tool], *, held: bool = False) -> tuple[Tool, ...]:
    """Return the tools that may be called in a plan; a tool without annotations counts as one that changes the world.

    Args:
        held: a sandbox holds tools that can run elsewhere.
    """
    return tuple(tool for tool in tools if _may_be_offered(agent, tool.annotations, held))


def _may_be_offered(agent: AgentRunner, facts: Mapping[str, Any], held: bool) -> bool:
    mutates = facts.get("mutates")
    if mutates == "none":
        return "host" not in facts or settings_of(agent.host).network
    if held and facts.get("command") and facts.get("remote"):
        return settings_of(agent.host).commands
    return mutates == "files" and bool(facts.get("paths")) and agent.parent is None


def refusal(
    agent: AgentRunner, name: str, args: Mapping[str, Any], facts: Mapping[str, Any], *, held: bool = False
) -> str | None:
    """Return why a call may not run in a plan; ``None``: it may. ``held`` as in :func:`offered`."""
    file = settings_of(agent.host).file
    if not _may_be_offered(agent, facts, held):
        if facts.get("mutates") == "none":
            return f"the activity is plan, and the network is off, so {name} does not run"
        return (
            f"the activity is plan, so {name} does not run: nothing but {file} may be changed. Write what should be done "
            "into the plan; it is carried out when the person says so"
        )
    if facts.get("mutates") == "none" or facts.get("command"):
        return None
    named = [args.get(key) for key in facts["paths"]]
    paths = [one for value in named for one in (value if isinstance(value, (list, tuple)) else (value,))]
    plan = str(plan_path(agent.host, agent.cwd))
    if paths and all(isinstance(one, str) and os.path.realpath(agent.cwd / one) == plan for one in paths):
        return None
    shown = ", ".join(str(one) for one in paths) or "no path"
    return f"the activity is plan, so only {file} may be written, and {shown} is another file"


def rules_of(agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
    """Return the permission that a plan brings: its own file may be written without a question."""
    return [("planning", {"allow": [f"Edit(/{plan_path(agent.host, agent.cwd)})"]})]


# --- what a model is told -----------------------------------------------------------------------------------------------


def prompt_of(agent: AgentRunner) -> str | None:
    """Return the last part of the system prompt: what planning means, or the plan."""
    if activity_of(agent) == "plan":
        settings = settings_of(agent.host)
        text = _PLANNING if agent.parent is None else _BELOW
        return text.format(file=settings.file, network="" if settings.network else ", and the network is off")
    session = agent.open_session
    notes = session.notes(ACTIVITY) if session is not None else ()
    if not notes or "digest" not in notes[-1].data:
        return None
    plan = kept_text(agent.host, notes[-1].data)
    return f"## Plan\n\n{plan}" if plan is not None else None
