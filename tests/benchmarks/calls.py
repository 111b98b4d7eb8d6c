"""How many calls a turn, a step and a tool call make, with the standard distribution and with no plugin.

Functions and builtins count. Counts repeat to half a percent whatever else runs, so they gate: ends with 1 when a count is over
its limit. No network is used::

    python tests/benchmarks/calls.py [--json] [--by-plugin]

A turn is one of a new session in memory, with a model that answers at once; a step is one answer with a call of a tool that
does nothing, its result, and the request behind it; a tool call is one more in an answer. ``--by-plugin`` says in which plugin's
code the calls are made in the first turn of a session, in the next one, and in a tool call: a call counts for the plugin that is
nearest above it, a look at the tools for the core.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import os
import sys
import tempfile
from types import FrameType
from typing import Any

from skillkit_core import AgentConfig, AgentRunner, Host, Selection, Tool
from skillkit_core.testing import Call, Reply, ScriptedModel

# what is counted, the goal, the limit
BUDGETS = [("turn", 2_300, 2_100), ("step", 900, 780), ("call", 400, 390)]
MORE = 9
# what a plugin that has nothing to do adds to a turn of a session that goes on, and to a tool call
IDLE = (2, 0)
# the same for plugins that have something to do in each, and what that is
BUSY = {
    "skillkit_context": (120, 0, "looks whether facts of the environment and files of the project are as they were"),
    "skillkit_skills": (50, 0, "tells of the skills that can be activated, and offers the tool for that"),
    "skillkit_why": (35, 1, "keeps references to what was sent, and what guards said"),
    "skillkit_mcp": (21, 0, "looks for servers, which a person may have added: two files and a setting"),
    "skillkit_subagents": (29, 0, "offers a tool, as deep as agents may ask agents"),
    "skillkit_tokens": (26, 18, "counts each message once"),
    "skillkit_planning": (18, 0, "offers a tool where somebody can be asked, or the last answer asks"),
    "skillkit_permissions": (14, 46, "decides about each call, and offers tools that a rule allows"),
    "skillkit_catalog": (8, 0, "two; the price of the model here is not known, so it looks whether that was said"),
    "skillkit_executor": (4, 0, "offers a tool where a setting names a policy"),
    "skillkit_files": (4, 0, "offers its tools"),
}


class Counter:
    """Counts calls while it is on, and by the plugin whose hook makes them where ``owners`` is given."""

    def __init__(self, by_plugin: bool) -> None:
        self.calls = 0
        self.owners: collections.Counter[str] | None = collections.Counter() if by_plugin else None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count one event of ``sys.setprofile``."""
        if event in ("call", "c_call"):
            self.calls += 1
            if self.owners is not None:
                self.owners[_owner(frame)] += 1


def _owner(frame: FrameType | None) -> str:
    """Return the plugin whose code is nearest; whoever looks at the tools first, building them is the core's."""
    while frame is not None and frame.f_code.co_qualname != "Toolbox.tools":
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package.startswith("skillkit_") and package != "skillkit_core":
            return str(package)
        frame = frame.f_back
    return "core"


async def _nothing(args: Any, ctx: Any) -> str:
    return "done"


async def counted(host: Host, steps: int, by_plugin: bool = False, calls: int = 1, turns: int = 1) -> Counter:
    """Count the calls of one conversation, whose first turn has ``steps`` answers that make ``calls`` calls of a tool each."""
    tool = Tool("nothing", "Does nothing.", _nothing, {"type": "object"})
    counter = Counter(by_plugin)
    answers = [Reply(calls=[Call("nothing", {"step": i, "call": n}) for n in range(calls)]) for i in range(steps)]
    model = ScriptedModel([*answers, *["done"] * turns])
    sys.setprofile(counter)
    try:
        async with AgentRunner(AgentConfig(tools=(tool,)), host=host) as agent:
            agent.set_adapter(model)
            for _ in range(turns):
                await agent.chat("work")
    finally:
        sys.setprofile(None)
    return counter


async def _least(host: Host, steps: int, calls: int = 1) -> int:
    """Return the least of three: once a second skills are looked at again."""
    return min([(await counted(host, steps, calls=calls)).calls for _ in range(3)])


async def measured(host: Host) -> dict[str, float]:
    """Return the calls of a turn, of a step and of a tool call, once everything is loaded."""
    for _ in range(3):
        await counted(host, 2)
    turn, few, many = [await _least(host, steps) for steps in (0, 1, 1 + MORE)]
    return {"turn": turn, "step": (many - few) / MORE, "call": (await _least(host, 1, 1 + MORE) - few) / MORE}


async def by_plugin(host: Host) -> dict[str, tuple[float, float, float]]:
    """Return the calls that each plugin's code makes in a first turn, in the next one, and in a tool call."""

    async def owners(**shape: int) -> dict[str, int]:
        found = [(await counted(host, by_plugin=True, **shape)).owners or {} for _ in range(3)]  # type: ignore[arg-type]
        return {name: min(one.get(name, 0) for one in found) for name in {n: 0 for one in found for n in one}}

    first, both = await owners(steps=0), await owners(steps=0, turns=2)
    one, more = await owners(steps=1), await owners(steps=1, calls=1 + MORE)
    return {
        name: (
            first.get(name, 0),
            both.get(name, 0) - first.get(name, 0),
            (more.get(name, 0) - one.get(name, 0)) / MORE,
        )
        for name in {**first, **both, **more}
    }


def beyond(rows: dict[str, tuple[float, float, float]]) -> list[str]:
    """Return the plugins that make more calls in a next turn or in a tool call than they may, with five percent of room."""
    bounds = {name: BUSY.get(name, IDLE) for name in rows if name != "core"}
    return [
        name
        for name, (turn, call, *_) in bounds.items()
        if rows[name][1] > turn * 1.05 + 0.5 or rows[name][2] > call * 1.05 + 0.5
    ]


async def main(arguments: argparse.Namespace) -> int:
    """Print the counts, and return the exit code."""
    alone, full = Host(discover=False), Host(selection=Selection(only_default=True))
    figures = {"core alone": await measured(alone), "all plugins": await measured(full)}
    over = [name for name, _, limit in BUDGETS if figures["all plugins"][name] > limit]
    if arguments.json:
        print(json.dumps(figures))
    else:
        print(f"{'':6}{'core alone':>12}{'all plugins':>13}{'goal':>8}{'limit':>8}")
        for name, goal, limit in BUDGETS:
            own, whole = figures["core alone"][name], figures["all plugins"][name]
            print(f"{name:6}{own:12.0f}{whole:13.0f}{goal:8}{limit:8}{'  over' if name in over else ''}")
    if arguments.by_plugin:
        rows = await by_plugin(full)
        over += beyond(rows)
        print(f"\n{'':26}{'turn':>8}{'next':>8}{'bound':>8}{'call':>8}{'bound':>8}")
        for owner, (first, later, call) in sorted(rows.items(), key=lambda row: ([-n for n in row[1]], row[0])):
            turn_bound, call_bound = ("", "") if owner == "core" else BUSY.get(owner, IDLE)[:2]
            mark = "  over" if owner in over else ""
            print(f"{owner:26}{first:8.0f}{later:8.0f}{turn_bound:>8}{call:8.0f}{call_bound:>8}{mark}")
    await alone.aclose()
    await full.aclose()
    return 1 if over else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--by-plugin", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SKILLKIT_HOME"] = folder
        os.chdir(folder)
        sys.exit(asyncio.run(main(given)))
