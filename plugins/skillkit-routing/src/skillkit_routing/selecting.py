"""The choice: what is clear without a model, else one call; whatever goes wrong, the agent itself answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skillkit_engines import CHAT, Route, RouteRequest, SkillCandidate, StepTargets

from skillkit_core.errors import SkillKitError
from skillkit_core.messages import UserMessage, blocks_of

from .answer import SCHEMA, Choice, fold, read, schema_of
from .greeting import is_greeting
from .prompt import asked, system_prompt
from .settings import settings_of
from .stages import Shortlist, shortlist, widened

if TYPE_CHECKING:
    from skillkit_core import Host, Skill

__all__ = ["PURPOSE", "select"]

PURPOSE = "routing.select"
ANSWER_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the model said, or why it said nothing (``why``)."""

    text: str = ""
    why: str = ""
    reason: str = ""


async def select(
    request: RouteRequest, candidates: Sequence[SkillCandidate], host: Host, targets: StepTargets | None = None
) -> Route:
    """Return the route of a request among its candidates. It does not raise: a failure is ``chat`` with its reason.

    Args:
        request: the request; ``request.ask`` asks the model.
        candidates: the skills that may take it, all of them.
        host: the host, for settings and the index.
        targets: what may do a step of a compound request beside a skill.
    """
    settings = settings_of(host)
    if is_greeting(request.query):
        return Route(CHAT, why="greeting", reason="a greeting")
    if settings.pin_single and len(candidates) == 1:
        return Route(candidates[0].skill.name, why="pinned", reason="the only skill that may take it")
    if request.ask is None:
        return Route(CHAT, confidence=0.0, why="no_key", reason="there is no model that could be asked")
    shown = await shortlist(request, candidates, host)
    route = await _ask(request, candidates, shown, host, targets)
    if shown.narrowed and route.why in ("low_confidence", "unknown_skill") and route.confidence < settings.threshold:
        more = await widened(request, candidates, shown, host)
        if more.skills:
            again = await _ask(request, candidates, more, host, targets)
            return replace(again, calls=again.calls + route.calls + shown.calls)
    return replace(route, calls=route.calls + shown.calls)


async def _ask(
    request: RouteRequest,
    candidates: Sequence[SkillCandidate],
    shown: Shortlist,
    host: Host,
    targets: StepTargets | None,
) -> Route:
    """Ask for one of the shown skills, and return the route."""
    system = system_prompt(shown.skills, shown.chars, targets.text if targets else "")
    said = await _said(request, system, schema_of(targets.schema) if targets else SCHEMA, host)
    scores = {one.skill.name: one for one in candidates}
    near = tuple(scores.get(name) or SkillCandidate(skill) for name, skill in shown.ranked())
    if said.why:
        return Route(CHAT, confidence=0.0, why=said.why, reason=said.reason, calls=1, candidates=near)
    choice = read(said.text)
    route = _decided(choice, request, [one.skill for one in candidates], host)
    return replace(route, calls=1, candidates=near, answer=said.text[:ANSWER_CHARS])


async def _said(request: RouteRequest, system: str, schema: Mapping[str, Any], host: Host) -> _Asked:
    assert request.ask is not None
    settings = settings_of(host)
    model: dict[str, Any] = {"model": settings.model} if settings.model else {}
    try:
        answer = await request.ask(
            [UserMessage(content=blocks_of(asked(request)))],
            system=system,
            schema=schema,
            purpose=PURPOSE,
            timeout=settings.timeout,
            **model,
        )
    except TimeoutError:
        return _Asked(why="timeout", reason=f"the model did not choose within {settings.timeout:g} s")
    except SkillKitError as error:
        return _Asked(why="provider_error", reason=f"the model could not choose: {error}"[:300])
    return _Asked(answer.text)


def _decided(choice: Choice | None, request: RouteRequest, skills: Sequence[Skill], host: Host) -> Route:
    """Return the route that an answer means; the order of the rules is that of their weight."""
    settings = settings_of(host)
    by_name = _named(skills)
    if choice is None:
        return Route(CHAT, confidence=0.0, why="invalid_json", reason="the answer holds no JSON object")
    if len(choice.steps) >= 2:
        return _compound(choice, by_name)
    if not choice.skill:
        return Route(CHAT, confidence=0.0, why="invalid_json", reason="the answer names no skill")
    told = choice.reason + (f" (confidence {choice.clamped} counts as {choice.confidence:g})" if choice.clamped else "")
    chosen = by_name.get(fold(choice.skill))
    if chosen is not None and ":" not in choice.skill and fold(choice.skill) != fold(chosen.name):
        _deprecated(host, choice.skill, chosen)
    if chosen is None and fold(choice.skill) != CHAT:
        known = {fold(name) for name in host.skills.list()}
        why = "ineligible_skill" if fold(choice.skill) in known else "unknown_skill"
        word = "may not take it" if why == "ineligible_skill" else "does not exist"
        return Route(CHAT, choice.confidence, f"{choice.skill[:80]} {word}", why=why)
    if choice.confidence < settings.threshold:
        reason = f"{choice.skill} with {choice.confidence:g}, below {settings.threshold:g}: {told}"
        return Route(CHAT, choice.confidence, reason, why="low_confidence")
    active = by_name.get(fold(request.active)) if request.active else None
    overrides = chosen is not None and (chosen is active or chosen.override_continuity)
    if active is not None and not overrides and choice.confidence < settings.continuity_threshold:
        reason = f"{choice.skill} with {choice.confidence:g} is not sure enough to take over: {told}"
        return Route(active.name, choice.confidence, reason, why="continuity")
    return Route(chosen.name if chosen is not None else CHAT, choice.confidence, told, why="selected")


def _named(skills: Sequence[Skill]) -> dict[str, Skill]:
    """Return the skills by their folded names; a former name (``aliases``) means its successor."""
    longer = {fold(alias): skill for skill in skills for alias in skill.aliases}
    return {**longer, **{fold(skill.name): skill for skill in skills}}


def _deprecated(host: Host, name: str, skill: Skill) -> None:
    """Say once that a skill has another name now."""
    told = host.state("routing").setdefault("deprecated", set())
    if fold(name) not in told:
        told.add(fold(name))
        host.note(
            "routing",
            f"the skill {name!r} is called {skill.name!r} now",
            remedy="use the new name; 'skillkit doctor' lists who uses the former one",
        )


def _compound(choice: Choice, by_name: dict[str, Skill]) -> Route:
    """Return the route of a compound request: its steps with the names of skills, and the skill of the main part."""
    steps = []
    for step in choice.steps:
        name = step.get("skill_name")
        known = by_name.get(fold(name)) if isinstance(name, str) else None
        steps.append({**step, "skill_name": known.name if known is not None else name})
    names = [choice.skill, *(step["skill_name"] for step in steps if isinstance(step["skill_name"], str))]
    main = next((by_name[fold(name)].name for name in names if fold(name) in by_name), CHAT)
    return Route(main, choice.confidence, choice.reason, why="compound", plan=tuple(steps))
