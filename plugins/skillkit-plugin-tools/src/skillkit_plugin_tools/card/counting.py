"""A plugin of pytest for the child processes of a card: writes down what each test gave, and to which suite it belongs.

The file that ``SKILLKIT_COUNT`` names gets a line of JSON for each test: its suite (``RuntimeConformance``, ...) or none, its
name, its outcome, and what it says.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(os.environ.get("SKILLKIT_COUNT", os.devnull))  # read before a test isolates itself


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Write a line once it is known what a test gave."""
    report = (yield).get_result()
    if report.when != "call" and report.passed:
        return
    bases = [base.__name__ for base in getattr(getattr(item, "cls", None), "__mro__", ())]
    suite = next((name for name in bases if name.endswith("Conformance")), "")
    said = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = crash.message.splitlines()[0] if crash is not None else str(report.longrepr).strip().splitlines()[-1]
    elif report.skipped and isinstance(report.longrepr, tuple):
        said = str(report.longrepr[2]).removeprefix("Skipped: ")
    outcome = "failed" if report.failed else report.outcome
    row = {"suite": suite, "test": item.nodeid.rpartition("::")[2], "outcome": outcome, "said": said}
    with _FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
