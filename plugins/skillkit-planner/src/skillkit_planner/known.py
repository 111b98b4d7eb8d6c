"""What a plan may name here and now: skills, fragments, packs, and the values that each leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_engines import CHAT, Fragment, RouteRequest, catalog_of, engine_of, gated_now

from .validating import ALWAYS, FragmentNeeds, Known

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Skill

__all__ = ["by_code", "known_now", "known_of", "outputs_of"]


def known_now(agent: AgentRunner, request: RouteRequest) -> Known:
    """Return what a plan for a request may name. A plan of a model is held to the gates that hold for models."""
    gated = gated_now(agent, request)
    return known_of(agent.host, gated.eligible, gated.dropped)


def known_of(host: Host, skills: Sequence[Skill], dropped: Mapping[str, str]) -> Known:
    """Return what a plan may name where ``skills`` can be used, and others cannot for the reasons in ``dropped``."""
    catalog, usable = catalog_of(host), [skill.name for skill in skills]
    outputs = {skill.name: (*ALWAYS, *outputs_of(host, skill)) for skill in skills if outputs_of(host, skill)}
    outputs |= {name: (*ALWAYS, *_left(one)) for name, one in catalog.fragments.items()}
    ineligible = {name: why for name, why in dropped.items() if name not in usable}
    return Known(
        skills=(*usable, *ineligible, CHAT),
        ineligible=ineligible,
        fragments={name: _needs(one) for name, one in catalog.fragments.items()},
        packs=frozenset(catalog.packs),
        outputs=outputs,
        collaborates=bool(host.impls("run_collaboration")),
        **{
            name: tuple(host.registry(kind).list())
            for name, kind in (("strategies", "strategies"), ("kinds", "participants"))
            if kind in host.kinds
        },
    )


def by_code(request: RouteRequest, *, by_model: bool) -> RouteRequest:
    """Return the request as code of the host makes it, unless a model has made the plan."""
    return request if by_model else replace(request, caller="planner")


def outputs_of(host: Host, skill: Skill) -> Mapping[str, Any]:
    """Return the values that a skill leaves for later steps, each with its JSON Schema.

    They are the ``outputs`` of the skill, a mapping of names to schemas or an object schema, and ``outputs`` of its engine.
    """
    own = skill.outputs
    if isinstance(own.get("properties"), Mapping):
        own = own["properties"]
    engine = engine_of(host, skill)
    return {**getattr(engine, "outputs", {}), **own}


def _needs(fragment: Fragment) -> FragmentNeeds:
    words = {target for source, target in fragment.input_mapping.items() if source == "sub_query"}
    prior = set(fragment.input_mapping.values()) - words
    return FragmentNeeds(tuple(fragment.inputs.get("required") or ()), words, prior)


def _left(fragment: Fragment) -> tuple[str, ...]:
    names = fragment.outputs.get("properties") or {}
    return tuple(fragment.output_mapping.get(name, name) for name in names)
