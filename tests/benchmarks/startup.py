"""What starting costs: CPU time against an empty Python, and the number of imported modules.

Run it with the Python of an environment that has SkillKit and its plugins installed::

    python tests/benchmarks/startup.py [--rounds N] [--json]

Byte code is compiled first, in a private directory, so that the figures are those of an installed program. An empty
Python runs between all measurements: the ratios hold on a busy machine, too. The least of all rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

EMPTY = ["-c", "pass"]
START = "import sys; from skillkit_core.cli.main import entry; sys.exit(entry())"  # as the console script does it
COUNT = (
    "import sys; from skillkit_core.cli.main import run; code = run(sys.argv[1:]); "
    "print(len(sys.modules), file=sys.stderr); sys.exit(code)"
)
# command, most times an empty Python, most modules: "Loading" in the architecture page
BUDGETS = [
    (["--help"], 6.0, 135),
    (["plugins", "list"], 6.0, 130),
    (["skills", "list"], 12.0, 264),
]
FLOORS = {"import click": ["-c", "import click"], "import click, pluggy": ["-c", "import click, pluggy"]}


def cpu(arguments: list[str], env: dict[str, str]) -> float:
    """CPU seconds of one run, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(arguments: list[str], env: dict[str, str], rounds: int) -> float:
    """How many times an empty Python a run costs."""
    cpu(arguments, env)
    pairs = [(cpu(EMPTY, env), cpu(arguments, env)) for _ in range(rounds)]
    return min(p[1] for p in pairs) / min(p[0] for p in pairs)


def modules(arguments: list[str], env: dict[str, str]) -> int:
    """How many modules a command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *arguments], env=env, capture_output=True, check=True, text=True
    )
    return int(done.stderr.split()[-1])


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Ratio and count of every command that is there, and what the libraries alone cost."""
    with tempfile.TemporaryDirectory() as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("SKILLKIT_") and k != "PYTHONDONTWRITEBYTECODE"}
        env |= {"SKILLKIT_HOME": home, "PYTHONPYCACHEPREFIX": os.path.join(home, "bytecode")}
        out: dict[str, dict[str, float]] = {}
        for name, arguments in FLOORS.items():
            out[name] = {"ratio": ratio(arguments, env, rounds)}
        for command, most, count in BUDGETS:
            asked = ["-c", START, *command]
            if subprocess.run([sys.executable, *asked], env=env, capture_output=True).returncode:
                continue  # the plugin that has the command is not installed
            out["skillkit " + " ".join(command)] = {
                "ratio": ratio(asked, env, rounds), "most": most, "modules": modules(command, env), "most_modules": count,
            }  # fmt: skip
        return out


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.rounds)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print(f"{'':24} {'x empty':>8} {'budget':>7} {'modules':>8} {'budget':>7}")
    for name, row in found.items():
        most, count, limit = row.get("most", ""), row.get("modules", ""), row.get("most_modules", "")
        print(f"{name:24} {row['ratio']:8.2f} {most:>7} {count:>8} {limit:>7}")


if __name__ == "__main__":
    main()
