"""A plugin of pytest that tells what tests cost: CPU seconds of each folder, and the dearest tests.

    PYTHONPATH=.ci uv run pytest -p cost FOLDER ... [--dearest N] [--renew-dear]
    TEST_CPU_LIMITS=3 uv run pytest -n auto      # as .ci/run does: fails where a package takes three times what it may

Seconds of CPU, not of the clock: they hold on a busy machine. Processes count that a test started and ended, and those that
live on below this one, such as the one from which ``skillkit_cli`` forks; what left (a daemon, tmux) does not count. What is made
once for many tests counts for the first of them. On Linux; with ``-n`` the figures of all processes are added.
``--renew-dear`` writes the names of the dear tests of the files that ran into ``dear.txt``, which by_day.py reads.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
DEAR = 0.2  # seconds of CPU of a test whose turn comes with one commit in four
LIST = Path(__file__).with_name("dear.txt")

# Seconds of CPU that the tests of a package may take. What is dearer than that, and how dear it is, stands by its name.
LIMIT = 20
DEARER = {
    "plugins/skillkit-chat": 65, "plugins/skillkit-executor": 35, "plugins/skillkit-mcp": 25, "plugins/skillkit-plugin-tools": 25,
    "plugins/skillkit-testkit": 25, "tests/core": 75, "tests/docs": 30, "tests/e2e": 80,
}  # fmt: skip


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""


def _children(pid: str) -> list[str]:
    """The processes that a process has started, and that live on."""
    try:
        tasks = list(Path("/proc", pid, "task").iterdir())
    except OSError:
        return []
    return [child for task in tasks for child in _read(task / "children").split()]


def _alive() -> float:
    """CPU seconds of the processes below this one, and of those that they have waited for."""
    forking = sys.modules.get("skillkit_testkit.fork_server")
    seconds, waiting = 0.0, [*_children(str(os.getpid())), *map(str, forking.elsewhere if forking else ())]
    while waiting:
        pid = waiting.pop()
        waiting += _children(pid)
        if fields := _read(Path("/proc", pid, "stat")).rpartition(")")[2].split():
            seconds += sum(map(int, fields[11:15])) / TICKS
    return seconds


def spent() -> float:
    """CPU seconds of this process and of those below it so far."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, kinds)) + _alive()


def _seconds(row: tuple[str, float]) -> float:
    """Sort by seconds, the most first."""
    return -row[1]


def over(tests: Mapping[str, float], times: float) -> list[str]:
    """Return a line for each package whose tests take more than so many times what they may."""
    packages: dict[str, float] = {}
    for name, seconds in tests.items():
        package = "/".join(Path(name.partition("::")[0]).parts[:2])
        packages[package] = packages.get(package, 0.0) + seconds
    return [
        f"{package}: its tests took {seconds:.0f} s of CPU, and may take {limit}: see CONTRIBUTING, Add a test"
        for package, seconds in sorted(packages.items())
        if seconds > times * (limit := DEARER.get(package, LIMIT))
    ]


def renewed(known: Iterable[str], tests: Mapping[str, float]) -> list[str]:
    """Return the names of the dear tests, without their parameters: those that ran, and those known of files that did not."""
    ran = {name.partition("::")[0] for name in tests}
    dear = {name.partition("[")[0] for name, seconds in tests.items() if seconds >= DEAR}
    return sorted(dear | {name for name in known if name.partition("::")[0] not in ran})


class Cost:
    """What each test cost, by its name."""

    def __init__(self, dearest: int, times: float) -> None:
        self.tests: dict[str, float] = {}
        self.before = self.last = 0.0
        self.dearest = dearest
        self.times = times

    def pytest_collection_finish(self) -> None:
        """Tests begin."""
        self.before = self.last = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Count a test with its fixtures."""
        answer = yield
        now = spent()
        self.tests[item.nodeid], self.last = now - self.last, now
        return answer

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what was counted; fail where a package is over its limit."""
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["cost"] = [self.before, self.tests]
        elif self.times and over(self.tests, self.times):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        elif session.config.getoption("--renew-dear"):
            known = LIST.read_text().splitlines() if LIST.exists() else []
            LIST.write_text("".join(f"{name}\n" for name in renewed(known, self.tests)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process counted."""
        before, tests = getattr(node, "workeroutput", {}).get("cost", (0.0, {}))
        self.before += before
        self.tests.update(tests)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print both tables."""
        folders: dict[str, float] = {}
        for name, seconds in self.tests.items():
            folder = str(Path(name.partition("::")[0]).parent)
            folders[folder] = folders.get(folder, 0.0) + seconds
        terminalreporter.section("CPU seconds")
        dearest = sorted(self.tests.items(), key=_seconds)[: self.dearest]
        rows = [("collecting", self.before), *sorted(folders.items(), key=_seconds), ("", 0.0), *dearest]
        for name, seconds in rows:
            terminalreporter.write_line(f"{seconds:8.1f}  {name}" if name else "")
        for line in over(self.tests, self.times) if self.times else ():
            terminalreporter.write_line(line, red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many tests to name."""
    parser.addoption("--dearest", type=int, default=20, metavar="N", help="name the N dearest tests (20)")
    parser.addoption(
        "--renew-dear", action="store_true", help="write the dear tests of the files that ran into .ci/dear.txt"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count in the process that runs the tests; the variable is how many times its limit a package may take."""
    times = float(os.environ.get("TEST_CPU_LIMITS", 0))
    config.pluginmanager.register(Cost(config.getoption("--dearest"), times), "cost of tests")
