"""Checks that run tests: the package's own, and the suites of the testkit for what its plugins bring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .checks import Check, held, skipped, verdict
from .importing import environment
from .subject import Subject

__all__ = ["test_checks"]

OWN = "its own tests pass"
CONTRACTS = "what it brings keeps its contract: the suites of the testkit pass"
SECONDS = 900
SUITES = {
    "adapters": "AdapterConformance",
    "commands": "CommandConformance",
    "compactors": "CompactorConformance",
    "runtimes": "RuntimeConformance",
    "session_stores": "SessionStoreConformance",
    "skill_loaders": "SkillLoaderConformance",
    "skills": "SkillsConformance",
    "tools": "ToolConformance",
}
GUARDS = "GuardConformance"
ONLY_OWN = {
    SUITES["adapters"]: "the other half of its wire",
    GUARDS: "calls that it refuses and allows",
    "ExecutorConformance": "a place to run in",
}
BROUGHT = "skillkit_testkit.conformance.brought"  # the test module of the suites that need nothing from the author


def test_checks(subject: Subject, brought: dict[str, dict[str, Any]]) -> Iterator[Check]:
    """Yield the checks of the package's tests and of its plugins' contracts."""
    if find_spec("skillkit_testkit") is None:
        why = "skillkit-testkit is not installed here: pip install skillkit-testkit"
        yield skipped("tests", OWN, why)
        yield skipped("contracts", CONTRACTS, why)
        return
    rows: list[dict[str, Any]] = []
    yield _own(subject, rows)
    if subject.plugins or subject.skill_packages:
        yield _contracts(subject, brought, rows)


def _own(subject: Subject, rows: list[dict[str, Any]]) -> Check:
    """Run the tests beside the sources; ``rows`` takes what each gave."""
    if subject.source is None:
        return skipped("tests", OWN, "they are beside the sources, and only the package is here")
    where = [name for name in ("tests", "test", "src") if (subject.source / name).is_dir()]
    if not where:
        return verdict("tests", OWN, ["there are none"])
    found, output, code = _pytest(subject, ["-q"], cwd=subject.source)
    rows += found
    counted = Counter(row["outcome"] for row in found)
    wrong = [f"{row['test']}: {row['said']}" for row in found if row["outcome"] == "failed"]
    if not wrong and (code not in (0, 5) or not found):
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "no test ran")
        wrong = ["there are none" if code == 5 else f"pytest ended with {code}: {last}"]
    return verdict("tests", OWN, wrong, f"{counted['passed']} tests")


def _contracts(subject: Subject, brought: dict[str, dict[str, Any]], rows: list[dict[str, Any]]) -> Check:
    wrong: list[str] = []
    passed: Counter[str] = Counter()
    missing: list[str] = []
    packages = {"": {"items": {"skills": [*subject.skill_packages.values()]}, "hooks": ()}}
    for name, found in {**brought, **(packages if subject.skill_packages else {})}.items():
        wanted = {SUITES[kind] for kind in found["items"] if kind in SUITES}
        wanted |= {GUARDS} if "before_tool_call" in found["hooks"] else set()
        tested = [row for row in rows if row["suite"] in wanted]
        left = wanted - {row["suite"] for row in tested}
        if left - set(ONLY_OWN):
            tested += _suites(subject, name, found, left)
        for row in tested:
            passed[row["suite"]] += row["outcome"] == "passed"
            if row["outcome"] == "failed":
                wrong.append(f"{row['suite']}, {row['test']}: {row['said']}")
        missing += [
            f"no test inherits {suite}, which needs {ONLY_OWN[suite]}" for suite in sorted(left & set(ONLY_OWN))
        ]
    if subject.source is not None:
        wrong += missing
    told = [f"{suite.removesuffix('Conformance').lower()} {n}" for suite, n in sorted(passed.items())]
    if not wrong and not told:
        return skipped("contracts", CONTRACTS, missing[0] if missing else "nothing of it has a suite")
    line = ", ".join(told) + (f"; {missing[0]}" if missing and not wrong else "")
    return verdict("contracts", CONTRACTS, wrong, line) if wrong else held("contracts", CONTRACTS, line)


def _suites(subject: Subject, name: str, found: dict[str, Any], suites: set[str]) -> list[dict[str, Any]]:
    """Run the suites that need nothing from the author."""
    items = {kind: names for kind, names in found["items"].items() if SUITES.get(kind) in suites}
    asked = json.dumps({"name": name, "items": items})
    words = ["-q", "-c", os.devnull, "-o", "python_files=brought.py", "--pyargs", BROUGHT]
    rows, output, code = _pytest(subject, words, asked=asked)
    if code not in (0, 1) or not rows:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), f"pytest ended with {code}")
        return [{"suite": "testkit", "test": "collection", "outcome": "failed", "said": last}]
    return rows


def _pytest(
    subject: Subject, words: list[str], cwd: Path | None = None, asked: str = ""
) -> tuple[list[dict[str, Any]], str, int]:
    """Run pytest; return what each test gave, what was printed, and the exit code."""
    with TemporaryDirectory(prefix="skillkit-check-") as folder:
        home = Path(folder)
        counted = home / "counted"
        env = environment(subject, home) | {"SKILLKIT_COUNT": str(counted), "SKILLKIT_CHECK": asked}
        counting = f"{__package__}.counting"
        argv = [sys.executable, "-B", "-m", "pytest", "-p", counting, "-p", "no:cacheprovider", *words]
        done = subprocess.run(
            argv, cwd=cwd or home, env=env, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        lines = counted.read_text("utf-8").splitlines() if counted.is_file() else []
    return [json.loads(line) for line in lines], done.stdout + done.stderr, done.returncode
