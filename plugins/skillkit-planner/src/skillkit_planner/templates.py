"""Plans that a person has saved under a name, as YAML files in the configuration folder, to be carried out again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from skillkit_core.errors import UnknownName, UsageError

from .models import ExecutionPlan, PlanStep

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["QUERY", "load", "names", "save", "steps_for"]

QUERY = "{query}"
"""What stands in a saved plan for the words of the request."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")


def _folder(host: Host) -> Path:
    return host.config_dir / "plans"


def names(host: Host) -> list[str]:
    """Return the names of the saved plans."""
    return sorted(file.stem for file in _folder(host).glob("*.yaml") if _NAME.match(file.stem))


def load(host: Host, name: str) -> ExecutionPlan:
    """Return a saved plan.

    Raises:
        UnknownName: there is none of that name.
        UsageError: the file is no plan; it is named, with the field.
    """
    file = _folder(host) / f"{name}.yaml"
    if not _NAME.match(name) or not file.is_file():
        known = names(host)
        hint = None if known else "none is saved: 'skillkit plans save' keeps one"
        raise UnknownName("plan", name, known, hint=hint)
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
        steps = data.get("steps") if isinstance(data, Mapping) else None
        if not isinstance(steps, list):
            raise UsageError("there are no steps", where=str(file), hint="write 'steps:' with a list of steps")
        found = tuple(PlanStep(**step) for step in steps)
        return ExecutionPlan(is_compound=True, steps=found, reasoning=str(data.get("reasoning") or ""))
    except yaml.YAMLError as error:
        raise UsageError(f"it is no YAML: {str(error).splitlines()[0]}", where=str(file)) from None
    except (ValidationError, TypeError) as error:
        told = "; ".join(_told(error)) if isinstance(error, ValidationError) else str(error)
        raise UsageError(f"it is no plan: {told}", where=str(file)) from None


def _told(error: ValidationError) -> Iterator[str]:
    for one in error.errors():
        yield f"{'.'.join(map(str, one['loc'])) or 'a step'}: {one['msg']}"


def save(host: Host, name: str, plan: ExecutionPlan, query: str, *, replace: bool = False) -> Path:
    """Save a plan, with :data:`QUERY` where a step has the words of the request; return the file.

    Raises:
        UsageError: nobody can type the name, or there is a plan of that name already.
    """
    if not _NAME.match(name):
        raise UsageError(f"{name!r} is no name of a plan", hint="use lower-case letters, digits, - and _")
    file = _folder(host) / f"{name}.yaml"
    if file.exists() and not replace:
        raise UsageError(f"there is a plan {name!r} already", where=str(file), hint="--replace replaces it")
    steps = []
    for step in plan.steps:
        given: dict[str, Any] = step.to_dict()
        if query and query in given["sub_query"]:
            given["sub_query"] = given["sub_query"].replace(query, QUERY)
        steps.append(given)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump({"reasoning": plan.reasoning, "steps": steps}, allow_unicode=True, sort_keys=False)
    file.write_text(str(host.redact(text)), "utf-8")
    return file


def steps_for(plan: ExecutionPlan, query: str) -> list[dict[str, Any]]:
    """Return the steps of a saved plan for a request."""
    steps = [step.to_dict() for step in plan.steps]
    return [{**step, "sub_query": step["sub_query"].replace(QUERY, query)} for step in steps]
