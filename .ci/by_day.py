"""A plugin of pytest: what a plain run of everything leaves to the next commits and to the night.

Most of what tests cost is a few hundred that start processes. ``pytest`` without a folder, and without ``-k``, takes one in
four of those by a hash of the commit and of the test's name: the same ones whenever this commit is tested, others with the next.
They are the tests with the fixture ``skillkit_cli``, and those in ``dear.txt``, which ``-p cost --renew-dear`` writes. Always
taken are tests of a package, and files of tests, that the change touches, tests marked ``smoke`` or ``always``, and those that
prove a number of the contract (``spec``). The rest is marked ``slow``: ``-m "slow or not slow"`` takes it, as does whoever
names a folder.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import pytest
from changes import changed_paths, git

ONE_IN = 4
STARTS_COMMANDS = "skillkit_cli"
DEAR = Path(__file__).with_name("dear.txt")
ALWAYS = ("always", "slow", "smoke", "spec")
EVERYTHING = "TESTS_OF_EVERYTHING"  # tells the processes of pytest-xdist, which are given folders


def package(path: str) -> str:
    """Return where the sources of a file of tests are: the folder of its package, or the file alone where it is about all."""
    if path.startswith("plugins/"):
        return "/".join(path.split("/")[:2]) + "/"
    return "skillkit_core/" if path.startswith("tests/core/") else "skills/" if path.startswith("skills/") else path


def left(names: Iterable[str], commit: str, changed: Sequence[str]) -> set[str]:
    """Return the names of the tests that are left to other commits."""
    return {
        name
        for name in names
        if int.from_bytes(blake2b(f"{commit} {name}".encode(), digest_size=4).digest()) % ONE_IN
        and not any(path.startswith((package(file), file)) for file in [name.partition("::")[0]] for path in changed)
    }


def takes_turns(item: pytest.Item, dear: Collection[str]) -> bool:
    """Return whether a test runs with one commit in four."""
    starts = STARTS_COMMANDS in getattr(item, "fixturenames", ())
    return (starts or item.nodeid.partition("[")[0] in dear) and not any(map(item.get_closest_marker, ALWAYS))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Look at what was asked: everything, or some tests by their folder or name."""
    if not hasattr(config, "workerinput"):
        os.environ.pop(EVERYTHING, None)
        if config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword:
            os.environ[EVERYTHING] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ``slow`` what is left out."""
    if not os.environ.get(EVERYTHING):
        return
    dear = frozenset(DEAR.read_text().splitlines())
    of = {item.nodeid: item for item in items if takes_turns(item, dear)}
    for name in left(of, git("rev-parse", "HEAD") or "", changed_paths(None) or ()):
        of[name].add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that something was left out."""
    if os.environ.get(EVERYTHING):
        terminalreporter.write_line(
            f'of the dear tests one in {ONE_IN} ran, by the commit; all run with -m "slow or not slow"'
        )
