"""How many calls a turn and a step make, Python functions and builtins: with the standard distribution, and with no plugin.

Counts repeat to half a percent whatever else runs, so they gate: ends with 1 when a count is over its limit. No network is used::

    python tests/benchmarks/calls.py [--json] [--by-plugin]

A turn is one of a new session in memory, with a model that answers at once; a step is one answer with a call of a tool that
does nothing, its result, and the request behind it. ``--by-plugin`` says which plugin's hooks the calls are made in.
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
BUDGETS = [("turn", 2_300, 2_600), ("step", 900, 1_400)]
STEPS = 9


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
    owner = "core"
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package.startswith("skillkit_") and package != "skillkit_core":
            owner = package
        frame = frame.f_back
    return owner


async def _nothing(args: Any, ctx: Any) -> str:
    return "done"


async def counted(host: Host, steps: int, by_plugin: bool = False) -> Counter:
    """Count the calls of one conversation of one turn with ``steps`` calls of a tool."""
    tool = Tool("nothing", "Does nothing.", _nothing, {"type": "object"})
    counter = Counter(by_plugin)
    model = ScriptedModel([*(Reply(calls=[Call("nothing", {"step": i})]) for i in range(steps)), "done"])
    sys.setprofile(counter)
    try:
        async with AgentRunner(AgentConfig(tools=(tool,)), host=host) as agent:
            agent.set_adapter(model)
            await agent.chat("work")
    finally:
        sys.setprofile(None)
    return counter


async def measured(host: Host) -> dict[str, float]:
    """Return the calls of a turn and of a step, once everything is loaded."""
    for _ in range(3):
        await counted(host, 2)
    turn, few, many = [(await counted(host, steps)).calls for steps in (0, 1, 1 + STEPS)]
    return {"turn": turn, "step": (many - few) / STEPS}


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
        for name, steps in (("turn", 0), ("step", STEPS)):
            owners = (await counted(full, steps, by_plugin=True)).owners or {}
            print(f"\n{name}:" if steps == 0 else f"\nturn with {steps} steps:")
            for owner, calls in sorted(owners.items(), key=lambda row: -row[1]):
                print(f"{calls:8} {owner}")
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
