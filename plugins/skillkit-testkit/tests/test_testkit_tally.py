"""The table of cases, and that pytest prints it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from skillkit_testkit.tally import Tally


def test_a_table_has_a_column_for_each_wire_and_a_row_for_each_label() -> None:
    tally = Tally()
    tally.add("chat", {"server": ["ollama"], "feature": ["text", "tools", "text"]}, passed=True)
    tally.add("chat", {"server": ["vllm"], "feature": ["text"]}, passed=False)
    tally.add("responses", {"server": ["vllm"], "feature": []}, passed=True)
    tally.excuse("case-7", "the recording lacks its end")
    assert list(tally.lines()) == [
        "server    chat responses",
        "ollama     1/1",
        "vllm       0/1       1/1",
        "all        1/2       1/1",
        "feature    chat responses",
        "text        1/2",
        "tools       1/1",
        "all         1/2       1/1",
        "cannot pass: case-7: the recording lacks its end",
    ]


def test_a_long_table_shows_what_is_not_whole() -> None:
    tally = Tally()
    for number in range(9):
        tally.add("wire", {"server": [f"s{number}"]}, passed=number != 4)
    assert list(tally.lines(most=3)) == [
        "server    wire",
        "s4         0/1",
        "(8 of 9 pass in every case; -v or -rA shows them)",
        "all        8/9",
    ]


@pytest.mark.parametrize("options", [[], ["-v"]])
def test_pytest_prints_it_after_the_tests(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_it(tally):\n    for n in range(60): tally.add('wire', {'server': [f's{n:02}']}, passed=True)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options, *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "= cases =" in done.stdout
    assert "60/60" in done.stdout
    assert ("s59        1/1" in done.stdout) is bool(options)


def test_the_processes_of_xdist_count_into_one_table(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    for name in ("a", "b", "c"):
        (tmp_path / f"test_{name}.py").write_text(
            f"def test_it(tally):\n    tally.add('{name}', {{'server': ['s', '{name}']}}, passed='{name}' != 'b')\n"
            f"    tally.excuse('case {name}', 'it is so')\n",
            encoding="utf-8",
        )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "2", "--dist", "loadfile"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path)
    table = done.stdout.partition("= cases =")[2].splitlines()[1:]
    assert table[:5] == [
        "server       a       b       c",
        "a          1/1",
        "b                  0/1",
        "c                          1/1",
        "s          1/1     0/1     1/1",
    ]
    assert {f"cannot pass: case {name}: it is so" for name in "abc"} <= set(table)
