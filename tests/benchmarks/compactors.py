"""A conversation of 2,000 turns in a window of 8,000 tokens, with each compactor: CPU and memory, early and late.

Run it: ``python tests/benchmarks/compactors.py [--json] [--turns N] [--memory]``. The model is scripted, the session file is
real, and every request that does not fit the window would fail. Printed are the CPU time of a turn around turn 20 (turns 11 to
50) and at the end (the last 40 turns), compactions included; what a compaction takes; and what 100 turns add to the memory: the
session's entries, for the conversation itself does not grow. The target is a ratio below 1.5. Ends with 1 when it is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "plugins" / "skillkit-compactors" / "tests" / "support"))

from compactors_long import WINDOW, conversation, plugins

from skillkit_core import Host

NAMES = ("summary", "prune", "sliding-window", "token-budget")
TARGET = 1.5
EARLY = range(11, 51)


async def measure(name: str, turns: int, traced: bool) -> dict[str, Any]:
    """Milliseconds of a turn, early and late; or, where memory is traced, bytes that a turn adds."""
    with tempfile.TemporaryDirectory(prefix="skillkit-compactors-") as folder:
        host = Host(plugins=plugins(), discover=False)
        host.configure({"sessions.directory": folder})
        spent, ends, most, held = [], [], 0, {}
        async with conversation(host, name) as (agent, model):
            started = [0.0]
            agent.events.on("compaction_start", lambda e: started.__setitem__(0, time.process_time()))
            agent.events.on("compaction_end", lambda e: ends.append(time.process_time() - started[0]))
            for turn in range(1, turns + 1):
                begun = time.process_time()
                await agent.chat(model.ask(turn))
                spent.append(time.process_time() - begun)
                most = max(most, agent.estimate_tokens(agent.messages))
                if traced and turn in (turns // 2, turns):
                    gc.collect()
                    held[turn] = tracemalloc.get_traced_memory()[0]
        await host.aclose()
    early = [spent[turn - 1] for turn in EARLY]
    late = spent[-len(EARLY) :]
    return {
        "early_ms": sum(early) / len(early) * 1e3,
        "late_ms": sum(late) / len(late) * 1e3,
        "ratio": sum(late) / sum(early),
        "compactions": len(ends),
        "compaction_ms": sum(ends) / max(1, len(ends)) * 1e3,
        "most_tokens": most,
        "largest_request": model.largest,
        "overflows": model.overflows,
        "kib_per_100_turns": (held[turns] - held[turns // 2]) / (turns - turns // 2) * 100 / 1024 if traced else None,
    }


def main() -> int:
    """Measure, print, and say whether the target is met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2_000, help="turns of the conversation (default 2,000)")
    parser.add_argument("--rounds", type=int, default=3, help="conversations; the quickest figures count (default 3)")
    parser.add_argument(
        "--memory", action="store_true", help="trace memory, too, which makes turns several times slower"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = {}
    for name in NAMES:
        rounds = [asyncio.run(measure(name, options.turns, False)) for _ in range(options.rounds)]
        best = {key: min(row[key] for row in rounds) for key in ("early_ms", "late_ms", "compaction_ms")}
        found[name] = {**rounds[0], **best, "ratio": best["late_ms"] / best["early_ms"]}
        if options.memory:
            tracemalloc.start()
            traced = asyncio.run(measure(name, options.turns, True))
            tracemalloc.stop()
            found[name]["kib_per_100_turns"] = traced["kib_per_100_turns"]
        if options.json:
            continue
        row = found[name]
        memory = f", {row['kib_per_100_turns']:.0f} KiB for 100 turns" if options.memory else ""
        print(
            f"{name:15} turn 20: {row['early_ms']:6.2f} ms   turn {options.turns:,}: {row['late_ms']:6.2f} ms   "
            f"ratio {row['ratio']:.2f} (target < {TARGET})   {row['compactions']} compactions of {row['compaction_ms']:.1f} ms, "
            f"largest request {row['largest_request']:,} of {WINDOW:,} tokens, {row['overflows']} overflows{memory}"
        )
    if options.json:
        print(json.dumps(found, indent=2))
    return int(any(row["ratio"] > TARGET or row["overflows"] for row in found.values()))


if __name__ == "__main__":
    sys.exit(main())
