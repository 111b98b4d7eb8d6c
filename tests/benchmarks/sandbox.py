"""What a command costs in each sandbox, beside plain bubblewrap: ``python tests/benchmarks/sandbox.py [ROUNDS]``.

Prints the least CPU time of ``true`` inside, of the same run for every row, and its ratio to ``bwrap`` with three mounts. The
rows start in turn, so that a busy moment of the machine does not fall on one of them alone.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from skillkit_sandbox.box import BubblewrapBackend, LandlockBackend, Sandboxes

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def spent() -> float:
    """Return the CPU time of the children so far, in milliseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def rows(folder: str) -> dict[str, list[str]]:
    """Return the command lines by name."""
    base = {"write": ["."], "hide": ["~/.ssh"]}
    policies = {
        "bubblewrap": base,
        "bubblewrap, limits": {**base, "limits": {"processes": 100, "memory_mb": 500}},
        "bubblewrap, proxy": {**base, "network": "proxy", "domains": ["example.org"]},
    }
    maker, bwrap, landlock = Sandboxes(), BubblewrapBackend(), LandlockBackend()
    found = {
        "plain bwrap": ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder,
                        "--unshare-all", "--die-with-parent", "--", "true"],
        "python -I -S": [sys.executable, "-I", "-S", "-c", "pass"],
        "python": [sys.executable, "-c", "pass"],
    }  # fmt: skip
    if bwrap.problem() is None:
        found |= {name: bwrap.command(maker.policy(data, folder), ["true"]) for name, data in policies.items()}
    if landlock.problem() is None:
        found["landlock"] = landlock.command(maker.policy(base, folder), ["true"])
    return found


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        os.chdir(Path(folder).resolve())
        commands = rows(str(Path.cwd()))
        least = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, argv in commands.items():
                before = spent()
                subprocess.run(argv, check=True)
                least[name] = min(least[name], spent() - before)
        os.chdir("/")
    print(f"{'':20}  CPU ms  to plain bwrap")
    for name, cost in least.items():
        print(f"{name:20}  {cost:6.1f}  {cost / least['plain bwrap']:14.1f}")


if __name__ == "__main__":
    main()
