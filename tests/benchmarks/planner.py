"""What a plan of three steps adds to three requests of one skill each: CPU time; and how often one part was taken for several.

No network is used::

    python tests/benchmarks/planner.py [--rounds N] [--compound FILE]

Sessions are kept on the disk, and models answer at once. The best of several rounds counts, so that a busy machine changes
little. FILE has requests with recorded answers of a model, as ``compound.jsonl`` of the acceptance data has.
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
import skillkit_planner.plugin
import skillkit_routing.plugin
import skillkit_sessions.plugin
import skillkit_skills.plugin
from skillkit_routing.answer import read

from skillkit_core import AgentConfig, AgentRunner, Host, Skill
from skillkit_core.testing import ScriptedModel

GOAL_MS = 60
TURNS = 20
PLUGINS = [
    ("sessions", skillkit_sessions.plugin),
    ("skills", skillkit_skills.plugin),
    ("engines", skillkit_engines.plugin),
    ("engine-automation", skillkit_engine_automation.plugin),
    ("routing", skillkit_routing.plugin),
    ("planner", skillkit_planner.plugin),
]
STEPS = [{"skill_name": f"skill-{n}", "sub_query": f"Part {n}", "depends_on": [1] if n > 1 else []} for n in (1, 2, 3)]


def host_in(folder: Path) -> Host:
    """A host with three skills."""
    host = Host(environ={"SKILLKIT_HOME": str(folder)}, cwd=folder, discover=False, plugins=PLUGINS)
    for n in (1, 2, 3):
        skill = Skill(name=f"skill-{n}", description=f"Does part {n}.", body="x", engine="automation")
        host.skills.register(skill.name, skill, "bench")
    return host


def answers(steps: Any) -> Any:
    """A model that names the steps, or one skill, and answers each request at once."""

    def answer(request: Any) -> str:
        if "You decide which skill" in (request.system or ""):
            return json.dumps({"skill": "skill-1", "confidence": 0.9, "reason": "it fits", "steps": steps})
        return "Done."

    return answer


async def turns(host: Host, steps: Any, count: int) -> float:
    """Seconds of CPU of one turn, each in a session of its own, after the first ones."""
    took = 0.0
    for n in range(count + 2):
        async with AgentRunner(AgentConfig(model="any"), host=host, session="new") as agent:
            agent.set_adapter(ScriptedModel([answers(steps)], repeat=True))
            await agent.open()
            began = time.process_time()
            await agent.chat("Do all of it")
            if n > 1:
                took += time.process_time() - began
    return took / count


def false_compounds(file: Path) -> tuple[int, int, int]:
    """Return the number of requests of one part, of those that a model took for several, and of all requests."""
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    single = [case for case in cases if not case["expected"]["compound"]]
    wrong = 0
    for case in single:
        choice = read(case["model"].get("text") or "")
        wrong += choice is not None and len(choice.steps) >= 2
    return len(single), wrong, len(cases)


def main() -> None:
    """Measure, and print what was measured beside the goal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compound", type=Path)
    options = parser.parse_args()
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        host = host_in(Path(folder))
        for _ in range(options.rounds):
            for name, steps in (("plan of three steps", STEPS), ("one skill", [])):
                took = asyncio.run(turns(host, steps, TURNS))
                best[name] = min(best.get(name, took), took)
        asyncio.run(host.aclose())
    over = (best["plan of three steps"] - best["one skill"]) * 1000
    for name, took in best.items():
        print(f"{name:<24}{took * 1000:8.1f} ms CPU")
    whole = best["plan of three steps"] * 1000
    print(f"{'all of the plan':<24}{whole:8.1f} ms CPU   goal: under {GOAL_MS} ms")
    print(f"{'beside one skill':<24}{over:8.1f} ms CPU")
    if options.compound is not None:
        single, wrong, count = false_compounds(options.compound)
        print(
            f"false compounds: {wrong} of {single} requests of one part ({wrong / single:.1%}), {count} requests in all"
        )


if __name__ == "__main__":
    main()
