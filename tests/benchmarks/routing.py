"""What routing adds to a turn beside its model calls: CPU time of gates, ranking, short list and notes; goals beside figures.

No network is used::

    python tests/benchmarks/routing.py [--rounds N]

A turn is routed to a skill whose engine answers at once; the same turn without the plugins is taken off. The best of several
rounds counts, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import skillkit_engine_automation.plugin
import skillkit_engines.plugin
import skillkit_routing.plugin
import skillkit_skills.plugin
from skillkit_engines import RouteRequest, gated_now, rank
from skillkit_routing.stages import shortlist

from skillkit_core import AgentConfig, AgentRunner, Host, Skill
from skillkit_core.testing import ScriptedModel

FAMILY = [
    ("engines", skillkit_engines.plugin),
    ("engine-automation", skillkit_engine_automation.plugin),
    ("routing", skillkit_routing.plugin),
]
CHOICE = json.dumps({"skill": "skill-0", "confidence": 0.9, "reason": "it fits", "steps": []})
TURNS = 30
ASK = "Which of the topics helps with paper and glue?"


def made(folder: Path, count: int, *, family: bool) -> Host:
    """A host with so many skills; the first is routed where the family is there."""
    plugins = [("skills", skillkit_skills.plugin), *(FAMILY if family else ())]
    host = Host(environ={"SKILLKIT_HOME": str(folder)}, cwd=folder, discover=False, plugins=plugins)
    for n in range(count):
        about = f"Topic {n}: folds paper, glue and card, kind {n % 17}."
        skill = Skill(name=f"skill-{n}", description=about, body="x", engine="automation", domains=(f"d{n % 40}",))
        host.skills.register(skill.name, skill, "bench")
    return host


async def turn(host: Host, calls: int) -> float:
    """Seconds of CPU of a turn with so many model calls, after the first ones."""
    async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
        answers = [CHOICE if calls == 2 and n % 2 == 0 else "Done." for n in range(calls * (TURNS + 3))]
        agent.set_adapter(ScriptedModel(answers))
        for _ in range(3):
            await agent.chat(ASK)
        began = time.process_time()
        for _ in range(TURNS):
            await agent.chat(ASK)
        return (time.process_time() - began) / TURNS


async def parts(host: Host) -> dict[str, float]:
    """Seconds of CPU of the gates, the ranking and the short list, each the 95th of a hundred."""
    found: dict[str, list[float]] = {"gates": [], "rank": [], "short list": []}
    async with AgentRunner(AgentConfig(bare=True), host=host) as agent:
        await agent.open()
        for n in range(105):
            request = RouteRequest(f"{ASK} {n}")
            a = time.process_time()
            gated = gated_now(agent, request)
            b = time.process_time()
            candidates = rank(host, request.query, gated.eligible, agent)
            c = time.process_time()
            await shortlist(request, candidates, host)
            for name, took in (("gates", b - a), ("rank", c - b), ("short list", time.process_time() - c)):
                found[name].append(took)
    return {name: sorted(values[5:])[94] for name, values in found.items()}


def main() -> None:
    """Print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rows: list[tuple[str, float, float | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        best: dict[Any, float] = {}
        for round_ in range(rounds):
            for family, calls in ((True, 2), (False, 1)):
                home = Path(folder, f"{family}-{round_}")
                home.mkdir()
                host = made(home, 20, family=family)
                took = asyncio.run(turn(host, calls))
                best[family] = min(best.get(family, took), took)
                host.close()
        beside = best[False]  # one more model call, which a routed turn has
        rows.append(("a turn without the family, one model call", best[False] * 1000, None))
        rows.append(("a routed turn of 20 skills, two model calls", best[True] * 1000, None))
        rows.append(("what routing adds beside its call", (best[True] - 2 * beside) * 1000, 5.0))
        home = Path(folder, "many")
        home.mkdir()
        host = made(home, 2_000, family=True)
        for name, took in asyncio.run(parts(host)).items():
            rows.append((f"{name} of 2,000 skills, p95", took * 1000, 10.0 if name == "short list" else None))
        host.close()
    for name, took, goal in rows:
        print(f"{name:45} {took:8.2f} ms" + (f"   goal {goal:g} ms" if goal is not None else ""))


if __name__ == "__main__":
    main()
