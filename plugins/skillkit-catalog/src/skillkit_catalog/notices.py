"""What a person should hear about a model in a run: what is not known of it, and its end."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition
    from skillkit_core.contracts.user_interface import UserInterface

__all__ = ["end_line", "end_of", "has_ended", "say", "unknown_facts", "unknown_line"]


def unknown_facts(model: ModelDefinition) -> list[str]:
    """Which of ``price`` and ``window`` nobody knows."""
    return [name for name, fact in (("price", model.cost), ("window", model.context_window)) if not fact]


def end_of(model: ModelDefinition) -> str | None:
    """When the model ends and what follows it, in words; ``None`` when no end is announced."""
    ends = model.options.get("deprecated")
    return f"{ends.get('retires') or 'on an unknown day'}; its successor is {ends['successor']}" if ends else None


def has_ended(model: ModelDefinition) -> bool:
    """Whether the day has come from which the provider serves the model no more."""
    retires = (model.options.get("deprecated") or {}).get("retires")
    return retires is not None and retires <= date.today().isoformat()


def unknown_line(model: ModelDefinition) -> str:
    """What is not known of a model, what that leads to, and what to do."""
    missing = unknown_facts(model)
    effects = {"price": "its cost is not counted", "window": "only a refusal tells when a conversation is too long"}
    return (
        f"the {' and the '.join(missing)} of {_name(model)} {'is' if len(missing) == 1 else 'are'} not known: "
        f"{', and '.join(effects[m] for m in missing)}; set what you know in catalog.models"
    )


def end_line(model: ModelDefinition) -> str:
    """When a deprecated model ends, and what follows it."""
    retires = (model.options.get("deprecated") or {}).get("retires")
    return f"{_name(model)} is deprecated and {'ended' if has_ended(model) else 'ends'}{' on' if retires else ''} {end_of(model)}"


def _name(model: ModelDefinition) -> str:
    return f"{model.provider}/{model.id}" if model.provider else model.id


_logged: set[str] = set()  # a program may make a host for each agent


async def say(host: Host, person: UserInterface | None, line: str) -> None:
    """Tell ``person``, or without one the log, a line that this host has not said yet; keep it for ``plugins doctor``.

    The log of a process gets it once.
    """
    if any(problem.message == line for problem in host.problems):
        return
    host.note("catalog", line, stage="model")
    if person is not None:
        await person.notify(line, "warning")
    elif line not in _logged:
        from logging import getLogger

        _logged.add(line)
        getLogger("skillkit").warning("%s", line)
