"""``/plan``, ``/exec`` and ``/tasks`` in front ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from skillkit_commands import Edit, Prompt, SlashCommand

from skillkit_core.cli.output import short_path

from .state import activity_of

if TYPE_CHECKING:
    from skillkit_tui import Front

    from skillkit_core import AgentRunner, UserInterface

__all__ = ["COMMANDS", "complete", "edit_plan", "execute", "plan"]

_WORDS = ("edit", "show", "off")


async def plan(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> str | Prompt | Edit:
    """Begin to plan, with a text for the model or without; edit or show the plan; or leave the activity."""
    from .activity import begin_planning, kernel, leave_planning
    from .plan_file import current_plan, keep_plan, plan_path, settings_of

    session = await agent.open()
    path = plan_path(agent.host, agent.cwd)
    if arguments == "off":
        await leave_planning(agent)
        return "Activity: execute. The plan is kept."
    if arguments == "show":
        return current_plan(session, agent.host, agent.cwd) or f"There is no plan in {short_path(str(path))} yet."
    if arguments == "edit":
        text = current_plan(session, agent.host, agent.cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or (text is not None and path.read_text("utf-8").strip() != text):
            path.write_text(f"{text}\n" if text else "", "utf-8")

        async def edited() -> str:
            before, after = text, await keep_plan(session, agent.host, agent.cwd)
            if after == before:
                return "The plan is as it was."
            lines = len((after or "").splitlines())
            return f"The plan has changed: {lines} {'line' if lines == 1 else 'lines'}."

        return Edit(path, edited)
    begins = activity_of(agent) != "plan"
    await begin_planning(agent)
    told = f"Planning: nothing but {settings_of(agent.host).file} is changed. /exec carries it out, /plan off ends planning."
    if arguments:
        if begins and ui is not None:
            await ui.notify(told)
        return Prompt(arguments)
    how = (
        "The kernel refuses the rest"
        if await kernel(agent)
        else "A guard checks every call, and the kernel refuses nothing"
    )
    return f"{told} {how}."


async def edit_plan(front: Front) -> str | None:
    """Open the plan in the editor of the person."""
    asked = await plan(front.agent, "edit", front.ui)
    assert isinstance(asked, Edit)
    await front.edit(asked.path)
    return await asked.done()


async def execute(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Prompt:
    """Carry out the plan in a fresh context."""
    from .activity import CARRY_OUT, begin_execution
    from .plan_file import plan_to_execute

    _, told = await plan_to_execute(await agent.open(), agent.host, agent.cwd)
    await begin_execution(agent)
    if ui is not None:
        await ui.notify(told)
    return Prompt(arguments or CARRY_OUT)


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return what may be typed behind ``/plan``."""
    return [word for word in _WORDS if word.startswith(arguments)]


COMMANDS = (
    SlashCommand(
        "plan",
        "Plan before anything is changed; edit or show the plan.",
        "skillkit_planning.slash:plan",
        "[TEXT | edit | show | off]",
        "skillkit_planning.slash:complete",
    ),
    SlashCommand("exec", "Carry out the plan in a fresh context.", "skillkit_planning.slash:execute", "[TEXT]"),
    SlashCommand("tasks", "Show the list of tasks that the model keeps.", "skillkit_planning.tasks:show_tasks"),
)
