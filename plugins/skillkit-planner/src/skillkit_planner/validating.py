"""What is wrong with a plan, all of it, before anything of it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

__all__ = ["ALWAYS", "FragmentNeeds", "Known", "Reason", "fold", "reasons"]

ALWAYS = ("response_text", "structured_data", "skill_name")
"""Values that every step leaves for later ones."""
STRATEGIES = ("round_robin", "role_based", "llm")
_TARGETS = ("skill_name", "subgraph_name", "collaboration")


class Reason(NamedTuple):
    """Why a plan cannot be carried out.

    Attributes:
        code: the reason in one word: ``unknown_skill``, ``cycle``, ...
        text: the reason for people and models, with the step.
    """

    code: str
    text: str


class FragmentNeeds(NamedTuple):
    """The required inputs of a fragment, and those that its definition fills from the request or from earlier steps."""

    inputs: Collection[str] = ()
    from_query: Collection[str] = ()
    from_prior: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What a plan may name.

    Attributes:
        skills: the skills by name.
        ineligible: why a skill may not be used now, by name.
        fragments: the fragments by name.
        packs: names of packs of tools.
        outputs: the values that a skill or fragment leaves, by its name, where these are more than :data:`ALWAYS`.
        collaborates: a plugin is there that lets skills work on one thing together.
        strategies: how such skills can be led.
        kinds: kinds of participants beside skills, which a participant names in front: ``agent:reviewer``.
    """

    skills: Collection[str]
    ineligible: Mapping[str, str] = field(default_factory=dict)
    fragments: Mapping[str, FragmentNeeds] = field(default_factory=dict)
    packs: Collection[str] = ()
    outputs: Mapping[str, Collection[str]] = field(default_factory=dict)
    collaborates: bool = True
    strategies: Collection[str] = STRATEGIES
    kinds: Collection[str] = ()

    def skill(self, name: Any) -> str | None:
        """Return the name of a skill as the skill writes it; ``None``: there is none."""
        folded = {fold(one): one for one in self.skills}
        return folded.get(fold(name)) if isinstance(name, str) else None


def fold(name: str) -> str:
    """Return a name as names of skills are compared."""
    return name.strip().casefold().replace("_", "-")


def reasons(plan: Mapping[str, Any], known: Known, *, max_steps: int = 4) -> list[Reason]:
    """Return everything that is wrong with a plan; an empty list: it can be carried out.

    Args:
        plan: the plan as it was written, of JSON values.
        known: what it may name.
        max_steps: most steps.
    """
    steps = [step for step in plan.get("steps") or () if isinstance(step, Mapping)]
    found = list(_count(plan, steps, max_steps))
    ids = [step.get("step_id") for step in steps]
    found += _ids(ids)
    for step in steps:
        found += _target(step, known)
        found += _packs(step, known)
        if not isinstance(step.get("sub_query"), str) or not step["sub_query"].strip():
            found.append(Reason("empty_sub_query", f"step {step.get('step_id')} says nothing of what is to be done"))
    broken = [*_dependencies(steps)]
    found += broken
    if not broken and not any(reason.code in ("bad_step_id", "duplicate_step_id") for reason in found):
        found += _cycle(steps)
    found += _keys(steps, known)
    return found


def _count(plan: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], max_steps: int) -> Iterator[Reason]:
    if len(steps) < 2:
        yield Reason("too_few_steps", f"a plan has at least 2 steps, this one has {len(steps)}")
    elif plan.get("is_compound") is not True:
        yield Reason("too_few_steps", "the plan is not marked is_compound")
    if len(steps) > max_steps:
        yield Reason("too_many_steps", f"a plan has at most {max_steps} steps, this one has {len(steps)}")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _ids(ids: Sequence[Any]) -> Iterator[Reason]:
    yield from (
        Reason("bad_step_id", f"{one!r} is no number of a step: they count from 1") for one in ids if not _is_id(one)
    )
    twice = [one for one, count in Counter(one for one in ids if _is_id(one)).items() if count > 1]
    yield from (Reason("duplicate_step_id", f"two steps have the number {one}") for one in twice)


# --- what does a step -----------------------------------------------------------------------------------------------


def _target(step: Mapping[str, Any], known: Known) -> Iterator[Reason]:
    number = step.get("step_id")
    named = [name for name in _TARGETS if step.get(name) is not None]
    if not named:
        yield Reason("no_target", f"step {number} names neither a skill nor a fragment nor a collaboration")
    elif len(named) > 1:
        yield Reason("several_targets", f"step {number} names {' and '.join(named)}; one of them does a step")
    elif named == ["skill_name"]:
        yield from _skill(number, step["skill_name"], known)
    elif named == ["subgraph_name"]:
        yield from _fragment(step, known)
    else:
        yield from _collaboration(number, step["collaboration"], known)


def _skill(number: Any, name: Any, known: Known) -> Iterator[Reason]:
    found = known.skill(name)
    if found is None:
        yield Reason("unknown_skill", f"step {number}: there is no skill {name!r}")
    elif found in known.ineligible:
        yield Reason("ineligible_skill", f"step {number}: {found} may not be used now: {known.ineligible[found]}")


def _fragment(step: Mapping[str, Any], known: Known) -> Iterator[Reason]:
    number, name = step.get("step_id"), step["subgraph_name"]
    needs = known.fragments.get(name) if isinstance(name, str) else None
    if needs is None:
        yield Reason("unknown_fragment", f"step {number}: there is no fragment {name!r}")
        return
    mapping = step.get("input_mapping")
    given = set(mapping.values()) if isinstance(mapping, Mapping) else set()
    given |= {*needs.from_query, *(needs.from_prior if step.get("depends_on") else ())}
    for one in needs.inputs:
        if one not in given:
            yield Reason("unmapped_input", f"step {number}: nothing gives the fragment {name} its input {one!r}")


def _collaboration(number: Any, given: Any, known: Known) -> Iterator[Reason]:
    about = given if isinstance(given, Mapping) else {}
    if not known.collaborates:
        yield Reason("no_collaboration", f"step {number}: no plugin here lets skills collaborate")
    names = [str(name) for name in about.get("participants") or ()]
    aliases = about.get("aliases")
    aliases = aliases if isinstance(aliases, Mapping) else {}
    if len(names) < 2:
        yield Reason("too_few_participants", f"step {number}: a collaboration needs at least 2 participants")
    others = [name for name in names if ":" in name and name.partition(":")[0].strip() in known.kinds]
    strangers = [name for name in dict.fromkeys(names) if name not in others and known.skill(name) is None]
    yield from (Reason("unknown_participant", f"step {number}: there is no skill {name!r}") for name in strangers)
    for name, count in Counter(map(fold, names)).items():
        if count > 1 and sum(fold(str(one)) == name for one in aliases.values()) < count:
            text = f"step {number}: {name} takes part {count} times, and each time needs an alias of its own"
            yield Reason("duplicate_participant", text)
    strategy = about.get("supervisor_strategy", STRATEGIES[0])
    if strategy not in known.strategies:
        yield Reason("unknown_strategy", f"step {number}: {strategy!r} is none of {', '.join(known.strategies)}")
    there = {*map(fold, names), *map(fold, map(str, aliases))}
    roles = about.get("roles")
    for name in roles if isinstance(roles, Mapping) else ():
        if fold(str(name)) not in there:
            yield Reason("role_for_stranger", f"step {number}: {name} has a role and takes no part")


def _packs(step: Mapping[str, Any], known: Known) -> Iterator[Reason]:
    about = step.get("collaboration")
    of_all = about.get("tool_packs") if isinstance(about, Mapping) else None
    for name in dict.fromkeys((*(step.get("tool_packs") or ()), *(of_all or ()))):
        if name not in known.packs:
            yield Reason("unknown_pack", f"step {step.get('step_id')}: there is no pack of tools {name!r}")


# --- how steps hang together ----------------------------------------------------------------------------------------


def _dependencies(steps: Sequence[Mapping[str, Any]]) -> Iterator[Reason]:
    ids = [step.get("step_id") for step in steps]
    for step in steps:
        number = step.get("step_id")
        for one in dict.fromkeys(step.get("depends_on") or ()):
            if one == number:
                yield Reason("self_dependency", f"step {number} waits for itself")
            elif not _is_id(one) or one not in ids:
                yield Reason("unknown_dependency", f"step {number} waits for step {one!r}, which does not exist")


def _cycle(steps: Sequence[Mapping[str, Any]]) -> Iterator[Reason]:
    graph = {step["step_id"]: tuple(step.get("depends_on") or ()) for step in steps}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring = list(reversed(error.args[1]))[:-1]  # each waits for the next
        first = ring.index(min(ring))
        path = [*ring[first:], *ring[:first], ring[first]]
        yield Reason("cycle", f"steps wait for each other: {'→'.join(map(str, path))}")


def _keys(steps: Sequence[Mapping[str, Any]], known: Known) -> Iterator[Reason]:
    by_id = {step.get("step_id"): step for step in steps if _is_id(step.get("step_id"))}
    for step in steps:
        before = [by_id[one] for one in step.get("depends_on") or () if _is_id(one) and one in by_id]
        left = {key for one in before for key in produced(one, known)}
        for key in dict.fromkeys(step.get("context_keys") or ()):
            if key not in left:
                text = f"step {step.get('step_id')} wants {key!r}, which no step that it waits for leaves"
                yield Reason("context_key_not_produced", text)


def produced(step: Mapping[str, Any], known: Known) -> tuple[str, ...]:
    """Return the names of the values that a step leaves for later ones."""
    mapping = step.get("output_mapping")
    renamed = tuple(mapping.values()) if isinstance(mapping, Mapping) else ()
    name = step.get("subgraph_name")
    if step.get("skill_name") is not None:
        name = known.skill(step["skill_name"])
    return (*known.outputs.get(str(name), ALWAYS), *renamed)
