"""Modes: what a skill does with the engine, as data. A mode is a name with values for the keys of :class:`Mode`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from skillkit_markdown import natural

from skillkit_core.errors import UsageError, close_matches

if TYPE_CHECKING:
    from skillkit_core import Host, Skill

__all__ = ["BudgetLimits", "Mode", "made", "merged", "mode_of", "modes_of", "shipped", "style_of"]

DEFAULT = "deep-research"


class BudgetLimits(BaseModel):
    """What one task may use, before the answer is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int | None = Field(None, ge=1, description="Requests to a model; the last one writes the answer.")
    calls: int | None = Field(None, ge=1, description="Calls of tools: searches, files and pages.")
    tokens: int | None = Field(None, ge=1, description="Tokens of all requests; the answer may go over it.")
    cost: float | None = Field(None, ge=0, description="US dollars, as far as prices are known.")
    seconds: float | None = Field(None, gt=0, description="Seconds of one process.")
    sources: int = Field(40, ge=1, le=200, description="Sources that are kept.")


class Mode(BaseModel):
    """How a task of the engine goes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = Field("", description="One line for people.")
    plan: bool = Field(True, description="A model says what to look for; else the words of the request do.")
    local: bool = Field(True, description="The files of the workspace are searched.")
    web: Literal["none", "optional", "required"] = Field("none", description="Whether the web is searched.")
    crawl: bool = Field(False, description="The pages of the site that the request names are read.")
    assess: bool = Field(False, description="After each round a model says whether the sources are enough.")
    max_rounds: int = Field(2, ge=0, le=10, description="Rounds after the first, where the sources are not enough.")
    verify: bool = Field(
        False, description="Each claim is held against its sources; what they do not bear is left out."
    )
    relations: bool = Field(False, description="Relations between the things of the answer are named, with sources.")
    synthesis_style: str = Field("conversational", description="How the answer is written: a name of research.styles.")
    output_format: Literal["prose", "structured", "tabular"] = Field("prose", description="The shape of the answer.")
    focus: str = Field("", description="What to look for in every request.")
    queries: int = Field(4, ge=1, le=12, description="Queries of a round.")
    results: int = Field(5, ge=1, le=20, description="Files, and pages, that are read for a query.")
    pages: int = Field(20, ge=1, le=500, description="Pages of a crawl.")
    depth: int = Field(3, ge=0, le=20, description="How many links a page of a crawl is away from the first.")
    hosts: tuple[str, ...] = Field((), description="The only hosts that are fetched from; *.example.org: all below.")
    repairs: int = Field(1, ge=0, le=3, description="How often an answer is asked for again that cannot be used.")
    chars: int = Field(60_000, ge=2_000, le=1_000_000, description="Characters of sources that one request shows.")
    budget: BudgetLimits = BudgetLimits.model_validate({})


@cache
def _shipped() -> Mapping[str, Mapping[str, Any]]:
    import yaml

    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("modes.yaml").read_text("utf-8"))
    return found


def shipped() -> Mapping[str, Mapping[str, Any]]:
    """Return the values of the modes that come with the engine, by name."""
    return _shipped()["modes"]


def style_of(host: Host, name: str) -> str:
    """Return the words of a style of synthesis.

    Raises:
        UsageError: there is no such style.
    """
    section = host.config.section("research", None)
    styles = {**_shipped()["styles"], **(section.styles if section is not None else {})}
    if name not in styles:
        raise UsageError(f"synthesis_style: there is no style {name!r}", hint=f"known: {', '.join(styles)}")
    return str(styles[name])


def modes_of(host: Host) -> Mapping[str, Mapping[str, Any]]:
    """Return the values of all modes by name: those that come with the engine, and those of the settings."""
    section = host.config.section("research", None)
    return merged(section.modes) if section is not None else shipped()


def merged(more: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Return the modes that come with the engine and those of the settings, which change those of the same name."""
    found = dict(shipped())
    for name, values in more.items():
        changes = name in found and values.get("like", name) == name
        bare = {key: value for key, value in values.items() if key != "like"}
        found[name] = _over(found[name], bare) if changes else values
    return found


def mode_of(host: Host, skill: Skill) -> tuple[str, Mode]:
    """Return the name and the values of a skill's mode.

    ``mode`` of its ``metadata`` (in a file, of ``metadata.skillkit`` or the sidecar) is a name, or values that overrule those of
    the mode that ``like`` names. A skill without it has the mode of its own name, else ``deep-research``.

    Raises:
        UsageError: there is no such mode, or a value is wrong.
    """
    said = natural(skill.metadata.get("mode"))
    modes = modes_of(host)
    if said is None:
        said = skill.name if skill.name in modes else DEFAULT
    if isinstance(said, str):
        return said, made(said, modes)
    if not isinstance(said, Mapping):
        raise UsageError("mode: it is neither a name nor a mapping")
    like = str(said.get("like") or (skill.name if skill.name in modes else DEFAULT))
    own = f"of {skill.name}"  # no name of another mode
    return skill.name, made(own, {**modes, own: {**said, "like": like}})


def made(name: str, modes: Mapping[str, Mapping[str, Any]]) -> Mode:
    """Return a mode with what it takes from the modes that it is like.

    Raises:
        UsageError: there is no such mode, or a value is wrong.
    """
    values: Mapping[str, Any] = {}
    seen: list[str] = []
    at: str | None = name
    while at is not None:
        if at in seen:
            raise UsageError(f"mode: {' is like '.join([*seen, at])}")
        if at not in modes:
            near = close_matches(at, modes, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(modes)}"
            raise UsageError(f"mode: there is no mode {at!r}", hint=meant)
        seen.append(at)
        values = _over(modes[at], values)
        at = modes[at].get("like")
    try:
        return Mode.model_validate({key: value for key, value in values.items() if key != "like"})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"mode {name}: {where}: {first['msg']}") from None


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of ``above`` over those of ``below``; budgets are merged key by key."""
    found = {**below, **above}
    if isinstance(below.get("budget"), Mapping) and isinstance(above.get("budget"), Mapping):
        found["budget"] = {**below["budget"], **above["budget"]}
    return found
