"""The tests of skills as items of pytest: each case of an ``evals/tests.yaml`` beside a ``SKILL.md``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .case_runs import SkillTester

__all__ = ["SkillCaseItem", "SkillTestFile", "pytest_collect_file"]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SkillTestFile | None:
    """Collect a file of this name beside a SKILL.md, and no other."""
    if file_path.name != "tests.yaml" or file_path.parent.name != "evals":
        return None
    if not (file_path.parent.parent / "SKILL.md").is_file():
        return None
    found: SkillTestFile = SkillTestFile.from_parent(parent, path=file_path)
    return found


class SkillTestFile(pytest.File):
    """The tests of one skill."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for every case."""
        from .case_runs import SkillTester
        from .cases import read_cases
        from .testing import skills_below

        (skill,) = skills_below(self.path.parent.parent)
        cases, tests = read_cases(self.path), SkillTester(skill)
        for kind, found in (("action", cases.actions), ("trigger", cases.triggers)):
            for case in found:
                name = f"{kind}: {case.title}"
                yield SkillCaseItem.from_parent(self, name=name, tests=tests, case=case)


class SkillCaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, tests: SkillTester, case: Any, **given: Any) -> None:
        super().__init__(**given)
        self._tests, self._case = tests, case

    def runtest(self) -> None:
        """Run the case."""
        import asyncio

        outcome = asyncio.run(self._tests.run_one(self._case))
        if outcome.failures:
            pytest.fail("\n".join(outcome.failures), pytrace=False)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show what was not as expected."""
        return str(excinfo.value) if isinstance(excinfo.value, pytest.fail.Exception) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the case stands."""
        return self.path, None, self.name
