"""The arguments of a call on one line."""

import pytest
from skillkit_frontend import arguments_line


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"path": "a.txt", "deep": True, "most": None}, 'path="a.txt", deep=true, most=null'),
        ({"tasks": [{"task": "build the whole house", "state": "open"}] * 3}, "tasks=[3 items]"),
        ({"policy": {f"key {n}": "x" * 20 for n in range(9)}}, "policy={9 keys}"),
        ({"names": ["a", "é"]}, 'names=["a", "é"]'),
        ({"empty": [], "none": {}}, "empty=[], none={}"),
        ({}, ""),
    ],
)
def test_values_are_short_json(args, line):
    assert arguments_line(args) == line


def test_a_long_text_is_cut():
    line = arguments_line({"text": "x" * 500, "n": 1})
    assert len(line) < 90 and line.endswith(", n=1")
