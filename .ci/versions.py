"""Moves versions: what the changelogs say under ``Unreleased`` decides the next ones.

    uv run python .ci/versions.py check      # versions, ranges and changelogs agree; .ci/run asks this
    uv run python .ci/versions.py release    # before a release

All packages share the series of the core, its first two numbers, and each has a third number of its own (until 1.0). An entry
that begins with ``**Breaking:**`` moves the series, in whichever package it stands: every package moves, and so do the ranges in
projects, distributions, templates and pages. Without one, each package that has entries moves its third number.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.M | re.S)
HEADING = re.compile(r"^## (\S+)$", re.M)
OWN = re.compile(r'^__version__ = "([\d.]+)"', re.M)
BREAKING = "- **Breaking:**"
RANGES = ("*.md", "*.toml", "*.yaml", "*.tmpl", "*.py")  # files that may name a range of versions
# One that says a range of its own on purpose.
NOT_OURS = ("skillkit_core/host/distribution.py", "tests/core/host/test_distribution_definition.py")


class Package:
    """A member of the workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project, self.changelog = folder, folder / "pyproject.toml", folder / "CHANGELOG.md"
        data = tomllib.loads(self.project.read_text(encoding="utf-8"))["project"]
        self.name, self.version, self.needs = data["name"], data["version"], data.get("dependencies", [])
        self.log = self.changelog.read_text(encoding="utf-8")
        below = folder / "skillkit_core" if folder == ROOT else folder / "src"
        self.modules = [file for file in below.rglob("*.py") if OWN.search(file.read_text(encoding="utf-8"))]

    @property
    def news(self) -> str:
        """What is under ``Unreleased``."""
        found = UNRELEASED.search(self.log)
        return found[1].strip() if found else ""

    def move(self, new: str, entry: str) -> None:
        """Write a new version; ``entry`` is said of it where there are no news."""
        log = self.log
        if not self.news:
            at = HEADING.search(log)
            at = at.start() if at else len(log)
            log = f"{log[:at]}## Unreleased\n\n{entry}\n\n{log[at:]}"
        self.changelog.write_text(log.replace("## Unreleased\n", f"## {new}\n"), encoding="utf-8")
        replace(self.project, f'version = "{self.version}"', f'version = "{new}"')
        for file in self.modules:
            replace(file, f'__version__ = "{self.version}"', f'__version__ = "{new}"')


def replace(file: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def series(version: str, further: int = 0) -> str:
    """Return the range of the series of ``version``, or of a ``further`` one: ``>=0.2,<0.3``."""
    first, second, _ = map(int, version.split("."))
    second += further
    return f">={first}.{second},<{first}.{second + 1}"


def release(packages: list[Package]) -> None:
    """Move what has news; with a breaking one, everything."""
    core = packages[0]
    first, second, _ = map(int, core.version.split("."))
    if any(BREAKING in package.news for package in packages):
        for package in packages:
            package.move(f"{first}.{second + 1}.0", f"- Needs `skillkit-core` {first}.{second + 1}.")
        tracked = subprocess.run(["git", "ls-files", "-z", *RANGES], cwd=ROOT, capture_output=True, check=True)
        files = {ROOT / name for name in tracked.stdout.decode().split("\0")[:-1] if name not in NOT_OURS}
        for file in files:
            if file.is_file() and file.name != "CHANGELOG.md":
                replace(file, series(core.version), series(core.version, 1))
        return
    for package in packages:
        if package.news:
            *series_, third = package.version.split(".")
            package.move(".".join([*series_, str(int(third) + 1)]), "")


def check(packages: list[Package]) -> list[str]:
    """Return what does not agree, a line each."""
    wrong, wanted = [], series(packages[0].version)
    names = {package.name for package in packages}
    for package in packages:
        place = package.folder.relative_to(ROOT)
        said = [heading for heading in HEADING.findall(package.log) if heading != "Unreleased"][:1]
        if said != [package.version]:
            wrong.append(f"{place}/CHANGELOG.md: the newest version is {said}, the project's is {package.version}")
        if series(package.version) != wanted:
            wrong.append(f"{place}: {package.version} is of another series than the core's {packages[0].version}")
        for file in package.modules:
            if f'__version__ = "{package.version}"' not in file.read_text(encoding="utf-8"):
                wrong.append(f"{file.relative_to(ROOT)}: __version__ is not {package.version}")
        for need in package.needs:
            name, range_ = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?(.*)", need).groups()  # type: ignore[union-attr]
            if name in names and range_ != wanted:
                wrong.append(f"{place}: it needs {need}; write {name}{wanted}")
    return wrong


def main() -> int:
    """Run ``versions.py check | release``."""

    def read() -> list[Package]:
        folders = [ROOT, ROOT / "skills", *sorted(file.parent for file in ROOT.glob("plugins/*/pyproject.toml"))]
        return [Package(folder) for folder in folders]

    if sys.argv[1:] == ["release"]:
        release(read())
    wrong = check(read())
    print("\n".join(wrong) if wrong else "versions, ranges and changelogs agree")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
