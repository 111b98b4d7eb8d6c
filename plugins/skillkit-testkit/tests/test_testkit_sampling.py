"""Cases beyond the sample are slow, the others are no fixed first ones and are the same in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BODY = """
import pytest

@pytest.mark.sample(3)
@pytest.mark.parametrize("n", [*range(20), *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 40))])
def test_rule(n): pass

@pytest.mark.sample(1, each="place")
@pytest.mark.parametrize("place", ["north", "south"])
@pytest.mark.parametrize("n", range(20))
def test_places(n, place): pass

@pytest.mark.sample(3)
@pytest.mark.parametrize("n", range(2))
def test_small(n): pass

@pytest.mark.sample(2)
class TestSuite:
    def test_a(self): pass
    def test_b(self): pass
    @pytest.mark.parametrize("n", range(20))
    def test_c(self, n): pass
"""


@pytest.mark.smoke
def test_a_plain_run_takes_a_sample_and_the_night_takes_all(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(BODY)

    def taken(selected: str, *more: str) -> list[str]:
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "--co", "-q", *more]
        done = subprocess.run(
            [*argv, "-m", selected, "--rootdir", str(tmp_path), str(tmp_path)], capture_output=True, text=True
        )
        return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]

    plain = taken("not slow")
    rule, small = ([name for name in plain if name.startswith(start)] for start in ("test_rule", "test_small"))
    assert len(rule) == 3 and rule != [f"test_rule[{n}]" for n in range(3)]
    assert [sum(place in name for name in plain) for place in ("north", "south")] == [1, 1]
    assert len([name for name in plain if name.startswith("TestSuite")]) == 2, "of all that a class has"
    assert small == ["test_small[0]", "test_small[1]"], "a sample may be larger than what there is"
    assert taken("not slow", "-k", "rule") == rule, "a choice by words does not change it"
    assert len(taken("slow or not slow")) == 104
