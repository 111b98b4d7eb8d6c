"""Checks that import the plugin, each in a child process: what that costs and does, and what the plugin brings to a bare core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from . import probe
from .checks import Check, skipped, verdict
from .subject import Subject

__all__ = ["environment", "import_checks", "probed"]

SECONDS = 60
MOST_MODULES = 40
MOST_CPU = 0.1  # seconds
TRIES = 3

EFFECTS = "importing it does nothing else"
COST = f"each command pays little for it: at most {MOST_MODULES} modules and {MOST_CPU * 1000:.0f} ms"
ALONE = "it registers on a core without any other plugin"
ITEMS = "each item says what it is, and what it names can be imported"


def import_checks(subject: Subject, brought: dict[str, dict[str, Any]]) -> Iterator[Check]:
    """Yield the checks of all plugins of a package; ``brought`` takes what each of them brings."""
    promises = {"import": EFFECTS, "cost": COST, "alone": ALONE, "items": ITEMS}
    wrong: dict[str, list[str]] = {name: [] for name in promises}
    costs = []
    for name, value in subject.plugins.items():
        found = probed(subject, "effects", name, value)
        brought[name] = found
        if found["error"]:
            wrong["alone"].append(_shown(subject, found["error"]))
            continue
        wrong["import"] += found["acts"]
        wrong["alone"] += found["problems"]
        wrong["items"] += found["targets"]
        cost = _cost(subject, name, value)
        costs.append(f"{len(cost['modules'])} modules, {cost['seconds'] * 1000:.0f} ms")
        wrong["cost"] += _too_much(cost)
    failed = bool(wrong["alone"]) and all(found["error"] for found in brought.values())
    for name, promise in promises.items():
        if failed and name != "alone":
            yield skipped(name, promise, "it cannot be imported")
        else:
            yield verdict(name, promise, wrong[name], "; ".join(costs) if name == "cost" else "")


def _cost(subject: Subject, name: str, value: str) -> dict[str, Any]:
    """Return the lowest cost of some tries, of one where the first is low enough."""
    best: dict[str, Any] = {}
    for _ in range(TRIES):
        found = probed(subject, "cost", name, value)
        if not best or found["seconds"] < best["seconds"]:
            best = found
        if best["seconds"] <= MOST_CPU:
            break
    return best


def _too_much(cost: dict[str, Any]) -> Iterator[str]:
    modules = cost["modules"]
    heavy: dict[str, int] = {}
    for module in modules:
        head = module.partition(".")[0]
        heavy[head] = heavy.get(head, 0) + 1
    most = ", ".join(f"{name} ({n})" for name, n in sorted(heavy.items(), key=lambda one: -one[1])[:3])
    hint = "name what is heavy by an import string, or import it in the function that needs it"
    if len(modules) > MOST_MODULES:
        yield f"it imports {len(modules)} modules, most of {most}: {hint}"
    elif cost["seconds"] > MOST_CPU:
        yield f"its import takes {cost['seconds'] * 1000:.0f} ms of CPU time, with {most or 'no other module'}: {hint}"


def probed(subject: Subject, what: str, name: str, value: str) -> dict[str, Any]:
    """Return what the child process found out."""
    with TemporaryDirectory(prefix="skillkit-check-") as folder:
        home = Path(folder)
        request, answer = home / "request.json", home / "answer.json"
        request.write_text(json.dumps({"what": what, "name": name, "value": value, "own": str(subject.site)}))
        argv, env = [sys.executable, "-B", str(probe.__file__), str(request), str(answer)], environment(subject, home)
        done = subprocess.run(
            argv, cwd=home, env=env, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        if answer.is_file():
            found: dict[str, Any] = json.loads(answer.read_text("utf-8"))
            return found
    last = (done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"])[-1]
    nothing = {"acts": [], "problems": [], "targets": [], "hooks": [], "items": {}, "seconds": 0.0, "modules": []}
    return {"error": f"its import ended the process: {last}", **nothing}


def environment(subject: Subject, home: Path) -> dict[str, str]:
    """Return the environment of a child: an empty home, no keys, and the package first on the path."""
    kept = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPYCACHEPREFIX")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    path = os.pathsep.join(filter(None, [str(subject.site), os.environ.get("PYTHONPATH", "")]))
    return env | {"HOME": str(home), "SKILLKIT_HOME": str(home / "skillkit"), "PYTHONPATH": path}


def _shown(subject: Subject, text: str) -> str:
    return text.replace(f"{subject.site}{os.sep}", "")
