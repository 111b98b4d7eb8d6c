"""``/plans`` in front ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from skillkit_engines import name_plan

from .drawing import as_text, headline
from .notes import PlanView, plans_of
from .templates import load, names, save

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, UserInterface

    from .executor import Stops

__all__ = ["complete", "plans"]

_HELP = "/plans show [PLAN], /plans stop [STEP], /plans run NAME WORDS, /plans save NAME"


async def plans(agent: AgentRunner, arguments: str, ui: UserInterface | None) -> Any:
    """Show the plans of the session; stop what runs; carry out a saved plan, or save one."""
    word, _, rest = arguments.strip().partition(" ")
    rest = rest.strip()
    if word == "run":
        return _run(agent, rest)
    await agent.open()
    views = plans_of(agent.host, agent.session)
    if word == "stop":
        return _stop(agent.state("planner").get("stops"), rest)
    if not views:
        saved = ", ".join(names(agent.host))
        return "This session has no plan." + (f" Saved plans: {saved}." if saved else "")
    if word == "save":
        file = save(agent.host, rest, views[-1].plan, views[-1].query)
        return f"Saved as {file}. /plans run {rest} WORDS carries it out."
    if word in ("", "show"):
        return _shown(views, rest)
    return f"There is no /plans {word}: {_HELP}."


def _shown(views: list[PlanView], name: str) -> str:
    found = [view for view in views if not name or view.plan.id == name]
    if not found:
        return f"There is no plan {name}; this session has {', '.join(view.plan.id for view in views)}."
    older = [headline(view) for view in found[:-1]]
    return "\n".join([*older, as_text(found[-1])])


def _stop(stops: Stops | None, number: str) -> str:
    if stops is None:
        return "No plan runs."
    if not number:
        stops.all.set()
        return "The plan is stopped; what is done stays done."
    if number.isdecimal() and stops.stop(int(number)):
        return f"Step {number} is stopped."
    return f"Step {number} does not run."


def _run(agent: AgentRunner, rest: str) -> Any:
    from skillkit_commands import Prompt

    name, _, words = rest.partition(" ")
    load(agent.host, name)
    if not words.strip():
        return f"What is the plan {name} for? /plans run {name} WORDS"
    name_plan(agent, name)
    return Prompt(words.strip())


def complete(agent: AgentRunner, arguments: str) -> Iterable[str]:
    """Return the words that fit."""
    words = ["show", "stop", "run", "save", *(f"run {name}" for name in names(agent.host))]
    return [word for word in words if word.startswith(arguments)]
