"""Every id of the acceptance list of engines has a test that bears it in its name, or a written reason."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PHASES = ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12")
"""Skills, four engines, the choice, two routers, plans, packs, fragments, many skills, sessions of several, protocol, A2A."""
LISTED = re.compile(r"^- \*\*(S\d+-\d+) [CP]\*\*", re.MULTILINE)
TEST = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
BORNE = re.compile(r"(?<![a-z0-9])s(\d+)_(\d+)(?=_|$)")
EXPECTED = {
    "S2-8": "the ten simple skills come as a package of their own",
}
"""Ids without a test, and why; one that has a test by now has to leave."""


def _by_id() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for file in [*ROOT.glob("plugins/*/tests/**/test_*.py"), *ROOT.glob("tests/**/test_*.py")]:
        for name in TEST.findall(file.read_text(encoding="utf-8")):
            for phase, number in BORNE.findall(name):
                found[f"S{phase}-{number}"].append(f"{file.relative_to(ROOT)}::{name}")
    return found


def test_each_id_of_the_list_has_a_test_or_a_written_reason(shared_data):
    listed = LISTED.findall((shared_data / "spec" / "engines.md").read_text(encoding="utf-8"))
    ours = [name for name in listed if name.partition("-")[0] in PHASES]
    tests = _by_id()
    assert len(ours) > 50, "the list is read wrongly"
    assert [name for name in ours if name not in tests and name not in EXPECTED] == []
    assert [name for name in tests if name.partition("-")[0] in PHASES and name not in ours] == []
    for name in ours:
        print(f"{name:<6} {', '.join(tests.get(name, [])) or 'expected: ' + EXPECTED[name]}")
