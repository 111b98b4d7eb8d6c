"""``skillkit routing``: why a request goes where it goes, how good the choice is, and what another router would choose."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from skillkit_engines import EditorContext, Route, RouteRequest, choose, engine_of, gated_now, route_rows

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.errors import UsageError

from .alone import asker
from .evaluating import Case, evaluate, of_session, read_cases, report
from .shadow import log_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["routing"]

MOST_PAIRS = 20


@click.group()
def routing() -> None:
    """Tell which skill takes a request and why; judge the choice."""


@routing.command()
@click.argument("request")
@click.option("--editor", metavar="TYPE", help="As if a document of this type were open in an editor.")
@click.option("--images", type=click.IntRange(0), default=0, help="As if so many images were attached.")
@click.option("--active", metavar="SKILL", help="As if this skill had taken the request before.")
@click.option("--no-model", is_flag=True, help="Ask no model: show the gates and the candidates.")
@json_option
@click.pass_context
def why(
    ctx: click.Context, request: str, editor: str | None, images: int, active: str | None, no_model: bool, as_json: bool
) -> None:
    """Tell which skill takes REQUEST, and why.

    The choice, the candidates, and why other skills are none.

    \b
    skillkit routing why "rain in Oslo tomorrow?"
    skillkit routing why "tighten the introduction" --editor article
    """
    host: Host = ctx.obj.host
    asked = RouteRequest(request, images, EditorContext(editor) if editor else None, active)
    route = asyncio.run(_why(host, asked, no_model))
    engine = _engine(host, route)
    if as_json:
        print_json(_route_data(route, engine))
        return
    fields(route_rows(route, engine))


async def _why(host: Host, request: RouteRequest, no_model: bool) -> Route:
    from dataclasses import replace

    ask = None if no_model else await asker(host)
    async with AgentRunner(AgentConfig(bare=True), host=host) as agent:
        await agent.open()
        request = replace(request, ask=ask)
        return await choose(host, request, gated_now(agent, request), agent)


def _engine(host: Host, route: Route) -> str:
    skill = host.skills.get(route.skill) if host.skills.has(route.skill) else None
    return skill.engine if skill is not None and engine_of(host, skill) is not None else ""


def _route_data(route: Route, engine: str) -> dict[str, Any]:
    return {
        "skill": route.skill,
        "engine": engine or None,
        "confidence": route.confidence,
        "by": route.by,
        "why": route.why,
        "reason": route.reason,
        "calls": route.calls,
        "steps": [dict(step) for step in route.plan],
        "candidates": [{"name": one.skill.name, "score": round(one.score, 4)} for one in route.candidates],
        "dropped": dict(route.dropped),
    }


# --- how good the choice is ---------------------------------------------------------------------------------------


@routing.command("eval")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--session", "sessions", multiple=True, metavar="ID", help="The routed inputs of a session; 'latest', too."
)
@click.option(
    "--record", type=click.Path(dir_okay=False, path_type=Path), help="Write the cases with the model's answers."
)
@json_option
@click.pass_context
def evaluation(
    ctx: click.Context, file: Path | None, sessions: Sequence[str], record: Path | None, as_json: bool
) -> None:
    """Judge the choice by recorded requests.

    The requests are those of FILE, or of sessions.

    FILE has a JSON object a line: {"query": "rain in Oslo?", "truth": "weather"}. With "model": {"text": "..."} the answer of the
    model is the recorded one, and no model is asked; --record writes such lines.

    \b
    skillkit routing eval requests.jsonl --record recorded.jsonl
    skillkit routing eval recorded.jsonl
    skillkit routing eval --session latest
    """
    host: Host = ctx.obj.host
    if file is None and not sessions:
        raise UsageError("there is nothing to judge", hint="name a file, or --session ID")
    cases = read_cases(file) if file is not None else []
    results, cost = asyncio.run(_evaluated(host, cases, sessions))
    if record is not None:
        lines = (_with_answer(case, route).to_dict() for case, route in results)
        record.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    found = {**report(results), "cost": cost}
    if as_json:
        print_json(found)
        return
    _print_report(found)


def _with_answer(case: Case, route: Route) -> Case:
    from dataclasses import replace

    return case if case.answer is not None or not route.answer else replace(case, answer=route.answer)


async def _evaluated(
    host: Host, cases: list[Case], sessions: Sequence[str]
) -> tuple[list[tuple[Case, Route]], float | None]:
    for name in sessions:
        cases += await _cases_of(host, name)
    recorded = all(case.answer is not None or case.fails for case in cases)
    ask = None if recorded else await asker(host)
    if ask is None and not recorded:
        raise UsageError("there is no model that could be asked", hint="set a key, or judge a recorded file")
    with _bar(len(cases), hidden=recorded) as bar:
        results = await evaluate(host, cases, ask, lambda done: bar.update(1))
    return results, None if ask is None else ask.cost


def _bar(length: int, *, hidden: bool) -> Any:
    from click import progressbar

    return progressbar(length=length, label="Choosing", file=sys.stderr, hidden=hidden)


async def _cases_of(host: Host, name: str) -> list[Case]:
    from skillkit_core.cli.sessions import latest_session

    store = host.session_store()
    try:
        wanted = await latest_session(store) if name == "latest" else await store.find(name)
        if wanted is None:
            raise UsageError("there are no sessions yet", hint="'skillkit run' starts one")
        handle = await store.open(wanted, read_only=True)
        try:
            return of_session(handle.entries())
        finally:
            await handle.close()
    finally:
        await store.close()


def _print_report(found: Mapping[str, Any]) -> None:
    if not found["cases"]:
        echo("There are no cases.")
        return
    shown = [
        ("right", f"{found['right']} of {found['cases']} ({found['accuracy']:.1%})"),
        ("abstained", f"{found['abstained']}, the agent itself would answer"),
        ("calls", str(found["calls"])),
        *([("cost", f"${found['cost']:.4f}")] if found["cost"] is not None else []),
        ("why", ", ".join(f"{name} {count}" for name, count in found["why"].items())),
    ]
    fields(shown)
    if found["confusion"]:
        echo()
        rows = [[row["truth"], row["chosen"], row["count"]] for row in found["confusion"][:MOST_PAIRS]]
        table(["should be", "was", "times"], rows, right=(2,))


# --- what another router chooses ----------------------------------------------------------------------------------


@routing.command()
@json_option
@click.pass_context
def compare(ctx: click.Context, as_json: bool) -> None:
    """Compare with the router in the shadow.

    Tells how often both agree, and where they do not.

    The setting routing.shadow names a plugin that chooses, too. With engines.mode: shadow the agent answers everything
    itself, and the choice of skills is in the shadow.
    """
    host: Host = ctx.obj.host
    found = compared(_lines(log_of(host)))
    if as_json:
        print_json(found)
        return
    if not found["requests"]:
        echo("Nothing was compared yet. The settings routing.shadow, or engines.mode: shadow, begin with it.")
        return
    fields(
        [("agreement", f"{found['agreement']:.1%} of {found['requests']} requests"), ("cost", f"${found['cost']:.4f}")]
    )
    if found["disagreements"]:
        echo()
        rows = [[row["main"], row["shadow"], row["count"]] for row in found["disagreements"]]
        table(["was", "shadow", "times"], rows, right=(2,))


def _lines(path: Path) -> list[Mapping[str, Any]]:
    """Return the lines of the log; one that a killed process has cut off is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text("utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def compared(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the number of requests, the rate of agreement, and the most frequent disagreements."""
    pairs = Counter((line["main"]["skill"], line["shadow"]["skill"]) for line in lines if not line["agree"])
    agreed = len(lines) - sum(pairs.values())
    return {
        "requests": len(lines),
        "agreement": round(agreed / len(lines), 4) if lines else None,
        "cost": sum(line.get("cost") or 0.0 for line in lines),
        "disagreements": [
            {"main": main, "shadow": shadow, "count": count} for (main, shadow), count in pairs.most_common(MOST_PAIRS)
        ],
    }
