"""What a person should hear about a model before its answers cost something: what is not known of it, and its end."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition
    from skillkit_core.contracts.user_interface import UserInterface

__all__ = ["end_of", "has_ended", "notices", "say", "unknown_facts"]


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


def notices(model: ModelDefinition) -> list[str]:
    """The lines about ``model``, most often none."""
    name = f"{model.provider}/{model.id}" if model.provider else model.id
    lines = []
    if missing := unknown_facts(model):
        verb, what = ("is", missing[0]) if len(missing) == 1 else ("are", " and ".join(missing))
        effects = {
            "price": "its cost is not counted",
            "window": "only a refusal tells when a conversation is too long",
        }
        lines.append(
            f"the {what} of {name} {verb} not known: {', and '.join(effects[m] for m in missing)}; "
            "set what you know in catalog.models"
        )
    if end := end_of(model):
        lines.append(f"{name} is deprecated and {'ended' if has_ended(model) else 'ends'} {end}")
    return lines


async def say(host: Host, person: UserInterface | None, model: ModelDefinition) -> None:
    """Tell ``person``, or the log without one, what this host has not said about ``model`` yet."""
    said = {problem.message for problem in host.problems}
    for line in notices(model):
        if line in said:
            continue
        host.note("catalog", line, stage="model")
        if person is not None:
            await person.notify(line, "warning")
        else:
            from logging import getLogger

            getLogger("skillkit").warning("%s", line)
